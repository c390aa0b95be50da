"""The rebuildable index of sessions: one SQLite file under `cache/`, never authoritative.

It keeps what a caller computed from a session, and the name, size, times and inode of every file of that
session right before. An entry counts only while these are the same, so a session that continued, was damaged
or was restored from a backup is read again. If the index cannot be used, the log can be read.

The list of touched sessions (`touched.py`) names the files to check, so an answer costs what was touched
since the last one and what it shows, not what is stored. Only after a loss of that list, or a start of the
machine, every session is checked. A view collects its findings in memory and writes them at its end: at
once, and only if no other process was faster.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b, sha256
from typing import Any

import apsw
import msgspec

from handrail.contract.ids import SessionId, is_session_id
from handrail.contract.search_terms import Choice
from handrail.event_log.files.disk import make_directory
from handrail.event_log.files.log import LATEST, FileLog
from handrail.event_log.files.manifest import MANIFEST_NAME
from handrail.event_log.files.touched import INDEX_FOLDER, Position
from handrail.ports.log import EventReader, SessionStamp
from handrail.ports.store import Entry, Indexed, IndexTrouble

INDEX_NAME = "sessions-{}.sqlite"
"""Contains the digest of the form, so that two versions of Handrail do not remove each other's index."""
MOST_CHECKED = 256
"""Most sessions of one answer whose files are checked although the list does not name them as touched."""
ALSO_CHECKED = 32
"""Number of other sessions whose files each view checks, so that every outside change is noticed soon."""
_OLD_AFTER_NS = 7 * 24 * 3600 * 10**9
_WAIT_MS = 200
_TABLES = {
    "form": "CREATE TABLE form(name TEXT PRIMARY KEY) WITHOUT ROWID",
    "state": "CREATE TABLE state(number INTEGER NOT NULL, position BLOB NOT NULL)",
    "sessions": "CREATE TABLE sessions("
    "id TEXT PRIMARY KEY, inode INTEGER NOT NULL, activity INTEGER NOT NULL, version TEXT NOT NULL,"
    " known TEXT NOT NULL, facts BLOB NOT NULL, subjects BLOB NOT NULL, about TEXT NOT NULL)",
    "latest": "CREATE INDEX latest ON sessions(activity DESC, id)",
    "unread": "CREATE INDEX unread ON sessions(activity DESC, id) WHERE known IS NOT version",
    "words": "CREATE VIRTUAL TABLE words USING fts5("
    "text, content='', contentless_delete=1, detail=none, tokenize=\"ascii tokenchars '-_~'\")",
}
"""The definitions as SQLite stores them: a file with any other definition is rejected."""
_ROW = "SELECT id, activity, version, CASE WHEN known IS version THEN facts END FROM sessions"
_WINDOW = (
    " AND activity > 0 AND activity <= ? AND (activity < ? OR id > ?) ORDER BY activity DESC, id LIMIT ?"
)
_WITH_PARTS = "SELECT rowid FROM sessions WHERE "
_FROM_ID = (
    "SELECT id FROM sessions WHERE id >= ? ORDER BY id LIMIT ?",
    "SELECT id FROM sessions WHERE id < ? ORDER BY id LIMIT ?",
)
_position_encoder = msgspec.msgpack.Encoder()
_position_decoder = msgspec.msgpack.Decoder(Position)


