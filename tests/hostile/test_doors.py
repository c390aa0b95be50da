"""Every door of the matrix does its work on a plain home; only then its other answers mean something."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conformance.seeded import Seeded
from tests.hostile.doors import COMMANDS, TOOLS, Doors

pytestmark = pytest.mark.thorough

NEEDS_MORE = [
    *("run answer", "receipt export", "receipt verify", "session resolve"),
    *("session rename", "store adopt", "store move", "update", "login"),
    *("team init", "team invite", "team members", "team set", "team reset", "team audit"),
    *("team workspace create", "team workspace list"),
    *("team token create", "team token list", "team token revoke"),
]
"""Five ask a person, receipts need a repository, one finds no index, a team needs a database."""


def test_every_door_does_its_work_on_a_plain_home(
    seeded: Seeded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    doors = Doors(seeded, tmp_path, monkeypatch)

    refused = [path for path in COMMANDS if not json.loads(doors.command(path).out)["ok"]]
    failed = [tool for tool in TOOLS if doors.tool(tool).is_error]

    assert refused == NEEDS_MORE
    assert failed == []
