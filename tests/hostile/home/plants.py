"""The hostile home: what becomes of each piece of it, and the traps in its index of sessions.

The home came from a backup, a shared disk or an archive by somebody else. Each piece of it in turn becomes a
link to a secret outside, a pipe that nobody writes to, a folder, or a file of a size that does not exist; the
index of sessions becomes a database with traps in it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

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
    *("config.json", "data/keys/keyring.json", "data/keys/requests.key"),
    *("data/cache/index/sessions-*.sqlite", "data/cache/index/touched"),
    *("SESSION", "SESSION/lock", "SESSION/manifest", "SESSION/events", "BLOB"),
)
PLANTED = [(piece, kind) for piece in PIECES for kind in PLANTS if not (kind == "link" and piece in PLACES)]


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
