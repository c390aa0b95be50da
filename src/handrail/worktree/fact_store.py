"""`ports.worktree.FactStore` in SQLite: one file per project under `data/cache/facts/`, never truth.

Facts stand under a key that names the content of a file, so they cannot be stale; which file has which
content is asked of the worktree in every call. No fact names another file, so nothing has to be mended when
one changes. Whatever is wrong with the file, it is removed and the sources are read again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import apsw

from handrail.host.private_files import ensure_private_directory
from handrail.ports.worktree import (
    MOST_FACT_BYTES,
    MOST_FACT_PROJECTS,
    MOST_SOUGHT,
    MOST_SOUGHT_BYTES,
    FactView,
    KeptFacts,
    NothingKept,
    Sought,
)

_SUFFIXES = ("", "-wal", "-shm")
_WAIT_MS = 2_000
_AT_ONCE = 500
_TABLES = {
    "form": "CREATE TABLE form(name TEXT PRIMARY KEY) WITHOUT ROWID",
    "words": "CREATE TABLE words(id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, words TEXT NOT NULL)",
    "facts": "CREATE TABLE facts(id INTEGER PRIMARY KEY, body BLOB NOT NULL)",
    "sought": "CREATE TABLE sought(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE,"
    " listed_at INTEGER NOT NULL, digests TEXT NOT NULL)",
}
"""The tables. Words are stored apart from facts, so that a search for a word reads no facts."""


class FactFiles:
    """The fact files of all projects."""

    def __init__(self, home: str) -> None:
        self._directory = os.path.join(home, "data", "cache", "facts")

    @contextmanager
    def open_view(self, project: str, form: str) -> Iterator[FactView]:
        path = os.path.join(
            self._directory, hashlib.sha256(os.fsencode(project)).hexdigest()[:32] + ".sqlite"
        )
        connection = self._open(path, form)
        if connection is None:
            yield NothingKept()
            return
        view = SqliteView(connection)
        try:
            yield view
        finally:
            connection.close(True)
            if view.is_broken:
                _remove(path)
        self._remove_oldest()

    def _open(self, path: str, form: str) -> apsw.Connection | None:
        try:
            ensure_private_directory(self._directory)
            with suppress(OSError):
                if os.stat(path).st_size > MOST_FACT_BYTES:
                    _remove(path)
            # SQLite would make it readable for everybody; its other files copy these permissions.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
            return _connect(path, form)
        except (apsw.CorruptError, apsw.NotADBError):
            _remove(path)
        except (apsw.Error, OSError, UnicodeError):
            return None
        return None

    def _remove_oldest(self) -> None:
        with suppress(OSError):
            found = [
                (entry.stat().st_mtime_ns, entry.path)
                for entry in os.scandir(self._directory)
                if entry.name.endswith(".sqlite")
            ]
            for _, path in sorted(found)[:-MOST_FACT_PROJECTS]:
                _remove(path)


class SqliteView:
    """One open file. If it cannot be used, it acts as an empty one."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self.is_broken = False

    def find_kept(self) -> frozenset[str]:
        return self._keys("SELECT key FROM words", ())

    def find_with(self, word: str) -> frozenset[str]:
        return self._keys("SELECT key FROM words WHERE instr(words, ?) > 0", (word,))

    def find_sought(self, text: str) -> Sought | None:
        for listed_at, digests in self._rows("SELECT listed_at, digests FROM sought WHERE text = ?", (text,)):
            return Sought(listed_at=listed_at, digests=frozenset(digests.split("\n")))
        return None

    def keep_sought(self, text: str, sought: Sought) -> None:
        digests = "\n".join(sought.digests)
        if len(digests) > MOST_SOUGHT_BYTES or self.is_broken:
            return
        with self._guarded(), self._connection:
            self._connection.execute(
                "INSERT OR REPLACE INTO sought(text, listed_at, digests) VALUES (?, ?, ?)",
                (text, sought.listed_at, digests),
            )
            self._connection.execute(
                "DELETE FROM sought WHERE id NOT IN (SELECT id FROM sought ORDER BY id DESC LIMIT ?)",
                (MOST_SOUGHT,),
            )

    def load(self, keys: Collection[str]) -> Mapping[str, bytes]:
        found: dict[str, bytes] = {}
        asked = sorted(keys)
        for at in range(0, len(asked), _AT_ONCE):
            part = asked[at : at + _AT_ONCE]
            marks = ",".join("?" * len(part))
            rows = self._rows(
                f"SELECT key, body FROM words JOIN facts USING (id) WHERE key IN ({marks})",  # noqa: S608 - only marks
                tuple(part),
            )
            found.update({key: bytes(body) for key, body in rows})
        return found

    def keep(self, facts: Sequence[KeptFacts]) -> None:
        if not facts or self.is_broken:
            return
        with self._guarded(), self._connection:
            for one in facts:
                self._connection.execute(
                    "INSERT OR IGNORE INTO words(key, words) VALUES (?, ?)", (one.key, one.words)
                )
                if self._connection.changes():
                    row = self._connection.last_insert_rowid()
                    self._connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (row, one.body))

    def forget_others(self, count: int, list_keys: Callable[[], Iterable[str]]) -> None:
        kept = self._rows("SELECT count(*) FROM words", ())
        if self.is_broken or not kept or kept[0][0] <= 3 * count + 1_000:
            return
        old = self.find_kept() - set(list_keys())
        with self._guarded(), self._connection:
            for key in old:
                self._connection.execute(
                    "DELETE FROM facts WHERE id = (SELECT id FROM words WHERE key = ?)", (key,)
                )
                self._connection.execute("DELETE FROM words WHERE key = ?", (key,))

    def _keys(self, query: str, values: tuple[str, ...]) -> frozenset[str]:
        return frozenset(str(row[0]) for row in self._rows(query, values))

    def _rows(self, query: str, values: tuple[str, ...]) -> list[tuple[Any, ...]]:
        if not self.is_broken:
            with self._guarded():
                return list(self._connection.execute(query, values))
        return []

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except (apsw.CorruptError, apsw.NotADBError):
            self.is_broken = True
        except (apsw.Error, UnicodeError):  # busy, full, read-only, or text that SQLite does not take
            return


def _connect(path: str, form: str) -> apsw.Connection:
    connection = apsw.Connection(path)
    try:
        connection.set_busy_timeout(_WAIT_MS)
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        if not _has_form(connection, form):
            _start_over(connection, form)
    except apsw.Error:
        connection.close(True)
        raise
    return connection


def _has_form(connection: apsw.Connection, form: str) -> bool:
    """Whether the file is ours and of this form. Raises apsw.NotADBError for a file that is not ours."""
    schema = list(connection.execute("SELECT type, name, sql FROM sqlite_schema"))
    if not schema:
        return False
    made = {name: sql for _, name, sql in schema if name in _TABLES}
    # A view may never end and a trigger may do anything, so neither is allowed.
    if made != _TABLES or any(kind not in ("table", "index") for kind, _, _ in schema):
        raise apsw.NotADBError("it is not of our making")
    return [row[0] for row in connection.execute("SELECT name FROM form")] == [form]


def _start_over(connection: apsw.Connection, form: str) -> None:
    with connection:
        if _has_form(connection, form):  # another process was quicker
            return
        for table, made in _TABLES.items():
            connection.execute(f"DROP TABLE IF EXISTS {table}")
            connection.execute(made)
        connection.execute("INSERT INTO form VALUES (?)", (form,))


def _remove(path: str) -> None:
    for suffix in _SUFFIXES:
        with suppress(OSError):
            os.unlink(path + suffix)
