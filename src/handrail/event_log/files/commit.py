"""Writing one plan into a session directory, under its lock: the order of the steps is the promise.

Blobs durable, then events and manifest line durable side by side, and only then is the plan
acknowledged. A step that is refused leaves bytes that nothing attests, or a line whose events did
not arrive. The next commit cuts them off before it writes.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import msgspec

from handrail.contract.catalogue import SESSION_LOCKED
from handrail.contract.outcome import Fault
from handrail.event_log.files.cache import Mark, mark_of
from handrail.event_log.files.disk import Disk, make_directory, opened, read_from, write_all
from handrail.event_log.files.manifest import MANIFEST_NAME, VERSION, Attestation, Tip, add
from handrail.event_log.files.segments import (
    FIRST_SEGMENT,
    SegmentLimits,
    framed,
    is_one_commit,
    segment_after,
)
from handrail.event_log.plan import chained
from handrail.ports.log import Blob, Draft, Record

# The note of the last durable commit, in the lock file of its session: what a store once proved.
#
# It names the end of the manifest and the sum of the line that ends there, with a checksum of its own. It
# is
# written after the commit is durable and is never synced: a note may be old or missing after a power
# failure,
# but it never speaks of more than there was. So whatever it tells and the manifest does not show any more
# is
# lost. It is read before the manifest, which only grows.

LOCK_NAME: Final = "lock"

_END_DIGITS: Final = 20
_SUM_DIGITS: Final = 64
_CHECK_DIGITS: Final = 16
_LENGTH: Final = _END_DIGITS + 1 + _SUM_DIGITS + 1 + _CHECK_DIGITS + 1
"""Less than a sector, so that a crash keeps the note before or this one."""


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """Up to here the manifest was durable. An older version wrote the end alone."""

    end: int
    sum: str = ""


_OF_SOMETHING: Final = Note(end=1)
"""A note that cannot be read: nothing is noted before a first line is durable, and it says no more."""


def note_at(tip: Tip) -> Note:
    return Note(end=tip.end, sum=tip.sum)


def is_at(note: Note | None, tip: Tip) -> bool:
    """Whether the last commit is known to be durable."""
    return note is not None and note.end == tip.end and note.sum in ("", tip.sum)


def read_note(disk: Disk, directory: int) -> Note | None:
    """The note of a session directory; None when nobody has noted anything."""
    try:
        with opened(disk, LOCK_NAME, os.O_RDONLY, directory) as descriptor:
            return noted(disk, descriptor)
    except FileNotFoundError:
        return None


def noted(disk: Disk, lock: int) -> Note | None:
    """The same, for whoever has the lock file open."""
    text = disk.read(lock, _LENGTH, 0)
    if not text:
        return None
    if len(text) == _END_DIGITS and text.isdigit():
        return Note(end=int(text))
    if len(text) != _LENGTH or text[-1 - _CHECK_DIGITS :] != _check(text):
        return _OF_SOMETHING
    end, total, _ = text.decode().split(" ")
    return Note(end=int(end), sum=total)


def write_note(disk: Disk, lock: int, tip: Tip) -> Note | None:
    """Note that everything up to this tip is durable; None when the disk refused that."""
    text = b"%0*d %s " % (_END_DIGITS, tip.end, tip.sum.encode())
    # The commit is durable with or without the note, so a refusal here is not the caller's trouble.
    with suppress(OSError):
        write_all(disk, lock, text + _check(text), 0)
        return note_at(tip)
    return None


def _check(text: bytes) -> bytes:
    """The checksum that ends a note, and its line feed."""
    told = text[: _LENGTH - _CHECK_DIGITS - 1]
    return hashlib.sha256(told).hexdigest()[:_CHECK_DIGITS].encode() + b"\n"


# The lock of a session: one writer at a time, gone with its process. Its file also holds the note.

_FIRST_PAUSE_MS: Final = 1
_LONGEST_PAUSE_MS: Final = 32


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """Descriptors of a session directory and of its lock file, which is locked."""

    directory: int
    lock: int


def acquire(disk: Disk, path: str, session_id: str, wait_ms: int) -> Held:
    """Lock the session directory at `path`, which is made if it is not there.

    Raises: Fault SESSION_LOCKED when another writer keeps it longer than `wait_ms`.
    """
    return _waited(disk, path, session_id, wait_ms, _open)


def acquire_existing(disk: Disk, path: str, session_id: str, wait_ms: int) -> Held | None:
    """The same for a session that is there: one that was deleted is not made again, and None."""
    try:
        return _waited(disk, path, session_id, wait_ms, _existing)
    except FileNotFoundError:
        return None


def release(disk: Disk, held: Held) -> None:
    disk.close(held.lock)
    disk.close(held.directory)


def _waited(
    disk: Disk, path: str, session_id: str, wait_ms: int, opened_both: Callable[[Disk, str], Held | None]
) -> Held:
    """Look until the lock is ours. The files stay open meanwhile: most looks find them as they were."""
    started = disk.monotonic_ms()
    pause_ms = _FIRST_PAUSE_MS
    held = opened_both(disk, path)
    try:
        while held is None or not disk.lock_now(held.lock):
            waited_ms = disk.monotonic_ms() - started
            if waited_ms >= wait_ms:
                raise Fault(
                    SESSION_LOCKED,
                    "Another writer holds this session.",
                    details={"session_id": session_id, "waited_ms": waited_ms},
                )
            pause_ms = min(pause_ms, _longest_pause_ms(waited_ms, wait_ms))
            disk.sleep_ms(min(disk.jittered_ms(pause_ms), wait_ms - waited_ms))
            pause_ms *= 2
            held = held or opened_both(disk, path)
        if is_current(disk, f"{path}/{LOCK_NAME}", held.lock):
            locked, held = held, None
            return locked
    finally:
        if held is not None:
            release(disk, held)
    left_ms = max(0, wait_ms - (disk.monotonic_ms() - started))
    return _waited(disk, path, session_id, left_ms, opened_both)  # it was deleted: look for it by its name


def _longest_pause_ms(waited_ms: int, wait_ms: int) -> int:
    """Up to half of its time a waiter looks more and more seldom: a look costs all the others time.

    From then on it looks more and more often, so that late comers do not pass it until its time is over.
    """
    left_ms = wait_ms - waited_ms
    return max(_FIRST_PAUSE_MS, min(_LONGEST_PAUSE_MS, left_ms * 2 * _LONGEST_PAUSE_MS // max(1, wait_ms)))


def _open(disk: Disk, path: str) -> Held | None:
    """Both descriptors; None when the session was deleted in between."""
    try:
        return _descriptors(disk, path, os.O_RDWR)
    except FileNotFoundError:
        make_directory(disk, path)
    try:
        return _descriptors(disk, path, os.O_RDWR | os.O_CREAT)
    except FileNotFoundError:
        return None


def _existing(disk: Disk, path: str) -> Held:
    """Raises: FileNotFoundError."""
    return _descriptors(disk, path, os.O_RDWR | os.O_CREAT)


def _descriptors(disk: Disk, path: str, flags: int) -> Held:
    directory = disk.open_directory(path)
    try:
        return Held(directory=directory, lock=disk.open(LOCK_NAME, flags, directory))
    except OSError:
        disk.close(directory)
        raise


def is_current(disk: Disk, path: str, descriptor: int) -> bool:
    """Whether what was opened is still what stands under its name: the session may have been deleted."""
    ours = disk.status(descriptor)
    try:
        named = disk.status_of(path)
    except FileNotFoundError:
        return False
    return (ours.st_dev, ours.st_ino) == (named.st_dev, named.st_ino)


_WRITE = os.O_RDWR | os.O_CREAT


class LostEvents(Exception):
    """The commit would cut off events that were attested once, or follow a place where some are missing."""


class PlannedCommit(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a commit writes, worked out before the first byte."""

    attestation: Attestation
    records: tuple[Record, ...]
    events: bytes
    line: bytes
    line_start: int
    tip: Tip
    """Where the manifest ends once all of it is durable."""


