"""The log of sessions in PostgreSQL: `ports.EventLog`, with the bytes and the chain that files have.

The problem: many machines share one database. Each of them, the way to it, or the database itself may go
away between any two bytes. An acknowledged event must stay, one that was not acknowledged must not be
counted twice, and an advance should wait for the database as rarely as possible.

The idea: a hold is a transaction that has locked the row of its session, and the same trip brings the events
that its caller lacks. A commit sends blobs, events, the new head and COMMIT in one trip. So an advance is
two trips, and nothing but that tail is read under the lock.

The invariants: the row of a session says how many events it has, and only a transaction that has locked the
row adds any; both change in one transaction. The chain is worked out again whenever events are read. A
commit whose answer did not arrive is never guessed at: the row is locked again, which waits until the
database has finished with the first try, and then the dedupe key tells what became of it.

What would break it: looking for the key without the lock (the first try may still be about to commit);
`now()` in place of `clock_timestamp()` (a transaction begins long before it commits); reading head and
events in two statements without the lock (a commit in between looks like damage).

The lock ends with a commit. A hold that goes on takes it again, and if somebody else was quicker, answers
`Conflict` from then on, as the port says.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, TypeAlias

import msgspec
import psycopg
from psycopg import errors

from handrail.contract.catalogue import KEYRING_INVALID, STORE_CORRUPT
from handrail.contract.ids import BlobRef, SessionId, blob_ref, is_session_id
from handrail.contract.json.canonical import chain_digest, genesis
from handrail.contract.outcome import Fault
from handrail.contract.wording import quote
from handrail.event_log.lines import LINE, NOTHING_LISTED, CommitPlace, is_line_of, make_line
from handrail.event_log.plan import (
    chain_records,
    check_new,
    check_plan,
    check_session_id,
    refuse_locked,
    refuse_unsound,
    session_not_found,
)
from handrail.ports.log import (
    Appended,
    Blob,
    Committed,
    Conflict,
    Draft,
    Health,
    HealthReason,
    Loaded,
    Origin,
    Record,
    Remembered,
    Replayed,
    SessionStamp,
)
from handrail_team.store.database import (
    Database,
    Link,
    is_lost,
    settle,
)
from handrail_team.store.migrations import SCOPE
from handrail_team.store.open_runs import OpenRuns
from handrail_team.store.store_key import TeamStoreKey

EVERYTHING: Final = 1 << 62
"""More events than a session can have."""
_DIGEST = "SELECT digest FROM handrail.events WHERE session_id = %s AND event_index = %s"
_KEPT_SECONDS: Final = 60
"""How long a small blob stays cached: content never changes under its digest."""
_MOST_KEPT: Final = 64
_LARGEST_KEPT_BYTES: Final = 256 * 1024

BLOB: Final = "SELECT content FROM handrail.blobs WHERE ref = %s"
_EVENTS = (
    "SELECT event_index, dedupe_key, body, digest, commit_first, line FROM handrail.events"
    " WHERE session_id = %s AND event_index >= %s ORDER BY event_index"
)
_SESSION_AND_EVENTS = (
    "SELECT s.head, s.digest, e.event_index, e.dedupe_key, e.body, e.digest, e.commit_first, e.line"
    " FROM handrail.sessions s"
    " LEFT JOIN handrail.events e"
    " ON e.session_id = s.session_id AND e.event_index >= %s AND e.event_index < s.head"
    " WHERE s.session_id = %s AND s.head > 0 ORDER BY e.event_index"
)
_SCOPE_AND_PATIENCE = f"{SCOPE}, set_config('lock_timeout', %s, true)"
_NEW_SESSION = (
    "INSERT INTO handrail.sessions (session_id, head, digest, stamp) VALUES (%s, 0, %s, 0)"
    " ON CONFLICT (session_id, workspace) DO NOTHING"
)
_LOCK = "SELECT head, digest FROM handrail.sessions WHERE session_id = %s FOR UPDATE"
# The update locks a blob that is there already, so that a collection which is about to remove it waits and
# then finds it young; the condition keeps most of them from being written again.
_BLOBS = (
    "INSERT INTO handrail.blobs (ref, content) SELECT * FROM unnest(%s::text[], %b::bytea[])"
    " ON CONFLICT (workspace, ref) DO UPDATE SET touched = excluded.touched"
    " WHERE handrail.blobs.touched < excluded.touched - interval '10 minutes'"
)
_PINS = (
    "INSERT INTO handrail.session_blobs (session_id, commit_first, place, ref)"
    " SELECT %s::text, %s::bigint, place, ref FROM unnest(%s::text[]) WITH ORDINALITY AS named(ref, place)"
)
_ADD = (
    "INSERT INTO handrail.events (session_id, event_index, commit_first, dedupe_key, body, digest, line)"
    " SELECT %s::text, i, %s::bigint, k, b, d, CASE WHEN i = %s::bigint THEN %s::text END"
    " FROM unnest(%s::bigint[], %s::text[], %b::bytea[], %s::text[]) AS new(i, k, b, d)"
)
_MOVE = (
    "UPDATE handrail.sessions SET head = %s, digest = %s, counted = %s,"
    " open_runs = coalesce(%s::text[], open_runs),"
    " stamp = (extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 1000 WHERE session_id = %s"
)
_ADD_NOTICES = (
    "INSERT INTO handrail.outbox (id, due, body) SELECT n, 0, b"
    " FROM unnest(%s::text[], %b::bytea[]) AS new(n, b) ON CONFLICT DO NOTHING"
)
# A session that is removed meanwhile leaves nothing.
_REMEMBER = (
    "INSERT INTO handrail.folded (session_id, head, digest, content)"
    " SELECT session_id, %s, %s, %b FROM handrail.sessions WHERE session_id = %s"
    " ON CONFLICT (session_id, workspace) DO UPDATE SET head = excluded.head, digest = excluded.digest,"
    " content = excluded.content WHERE handrail.folded.head <= excluded.head"
)
_RECALL = "SELECT head, digest, content FROM handrail.folded WHERE session_id = %s"
_OF_KEY = (
    "SELECT event_index, dedupe_key, body, digest FROM handrail.events"
    " WHERE session_id = %s AND dedupe_key = %s"
)


Guard: TypeAlias = Callable[[Link], None]
"""Called in the transaction of every commit, under the lock; raises Fault to prevent the commit."""
Outward: TypeAlias = Callable[[SessionId, Sequence[Record]], Sequence[tuple[str, bytes]]]
"""Returns the notices of a commit by id; they go into the same transaction."""


def no_notices(session_id: SessionId, records: Sequence[Record]) -> Sequence[tuple[str, bytes]]:
    """Return no notices."""
    del session_id, records
    return ()


class TeamHold:
    """The single writer of one session, for the scope of `TeamLog.hold`."""

    remembers_from = 256

    def __init__(
        self, log: TeamLog, session_id: SessionId, wait_ms: int, guard: Guard | None, *, is_new: bool
    ) -> None:
        self._log = log
        self._database = log.database
        self._session_id = session_id
        self._wait_ms = wait_ms
        self._guard = guard
        self._is_new = is_new
        """Whether a missing session is created."""
        self._link: Link | None = None
        self._is_current = True
        self._head = Head(head=0, digest=genesis(session_id))
        self._tail: tuple[int, Loaded] | None = None
        """What was last read under the lock, and the index at which it begins."""
        self._is_locked = False

    def load(self) -> Loaded | None:
        return self.load_since(0)

    def load_since(self, index: int) -> Loaded | None:
        self._check_current()
        assert index >= 0, "events are counted from 0"
        return self._loaded(index)

    def append(
        self, expected_head: int, plan: Sequence[Draft], blobs: Sequence[Blob] = (), line: str = ""
    ) -> Appended:
        self._check_current()
        check_plan(plan, blobs)
        sign = self._log.sign(self._session_id, plan, line)
        for _ in range(2):
            self._require_sound()
            if expected_head != self._head.head:
                known = self._find(plan[0].dedupe_key)
                return Conflict(head=self._head.head) if known is None else Replayed(record=known)
            records = chain_records(plan, self._head.head, self._head.digest)
            written = sign(records)
            records = self._log.judge(self._session_id, records, written)
            if self._commit(records, blobs, written):
                return Committed(records=records)
            known = self._find(plan[0].dedupe_key)
            if known is not None and known.digest == records[0].digest:
                return Committed(records=records)
            if known is not None:
                return Replayed(record=known)
            check_new(plan, [one.dedupe_key for one in plan if self._find(one.dedupe_key)])
        raise self._database.fault_of(psycopg.OperationalError("the connection was lost twice"))

    def remember(self, content: bytes) -> None:
        """Store the folded state for other processes, in a transaction that does not wait for the disk."""
        self._check_current()
        link, head = self._link, self._head
        if link is None or self._is_locked:
            return
        try:
            with link.pipeline():
                link.execute("BEGIN")
                link.execute(SCOPE, (self._database.scope,))
                link.execute("SET LOCAL synchronous_commit = off")
                link.execute(_REMEMBER, (head.head, head.digest, content, self._session_id))
                link.execute("COMMIT")
        except psycopg.Error:  # a cache only saves time, and the commit before it stands
            self._drop()

    def lock(self, known: int | None) -> None:
        """Wait for the row, and read the events after the `known` ones in the same round trip."""
        for is_retry in (False, True):
            link, was_new = self._database.take(is_new=is_retry)
            try:
                self._lock_on(link, known)
                self._link = link
                return
            except psycopg.Error as error:
                if was_new or not is_lost(link, error):
                    raise self._refusal(error) from error
            finally:
                if self._link is None:
                    self._give_up(link)

    def end(self) -> None:
        self._is_current = False
        self._drop()

    def _check_current(self) -> None:
        assert self._is_current, "a hold is used only within its scope"

    def _lock_on(self, link: Link, known: int | None) -> None:
        self._database.make(link)
        link.patience_s = self._database.patience_s + self._wait_ms / 1000
        tail: psycopg.Cursor[tuple[Any, ...]] | None = None
        with link.pipeline():
            link.execute("BEGIN")
            link.execute(_SCOPE_AND_PATIENCE, (self._database.scope, str(max(1, self._wait_ms))))
            if self._is_new:
                link.execute(_NEW_SESSION, (self._session_id, genesis(self._session_id)))
            row = link.execute(_LOCK, (self._session_id,))
            if known is not None:
                tail = link.execute(_EVENTS, (self._session_id, max(0, known - 1)), binary=True)
        found = row.fetchone()
        if found is None:
            raise session_not_found(self._session_id)
        if self._guard is not None:
            self._guard(link)
        self._is_locked = True
        self._head = Head(head=found[0], digest=found[1])
        self._tail = None if tail is None or known is None else (known, self._prove(tail, known))

    def _refusal(self, error: psycopg.Error) -> Fault:
        if not isinstance(error, errors.LockNotAvailable):
            return self._database.fault_of(error)
        return refuse_locked(self._session_id, self._wait_ms)

    def _current_link(self) -> Link:
        """Return the connection with the lock; takes it again after a commit or a lost connection."""
        if self._link is None or not self._is_locked:
            self._drop()
            self.lock(self._head.head)
        assert self._link is not None, "it was locked just now"
        return self._link

    def _loaded(self, index: int) -> Loaded | None:
        link = self._current_link()
        if self._head.head == 0:
            return None
        if self._tail is not None:
            first, loaded = self._tail
            is_here = loaded.health.state == "healthy" and first <= index
            if is_here or first == index:
                return _drop_before(loaded, index)
        try:
            rows = link.execute(_EVENTS, (self._session_id, max(0, index - 1)), binary=True)
        except psycopg.Error as error:
            self._drop()
            raise self._database.fault_of(error) from error
        self._tail = (index, self._prove(rows, index))
        return self._tail[1]

    def _prove(self, rows: psycopg.Cursor[tuple[Any, ...]], index: int) -> Loaded:
        records = self._log.read_records(self._session_id, list(rows))
        return prove(self._session_id, self._head, records, index)

    def _require_sound(self) -> None:
        """Raise Fault SESSION_NOT_HEALTHY unless the events read, or at least the last one, are proven."""
        self._current_link()
        if self._tail is None and self._head.head:
            self._loaded(self._head.head)
        if self._tail is not None and self._head.head and self._tail[1].health.state != "healthy":
            hint = "Restore the database from a backup, or go on in a new session."
            raise refuse_unsound(self._session_id, self._tail[1].head, self._tail[1].health, hint)

    def _find(self, key: str) -> Record | None:
        """Return the event with a dedupe key, read under the lock."""
        link = self._current_link()
        try:
            row = link.execute(_OF_KEY, (self._session_id, key), binary=True).fetchone()
        except psycopg.Error as error:
            self._drop()
            raise self._database.fault_of(error) from error
        return None if row is None else _record(row)

    def _commit(self, records: Sequence[Record], blobs: Sequence[Blob], line: str) -> bool:
        """Whether the commit is durable; False if the key was known or the database did not answer."""
        link = self._current_link()
        first, last = records[0].index, records[-1]
        counting, under_way = self._log.open_runs, None
        try:
            if counting is not None:
                under_way = counting.after(self._session_id, records)
                counting.require_room(link, self._session_id, records, under_way, self._log.load)
            self._is_locked = False  # whatever comes of it, the transaction ends here
            with link.pipeline():
                if blobs:
                    contents = {blob.ref: blob.content for blob in blobs}
                    refs = sorted(contents)  # in one order everywhere: two commits cannot wait for each other
                    link.execute(_BLOBS, (refs, [contents[ref] for ref in refs]))
                    link.execute(_PINS, (self._session_id, first, list(contents)))
                link.execute(
                    _ADD,
                    (
                        self._session_id,
                        first,
                        last.index,
                        line or None,
                        [record.index for record in records],
                        [record.dedupe_key for record in records],
                        [record.body for record in records],
                        [record.digest for record in records],
                    ),
                )
                if notices := self._log.outward(self._session_id, records):
                    names, bodies = [name for name, _ in notices], [body for _, body in notices]
                    link.execute(_ADD_NOTICES, (names, bodies))
                counted = -1 if under_way is None else last.index + 1
                link.execute(_MOVE, (last.index + 1, last.digest, counted, under_way, self._session_id))
                link.execute("COMMIT")
        except psycopg.Error as error:
            is_unknown = is_lost(link, error) or isinstance(error, errors.UniqueViolation)
            self._drop()
            if is_unknown:
                return False
            raise self._database.fault_of(error) from error
        self._head = Head(head=last.index + 1, digest=last.digest)
        self._tail = (last.index + 1, Loaded(records=(), head=last.index + 1, digest=last.digest))
        self._is_new = False
        return True

    def _drop(self) -> None:
        """Release the connection, and with it the lock."""
        link, self._link = self._link, None
        self._is_locked = False
        if link is not None:
            self._give_up(link)

    def _give_up(self, link: Link) -> None:
        settle(link)
        self._database.give(link)


class TeamLog:
    """`ports.EventLog` in a database; caches only small blobs, for a minute."""

    def __init__(
        self,
        database: Database,
        outward: Outward = no_notices,
        open_runs: OpenRuns | None = None,
        key: TeamStoreKey | None = None,
    ) -> None:
        """`open_runs` has the limit of runs in progress; None means no limit. Without a `key` every commit
        counts as made by this store.
        """
        self.key = key
        self.database = database
        self.outward = outward
        self.open_runs = open_runs
        self._kept: dict[BlobRef, tuple[float, bytes]] = {}

    def load(self, session_id: SessionId) -> Loaded | None:
        return self.load_since(session_id, 0)

    def load_since(self, session_id: SessionId, index: int) -> Loaded | None:
        assert index >= 0, "events are counted from 0"
        if not is_session_id(session_id):
            return None
        rows = self.database.fetch(_SESSION_AND_EVENTS, (max(0, index - 1), session_id))
        if not rows:
            return None
        records = self.read_records(session_id, [row[2:] for row in rows if row[2] is not None])
        return prove(session_id, Head(head=rows[0][0], digest=rows[0][1]), records, index)

    def recall(self, session_id: SessionId) -> Remembered | None:
        rows = self.database.fetch(_RECALL, (session_id,)) if is_session_id(session_id) else []
        return None if not rows else Remembered(head=rows[0][0], digest=rows[0][1], content=bytes(rows[0][2]))

    def origin(self, session_id: SessionId, digest: str) -> Origin:
        del digest
        if self.key is None:
            return NOTHING_LISTED
        if self.key.read() is None:  # nothing differs from anything
            return Origin(listed=EVERYTHING)
        row = self.key.find_listed(session_id)
        if row is None or self.database.fetch(_DIGEST, (session_id, row.events - 1)) != [(row.digest,)]:
            return NOTHING_LISTED
        return Origin(listed=row.events, is_adopted=self.key.is_adopted())

    def sign(
        self, session_id: SessionId, plan: Sequence[Draft], line: str
    ) -> Callable[[Sequence[Record]], str]:
        """Return the function that signs commits; the first commit of a store makes the key.

        Raises Fault KEYRING_INVALID if an event must be signed and the key cannot be used.
        """
        line = line if LINE.fullmatch(line) else ""
        vouched = {draft.vouched for draft in plan}
        if self.key is None:
            return lambda _: line
        try:
            key = self.key.ensure()
        except Fault as fault:
            if "needed" in vouched or fault.kind is not KEYRING_INVALID:
                raise
            return lambda _: line
        if vouched == {""}:
            return lambda _: line
        return lambda records: make_line(key, _place_of(session_id, records[0].index, records[-1]))

    def judge(self, session_id: SessionId, records: Sequence[Record], line: str) -> tuple[Record, ...]:
        """Return the records of one commit, and whether this store made it."""
        key = None if self.key is None else self.key.read()
        place = _place_of(session_id, records[0].index, records[-1])
        is_ours = self.key is None or (key is not None and is_line_of(key, line, place))
        return tuple(records if is_ours else (msgspec.structs.replace(one, is_ours=False) for one in records))

    def read_records(self, session_id: SessionId, rows: Sequence[Sequence[Any]]) -> list[Record]:
        """Return the records of rows that end with a commit, each with whether this store made it."""
        records = [_record(row[:4]) for row in rows]
        if self.key is None:
            return records
        ours = {
            row[4]
            for row, record in zip(rows, records, strict=True)
            if row[5] and self._is_ours(session_id, row[4], record, row[5])
        }
        return [
            record if row[4] in ours else msgspec.structs.replace(record, is_ours=False)
            for row, record in zip(rows, records, strict=True)
        ]

    def _is_ours(self, session_id: SessionId, first: int, last: Record, line: str) -> bool:
        key = None if self.key is None else self.key.read()
        return key is not None and is_line_of(key, line, _place_of(session_id, first, last))

    def list_sessions(self, most: int = 0) -> Sequence[SessionStamp]:
        asked = "SELECT session_id, stamp FROM handrail.sessions WHERE head > 0"
        if most:
            rows = self.database.fetch(f"{asked} ORDER BY stamp DESC, session_id LIMIT %s", (most,))
        else:
            rows = self.database.fetch(asked)
        stamps = [SessionStamp(session_id=SessionId(name), order=order) for name, order in rows]
        return tuple(sorted(stamps, key=lambda stamp: (-stamp.order, stamp.session_id)))

    def get_blob(self, ref: BlobRef) -> bytes:
        kept = self._kept.get(ref)
        if kept is not None and time.monotonic() - kept[0] < _KEPT_SECONDS:
            return kept[1]
        rows = self.database.fetch(BLOB, (ref,))
        if not rows:
            message = f"The blob {quote(ref[:80])} is not in the store."
            raise Fault(STORE_CORRUPT, message, details={"reason": "missing_blob"})
        content = bytes(rows[0][0])
        if blob_ref(content) != ref:
            message = f"The blob {quote(ref[:80])} does not have the content that it is named by."
            raise Fault(STORE_CORRUPT, message, details={"reason": "digest_mismatch"})
        if len(content) <= _LARGEST_KEPT_BYTES:
            if len(self._kept) >= _MOST_KEPT:
                with suppress(KeyError, StopIteration, RuntimeError):  # another thread was quicker
                    del self._kept[next(iter(self._kept))]
            self._kept[ref] = (time.monotonic(), content)
        return content

    @contextmanager
    def hold(
        self, session_id: SessionId, wait_ms: int, known: int | None = None, guard: Guard | None = None
    ) -> Iterator[TeamHold]:
        check_session_id(session_id)
        with self._scope(TeamHold(self, session_id, wait_ms, guard, is_new=True), known) as hold:
            yield hold

    @contextmanager
    def hold_existing(
        self, session_id: SessionId, wait_ms: int, known: int | None = None, guard: Guard | None = None
    ) -> Iterator[TeamHold]:
        check_session_id(session_id)
        with self._scope(TeamHold(self, session_id, wait_ms, guard, is_new=False), known) as hold:
            yield hold

    @contextmanager
    def _scope(self, hold: TeamHold, known: int | None) -> Iterator[TeamHold]:
        with self.database.translate_errors():
            hold.lock(known)
        try:
            yield hold
        finally:
            hold.end()


def _place_of(session_id: SessionId, first: int, last: Record) -> CommitPlace:
    return CommitPlace(session_id=session_id, first=first, last=last.index, head=last.digest)


def _record(row: Sequence[Any]) -> Record:
    index, key, body, digest = row
    return Record(index=index, dedupe_key=key, body=bytes(body), digest=digest)


def _drop_before(loaded: Loaded, index: int) -> Loaded:
    records = tuple(record for record in loaded.records if record.index >= index)
    return Loaded(records=records, head=loaded.head, digest=loaded.digest, health=loaded.health)


# Rows, proven: the chain of digests is worked out again from what was read


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """The row of a session: the number of its events, and the chain digest after them."""

    head: int
    digest: str


def prove(session_id: str, head: Head, rows: Sequence[Record], index: int) -> Loaded:
    """Return the proven events from `index` on. `rows` begin with the previous one, to which the first is
    chained.
    """
    begin = max(0, index - 1)
    if begin >= head.head and not rows:
        return Loaded(records=(), head=head.head, digest=head.digest)
    digest, proven = genesis(session_id), begin
    for row in rows:
        if row.index != proven:
            return _damaged(rows, index, proven, "non_contiguous")
        is_anchor = row.index == begin and begin > 0
        digest = row.digest if is_anchor else chain_digest(digest, row.dedupe_key, row.body)
        if digest != row.digest:
            return _damaged(rows, index, proven, "digest_mismatch")
        proven += 1
    if proven < head.head:
        return _damaged(rows, index, proven, "history_lost")
    if digest != head.digest:
        return _damaged(rows, index, proven - 1, "digest_mismatch")
    return Loaded(records=_from(rows, index, proven), head=head.head, digest=digest)


def _damaged(rows: Sequence[Record], index: int, proven: int, reason: HealthReason) -> Loaded:
    return Loaded(records=_from(rows, index, proven), head=proven, health=_describe(reason, proven))


def _from(rows: Sequence[Record], index: int, end: int) -> tuple[Record, ...]:
    return tuple(row for row in rows if index <= row.index < end)


def _describe(reason: HealthReason, proven: int) -> Health:
    if proven == 0:
        return Health(state="corrupt_head", reason=reason, detail="No event of the session can be proven.")
    lost = "Work that was acknowledged is not in the database any more. " if reason == "history_lost" else ""
    detail = f"{lost}Events 0 to {proven - 1} are proven; event {proven} is not."
    return Health(state="corrupt_tail", reason=reason, detail=detail)
