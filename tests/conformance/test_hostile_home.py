"""A home in which somebody replaced a file or a folder: nothing outside is read or written, nobody waits.

The home came from a backup, a shared disk or an archive by somebody else. Each piece of it in turn becomes a
link to a secret outside, a pipe that nobody writes to, a folder, or a file of a size that does not exist; the
index of sessions becomes a database with traps in it. Then come the commands, each in a process of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conformance.forked import ForkedTool
from tests.conformance.leaves import LEAVES
from tests.conformance.seeded import Seeded, spelt

SECRET = b"the-secret-of-somebody-else"
HUGE_BYTES = 1 << 40
Plant = Callable[[Path, Path], None]
"""Puts something in place of the first path; the second is a folder outside of the home."""


def link_out(place: Path, outside: Path) -> None:
    shutil.rmtree(outside)
    if place.is_dir():
        shutil.copytree(place, outside)
        for file in outside.rglob("*"):
            if file.is_file():
                file.write_bytes(SECRET)
        remove(place)
        place.symlink_to(outside)
    else:
        outside.mkdir()
        remove(place)
        (outside / "secret").write_bytes(SECRET)
        place.symlink_to(outside / "secret")


def put_pipe(place: Path, outside: Path) -> None:
    remove(place)
    os.mkfifo(place)


def put_folder(place: Path, outside: Path) -> None:
    remove(place)
    (place / "deeper").mkdir(parents=True)


def put_huge(place: Path, outside: Path) -> None:
    remove(place)
    with place.open("wb") as file:
        file.truncate(HUGE_BYTES)


def remove(place: Path) -> None:
    if place.is_dir():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)


PLANTS: dict[str, Plant] = {
    "link": link_out,
    "pipe": put_pipe,
    "folder": put_folder,
    "huge": put_huge,
}
PLACES = (
    "audit",
    "confirm-consumed",
    "workflows",
    "data",
    "data/keys",
    "data/sessions",
    "data/blobs",
    "data/cache",
)
"""Where these folders lie is the user's own choice: they may be links to another disk."""
PIECES = (
    *PLACES,
    *("config.json", "data/keys/keyring.json", "data/keys/requests.key", "data/cache/index/sessions.sqlite"),
    *("SESSION", "SESSION/lock", "SESSION/manifest", "SESSION/events", "BLOB"),
)
COMMANDS = (
    *("session list", "session resume", "session export", "run continue", "run start"),
    *("store verify", "store du", "doctor", "session delete"),
)
"""Together they read every piece; `session show`, `workflow list` and `context` read no other."""


def piece_of(home: Path, name: str, session: str) -> Path:
    """Where a piece lies, or would lie; the names of some files are the store's own affair."""
    first = {
        "SESSION": f"data/sessions/{session}",
        "SESSION/lock": f"data/sessions/{session}/*lock*",
        "SESSION/manifest": f"data/sessions/{session}/manifest*",
        "SESSION/events": f"data/sessions/{session}/events-*",
        "BLOB": "data/blobs/*/*",
    }
    return next(iter(sorted(home.glob(first.get(name, name)))), home / name)


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


@pytest.mark.promise("limits.hostile-home")
@pytest.mark.parametrize(
    ("piece", "kind"),
    [(piece, kind) for piece in PIECES for kind in PLANTS if not (kind == "link" and piece in PLACES)],
)
def test_nothing_outside_is_touched_or_told_and_every_command_answers(
    seeded: Seeded, tmp_path: Path, piece: str, kind: str
) -> None:
    tool = seeded.copy(tmp_path)
    tool.run("session", "resume", "small")  # makes the index
    (outside := tmp_path / "outside").mkdir()
    place = piece_of(Path(tool.home), piece, seeded.names["SESSION_ID"])
    PLANTS[kind](place, outside)
    before = bytes_of(outside)

    for command in COMMANDS:
        check_answer(tool, line_of(command, seeded, tool))

    assert bytes_of(outside) == before


def line_of(command: str, seeded: Seeded, tool: ForkedTool) -> list[str]:
    leaf = LEAVES[command]
    gate = ("--dry-run",) if command == "session delete" else ()
    return spelt((*leaf.line, *leaf.key, *leaf.dangerous, *gate), {**seeded.names, "HOME": tool.home})


def check_answer(tool: ForkedTool, line: list[str]) -> None:
    ran = tool.run(*line)
    assert SECRET not in ran.out + ran.err, line
    assert ran.status in range(8), (line, ran)
    told = json.loads(ran.out)
    assert told["ok"] or told["error"]["code"] != "E_UNKNOWN", (line, ran.out)


TRAPS = {
    "an endless view": "CREATE VIEW sessions AS WITH RECURSIVE n(i) AS "
    "(SELECT 1 UNION ALL SELECT i+1 FROM n) "
    "SELECT 'ses_' || i AS id, '' AS version, x'' AS facts, x'' AS subjects FROM n;",
    "a trigger that empties": "CREATE TABLE sessions(id TEXT PRIMARY KEY, version TEXT NOT NULL, facts BLOB "
    "NOT NULL, subjects BLOB NOT NULL); CREATE TRIGGER t AFTER INSERT ON sessions BEGIN "
    "DELETE FROM sessions; END;",
    "rows of no session": "CREATE TABLE sessions(id, version, facts, subjects); "
    "INSERT INTO sessions VALUES (NULL, 1, 'x', 7), ('../../x', '', x'00', x'00');",
}


@pytest.mark.promise("limits.hostile-home")
@pytest.mark.parametrize("trap", TRAPS)
def test_an_index_with_traps_changes_no_answer(seeded: Seeded, tmp_path: Path, trap: str) -> None:
    tool = seeded.copy(tmp_path)
    lines = [("session", "list"), ("session", "resume", "small")]
    expected = [tool.data(*line) for line in lines]
    file = Path(tool.home, "data", "cache", "index", "sessions.sqlite")
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
