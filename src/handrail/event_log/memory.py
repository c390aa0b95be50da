"""The store in memory: the port without a disk. For tests and experiments."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from handrail.contract.catalogue import STORE_CORRUPT
from handrail.contract.ids import BlobRef, SessionId
from handrail.contract.outcome import Fault
from handrail.event_log.lines import NOTHING_LISTED
from handrail.event_log.plan import (
    chain_records,
    check_new,
    check_plan,
    check_session_id,
    digest_before,
    refuse_locked,
    session_not_found,
)
from handrail.ports.log import (
    Appended,
    Blob,
    Committed,
    Conflict,
    Draft,
    Loaded,
    Origin,
    Record,
    Remembered,
    Replayed,
    SessionStamp,
)


class MemoryHold:
    """The single writer of one session, for the scope of `MemoryLog.hold`."""

    remembers_from = 2_048

    def __init__(self, log: MemoryLog, session_id: SessionId) -> None:
        self._log = log
        self._session_id = session_id
        self._is_current = True

    def load(self) -> Loaded | None:
        self._check_current()
        return self._log.load(self._session_id)

    def load_since(self, index: int) -> Loaded | None:
        self._check_current()
        return self._log.load_since(self._session_id, index)

    def append(
        self, expected_head: int, plan: Sequence[Draft], blobs: Sequence[Blob] = (), line: str = ""
    ) -> Appended:
        del line  # without a key every event counts as its own
        self._check_current()
        check_plan(plan, blobs)
        records = self._log.records(self._session_id)
        known = {record.dedupe_key: record for record in records}
        if plan[0].dedupe_key in known:
            return Replayed(record=known[plan[0].dedupe_key])
        if expected_head != len(records):
            return Conflict(head=len(records))
        check_new(plan, known)
        added = chain_records(plan, len(records), digest_before(self._session_id, records))
        self._log.store(self._session_id, records + added, blobs)
        return Committed(records=added)

    def remember(self, content: bytes) -> None:
        self._check_current()
        self._log.remember(self._session_id, content)

    def end(self) -> None:
        self._is_current = False

    def _check_current(self) -> None:
        assert self._is_current, "a hold is used only within its scope"


class MemoryLog:
    """`ports.EventLog` in memory, safe to use from several threads."""

    def __init__(self) -> None:
        self.commits = 0
        """Number of committed plans, over all sessions."""
        self._guard = threading.Lock()
        self._locks: dict[SessionId, threading.Lock] = {}
        self._records: dict[SessionId, tuple[Record, ...]] = {}
        self._last_commit: dict[SessionId, int] = {}
        self._blobs: dict[BlobRef, bytes] = {}
        self._remembered: dict[SessionId, Remembered] = {}

    def load(self, session_id: SessionId) -> Loaded | None:
        return self.load_since(session_id, 0)

    def load_since(self, session_id: SessionId, index: int) -> Loaded | None:
        assert index >= 0, "events are counted from 0"
        records = self.records(session_id)
        if not records:
            return None
        return Loaded(records=records[index:], head=len(records), digest=records[-1].digest)

    def recall(self, session_id: SessionId) -> Remembered | None:
        with self._guard:
            return self._remembered.get(session_id)

    def remember(self, session_id: SessionId, content: bytes) -> None:
        """Keep what a hold computed. Only a hold calls it."""
        records = self.records(session_id)
        if records:
            kept = Remembered(head=len(records), digest=records[-1].digest, content=content)
            with self._guard:
                self._remembered[session_id] = kept

    def origin(self, session_id: SessionId, digest: str) -> Origin:
        del session_id, digest
        return NOTHING_LISTED

    def list_sessions(self, most: int = 0) -> Sequence[SessionStamp]:
        with self._guard:
            stamps = [SessionStamp(session_id=name, order=order) for name, order in self._last_commit.items()]
        return tuple(sorted(stamps, key=lambda stamp: (-stamp.order, stamp.session_id)))[: most or None]

    def get_blob(self, ref: BlobRef) -> bytes:
        with self._guard:
            content = self._blobs.get(ref)
        if content is None:
            raise Fault(
                STORE_CORRUPT, f"The blob {ref[:80]} is not in the store.", details={"reason": "missing_blob"}
            )
        return content

    def hold_existing(
        self, session_id: SessionId, wait_ms: int, known: int | None = None
    ) -> AbstractContextManager[MemoryHold]:
        check_session_id(session_id)
        if not self.records(session_id):
            raise session_not_found(session_id)
        return self.hold(session_id, wait_ms, known)

    @contextmanager
    def hold(self, session_id: SessionId, wait_ms: int, known: int | None = None) -> Iterator[MemoryHold]:
        del known
        check_session_id(session_id)
        with self._guard:
            lock = self._locks.setdefault(session_id, threading.Lock())
        if not lock.acquire(timeout=wait_ms / 1000):
            raise refuse_locked(session_id, wait_ms)
        hold = MemoryHold(self, session_id)
        try:
            yield hold
        finally:
            hold.end()
            lock.release()

    def records(self, session_id: SessionId) -> tuple[Record, ...]:
        with self._guard:
            return self._records.get(session_id, ())

    def store(self, session_id: SessionId, records: tuple[Record, ...], blobs: Sequence[Blob]) -> None:
        """Add one commit, visible as a whole. Only a hold calls it."""
        with self._guard:
            self._blobs.update({blob.ref: blob.content for blob in blobs})
            self._records[session_id] = records
            self.commits += 1
            self._last_commit[session_id] = self.commits
