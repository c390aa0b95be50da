"""Writing one plan into a session directory, under its lock: the order of the steps is the promise.

Blobs durable, then events and manifest line durable side by side, and only then is the plan
acknowledged. A step that is refused leaves bytes that nothing attests, or a line whose events did
not arrive. The next commit cuts them off before it writes.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from handrail.event_log.disk import Disk, opened, read_from, write_all
from handrail.event_log.lock import Held
from handrail.event_log.looks import Mark, mark_of
from handrail.event_log.manifest import MANIFEST_NAME, VERSION, Attestation, Tip, add
from handrail.event_log.note import Note, is_at, write_note
from handrail.event_log.plan import chained
from handrail.event_log.segments import FIRST_SEGMENT, SegmentLimits, framed, is_one_commit, segment_after
from handrail.ports import Blob, Draft, Record

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
