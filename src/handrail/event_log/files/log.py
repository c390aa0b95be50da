"""The embedded store: one directory per session, readable with any editor.

`sessions/<session id>/{events-*.jsonl, manifest.jsonl, lock}` and `blobs/<aa>/<sha256>` under one
data directory. The format and what each kind of damage means: docs/explanation/log-format.md.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import msgspec

from handrail.contract.catalogue import SESSION_NOT_HEALTHY
from handrail.contract.ids import BlobRef, SessionId, is_session_id
from handrail.contract.outcome import Fault
from handrail.event_log.files.cache import (
    Look,
    Warm,
    WriterMemory,
    is_left_by_writers,
    look_after,
    look_at,
    read_recollection,
    write_recollection,
)
from handrail.event_log.files.commit import (
    Held,
    LostEvents,
    Note,
    acquire,
    acquire_existing,
    is_current,
    noted,
    planned,
    read_note,
    release,
    settle,
    write_commit,
)
from handrail.event_log.files.disk import (
    OUT_OF_FILES,
    Disk,
    named_troubles,
    opened,
    opened_directory,
    read_blob,
    read_from,
    write_blobs,
)
from handrail.event_log.files.history import (
    History,
    loaded_of,
    make_sure_durable,
    pins_of,
    read_after,
    read_history,
    read_manifest,
    scan,
    since,
)
from handrail.event_log.files.manifest import MANIFEST_NAME, before_first, holds, is_begun, trouble
from handrail.event_log.files.segments import SegmentLimits
from handrail.event_log.plan import check_new, check_plan, check_session_id, not_there
from handrail.ports.log import (
    Appended,
    Blob,
    Committed,
    Conflict,
    Draft,
    Health,
    Loaded,
    Record,
    Remembered,
    Replayed,
    SessionStamp,
)

_LISTING_BYTES = 64 * 1024
"""How much of a manifest a listing reads: the first line is nearly always within."""


class FileHold:
    """The single writer of one session, for the scope of `FileLog.hold`."""

    def __init__(self, log: FileLog, session_id: SessionId, held: Held) -> None:
        self._log = log
        self._session_id = session_id
        self._held: Held | None = held
        self._memory: WriterMemory | None = None
        self._note: Note | None = None
        """Of the disk, whenever what is known was compared with it."""
        self._tail: tuple[int, tuple[Record, ...]] | None = None
        """The events from some index up to what is known, as they were just read."""
        self._look: Look | None = None
        """Of the files, before they were read or after they were written here."""

    def load(self) -> Loaded | None:
        held = self._current()
        with named_troubles(self._session_id):
            history = self._read_all(held)
        return None if history is None else loaded_of(history)

    def load_since(self, index: int) -> Loaded | None:
        assert index >= 0, "events are counted from 0"
        if index == 0:
            return self.load()
        held = self._current()
        with named_troubles(self._session_id):
            unsound = self._unsound(held)
            tip = None if self._memory is None else self._memory.tip
            if tip is not None and self._tail is not None and self._tail[0] <= index <= tip.head:
                first, records = self._tail
                return Loaded(records=records[index - first :], head=tip.head, digest=tip.digest)
            history = unsound or read_since(self._log, held.directory, self._session_id, index, self._note)
        return None if history is None else loaded_of(since(history, index))

    def append(self, expected_head: int, plan: Sequence[Draft], blobs: Sequence[Blob] = ()) -> Appended:
        held = self._current()
        check_plan(plan, blobs)
        with named_troubles(self._session_id):
            unsound = self._unsound(held)
            if unsound is not None:
                raise _not_healthy(self._session_id, unsound.head, unsound.health)
            memory = self._memory
            assert memory is not None, "a sound session has been read"
            known = memory.keys.get(plan[0].dedupe_key)
            if known is not None:
                return Replayed(record=self._record(held, known))
            if expected_head != memory.tip.head:
                return Conflict(head=memory.tip.head)
            check_new(plan, memory.keys)
            return self._commit(held, memory, plan, blobs)

    def remember(self, content: bytes) -> None:
        held = self._current()
        memory = self._memory
        if memory is not None and memory.tip.last is not None:
            log = self._log
            with suppress(OSError):  # it would only have saved time
                write_recollection(log.disk, log.cache, self._session_id, held.directory, memory.tip, content)

    def end(self) -> None:
        held, self._held = self._held, None
        memory, self._memory = self._memory, None
        if held is not None:
            if memory is not None:
                self._log.warm.writers.put(self._session_id, memory, weight=len(memory.keys))
            release(self._log.disk, held)

    def _current(self) -> Held:
        assert self._held is not None, "a hold is used only within its scope"
        return self._held

    def _read_all(self, held: Held) -> History | None:
        """The whole session from disk, proven; it replaces what was known."""
        self._memory = self._tail = None
        disk = self._log.disk
        self._note = noted(disk, held.lock)
        self._look = look_at(disk, held.directory)
        history = read_history(disk, held.directory, self._session_id, self._note)
        self._log.saw(self._session_id, history, self._look)
        if history is not None and history.health.state != "healthy":
            return history
        tip = before_first(self._session_id) if history is None else history.attested.tip
        self._note = settle(disk, held, tip, self._note)
        self._memory = WriterMemory(
            tip=tip,
            keys={} if history is None else {record.dedupe_key: record.index for record in history.records},
            pinned=set() if history is None else pins_of(history.attested.attestations),
        )
        self._tail = None if history is None else (0, history.records)
        return history

    def _unsound(self, held: Held) -> History | None:
        """Bring what is known up to date, once per hold: nobody else can write meanwhile.

        What was read is given back only when it is not sound.
        """
        if self._memory is None:
            known = self._log.warm.writers.take(self._session_id) or self._scanned(held)
            self._memory = None if known is None else self._caught_up(held, known)
        if self._memory is not None:
            return None
        history = self._read_all(held)
        return None if history is None or history.health.state == "healthy" else history

    def _scanned(self, held: Held) -> WriterMemory | None:
        """What a holder must know, from the bytes up to a tip that was proven here a moment ago."""
        tip = self._log.warm.latest_tip(self._session_id)
        if tip is None or not holds(tip, read_manifest(self._log.disk, held.directory, tip.start)):
            return None
        known = scan(self._log.disk, held.directory, tip)
        return None if known is None else WriterMemory(tip=tip, keys=known[0], pinned=known[1])

    def _caught_up(self, held: Held, known: WriterMemory) -> WriterMemory | None:
        """What was known, with what others committed since; None when it is not so any more."""
        if known.tip.last is None:
            return None
        disk = self._log.disk
        self._note = noted(disk, held.lock)
        self._look = self._log.believed(self._session_id, held.directory)
        if self._look is None:
            return None
        history = read_after(disk, held.directory, known.tip, self._note)
        if history is None:
            return None
        tip = history.attested.tip
        if history.records:
            self._log.warm.saw(self._session_id, tip, self._look)
        self._note = settle(disk, held, tip, self._note)
        self._tail = (known.tip.head, history.records)
        known.keys.update((record.dedupe_key, record.index) for record in history.records)
        known.pinned.update(pins_of(history.attested.attestations))
        return msgspec.structs.replace(known, tip=tip)

    def _record(self, held: Held, index: int) -> Record:
        history = read_since(self._log, held.directory, self._session_id, index, self._note)
        assert history is not None, "a known event is in the log"
        if history.health.state != "healthy":
            raise _not_healthy(self._session_id, history.head, history.health)
        return history.records[0]

    def _commit(
        self, held: Held, memory: WriterMemory, plan: Sequence[Draft], blobs: Sequence[Blob]
    ) -> Committed:
        # Forgotten first: whatever interrupts the commit, the next look is at the disk.
        self._memory = None
        write_blobs(self._log.disk, self._log.blobs, blobs, memory.pinned)
        commit = planned(memory.tip, plan, blobs, self._log.limits)
        try:
            written = write_commit(self._log.disk, held, commit)
        except LostEvents:
            raise self._lost(held, memory.tip.head) from None
        self._note = written.note
        with suppress(MemoryError):  # it is durable; what is not remembered here is read again
            memory.keys.update((record.dedupe_key, record.index) for record in commit.records)
            memory.pinned.update(commit.attestation.blobs)
            self._look = look_after(self._look, commit.tip, written.marks)
            self._log.warm.saw(self._session_id, commit.tip, self._look)
            self._memory = msgspec.structs.replace(memory, tip=commit.tip)
        self._tail = (commit.tip.head, ())
        return Committed(records=commit.records)

    def _lost(self, held: Held, head: int) -> Fault:
        """What a whole reading says, once a commit found that what was proven is not there any more."""
        found = self._read_all(held)
        if found is None or found.health.state == "healthy":
            return _not_healthy(self._session_id, head, trouble("history_lost", head))
        return _not_healthy(self._session_id, found.head, found.health)


def read_since(
    log: FileLog, directory: int, session_id: SessionId, index: int, note: Note | None
) -> History | None:
    """The events from an index on. What was not proven here before is proven from the first event."""
    tip = log.warm.tip_before(session_id, index) if index else None
    look = None if tip is None else log.believed(session_id, directory)
    history = None if tip is None or look is None else read_after(log.disk, directory, tip, note)
    if history is None:
        look = look_at(log.disk, directory)
        history = read_history(log.disk, directory, session_id, note)
    log.saw(session_id, history, look)
    return None if history is None else since(history, index)


class FileLog:
    """`ports.EventLog` on a local file system. What it keeps between calls can be lost at any time."""

    def __init__(self, data: str, disk: Disk | None = None, limits: SegmentLimits | None = None) -> None:
        root = os.path.abspath(data)
        self.sessions = f"{root}/sessions"
        self.blobs = f"{root}/blobs"
        self.cache = f"{root}/cache"
        self.disk = disk or Disk()
        self.limits = limits or SegmentLimits()
        self.warm = Warm()

    def load(self, session_id: SessionId) -> Loaded | None:
        return self.load_since(session_id, 0)

    def load_since(self, session_id: SessionId, index: int) -> Loaded | None:
        assert index >= 0, "events are counted from 0"
        if not is_session_id(session_id):
            return None
        path = f"{self.sessions}/{session_id}"
        with named_troubles(session_id):
            try:
                with opened_directory(self.disk, path) as directory:
                    note = read_note(self.disk, directory)
                    history = read_since(self, directory, session_id, index, note)
                    if history is None:
                        return None
                    if history.health.state == "healthy":
                        make_sure_durable(self.disk, directory, history.attested.tip, note)
                    elif not is_current(self.disk, path, directory):
                        return None  # it was removed while it was read
            except FileNotFoundError:
                return None
        return loaded_of(history)

    def recall(self, session_id: SessionId) -> Remembered | None:
        if not is_session_id(session_id):
            return None
        with named_troubles(session_id):
            try:
                with opened_directory(self.disk, f"{self.sessions}/{session_id}") as directory:
                    look = look_at(self.disk, directory)
                    found = read_recollection(self.disk, self.cache, session_id, directory)
            except FileNotFoundError:
                return None
        if found is None:
            return None
        tip, content = found
        self.warm.saw(session_id, tip, look)
        return Remembered(head=tip.head, digest=tip.digest, content=content)

    def believed(self, session_id: SessionId, directory: int) -> Look | None:
        """How the files look now, if only writers were at work since they were proven here."""
        known = self.warm.look(session_id)
        now = None if known is None else look_at(self.disk, directory, known)
        return now if known is not None and now is not None and is_left_by_writers(known, now) else None

    def saw(self, session_id: SessionId, history: History | None, look: Look | None) -> None:
        """A reading of this log; an unsound one makes everything known about the session doubtful."""
        if history is not None and history.health.state == "healthy":
            self.warm.saw(session_id, history.attested.tip, look)
        else:
            self.warm.forget(session_id)

    def list_sessions(self) -> Sequence[SessionStamp]:
        with named_troubles():
            try:
                names = self.disk.names(self.sessions)
            except FileNotFoundError:
                return ()
            stamps = [self.stamp(SessionId(name)) for name in names if is_session_id(name)]
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
        with self._holding(session_id, held) as hold:
            yield hold

    @contextmanager
    def hold_existing(self, session_id: SessionId, wait_ms: int) -> Iterator[FileHold]:
        check_session_id(session_id)
        with named_troubles(session_id):
            held = acquire_existing(self.disk, f"{self.sessions}/{session_id}", session_id, wait_ms)
        if held is None:
            raise not_there(session_id)
        with self._holding(session_id, held) as hold:
            yield hold

    @contextmanager
    def _holding(self, session_id: SessionId, held: Held) -> Iterator[FileHold]:
        hold = FileHold(self, session_id, held)
        try:
            yield hold
        finally:
            hold.end()

    def stamp(self, session_id: SessionId) -> SessionStamp | None:
        """None for what `load` would not show: no commit yet, or just deleted.

        One that cannot be read, or that a link leads to, is listed and hides no other; whoever loads it is
        told why it is refused.
        """
        path = f"{self.sessions}/{session_id}"
        try:
            with opened_directory(self.disk, path) as directory:
                order, is_shown = self._beginning(directory)
                if not is_shown and read_note(self.disk, directory) is None:
                    return None
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno in OUT_OF_FILES:
                raise
            if self._is_plain_file(path):
                return None  # never was a session: it is alien like any other name
            order = 0
        return SessionStamp(session_id=session_id, order=order or self._changed_at(path))

    def _beginning(self, directory: int) -> tuple[int, bool]:
        """When the last commit was made, and whether the manifest holds a first one, sound or damaged."""
        try:
            with opened(self.disk, MANIFEST_NAME, os.O_RDONLY, directory) as manifest:
                content = self.disk.read(manifest, _LISTING_BYTES, 0)
                if b"\n" not in content:
                    content = read_from(self.disk, manifest)
                return self.disk.status(manifest).st_mtime_ns, is_begun(content)
        except FileNotFoundError:
            return 0, False

    def _is_plain_file(self, path: str) -> bool:
        with suppress(OSError):
            return stat.S_ISREG(self.disk.status_of(path).st_mode)
        return False

    def _changed_at(self, path: str) -> int:
        with suppress(OSError):
            return self.disk.status_of(path).st_mtime_ns
        return 0


def _not_healthy(session_id: SessionId, head: int, health: Health) -> Fault:
    restore = f"Restore data/sessions/{session_id} from a backup, or go on in a new session."
    return Fault(
        SESSION_NOT_HEALTHY,
        f"The stored session is not sound, so nothing is added to it. {health.detail}",
        details={
            "session_id": session_id,
            "health": health.state,
            "reason": health.reason,
            "event_index": head,
        },
        hint=restore if health.reason == "history_lost" else "",
    )