class FileSessionIndex:
    """`ports.store.SessionIndex` over the files of a log without memory."""

    def __init__(self, log: FileLog) -> None:
        self._log = log
        self._folder = f"{log.cache}/{INDEX_FOLDER}"

    @contextmanager
    def open_view(self, form: str) -> Iterator[FileIndexView]:
        """Open the index of this form. Raise IndexTrouble."""
        connection = None
        try:
            connection = self._connection(form)
            with _translate_errors():
                yield FileIndexView(self._log, connection)
        except IndexTrouble as trouble:
            if trouble.is_broken:
                self._remove(_name_of(form))
            raise
        finally:
            if connection is not None:
                connection.close(True)

    def _connection(self, form: str) -> apsw.Connection:
        with _translate_errors():
            make_directory(self._log.disk, self._log.cache)
            make_directory(self._log.disk, self._folder)
            path = f"{self._folder}/{_name_of(form)}"
            # SQLite would make it readable for everybody; its other files copy these permissions.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
            connection = apsw.Connection(path)
            connection.set_busy_timeout(_WAIT_MS)
            connection.execute("PRAGMA trusted_schema=OFF")
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            if _form_of(connection) != form:
                self._remove_old(_name_of(form))
                _start_over(connection, form)
            return connection

    def _remove(self, name: str) -> None:
        for end in ("", "-wal", "-shm"):
            with suppress(OSError):
                os.unlink(f"{self._folder}/{name}{end}")

    def _remove_old(self, own: str) -> None:
        """Remove indexes of other versions that were not used for a week."""
        before_ns = self._log.disk.now_ns() - _OLD_AFTER_NS
        for name in os.listdir(self._folder):
            path = f"{self._folder}/{name}"
            with suppress(OSError):
                is_old = name.endswith(".sqlite") and os.lstat(path).st_mtime_ns < before_ns
                if is_old and name != own:
                    self._remove(name)


class _Row(msgspec.Struct, frozen=True, kw_only=True):
    """A session as it is on the disk."""

    inode: int = 0
    order: int = 0
    """The order by activity; 0 if `load` does not return the session."""
    version: str = ""
    facts: bytes | None = None


