"""Writes one plan into a session directory, under its lock. The order of the steps is the guarantee.

The lock ensures one writer; the note says what was durable. Then the steps follow: blobs durable; orphans
cut off; events and manifest line written and synced; the note written; the plan acknowledged. A crash
between two steps leaves bytes that no line attests, or a last line whose events did not arrive. Neither was
acknowledged, both differ from damage, and the next commit cuts them off before it writes. Two rules carry
the proof: nothing is cut off that could have been attested once (`LostEvents`), and a line never becomes
durable before the name of its segment. Swap two steps, and a power failure can leave an attested event
without its bytes.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import msgspec

from handrail.event_log.files.cache import Mark, mark_of
from handrail.event_log.files.disk import Disk, find_holder, make_directory, open_file, read_from, write_all
from handrail.event_log.files.manifest import (
    MANIFEST_NAME,
    PLAIN_VERSION,
    Attestation,
    IsOurs,
    Tip,
    add_attestation,
    authenticate,
    vouch_for_all,
    write_no_line,
)
from handrail.event_log.files.segments import (
    FIRST_SEGMENT,
    SegmentLimits,
    frame_events,
    is_one_commit,
    segment_after,
)
from handrail.event_log.files.touched import TouchedSessions
from handrail.event_log.plan import chain_records, refuse_locked
from handrail.ports.log import Blob, Draft, Record

# The note of the last durable commit, in the lock file
#
# It names the end of the manifest and the sum of the line that ends there, with a checksum of its own. It is
# written after the commit is durable and is never synced: after a power failure it may be old or missing,
# but it never names more than there was. So what it names and the manifest lacks is lost. It is read before
# the manifest, which only grows.

LOCK_NAME: Final = "lock"

_END_DIGITS: Final = 20
_SUM_DIGITS: Final = 64
_CHECK_DIGITS: Final = 16
_LENGTH: Final = _END_DIGITS + 1 + _SUM_DIGITS + 1 + _CHECK_DIGITS + 1
"""Less than a sector, so a crash keeps either the old note or the new one."""


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """Up to where the manifest was durable. Older versions wrote only the end."""

    end: int
    sum: str = ""


_UNREADABLE_NOTE: Final = Note(end=1)
"""The note in place of an unreadable one. It still proves that a first line was
durable, because nothing is noted before that.
"""


def is_known_durable(note: Note | None, tip: Tip) -> bool:
    """Whether the last commit is known to be durable."""
    return note is not None and note.end == tip.end and note.sum in ("", tip.sum)


def read_note(disk: Disk, directory: int) -> Note | None:
    """Return the note of a session directory; None if there is none yet."""
    try:
        with open_file(disk, LOCK_NAME, os.O_RDONLY, directory) as descriptor:
            return read_open_note(disk, descriptor)
    except FileNotFoundError:
        return None


def read_open_note(disk: Disk, lock: int) -> Note | None:
    """Return the note, for a caller that has the lock file open."""
    text = disk.read(lock, _LENGTH, 0)
    if not text:
        return None
    if len(text) == _END_DIGITS and text.isdigit():
        return Note(end=int(text))
    if len(text) != _LENGTH or text[-1 - _CHECK_DIGITS :] != _check(text):
        return _UNREADABLE_NOTE
    end, total, _ = text.decode().split(" ")
    return Note(end=int(end), sum=total)


def write_note(disk: Disk, lock: int, tip: Tip) -> Note | None:
    """Note that everything up to this tip is durable; return None if the disk refused."""
    text = b"%0*d %s " % (_END_DIGITS, tip.end, tip.sum.encode())
    # The commit is durable with or without the note, so a refusal here is no error.
    with suppress(OSError):
        write_all(disk, lock, text + _check(text), 0)
        return Note(end=tip.end, sum=tip.sum)
    return None


def _check(text: bytes) -> bytes:
    """Return the checksum that ends a note, with its line feed."""
    covered = text[: _LENGTH - _CHECK_DIGITS - 1]
    return hashlib.sha256(covered).hexdigest()[:_CHECK_DIGITS].encode() + b"\n"


# The lock of a session: one writer at a time, released when its process ends

_FIRST_PAUSE_MS: Final = 1
_LONGEST_PAUSE_MS: Final = 32


class LockedSession(msgspec.Struct, frozen=True, kw_only=True):
    """Descriptors of a session directory and of its lock file, which is locked."""

    directory: int
    lock: int


def acquire(disk: Disk, path: str, session_id: str, wait_ms: int, touched: TouchedSessions) -> LockedSession:
    """Lock the session directory at `path`, and create it if it does not exist.

    Raise Fault SESSION_LOCKED if another writer keeps it longer than `wait_ms`.
    """

    def open_both(disk: Disk, path: str) -> LockedSession | None:
        return _open(disk, path, session_id, touched)

    return _wait_for_lock(disk, path, session_id, wait_ms, open_both)


def acquire_existing(disk: Disk, path: str, session_id: str, wait_ms: int) -> LockedSession | None:
    """Lock an existing session; return None if it was deleted."""
    try:
        return _wait_for_lock(disk, path, session_id, wait_ms, _existing)
    except FileNotFoundError:
        return None


def release(disk: Disk, held: LockedSession) -> None:
    disk.close(held.lock)
    disk.close(held.directory)


def _wait_for_lock(
    disk: Disk,
    path: str,
    session_id: str,
    wait_ms: int,
    open_both: Callable[[Disk, str], LockedSession | None],
) -> LockedSession:
    """Retry until the lock is free. The files stay open between tries, because they rarely change."""
    started = disk.monotonic_ms()
    pause_ms = _FIRST_PAUSE_MS
    held = open_both(disk, path)
    try:
        while held is None or not disk.lock_now(held.lock):
            waited_ms = disk.monotonic_ms() - started
            if waited_ms >= wait_ms:
                who = "Another writer" if held is None else find_holder(disk.status(held.lock))
                raise refuse_locked(session_id, waited_ms, who)
            pause_ms = min(pause_ms, _longest_pause_ms(waited_ms, wait_ms))
            disk.sleep_ms(min(disk.jittered_ms(pause_ms), wait_ms - waited_ms))
            pause_ms *= 2
            held = held or open_both(disk, path)
        if is_current(disk, f"{path}/{LOCK_NAME}", held.lock):
            locked, held = held, None
            return locked
    finally:
        if held is not None:
            release(disk, held)
    left_ms = max(0, wait_ms - (disk.monotonic_ms() - started))
    return _wait_for_lock(disk, path, session_id, left_ms, open_both)  # deleted: open it by name again


def _longest_pause_ms(waited_ms: int, wait_ms: int) -> int:
    """Return the longest pause before the next try.

    For half of its time a waiter tries less and less often, because a try costs the others time. Then it
    tries more and more often, so that later waiters do not overtake it until its time is over.
    """
    left_ms = wait_ms - waited_ms
    return max(_FIRST_PAUSE_MS, min(_LONGEST_PAUSE_MS, left_ms * 2 * _LONGEST_PAUSE_MS // wait_ms))


def _open(disk: Disk, path: str, session_id: str, touched: TouchedSessions) -> LockedSession | None:
    """Return both descriptors; None if the session was deleted in between."""
    try:
        return _descriptors(disk, path, os.O_RDWR)
    except FileNotFoundError:
        before_ns = touched.names_ns()
        make_directory(disk, path)
        touched.note_made(session_id, before_ns)
    try:
        return _descriptors(disk, path, os.O_RDWR | os.O_CREAT)
    except FileNotFoundError:
        return None


def _existing(disk: Disk, path: str) -> LockedSession:
    """Open an existing session. Raise FileNotFoundError."""
    return _descriptors(disk, path, os.O_RDWR | os.O_CREAT)


def _descriptors(disk: Disk, path: str, flags: int) -> LockedSession:
    directory = disk.open_directory(path)
    try:
        return LockedSession(directory=directory, lock=disk.open(LOCK_NAME, flags, directory))
    except OSError:
        disk.close(directory)
        raise


def is_current(disk: Disk, path: str, descriptor: int) -> bool:
    """Whether the name still leads to what was opened; not if the session was deleted."""
    ours = disk.status(descriptor)
    try:
        named = disk.status_of(path)
    except FileNotFoundError:
        return False
    return (ours.st_dev, ours.st_ino) == (named.st_dev, named.st_ino)


# Writing a commit

_WRITE = os.O_RDWR | os.O_CREAT


class LostEvents(Exception):
    """The commit would cut off events that were attested once, or leave a gap before its events."""


class PlannedCommit(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a commit writes, computed before the first byte is written."""

    attestation: Attestation
    records: tuple[Record, ...]
    events: bytes
    line: bytes
    line_start: int
    tip: Tip
    """Where the manifest ends once all of it is durable."""