def planned(tip: Tip, plan: Sequence[Draft], blobs: Sequence[Blob], limits: SegmentLimits) -> PlannedCommit:
    """Where a plan goes after this tip and which bytes it becomes."""
    records = chained(plan, tip.head, tip.digest)
    events = framed(plan)
    segment, start = _place(tip, limits)
    attestation = Attestation(
        v=VERSION,
        first=tip.head,
        last=records[-1].index,
        segment=segment,
        start=start,
        end=start + len(events),
        head=records[-1].digest,
        blobs=tuple(blob.ref for blob in blobs),
    )
    after, line = add(tip, attestation)
    return PlannedCommit(
        attestation=attestation,
        records=records,
        events=events,
        line=line,
        line_start=tip.end,
        tip=after,
    )


class WrittenCommit(msgspec.Struct, frozen=True, kw_only=True):
    """What a commit left: the note that it is durable, and how manifest and events look, if that is known."""

    note: Note | None
    marks: tuple[Mark, Mark] | None


def write_commit(disk: Disk, held: Held, commit: PlannedCommit) -> WrittenCommit:
    """Make events and manifest line durable, and note it. The blobs are durable already.

    Raises: OSError, and then the plan does not count; LostEvents, and then no byte was changed.
    """
    with (
        opened(disk, MANIFEST_NAME, _WRITE, held.directory) as manifest,
        opened(disk, commit.attestation.segment, _WRITE, held.directory) as events,
    ):
        before, events_size = disk.status(manifest), disk.status(events).st_size
        _spare_lost_events(disk, events, events_size, commit)
        # Both before anything is written: an old line must not meet events it was not written for.
        _cut_orphans(disk, manifest, before.st_size, commit.line_start)
        _cut_orphans(disk, events, events_size, commit.attestation.start)
        write_all(disk, events, commit.events, commit.attestation.start)
        if commit.attestation.start == 0:
            # A line never stands without its segment, nor the first line without its events.
            disk.sync(events)
            disk.sync_names(held.directory)
        # A session never looks older than it was, whatever the clock of this call says.
        changed_ns = max(disk.now_ns(), before.st_mtime_ns if commit.line_start else 0)
        _append_line(disk, manifest, events, commit, changed_ns)
        marks = None
        with suppress(OSError):  # the commit is durable; what is not known of its files is read again
            marks = mark_of(disk.status(manifest)), mark_of(disk.status(events))
    return WrittenCommit(note=write_note(disk, held.lock, commit.tip), marks=marks)


