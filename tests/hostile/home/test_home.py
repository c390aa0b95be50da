"""Every command and every tool on each hostile home: nothing outside is read or written, nobody waits."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.conformance.seeded import Seeded
from tests.hostile.doors import Doors
from tests.hostile.home.plants import PLANTED, PLANTS, SECRET, TRAPS, piece_of

pytestmark = pytest.mark.thorough


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


@pytest.mark.parametrize(("piece", "kind"), PLANTED)
def test_nothing_outside_is_touched_and_every_call_answers(
    seeded: Seeded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: str, kind: str
) -> None:
    doors = Doors(seeded, tmp_path, monkeypatch)
    doors.tool("resume_session")  # makes the index
    (outside := tmp_path / "outside").mkdir()
    PLANTS[kind](piece_of(doors.home, piece, seeded.names["SESSION_ID"]), outside)
    before = bytes_of(outside)

    for name, told in doors.answers():
        assert SECRET not in told, name

    assert bytes_of(outside) == before


@pytest.mark.parametrize("trap", TRAPS)
def test_an_index_with_traps_changes_no_answer(seeded: Seeded, tmp_path: Path, trap: str) -> None:
    tool = seeded.copy(tmp_path)
    lines = [("session", "list"), ("session", "resume", "small")]
    expected = [tool.data(*line) for line in lines]
    (file,) = Path(tool.home, "data", "cache", "index").glob("sessions-*.sqlite")
    with sqlite3.connect(file) as own:
        forms = own.execute("SELECT name FROM form").fetchall()
    own.close()
    for name in file.parent.iterdir():
        name.unlink()
    with sqlite3.connect(file) as made:
        made.execute("CREATE TABLE form(name TEXT PRIMARY KEY) WITHOUT ROWID")
        made.executemany("INSERT INTO form VALUES (?)", forms)
        made.executescript(TRAPS[trap])
        made.execute("CREATE VIRTUAL TABLE words USING fts5(text, content='')")
    made.close()

    answers = [tool.data(*line) for line in lines]

    assert answers == expected
