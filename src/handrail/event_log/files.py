"""The embedded store: one directory per session, readable with any editor.

`sessions/<session id>/{events-*.jsonl, manifest.jsonl, lock}` and `blobs/<aa>/<sha256>` under one
data directory. The format and what each kind of damage means: docs/explanation/log-format.md.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from handrail.contract.catalogue import SESSION_NOT_HEALTHY
from handrail.contract.ids import BlobRef, SessionId, is_session_id
from handrail.contract.outcome import Fault
from handrail.event_log.blobs import read_blob, write_blobs
from handrail.event_log.commit import no_history, planned, settle, write_commit
from handrail.event_log.disk import Disk, is_refused_link, named_troubles, opened, opened_directory, read_from
from handrail.event_log.history import History, loaded_of, make_sure_durable, read_history
from handrail.event_log.lock import Held, acquire, release
from handrail.event_log.manifest import MANIFEST_NAME, is_begun
from handrail.event_log.plan import check_new, check_plan, check_session_id
from handrail.event_log.segments import SegmentLimits
from handrail.ports import Appended, Blob, Committed, Conflict, Draft, Loaded, Replayed, SessionStamp

_LISTING_BYTES = 64 * 1024
"""How much of a manifest a listing reads: the first line is nearly always within."""


class FileHold:
    """The single writer of one session, for the scope of `FileLog.hold`."""

    def __init__(self, log: FileLog, session_id: SessionId, held: Held) -> None:
        self._log = log
        self._session_id = session_id
        self._held: Held | None = held
        self._seen: History | None = None

    def load(self) -> Loaded | None:
        held = self._current()
        with named_troubles(self._session_id):
            history = self._history(held)
        is_new = history.head == 0 and history.health.state == "healthy"
        return None if is_new else loaded_of(history)

    def load_since(self, index: int) -> Loaded | None:
        assert index >= 0, "events are counted from 0"
        loaded = self.load()
        if loaded is None or index == 0:
            return loaded
        return Loaded(records=loaded.records[index:], head=loaded.head, health=loaded.health)

    def append(self, expected_head: int, plan: Sequence[Draft], blobs: Sequence[Blob] = ()) -> Appended:
        held = self._current()
        check_plan(plan, blobs)
        with named_troubles(self._session_id):
            history = self._history(held)
            _refuse_unsound(self._session_id, history)
            known = {record.dedupe_key: record for record in history.records}
            if plan[0].dedupe_key in known:
                return Replayed(record=known[plan[0].dedupe_key])
            if expected_head != history.head:
                return Conflict(head=history.head)
            check_new(plan, known)
            return self._commit(held, history, plan, blobs)

    def end(self) -> None:
        held, self._held, self._seen = self._held, None, None
        if held is not None:
            release(self._log.disk, held)

    def _current(self) -> Held:
        assert self._held is not None, "a hold is used only within its scope"
        return self._held

    def _history(self, held: Held) -> History:
        """Read once per hold: nobody else can write meanwhile."""
        if self._seen is None:
            disk = self._log.disk
            history = read_history(disk, held.directory, self._session_id)
            if history is not None and history.health.state == "healthy":
                settle(disk, held, history)
            self._seen = history or no_history(self._session_id)
        return self._seen

    def _commit(
        self, held: Held, history: History, plan: Sequence[Draft], blobs: Sequence[Blob]
    ) -> Committed:
        # Forgotten first: whatever interrupts the commit, the next look is at the disk.
        self._seen = None
        pinned = {ref for attestation in history.attested.attestations for ref in attestation.blobs}
        write_blobs(self._log.disk, self._log.blobs, blobs, pinned)
        commit = planned(self._session_id, history, plan, blobs, self._log.limits)
        write_commit(self._log.disk, held, commit)
        self._seen = commit.after
        return Committed(records=commit.after.records[history.head :])


class FileLog:
    """`ports.EventLog` on a local file system. It keeps nothing between calls."""

    def __init__(self, data: str, disk: Disk | None = None, limits: SegmentLimits | None = None) -> None:
        root = os.path.abspath(data)
        self.sessions = f"{root}/sessions"
        self.blobs = f"{root}/blobs"
        self.disk = disk or Disk()
        self.limits = limits or SegmentLimits()

    def load(self, session_id: SessionId) -> Loaded | None:
        return self.load_since(session_id, 0)

    def load_since(self, session_id: SessionId, index: int) -> Loaded | None:
        assert index >= 0, "events are counted from 0"
        if not is_session_id(session_id):
            return None
        with named_troubles(session_id):
            try:
                with opened_directory(self.disk, f"{self.sessions}/{session_id}") as directory:
                    history = read_history(self.disk, directory, session_id, index)
                    if history is not None and history.health.state == "healthy":
                        make_sure_durable(self.disk, directory, history)
            except FileNotFoundError:
                return None
        return None if history is None else loaded_of(history)

    def list_sessions(self) -> Sequence[SessionStamp]:
        with named_troubles():
            try:
                names = self.disk.names(self.sessions)
            except FileNotFoundError:
                return ()
            stamps = [self._stamp(SessionId(name)) for name in names if is_session_id(name)]
        found = [stamp for stamp in stamps if stamp is not None]
        return tuple(sorted(found, key=lambda stamp: (-stamp.order, stamp.session_id)))

    def get_blob(self, ref: BlobRef) -> bytes:
        with named_troubles():
            return read_blob(self.disk, self.blobs, ref)

    @contextmanager
    def hold(self, session_id: SessionId, wait_ms: int) -> Iterator[FileHold]:
        check_session_id(session_id)
        with named_troubles(session_id):
            held = acquire(self.disk, f"{self.sessions}/{session_id}", session_id, wait_ms)
        hold = FileHold(self, session_id, held)
        try:
            yield hold
        finally:
            hold.end()

    def _stamp(self, session_id: SessionId) -> SessionStamp | None:
        """None for what `load` would not show: no commit yet, just deleted, or a link."""
        try:
            with (
                opened_directory(self.disk, f"{self.sessions}/{session_id}") as directory,
                opened(self.disk, MANIFEST_NAME, os.O_RDONLY, directory) as manifest,
            ):
                content = self.disk.read(manifest, _LISTING_BYTES, 0)
                if b"\n" not in content:
                    content = read_from(self.disk, manifest)
                order = self.disk.status(manifest).st_mtime_ns
        except FileNotFoundError:
            return None
        except OSError as error:
            if is_refused_link(error):
                return None
            raise
        return SessionStamp(session_id=session_id, order=order) if is_begun(content) else None


def _refuse_unsound(session_id: SessionId, history: History) -> None:
    health = history.health
    if health.state != "healthy":
        raise Fault(
            SESSION_NOT_HEALTHY,
            f"The stored session is not sound, so nothing is added to it. {health.detail}",
            details={
                "session_id": session_id,
                "health": health.state,
                "reason": health.reason,
                "event_index": history.head,
            },
        )
