"""Every answer of the hostile index, to every command that asks one: known trouble at most."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.forked import ForkedTool
from tests.conformance.seeded import Seeded
from tests.hostile.doors import COMMANDS, TOOLS, Doors
from tests.hostile.index.answers import SECRET, IndexAttack, index_attacks
from tests.updates.releases import Index

pytestmark = pytest.mark.thorough

ATTACKS = index_attacks()
PLANT = "installed by pip"
DOORS: tuple[tuple[str, ...], ...] = (
    ("update", "--check"),
    ("update", "--dry-run"),
    ("update", "--check", "--human"),
    ("update",),
    ("doctor", "--checks", "update"),
    ("session", "list"),
    ("session", "list", "--human"),
)
"""Those that ask; and one more, because what an index said may be told beside any answer."""
STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
PLAIN = re.compile(r"-?[\w./=@:+ \[\],#-]+")
"""A word of the manager's command line, a path with a blank too; none is an option that the index chose."""
IMPATIENT = ("--timeout", "1")
PATIENT_ATTACKS = ("stall", "drip")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    made = Index(tmp_path_factory.mktemp("index"), versions=())
    yield made
    made.close()


@pytest.fixture(scope="module")
def tool(seeded: Seeded, index: Index, tmp_path_factory: pytest.TempPathFactory) -> ForkedTool:
    made = seeded.copy(tmp_path_factory.mktemp("asks"))
    settings = {"update": {"index": index.url}}
    Path(made.home, "config.json").write_text(json.dumps(settings), encoding="utf-8")
    return made


def work_of(tool: ForkedTool) -> dict[str, bytes]:
    """Whatever an index has no business with: sessions, keys, workflows, the project."""
    folders = (Path(tool.home, "data"), Path(tool.home, "workflows"), Path(tool.project))
    files = (file for folder in folders for file in sorted(folder.rglob("*")) if file.is_file())
    return {str(file): file.read_bytes() for file in files if "cache" not in file.parts}


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: str(attack.name))
def test_no_answer_of_an_index_breaks_or_leaks(tool: ForkedTool, index: Index, attack: IndexAttack) -> None:
    """No answer of an index breaks a command or is repeated as it is."""
    index.healthy()
    index.trouble = attack.trouble
    before = work_of(tool)

    is_patient = attack.name in PATIENT_ATTACKS
    for door in (DOORS[0], *DOORS[3:]) if is_patient else DOORS:  # a second of waiting each
        in_time = IMPATIENT if is_patient else ()
        ran = tool.run(*door, *in_time, plant=PLANT)
        assert SECRET.encode() not in ran.out + ran.err, door
        assert ran.status in range(12), (door, ran)
        if "--human" in door:
            assert not STEERS.search(ran.out.decode()), door
        else:
            told = json.loads(ran.out)
            assert told["ok"] or told["error"]["code"] != "E_UNKNOWN", (door, ran.out)
            assert b"\x1b" not in ran.out
            assert all(PLAIN.fullmatch(word) for word in told.get("data", {}).get("command", ())), told

    assert index.seen, "nobody asked"
    assert work_of(tool) == before


def test_no_other_command_and_no_tool_asks_an_index(
    seeded: Seeded, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.healthy()
    doors = Doors(seeded, tmp_path, monkeypatch, index=index.url)
    asked = {}

    for name in (*COMMANDS, *TOOLS):
        index.seen.clear()
        if name in COMMANDS:
            doors.command(name)
        else:
            doors.tool(name)
        asked[name] = len(index.seen)

    assert {name for name, count in asked.items() if count} == {"update"}
