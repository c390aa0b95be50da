"""The embedded store: one directory per session, readable with any editor.

The problem: many processes share a directory without a server. Each of them may be killed between any two
system calls, the machine may lose power, and other programs may change the files. An acknowledged event
must survive all of that, an unacknowledged one must never be reported, and a call on a session with
100,000 events should cost what is new, not what is old.

The idea: a commit is two appends, the events to a segment and one line to the manifest that names those
bytes and their chain digest. The `sum` of a line also covers the line before it, so the last line proves
the whole manifest. One writer at a time has the lock; readers take none. After the sync, the writer
leaves a note of the commit in the lock file. A reader of first the note and then the manifest can distinguish
a commit that never finished (beyond the note: cut off, or made durable now) from one that was lost (named
by the note, missing in the manifest: `history_lost`, and nothing is written any more).

What a process has proven it keeps in `ProvenSessions`: tips to read on from, and for writers the dedupe
keys and pinned blobs. That memory is never trusted alone. It counts while the fingerprint of the files
shows nothing but commits and the manifest still has the line of the tip; otherwise the session is proven
from its first event again.

The invariant: an event exists if and only if an intact manifest line attests it, and no answer, from a
reader or a writer, mentions an event that a power failure could still remove.

What would break it: to read the manifest before the note (a commit in between looks lost); to take the
fingerprint after reading (a change in between is missed); to append before `settle`; to keep the memory of
a hold across a failed commit; to note a commit before its sync.

The files are `sessions/<session id>/{events-*.jsonl, manifest.jsonl, lock}` and `blobs/<aa>/<sha256>`
under one data directory. docs/explanation/log-format.md describes them, and what each damage is called.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Final

import msgspec

from handrail.contract.ids import BlobRef, SessionId, is_session_id
from handrail.contract.outcome import Fault
from handrail.event_log.files.cache import (
    KEY_BYTES,
    Fingerprint,
    ProvenSessions,
    WriterMemory,
    fingerprint_after,
    has_only_new_commits,
    read_cache_file,
    take_fingerprint,
    write_cache_file,
)
from handrail.event_log.files.commit import (
    LockedSession,
    LostEvents,
    Note,
    acquire,
    acquire_existing,
    is_current,
    plan_commit,
    read_note,
    read_open_note,
    release,
    settle,
    write_commit,
)
from handrail.event_log.files.disk import (
    OUT_OF_FILES,
    Disk,
    open_directory,
    open_file,
    read_blob,
    read_from,
    translate_os_errors,
    write_blobs,
)
from handrail.event_log.files.history import (
    History,
    drop_before,
    ensure_durable,
    loaded_of,
    pins_of,
    read_after,
    read_attested,
    read_history,
    scan_proven_bytes,
)
from handrail.event_log.files.manifest import (
    MANIFEST_NAME,
    Attestation,
    IsOurs,
    describe_damage,
    empty_tip,
    has_first_line,
    vouch_for_all,
)
from handrail.event_log.files.segments import SegmentLimits
from handrail.event_log.files.store_key import StoreKey
from handrail.event_log.files.touched import TouchedSessions
from handrail.event_log.lines import (
    LINE,
    NOTHING_LISTED,
    CommitPlace,
    ListedSession,
    is_line_of,
    make_line,
)
from handrail.event_log.plan import check_new, check_plan, check_session_id, refuse_unsound, session_not_found
from handrail.ports.log import (
    Appended,
    Blob,
    Committed,
    Conflict,
    Draft,
    Health,
    Loaded,
    Origin,
    Record,
    Remembered,
    Replayed,
    SessionStamp,
)
from handrail.runtime.recent import Recent

EVERYTHING: Final = 1 << 62
"""More events than any session has."""
LATEST: Final = 2**63 - 1
"""No session sorts after this, because the index stores no larger number."""
_MOST_ORIGINS: Final = 4_096
_LISTING_BYTES = 64 * 1024
"""How many bytes of a manifest a listing reads: nearly always enough for the first line."""


class FileHold:
    """The single writer of one session, for the scope of `FileLog.hold`."""

    remembers_from = 2_048

    def __init__(self, log: FileLog, session_id: SessionId, held: LockedSession) -> None:
        self._log = log
        self._session_id = session_id
        self._held: LockedSession | None = held
        self._memory: WriterMemory | None = None
        self._note: Note | None = None
        """The note as read from the lock file when the memory was last compared with the disk."""
        self._tail: tuple[int, tuple[Record, ...]] | None = None
        """The index and the records of the last events that were read or written in this hold."""
        self._fingerprint: Fingerprint | None = None
        """Fingerprint of the files: taken before they were read, or after they were written here."""

    def load(self) -> Loaded | None:
        held = self._current()
        with translate_os_errors(self._session_id):
            history = self._read_all(held)
        return None if history is None else loaded_of(history)

    def load_since(self, index: int) -> Loaded | None:
        assert index >= 0, "events are counted from 0"
        if index == 0:
            return self.load()
        held = self._current()
        with translate_os_errors(self._session_id):
            unsound = self._find_damage(held)
            tip = None if self._memory is None else self._memory.tip
            if tip is not None and self._tail is not None and self._tail[0] <= index <= tip.head:
                first, records = self._tail
                return Loaded(records=records[index - first :], head=tip.head, digest=tip.digest)
            history = unsound or read_since(self._log, held.directory, self._session_id, index, self._note)
        return None if history is None else loaded_of(drop_before(history, index))

    def append(
        self, expected_head: int, plan: Sequence[Draft], blobs: Sequence[Blob] = (), line: str = ""
    ) -> Appended:
        held = self._current()
        check_plan(plan, blobs)
        with translate_os_errors(self._session_id):
            unsound = self._find_damage(held)
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
            return self._commit(held, memory, plan, blobs, line)

    def remember(self, content: bytes) -> None:
        held = self._current()
        memory = self._memory
        if memory is not None and memory.tip.last is not None:
            log = self._log
            with suppress(OSError):  # a cache only saves time
                write_cache_file(
                    log.disk, log.cache, self._session_id, held.directory, memory.tip, content, log.seal
                )

    def end(self) -> None:
        held, self._held = self._held, None
        memory, self._memory = self._memory, None
        if held is not None:
            if memory is not None:
                self._log.proven.writers.put(self._session_id, memory, weight=KEY_BYTES * len(memory.keys))
            release(self._log.disk, held)

    def _current(self) -> LockedSession:
        assert self._held is not None, "a hold is used only within its scope"
        return self._held

    def _read_all(self, held: LockedSession) -> History | None:
        """Read and prove the whole session; this replaces the memory."""
        self._memory = self._tail = None
        disk = self._log.disk
        self._note = read_open_note(disk, held.lock)
        self._fingerprint = take_fingerprint(disk, held.directory)
        is_ours = self._log.judge(self._session_id)
        history = read_history(disk, held.directory, self._session_id, self._note, is_ours)
        self._log.record_reading(self._session_id, history, self._fingerprint)
        if history is not None and history.health.state != "healthy":
            return history
        tip = empty_tip(self._session_id) if history is None else history.attested.tip
        self._note = settle(disk, held, tip, self._note)
        self._memory = WriterMemory(
            tip=tip,
            keys={} if history is None else {record.dedupe_key: record.index for record in history.records},
            pinned=set() if history is None else pins_of(history.attested.attestations),
        )
        self._tail = None if history is None else (0, history.records)
        return history

    def _find_damage(self, held: LockedSession) -> History | None:
        """Bring the memory up to date, once per hold, because nobody else can write meanwhile.

        Return what was read if it is damaged, and None if the session is healthy.
        """
        if self._memory is None:
            known = self._log.proven.writers.take(self._session_id) or self._scan(held)
            self._memory = None if known is None else self._catch_up(held, known)
        if self._memory is not None:
            return None
        history = self._read_all(held)
        return None if history is None or history.health.state == "healthy" else history

    def _scan(self, held: LockedSession) -> WriterMemory | None:
        """Rebuild the memory from the bytes up to a tip that this process has proven."""
        tip = self._log.proven.latest_tip(self._session_id)
        if tip is None:
            return None
        known = scan_proven_bytes(self._log.disk, held.directory, tip)
        return None if known is None else WriterMemory(tip=tip, keys=known[0], pinned=known[1])

    def _catch_up(self, held: LockedSession, known: WriterMemory) -> WriterMemory | None:
        """Add what others committed since; return None if the files no longer match the memory."""
        disk = self._log.disk
        self._note = read_open_note(disk, held.lock)
        self._fingerprint = self._log.confirm_fingerprint(self._session_id, held.directory)
        if self._fingerprint is None:
            return None
        is_ours = self._log.judge(self._session_id)
        history = read_after(disk, held.directory, known.tip, self._note, is_ours)
        if history is None:
            return None
        tip = history.attested.tip
        if history.records:
            self._log.proven.record(self._session_id, tip, self._fingerprint)
        self._note = settle(disk, held, tip, self._note)
        self._tail = (known.tip.head, history.records)
        known.keys.update((record.dedupe_key, record.index) for record in history.records)
        known.pinned.update(pins_of(history.attested.attestations))
        return msgspec.structs.replace(known, tip=tip)

    def _record(self, held: LockedSession, index: int) -> Record:
        history = read_since(self._log, held.directory, self._session_id, index, self._note)
        assert history is not None, "a known event is in the log"
        if history.health.state != "healthy":
            raise _not_healthy(self._session_id, history.head, history.health)
        return history.records[0]

    def _commit(
        self,
        held: LockedSession,
        memory: WriterMemory,
        plan: Sequence[Draft],
        blobs: Sequence[Blob],
        line: str,
    ) -> Committed:
        # Forget first: whatever interrupts the commit, the next call reads the disk.
        self._memory = None
        line_of = self._log.sign(self._session_id, plan, line)
        is_ours = self._log.judge(self._session_id)
        write_blobs(self._log.disk, self._log.blobs, blobs, memory.pinned)
        commit = plan_commit(memory.tip, plan, blobs, self._log.limits, is_ours, line_of)
        self._log.touched.note_begin(self._session_id)
        try:
            written = write_commit(self._log.disk, held, commit)
        except LostEvents:
            raise self._explain_loss(held, memory.tip.head) from None
        finally:
            self._log.touched.note_end(self._session_id)
        self._note = written.note
        with suppress(MemoryError):  # the commit is durable; what is not remembered is read again
            memory.keys.update((record.dedupe_key, record.index) for record in commit.records)
            memory.pinned.update(commit.attestation.blobs)
            self._fingerprint = fingerprint_after(self._fingerprint, commit.tip, written.marks)
            self._log.proven.record(self._session_id, commit.tip, self._fingerprint)
            self._memory = msgspec.structs.replace(memory, tip=commit.tip)
        self._tail = (commit.tip.head, ())
        return Committed(records=commit.records)

    def _explain_loss(self, held: LockedSession, head: int) -> Fault:
        """Read everything again after a commit found that proven bytes are gone, and name the damage."""
        found = self._read_all(held)
        if found is None or found.health.state == "healthy":
            return _not_healthy(self._session_id, head, describe_damage("history_lost", head))
        return _not_healthy(self._session_id, found.head, found.health)


def read_since(
    log: FileLog, directory: int, session_id: SessionId, index: int, note: Note | None
) -> History | None:
    """Read the events from an index on, proving from the first event what is not proven yet."""
    tip = log.proven.tip_before(session_id, index) if index else None
    fingerprint = None if tip is None else log.confirm_fingerprint(session_id, directory)
    is_ours, history = log.judge(session_id), None
    if tip is not None and fingerprint is not None:
        history = read_after(log.disk, directory, tip, note, is_ours)
    if history is None:
        fingerprint = take_fingerprint(log.disk, directory)
        history = read_history(log.disk, directory, session_id, note, is_ours)
    log.record_reading(session_id, history, fingerprint)
    return None if history is None else drop_before(history, index)


def list_heads(log: FileLog) -> Iterator[ListedSession]:
    """Yield every session with the end of what its manifest proves; one that cannot be read is left out."""
    for stamp in log.list_sessions():
        with (
            suppress(OSError),
            open_directory(log.disk, f"{log.sessions}/{stamp.session_id}") as directory,
        ):
            tip = read_attested(log.disk, directory, stamp.session_id).tip
            if tip.head:
                yield ListedSession(session_id=stamp.session_id, events=tip.head, digest=tip.digest)


def _place_of(session_id: SessionId, attestation: Attestation) -> CommitPlace:
    return CommitPlace(
        session_id=session_id, first=attestation.first, last=attestation.last, head=attestation.head
    )


class FileLog:
    """`ports.EventLog` on a local file system. What it keeps in memory may be forgotten at any time."""

    def __init__(
        self,
        data: str,
        disk: Disk | None = None,
        limits: SegmentLimits | None = None,
        key: StoreKey | None = None,
    ) -> None:
        self.root = root = os.path.abspath(data)
        self.sessions = f"{root}/sessions"
        self.blobs = f"{root}/blobs"
        self.cache = f"{root}/cache"
        self.disk = disk or Disk()
        self.limits = limits or SegmentLimits()
        self.key = key
        """Distinguishes commits of this store from others; None if every commit counts as its own."""
        self._origins: Recent[tuple[SessionId, str], int] = Recent(_MOST_ORIGINS)
        self.proven = ProvenSessions()
        self.touched = TouchedSessions(self.cache, self.sessions)

    def load(self, session_id: SessionId) -> Loaded | None:
        return self.load_since(session_id, 0)

    def load_since(self, session_id: SessionId, index: int) -> Loaded | None:
        assert index >= 0, "events are counted from 0"
        if not is_session_id(session_id):
            return None
        path = f"{self.sessions}/{session_id}"
        with translate_os_errors(session_id):
            try:
                with open_directory(self.disk, path) as directory:
                    note = read_note(self.disk, directory)
                    history = read_since(self, directory, session_id, index, note)
                    if history is None:
                        return None
                    if history.health.state == "healthy":
                        ensure_durable(self.disk, directory, history.attested.tip, note)
                    elif not is_current(self.disk, path, directory):
                        return None  # the session was removed during the reading
            except FileNotFoundError:
                return None
        return loaded_of(history)

    def recall(self, session_id: SessionId) -> Remembered | None:
        if not is_session_id(session_id):
            return None
        with translate_os_errors(session_id):
            try:
                with open_directory(self.disk, f"{self.sessions}/{session_id}") as directory:
                    fingerprint = take_fingerprint(self.disk, directory)
                    found = read_cache_file(self.disk, self.cache, session_id, directory, self.seal)
            except FileNotFoundError:
                return None
        if found is None:
            return None
        tip, content = found
        self.proven.record(session_id, tip, fingerprint)
        return Remembered(head=tip.head, digest=tip.digest, content=content)

    def origin(self, session_id: SessionId, digest: str) -> Origin:
        if self.key is None:
            return NOTHING_LISTED
        if self.key.read_usable() is None:  # without a key every commit counts as the store's own
            return Origin(listed=EVERYTHING)
        listed = self._origins.get((session_id, digest))
        if listed is None:
            listed = self._count_listed(self.key, session_id)
            self._origins.put((session_id, digest), listed)
        return Origin(listed=listed, is_adopted=listed > 0 and self.key.is_adopted())

    def _count_listed(self, key: StoreKey, session_id: SessionId) -> int:
        """Return how many events of the session the list covers: 0 if the session is not the listed one."""
        row = key.find_listed(session_id)
        if row is None:
            return 0
        with (
            suppress(OSError),
            open_directory(self.disk, f"{self.sessions}/{session_id}") as directory,
        ):
            attestations = read_attested(self.disk, directory, session_id).attestations
            if any((one.last + 1, one.head) == (row.events, row.digest) for one in attestations):
                return row.events
        return 0

    def judge(self, session_id: SessionId) -> IsOurs:
        """Return the function that says whether this store made a commit of the session."""
        if self.key is None:
            return vouch_for_all
        key = self.key.read_usable()

        def is_ours(attestation: Attestation) -> bool:
            return key is not None and is_line_of(key, attestation.auth, _place_of(session_id, attestation))

        return is_ours

    def sign(self, session_id: SessionId, plan: Sequence[Draft], line: str) -> Callable[[Attestation], str]:
        """Return the function that writes the authentication line of a commit; the very
        first commit makes the key.

        Raise Fault KEYRING_INVALID if an event needs the line.
        """
        line = line if LINE.fullmatch(line) else ""
        if self.key is None:
            return lambda _: line
        vouched = {draft.vouched for draft in plan}
        try:
            key = self.key.ensure(lambda: list_heads(self))
        except Fault as fault:
            # If the disk refused, the key may exist all the same, and would mark this commit as foreign.
            if "needed" in vouched or fault.details.get("reason") not in ("damaged", "too_open"):
                raise
            return lambda _: line
        if vouched == {""}:
            return lambda _: line
        return lambda attestation: make_line(key, _place_of(session_id, attestation))

    def seal(self, content: bytes) -> str:
        """Return the first line of a cache file, which proves that a program with the store key wrote it."""
        key = None if self.key is None else self.key.read_usable()
        if key is None:
            return hashlib.sha256(content).hexdigest()
        return hmac.digest(key, b"handrail.cache.v1\0" + content, "sha256").hex()

    def confirm_fingerprint(self, session_id: SessionId, directory: int) -> Fingerprint | None:
        """Return the fingerprint of the files now, if only commits were added since they were proven here."""
        known = self.proven.fingerprint(session_id)
        now = None if known is None else take_fingerprint(self.disk, directory, known)
        return now if known is not None and now is not None and has_only_new_commits(known, now) else None

    def record_reading(
        self, session_id: SessionId, history: History | None, fingerprint: Fingerprint | None
    ) -> None:
        """Remember what a reading proved; a damaged session is forgotten as a whole."""
        if history is not None and history.health.state == "healthy":
            self.proven.record(session_id, history.attested.tip, fingerprint)
        else:
            self.proven.forget(session_id)

    def list_sessions(self, most: int = 0) -> Sequence[SessionStamp]:
        with translate_os_errors():
            found = self._stamps(self.touched.latest(most)) if most else []
            if len(found) < most or not most:
                try:
                    names = self.disk.names(self.sessions)
                except FileNotFoundError:
                    return ()
                found = self._stamps(SessionId(name) for name in names if is_session_id(name))
        found.sort(key=lambda stamp: (-stamp.order, stamp.session_id))
        return tuple(found[: most or None])

    def _stamps(self, session_ids: Iterable[SessionId]) -> list[SessionStamp]:
        stamps = map(self.stamp, session_ids)
        return [stamp for stamp in stamps if stamp is not None]

    def get_blob(self, ref: BlobRef) -> bytes:
        with translate_os_errors():
            return read_blob(self.disk, self.blobs, ref)

    @contextmanager
    def hold(self, session_id: SessionId, wait_ms: int, known: int | None = None) -> Iterator[FileHold]:
        del known  # the next events are already read
        check_session_id(session_id)
        with translate_os_errors(session_id):
            place = f"{self.sessions}/{session_id}"
            held = acquire(self.disk, place, session_id, wait_ms, self.touched)
        with self._scope(session_id, held) as hold:
            yield hold

    @contextmanager
    def hold_existing(
        self, session_id: SessionId, wait_ms: int, known: int | None = None
    ) -> Iterator[FileHold]:
        del known
        check_session_id(session_id)
        with translate_os_errors(session_id):
            held = acquire_existing(self.disk, f"{self.sessions}/{session_id}", session_id, wait_ms)
        if held is None:
            raise session_not_found(session_id)
        with self._scope(session_id, held) as hold:
            yield hold

    @contextmanager
    def _scope(self, session_id: SessionId, held: LockedSession) -> Iterator[FileHold]:
        hold = FileHold(self, session_id, held)
        try:
            yield hold
        finally:
            hold.end()

    def stamp(self, session_id: SessionId) -> SessionStamp | None:
        """Return the stamp of a session; None for what `load` does not return: no
        commit yet, or just deleted.

        A session that cannot be read, or a link, is listed like the others; `load` says why it is refused.
        """
        path = f"{self.sessions}/{session_id}"
        try:
            with open_directory(self.disk, path) as directory:
                order, is_shown = self._beginning(directory)
                if not is_shown and read_note(self.disk, directory) is None:
                    return None
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno in OUT_OF_FILES:
                raise
            if self._is_plain_file(path):
                return None  # not a session, like any other name
            order = 0
        return SessionStamp(session_id=session_id, order=min(order or self._changed_at(path), LATEST))

    def _beginning(self, directory: int) -> tuple[int, bool]:
        """Return the time of the last commit, and whether the manifest has a first
        line, intact or damaged.
        """
        try:
            with open_file(self.disk, MANIFEST_NAME, os.O_RDONLY, directory) as manifest:
                content = self.disk.read(manifest, _LISTING_BYTES, 0)
                if b"\n" not in content:
                    content = read_from(self.disk, manifest)
                return self.disk.status(manifest).st_mtime_ns, has_first_line(content)
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
    return refuse_unsound(session_id, head, health, restore if health.reason == "history_lost" else "")


# A mark per session that changes with every commit: size and time of its manifest, without opening it.


class SessionMarks:
    """Reads names and times of files only: cheap enough to be called three times a second."""

    def __init__(self, data: str) -> None:
        self._sessions = os.path.join(data, "sessions")
        self._seen: dict[str, tuple[tuple[int, int], str]] = {}
        """The result of the last reading, and its text form: most sessions have not changed."""

    def read(self) -> Mapping[str, str]:
        """Return the marks of all sessions; one that is being created or removed may be missing."""
        try:
            folder = os.open(self._sessions, os.O_RDONLY | os.O_DIRECTORY)
        except OSError:
            return {}
        try:
            self._seen = self._look(folder)
        finally:
            os.close(folder)
        return {name: mark for name, (_, mark) in self._seen.items()}

    def _look(self, folder: int) -> dict[str, tuple[tuple[int, int], str]]:
        seen = {}
        for name in os.listdir(folder):
            held = self._seen.get(name)
            if held is None and not is_session_id(name):
                continue
            try:
                status = os.stat(f"{name}/{MANIFEST_NAME}", dir_fd=folder)
            except OSError:
                continue
            found = (status.st_size, status.st_mtime_ns)
            seen[name] = held if held is not None and held[0] == found else (found, "{}-{}".format(*found))
        return seen
