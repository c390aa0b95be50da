"""No lie counts as more than it is, and no honest worker is refused: each row of the cast, doors in turn."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.journeys.cast_players import DOORS, Door, Player
from tests.journeys.cast_rows import HONEST_ROWS, LIE_ROWS, ROWS, Row
from tests.quick_set import all_but_thorough

pytestmark = [
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed"),
    pytest.mark.promise("evidence.cast"),
]
EACH = all_but_thorough([(row, DOORS[at % len(DOORS)]) for at, row in enumerate(ROWS)], step=23)
"""The rule is the same at both doors, so each row is played at one of them in turn."""


@pytest.mark.thorough
@pytest.mark.parametrize(("row", "door"), EACH, ids=lambda one: one.name if isinstance(one, Row) else one)
def test_each_row_is_counted_as_what_it_is(tmp_path: Path, row: Row, door: Door) -> None:
    assert Player(tmp_path, door).play(row) == row.must


def test_the_cast_is_large_and_no_row_is_there_twice() -> None:
    assert len(LIE_ROWS) >= 150
    assert len(HONEST_ROWS) >= 80
    assert len({row.name for row in ROWS}) == len(ROWS)