def plan_commit(
    tip: Tip,
    plan: Sequence[Draft],
    blobs: Sequence[Blob],
    limits: SegmentLimits,
    is_ours: IsOurs = vouch_for_all,
    line_of: Callable[[Attestation], str] = write_no_line,
) -> PlannedCommit:
    """Compute where a plan goes after this tip, its authentication line, and its bytes."""
    records = chain_records(plan, tip.head, tip.digest)
    events = frame_events(plan)
    segment, start = _place(tip, limits)
    attestation = Attestation(
        v=PLAIN_VERSION,
        first=tip.head,
        last=records[-1].index,
        segment=segment,
        start=start,
        end=start + len(events),
        head=records[-1].digest,
        blobs=tuple(blob.ref for blob in blobs),
    )
    attestation = authenticate(attestation, line_of(attestation))
    if not is_ours(attestation):
        records = tuple(msgspec.structs.replace(one, is_ours=False) for one in records)
    after, line = add_attestation(tip, attestation)
    return PlannedCommit(
        attestation=attestation,
        records=records,
        events=events,
        line=line,
        line_start=tip.end,
        tip=after,
    )


class WrittenCommit(msgspec.Struct, frozen=True, kw_only=True):
    """The note of a durable commit, and the marks of manifest and events, if they are known."""

    note: Note | None
    marks: tuple[Mark, Mark] | None


