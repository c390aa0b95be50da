"""A move of code changes no reply: the recorded corpus of calls gets equal bytes.

A change here is seen by every agent; if it is meant, write the record anew (tests/golden/replies_of.py).
"""

from __future__ import annotations

import json

import pytest

from tests.golden.replies_of import RECORD, record


@pytest.mark.thorough
def test_every_recorded_call_gets_the_same_bytes() -> None:
    with open(RECORD, encoding="utf-8") as file:
        held = json.load(file)

    now = record()

    changed = [name for name in held | now if held.get(name) != now.get(name)]
    assert not changed, (
        changed,
        "compare the replies of two trees: python -m tests.golden.replies_of FOLDER",
    )
    assert sum(map(len, now.values())) > 800
