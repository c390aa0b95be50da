"""The rebuildable index of sessions: one SQLite file under `cache/`, never truth.

It keeps what a caller worked out from a session, and the name, size, times and inode of every file of that
session right before. An entry counts only while these are the same, so a session that went on, was damaged
or was restored from a backup is read again. Whatever is wrong with the index, the log can be read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from hashlib import blake2b

import apsw
import msgspec

from handrail.contract.ids import SessionId, is_session_id
from handrail.event_log.files.disk import make_directory
from handrail.event_log.files.log import FileLog
from handrail.event_log.files.manifest import MANIFEST_NAME
from handrail.event_log.files.upkeep.whole_store import INDEX_FOLDER
from handrail.ports.log import EventReader, SessionStamp
from handrail.ports.store import Entry, Indexed, IndexTrouble

INDEX_NAME = "sessions.sqlite"
_INDEX_FILES = (INDEX_NAME, INDEX_NAME + "-wal", INDEX_NAME + "-shm")
_WAIT_MS = 200
_TABLES = {
    "form": "CREATE TABLE form(name TEXT PRIMARY KEY) WITHOUT ROWID",
    "sessions": "CREATE TABLE sessions("
    "id TEXT PRIMARY KEY, version TEXT NOT NULL, facts BLOB NOT NULL, subjects BLOB NOT NULL)",
    "words": "CREATE VIRTUAL TABLE words USING fts5("
    "text, content='', contentless_delete=1, detail=none, tokenize=\"ascii tokenchars '-_'\")",
}
"""As SQLite keeps them: a file with any other definition is not ours."""


class FileSessionIndex:
    """`ports.store.SessionIndex` over the files of a log that remembers nothing of them."""

    def __init__(self, log: FileLog) -> None:
        self._log = log
        self._folder = f"{log.cache}/{INDEX_FOLDER}"

    @contextmanager
    def open_view(self, form: str) -> Iterator[FileIndexView]:
        """Open the index, and start it over if it has another form. Raises IndexTrouble."""
        connection = None
        try:
            connection = self._connection(form)
            with _translate_errors():
                yield FileIndexView(self._log, connection)
        except IndexTrouble as trouble:
            if trouble.is_broken:
                self._remove()
            raise
        finally:
            if connection is not None:
                connection.close(True)

    def _connection(self, form: str) -> apsw.Connection:
        with _translate_errors():
            make_directory(self._log.disk, self._log.cache)
            make_directory(self._log.disk, self._folder)
            path = f"{self._folder}/{INDEX_NAME}"
            # SQLite would make it readable for everybody; its other files copy these permissions.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
            connection = apsw.Connection(path)
            connection.set_busy_timeout(_WAIT_MS)
            connection.execute("PRAGMA trusted_schema=OFF")
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            if _form_of(connection) != form:
                _start_over(connection, form)
            return connection

    def _remove(self) -> None:
        for name in _INDEX_FILES:
            with suppress(OSError):
                os.unlink(f"{self._folder}/{name}")


class FileIndexView:
    """The index at one moment: every read sees the same state, and `keep` comes last."""

    def __init__(self, log: FileLog, connection: apsw.Connection) -> None:
        self.reader: EventReader = log
        self._log = log
        self._connection = connection
        self._gone: tuple[SessionId, ...] = ()
        """Sessions that are in the index and no longer in the store."""

    def count(self) -> int:
        return len(self._found)

    def look(self, most: int = 0, after: SessionStamp | None = None) -> Sequence[Indexed]:
        del most, after  # who looks at the files of one has looked at those of all
        return self._found

    def find(
        self,
        words: Sequence[str],
        parts: Sequence[str] = (),
        most: int = 0,
        after: SessionStamp | None = None,
    ) -> Sequence[Indexed]:
        del parts, most
        if after is not None:  # the first answer had them all
            return ()
        found = self._found
        having = self.with_words(words) if words else frozenset()
        return [
            msgspec.structs.replace(
                held, lacks_words=held.facts is not None and held.stamp.session_id not in having
            )
            for held in found
        ]

    @cached_property
    def _found(self) -> Sequence[Indexed]:
        with _translate_errors():
            places = dict(_list_sessions(self._log.sessions))
            self._connection.execute("BEGIN")
            kept = {
                session_id: (version, facts)
                for session_id, version, facts in self._connection.execute(
                    "SELECT id, version, facts FROM sessions"
                )
            }
            found = []
            for session_id, (version, order) in places.items():
                known, facts = kept.get(session_id, ("", None))
                if version and known == version:
                    stamp: SessionStamp | None = SessionStamp(session_id=session_id, order=order)
                else:
                    stamp, facts = self._log.stamp(session_id), None
                if stamp is not None:
                    found.append(Indexed(stamp=stamp, version=version, facts=facts))
            self._gone = tuple(SessionId(known) for known in kept if known not in places)
        return sorted(found, key=lambda held: (-held.stamp.order, held.stamp.session_id))

    def with_words(self, words: Sequence[str]) -> frozenset[SessionId]:
        wanted = " AND ".join(f'"{word}"' for word in words)
        with _translate_errors():
            rows = self._connection.execute(
                "SELECT id FROM sessions WHERE rowid IN (SELECT rowid FROM words WHERE words MATCH ?)",
                (wanted,),
            )
            return frozenset(SessionId(row[0]) for row in rows)

    def subjects(self, session_ids: Sequence[SessionId]) -> Mapping[SessionId, bytes]:
        asked = "SELECT id, subjects FROM sessions WHERE id = ?"
        with _translate_errors():
            rows = self._connection.executemany(asked, ((session_id,) for session_id in session_ids))
            return {SessionId(session_id): bytes(kept) for session_id, kept in rows}

    def keep(self, entries: Sequence[Entry]) -> None:
        with _translate_errors():
            if self._connection.in_transaction:
                self._connection.execute("COMMIT")
            with self._connection:
                for session_id in (*self._gone, *(entry.session_id for entry in entries)):
                    self._drop(session_id)
                for entry in entries:
                    row = (entry.session_id, entry.version, entry.facts, entry.subjects)
                    self._connection.execute("INSERT INTO sessions VALUES (?, ?, ?, ?)", row)
                    self._connection.execute(
                        "INSERT INTO words(rowid, text) VALUES (last_insert_rowid(), ?)", (entry.words,)
                    )

    def _drop(self, session_id: SessionId) -> None:
        self._connection.execute(
            "DELETE FROM words WHERE rowid = (SELECT rowid FROM sessions WHERE id = ?)", (session_id,)
        )
        self._connection.execute("DELETE FROM sessions WHERE id = ?", (session_id,))


def _form_of(connection: apsw.Connection) -> str:
    """The form of the rows; empty when the index is new. Raises IndexTrouble."""
    schema = list(connection.execute("SELECT type, name, sql FROM sqlite_schema"))
    if not schema:
        return ""
    made = {name: sql for _, name, sql in schema if name in _TABLES}
    # A view may never end and a trigger may do anything, so neither is allowed.
    if made != _TABLES or any(kind not in ("table", "index") for kind, _, _ in schema):
        raise IndexTrouble("it is not of our making", is_broken=True)
    return next((str(row[0]) for row in connection.execute("SELECT name FROM form")), "")


def _start_over(connection: apsw.Connection, form: str) -> None:
    with connection:
        for table, made in _TABLES.items():
            connection.execute(f"DROP TABLE IF EXISTS {table}")
            connection.execute(made)
        connection.execute("INSERT INTO form VALUES (?)", (form,))


def _list_sessions(sessions: str) -> Iterator[tuple[SessionId, tuple[str, int]]]:
    """Every session directory with the version of its files, and when its manifest was last written."""
    try:
        with os.scandir(sessions) as entries:
            found = [
                (entry.name, entry.path, entry.is_symlink()) for entry in entries if is_session_id(entry.name)
            ]
    except FileNotFoundError:
        return
    for name, path, is_link in found:
        yield SessionId(name), ("", 0) if is_link else _version_of(path)


def _version_of(path: str) -> tuple[str, int]:
    """The version of a session's files, and the time of its manifest; empty when either is uncertain."""
    order, parts = 0, []
    try:
        with os.scandir(path) as entries:
            for entry in entries:  # the lock too: it holds the note
                name, seen = entry.name, entry.stat(follow_symlinks=False)
                parts.append((name, *seen[:3], seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns))
                order = seen.st_mtime_ns if name == MANIFEST_NAME else order
    except OSError:
        return "", 0
    return (blake2b(repr(sorted(parts)).encode(), digest_size=16).hexdigest(), order) if order else ("", 0)


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Turn every error of the index into an IndexTrouble that says whether the file is broken."""
    try:
        yield
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise IndexTrouble(str(error), is_broken=True) from error
    except (apsw.Error, OSError, UnicodeError) as error:  # SQLite accepts no path that is not text
        raise IndexTrouble(str(error)) from error