def write_commit(disk: Disk, held: LockedSession, commit: PlannedCommit) -> WrittenCommit:
    """Make events and manifest line durable, and note it. The blobs are durable already.

    Raise OSError: the plan does not count. Raise LostEvents: no byte was changed.
    """
    with (
        open_file(disk, MANIFEST_NAME, _WRITE, held.directory) as manifest,
        open_file(disk, commit.attestation.segment, _WRITE, held.directory) as events,
    ):
        before, events_size = disk.status(manifest), disk.status(events).st_size
        _spare_lost_events(disk, events, events_size, commit)
        # Both before anything is written: an old line must not attest new events.
        _cut_orphans(disk, manifest, before.st_size, commit.line_start)
        _cut_orphans(disk, events, events_size, commit.attestation.start)
        write_all(disk, events, commit.events, commit.attestation.start)
        if commit.attestation.start == 0:
            # A line is never durable without its segment, nor the first line without its events.
            disk.sync(events)
            disk.sync_names(held.directory)
        # A session never gets older, whatever the clock says.
        changed_ns = max(disk.now_ns(), before.st_mtime_ns if commit.line_start else 0)
        _append_line(disk, manifest, events, commit, changed_ns)
        marks = None
        with suppress(OSError):  # the commit is durable; unknown marks cost one reading
            marks = mark_of(disk.status(manifest)), mark_of(disk.status(events))
    return WrittenCommit(note=write_note(disk, held.lock, commit.tip), marks=marks)


def settle(disk: Disk, held: LockedSession, tip: Tip, note: Note | None) -> Note | None:
    """Make the last commit durable if its writer died before noting it. Return the note after that.

    A writer acknowledges what it finds, so a power failure must not be able to remove it. The bytes are
    written again, not only synced: after a failed sync the cache may consider them clean.
    """
    if tip.last is None or is_known_durable(note, tip):
        return note
    with (
        open_file(disk, MANIFEST_NAME, os.O_RDWR, held.directory) as manifest,
        open_file(disk, tip.last.segment, os.O_RDWR, held.directory) as events,
    ):
        modified_ns = disk.status(manifest).st_mtime_ns
        _write_again(disk, events, tip.last.start, tip.last.end)
        _write_again(disk, manifest, tip.start, tip.end)
        disk.set_modified(manifest, modified_ns)  # this is not activity
        disk.set_modified(events, modified_ns)
        disk.sync_both(events, manifest)
    return write_note(disk, held.lock, tip)


def _place(tip: Tip, limits: SegmentLimits) -> tuple[str, int]:
    """Return the segment and the byte where the next commit begins."""
    if tip.last is None:
        return FIRST_SEGMENT, 0
    is_full = tip.last.end >= limits.max_bytes or tip.head - tip.segment_first >= limits.max_events
    return (segment_after(tip.last.segment), 0) if is_full else (tip.last.segment, tip.last.end)


def _append_line(disk: Disk, manifest: int, events: int, commit: PlannedCommit, changed_ns: int) -> None:
    try:
        write_all(disk, manifest, commit.line, commit.line_start)
        disk.set_modified(manifest, changed_ns)
        disk.set_modified(events, changed_ns)  # one time on both marks them as a commit
        if commit.attestation.start == 0:
            disk.sync(manifest)
        else:
            disk.sync_both(events, manifest)
    except OSError:
        _take_back(disk, manifest, commit.line_start)
        raise


def _write_again(disk: Disk, descriptor: int, start: int, end: int) -> None:
    write_all(disk, descriptor, read_from(disk, descriptor, start)[: end - start], start)


def _spare_lost_events(disk: Disk, events: int, size: int, commit: PlannedCommit) -> None:
    """Raise LostEvents if there are more orphans than one commit, which is all that a dead writer leaves.

    More than that was attested, and its lines are gone.
    """
    if size <= commit.attestation.start:
        return
    if not is_one_commit(read_from(disk, events, commit.attestation.start), commit.events):
        raise LostEvents


def _cut_orphans(disk: Disk, descriptor: int, size: int, end: int) -> None:
    """Cut off what a dead or refused writer left after the attested end."""
    if size < end:
        raise LostEvents
    if size > end:
        disk.cut(descriptor, end)
        disk.sync(descriptor)


def _take_back(disk: Disk, descriptor: int, end: int) -> None:
    # If this is refused too, the line may stay and count. Then the next holder repairs it, and a repeat of
    # the plan is answered from it.
    with suppress(OSError):
        disk.cut(descriptor, end)
        disk.sync(descriptor)