class FileIndexView:
    """The index at one moment: every read sees the same state, and `keep` comes last."""

    def __init__(self, log: FileLog, connection: apsw.Connection) -> None:
        self.reader: EventReader = log
        self._log = log
        self._connection = connection
        self._number = 0
        """Number of the state that this view began with."""
        self._position: Position | None = None
        self._seen: dict[SessionId, _Row | None] = {}
        """Rows that differ from the file; None for a session that is no longer in the store."""
        self._is_checked: set[SessionId] = set()

    def count(self) -> int:
        self._follow()
        with _translate_errors():
            kept = self._one("SELECT count(*) FROM sessions WHERE activity > 0")
            for session_id, row in self._seen.items():
                before = self._one("SELECT count(*) FROM sessions WHERE activity > 0 AND id = ?", session_id)
                kept += (row is not None and row.order > 0) - before
        return kept

    def look(self, most: int = 0, after: SessionStamp | None = None) -> Sequence[Indexed]:
        self._follow()
        return self._current(_ROW + " WHERE true", (), most, after)

    def find(
        self,
        needed: Sequence[Choice],
        parts: Sequence[str] = (),
        most: int = 0,
        after: SessionStamp | None = None,
    ) -> Sequence[Indexed]:
        self._follow()
        chosen, values = ["SELECT rowid FROM sessions INDEXED BY unread WHERE known IS NOT version"], []
        if needed:
            chosen.append("SELECT rowid FROM words WHERE words MATCH ?")
            values.append(_match(needed))
        if parts:
            chosen.append(_WITH_PARTS + " AND ".join("instr(about, ?)" for _ in parts))
            values += parts
        # Without an index the chosen rows are fetched; with one, every row would be compared with them.
        asked = f"{_ROW} NOT INDEXED WHERE rowid IN ({' UNION ALL '.join(chosen)})"
        return self._marked(self._current(asked, tuple(values), most, after), needed)

    def with_word(self, word: str) -> frozenset[SessionId]:
        return self._with_words([(word,)])

    def _with_words(self, needed: Sequence[Choice]) -> frozenset[SessionId]:
        with _translate_errors():
            rows = self._connection.execute(
                "SELECT id FROM sessions WHERE rowid IN (SELECT rowid FROM words WHERE words MATCH ?)",
                (_match(needed),),
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
            if not entries and not self._seen and not self._has_moved:
                return
            self._connection.execute("BEGIN IMMEDIATE")
            with self._connection:
                if self._one("SELECT max(number) FROM state") == self._number:
                    self._write_seen()
                for entry in entries:
                    self._write_entry(entry)
            self._connection.execute("COMMIT")

    # The present state of the files

    def _follow(self) -> None:
        """Read once which sessions were touched since the index was written."""
        if self._position is not None:
            return
        with _translate_errors():
            self._connection.execute("BEGIN")
            number, kept = next(self._connection.execute("SELECT number, position FROM state"))
            self._number = number
            before = _position_decoder.decode(kept) if kept else None
            followed = self._log.touched.follow(before)
            self._position = followed.position
            self._has_moved = followed.position != before
            if followed.sessions is None:
                self._compare_names(is_everything=True)
                return
            self._examine(followed.sessions)
            if not followed.are_names_known:
                self._compare_names()
            place = f"ses_{os.urandom(8).hex()}"
            for asked in _FROM_ID:
                left = ALSO_CHECKED - len(self._is_checked)
                if left > 0:
                    self._check(SessionId(row[0]) for row in self._list(asked, place, left))

    _has_moved = False

    def _compare_names(self, *, is_everything: bool = False) -> None:
        """Find the sessions that came, went or were replaced; or check all."""
        there = dict(_list_names(self._log.sessions))
        kept = {SessionId(row[0]): row[1] for row in self._list("SELECT id, inode FROM sessions")}
        for session_id in kept.keys() - there.keys():
            self._seen[session_id] = None
        new = [one for one, inode in there.items() if kept.get(one) != inode and one not in self._seen]
        self._examine(new)
        if is_everything:
            self._check(one for one in there if one in kept and one not in self._seen)

    def _check(self, session_ids: Iterable[SessionId]) -> None:
        """Compare sessions that were not touched with their files."""
        wanted = [one for one in session_ids if one not in self._is_checked and one not in self._seen]
        self._is_checked.update(wanted)
        asked = "SELECT id, version, activity FROM sessions WHERE id = ?"
        kept = list(self._connection.executemany(asked, ((one,) for one in wanted)))
        for session_id, version, order in kept:
            if version and _version_of(f"{self._log.sessions}/{session_id}").version == version:
                continue
            row = self._read_row(SessionId(session_id))
            if version or row is None or (row.version, row.order) != ("", order):
                self._seen[SessionId(session_id)] = row

    def _examine(self, session_ids: Iterable[SessionId]) -> None:
        self._seen |= {session_id: self._read_row(session_id) for session_id in session_ids}

    def _read_row(self, session_id: SessionId) -> _Row | None:
        row = _version_of(f"{self._log.sessions}/{session_id}")
        stamp = self._log.stamp(session_id)
        if stamp is None and not row.inode:
            return None
        return msgspec.structs.replace(row, order=0 if stamp is None else row.order or stamp.order)

    def _current(
        self, asked: str, values: tuple[object, ...], most: int, after: SessionStamp | None
    ) -> list[Indexed]:
        """Return the sessions of an answer, in order, each as it is on the disk now."""
        window = (LATEST, LATEST, "") if after is None else (after.order, after.order, after.session_id)
        with _translate_errors():
            while True:
                count = len(self._seen)
                rows = self._list(asked + _WINDOW, *values, *window, most + count if most else -1)
                found = [
                    _indexed(SessionId(one), _Row(order=order, version=version, facts=facts))
                    for one, order, version, facts in rows
                    if one not in self._seen
                ]
                for session_id, row in self._seen.items():
                    if row is not None and row.order and _follows(row.order, session_id, after):
                        found.append(_indexed(session_id, row))
                found.sort(key=lambda held: (-held.stamp.order, held.stamp.session_id))
                found = found[:most] if most else found
                self._check(held.stamp.session_id for held in found[:MOST_CHECKED])
                if len(self._seen) == count:
                    return found

    def _marked(self, found: Sequence[Indexed], needed: Sequence[Choice]) -> Sequence[Indexed]:
        """Return the same, with a mark on those that certainly lack one of the words."""
        having = self._with_words(needed) if needed else frozenset()
        return [
            msgspec.structs.replace(
                held, lacks_words=held.facts is not None and held.stamp.session_id not in having
            )
            for held in found
        ]

    # Writing

    def _write_seen(self) -> None:
        for session_id, row in self._seen.items():
            if row is None:
                self._drop(session_id)
            else:
                self._connection.execute(
                    "INSERT INTO sessions VALUES (?, ?, ?, ?, '', '', '', '') ON CONFLICT (id) DO UPDATE SET"
                    " inode = excluded.inode, activity = excluded.activity, version = excluded.version",
                    (session_id, row.inode, row.order, row.version),
                )
        assert self._position is not None, "what was seen came after the list was read"
        position = _position_encoder.encode(self._position)
        self._connection.execute("UPDATE state SET number = number + 1, position = ?", (position,))

    def _write_entry(self, entry: Entry) -> None:
        """Write an entry, but only if the files are those that it was made from."""
        where = (entry.session_id, entry.version)
        found = self._list("SELECT rowid FROM sessions WHERE id = ? AND version = ?", *where)
        if not found:
            return
        row = found[0][0]
        self._connection.execute(
            "UPDATE sessions SET known = version, facts = ?, subjects = ?, about = ? WHERE rowid = ?",
            (entry.facts, entry.subjects, entry.about, row),
        )
        self._connection.execute("DELETE FROM words WHERE rowid = ?", (row,))
        self._connection.execute("INSERT INTO words(rowid, text) VALUES (?, ?)", (row, entry.words))

    def _drop(self, session_id: SessionId) -> None:
        self._connection.execute(
            "DELETE FROM words WHERE rowid = (SELECT rowid FROM sessions WHERE id = ?)", (session_id,)
        )
        self._connection.execute("DELETE FROM sessions WHERE id = ?", (session_id,))

    def _list(self, asked: str, *values: object) -> list[tuple[Any, ...]]:
        return list(self._connection.execute(asked, values))

    def _one(self, asked: str, *values: object) -> int:
        return int(self._list(asked, *values)[0][0])


def _indexed(session_id: SessionId, row: _Row) -> Indexed:
    stamp = SessionStamp(session_id=session_id, order=row.order)
    return Indexed(stamp=stamp, version=row.version, facts=row.facts)


def _follows(order: int, session_id: SessionId, after: SessionStamp | None) -> bool:
    return after is None or (-after.order, after.session_id) < (-order, session_id)


def _match(needed: Sequence[Choice]) -> str:
    return " AND ".join("(" + " OR ".join(f'"{word}"' for word in choice) + ")" for choice in needed)


def _name_of(form: str) -> str:
    return INDEX_NAME.format(sha256(form.encode()).hexdigest()[:16])


def _form_of(connection: apsw.Connection) -> str:
    """Return the form of the rows; empty if the index is new. Raise IndexTrouble."""
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
            kind = "INDEX" if made.startswith("CREATE INDEX") else "TABLE"
            connection.execute(f"DROP {kind} IF EXISTS {table}")
            connection.execute(made)
        connection.execute("INSERT INTO form VALUES (?)", (form,))
        connection.execute("INSERT INTO state VALUES (0, '')")


def _list_names(sessions: str) -> Iterator[tuple[SessionId, int]]:
    """Yield every name that a session may have, with its inode."""
    with suppress(FileNotFoundError), os.scandir(sessions) as entries:
        for entry in entries:
            if is_session_id(entry.name):
                yield SessionId(entry.name), entry.inode()


def _version_of(path: str) -> _Row:
    """Return the version of a session's files and the time of its manifest.

    Both are empty if either is uncertain.
    """
    order, inode, parts = 0, 0, []
    try:
        status = os.lstat(path)
        inode = status.st_ino
        if os.path.islink(path):
            return _Row(inode=inode)
        with os.scandir(path) as entries:
            for entry in entries:  # including the lock file, which has the note
                name, seen = entry.name, entry.stat(follow_symlinks=False)
                parts.append((name, *seen[:3], seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns))
                order = min(seen.st_mtime_ns, LATEST) if name == MANIFEST_NAME else order
    except OSError:
        return _Row(inode=inode)
    if not order:
        return _Row(inode=inode)
    version = blake2b(repr(sorted(parts)).encode(), digest_size=16).hexdigest()
    return _Row(inode=inode, order=order, version=version)


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Turn every error of the index into an IndexTrouble that says whether the file is broken."""
    try:
        yield
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise IndexTrouble(str(error), is_broken=True) from error
    except (apsw.Error, OSError, OverflowError, UnicodeError, msgspec.MsgspecError) as error:
        # SQLite accepts no path that is not text, and no number of more than 63 bits.
        raise IndexTrouble(str(error)) from error