def settle(disk: Disk, held: Held, tip: Tip, note: Note | None) -> Note | None:
    """Make the last commit durable if its writer did not live to note that it is; the note that holds then.

    A holder acknowledges what it finds, so it must not find what a power failure could take away.
    The bytes are written again, not only synced: after a failed sync the cache may call them clean.
    """
    if tip.last is None or is_at(note, tip):
        return note
    with (
        opened(disk, MANIFEST_NAME, os.O_RDWR, held.directory) as manifest,
        opened(disk, tip.last.segment, os.O_RDWR, held.directory) as events,
    ):
        modified_ns = disk.status(manifest).st_mtime_ns
        _write_again(disk, events, tip.last.start, tip.last.end)
        _write_again(disk, manifest, tip.start, tip.end)
        disk.set_modified(manifest, modified_ns)  # looking is not activity
        disk.set_modified(events, modified_ns)
        disk.sync_both(events, manifest)
    return write_note(disk, held.lock, tip)


def _place(tip: Tip, limits: SegmentLimits) -> tuple[str, int]:
    """The segment and the byte where the next commit begins."""
    if tip.last is None:
        return FIRST_SEGMENT, 0
    is_full = tip.last.end >= limits.max_bytes or tip.head - tip.segment_first >= limits.max_events
    return (segment_after(tip.last.segment), 0) if is_full else (tip.last.segment, tip.last.end)


def _append_line(disk: Disk, manifest: int, events: int, commit: PlannedCommit, changed_ns: int) -> None:
    try:
        write_all(disk, manifest, commit.line, commit.line_start)
        disk.set_modified(manifest, changed_ns)
        disk.set_modified(events, changed_ns)  # one time for both: a writer was here, and nobody since
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
    """A dead writer leaves the events of one commit. More than that is work, whose lines are gone."""
    if size <= commit.attestation.start:
        return
    if not is_one_commit(read_from(disk, events, commit.attestation.start), commit.events):
        raise LostEvents


def _cut_orphans(disk: Disk, descriptor: int, size: int, end: int) -> None:
    """Remove what a dead or refused writer left behind the attested end, before anything follows it."""
    if size < end:
        raise LostEvents
    if size > end:
        disk.cut(descriptor, end)
        disk.sync(descriptor)


def _take_back(disk: Disk, descriptor: int, end: int) -> None:
    # If this is refused too, the line may stay and count: then a repeat of the plan is answered from
    # it, after the next holder has settled it.
    with suppress(OSError):
        disk.cut(descriptor, end)
        disk.sync(descriptor)
