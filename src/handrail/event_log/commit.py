"""Writing one plan into a session directory, under its lock: the order of the steps is the promise.

Blobs durable, events durable, manifest line durable, and only then is the plan acknowledged. A step
that is refused leaves bytes that nothing attests. The next commit cuts them off before it writes.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from handrail.event_log.disk import Disk, opened, read_from, write_all
from handrail.event_log.history import History
from handrail.event_log.lock import Held, durable_end, note_durable
from handrail.event_log.manifest import MANIFEST_NAME, VERSION, Attestation, Attested, add, nothing_attested
from handrail.event_log.plan import chained, digest_before
from handrail.event_log.segments import FIRST_SEGMENT, SegmentLimits, framed, segment_after
from handrail.ports import Blob, Draft, Health

_WRITE = os.O_RDWR | os.O_CREAT


def no_history(session_id: str) -> History:
    """A session before its first commit."""
    return History(attested=nothing_attested(session_id), records=(), head=0, health=Health())


class PlannedCommit(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a commit writes, worked out before the first byte."""

    attestation: Attestation
    events: bytes
    line: bytes
    line_start: int
    after: History
    """What the session is once all of it is durable."""


def planned(
    session_id: str, history: History, plan: Sequence[Draft], blobs: Sequence[Blob], limits: SegmentLimits
) -> PlannedCommit:
    """Where a plan goes in this history and which bytes it becomes."""
    records = chained(plan, history.head, digest_before(session_id, history.records))
    events = framed(plan)
    segment, start = _place(history.attested, limits)
    attestation = Attestation(
        v=VERSION,
        first=history.head,
        last=records[-1].index,
        segment=segment,
        start=start,
        end=start + len(events),
        head=records[-1].digest,
        blobs=tuple(blob.ref for blob in blobs),
    )
    attested, line = add(history.attested, attestation)
    after = History(
        attested=attested, records=history.records + records, head=attested.head, health=history.health
    )
    return PlannedCommit(
        attestation=attestation, events=events, line=line, line_start=history.attested.end, after=after
    )


def write_commit(disk: Disk, held: Held, commit: PlannedCommit) -> None:
    """Make events and manifest line durable, in this order. The blobs are durable already.

    Raises: OSError, and then the plan does not count.
    """
    _append_events(disk, held, commit)
    if commit.attestation.start == 0:
        _make_names_durable(disk, held)
    _append_line(disk, held, commit)
    note_durable(disk, held, commit.after.attested.end)


def settle(disk: Disk, held: Held, history: History) -> None:
    """Make the last commit durable if its writer did not live to say that it is.

    A holder acknowledges what it finds, so it must not find what a power failure could take away.
    The line is written again, not only synced: after a failed sync the cache may call it clean.
    """
    attested = history.attested
    if durable_end(disk, held.directory) == attested.end:
        return
    with opened(disk, MANIFEST_NAME, os.O_RDWR, held.directory) as descriptor:
        modified_ns = disk.status(descriptor).st_mtime_ns
        line = read_from(disk, descriptor, attested.last_start)[: attested.end - attested.last_start]
        write_all(disk, descriptor, line, attested.last_start)
        disk.set_modified(descriptor, modified_ns)  # looking is not activity
        disk.sync(descriptor)
    note_durable(disk, held, attested.end)


def _place(attested: Attested, limits: SegmentLimits) -> tuple[str, int]:
    """The segment and the byte where the next commit begins."""
    if not attested.attestations:
        return FIRST_SEGMENT, 0
    last = attested.attestations[-1]
    is_full = last.end >= limits.max_bytes or attested.head - attested.segment_first >= limits.max_events
    return (segment_after(last.segment), 0) if is_full else (last.segment, last.end)


def _append_events(disk: Disk, held: Held, commit: PlannedCommit) -> None:
    start = commit.attestation.start
    with opened(disk, commit.attestation.segment, _WRITE, held.directory) as descriptor:
        _cut_orphans(disk, descriptor, start)
        write_all(disk, descriptor, commit.events, start)
        disk.sync(descriptor)


def _make_names_durable(disk: Disk, held: Held) -> None:
    """For a new segment, and with the first one for the manifest, before a line attests anything."""
    with opened(disk, MANIFEST_NAME, _WRITE, held.directory):
        disk.sync_names(held.directory)


def _append_line(disk: Disk, held: Held, commit: PlannedCommit) -> None:
    with opened(disk, MANIFEST_NAME, os.O_RDWR, held.directory) as descriptor:
        _cut_orphans(disk, descriptor, commit.line_start)
        try:
            write_all(disk, descriptor, commit.line, commit.line_start)
            disk.set_modified(descriptor, disk.now_ns())
            disk.sync(descriptor)
        except OSError:
            _take_back(disk, descriptor, commit.line_start)
            raise


def _cut_orphans(disk: Disk, descriptor: int, end: int) -> None:
    """Remove what a dead or refused writer left behind the attested end, before anything follows it."""
    if disk.status(descriptor).st_size > end:
        disk.cut(descriptor, end)
        disk.sync(descriptor)


def _take_back(disk: Disk, descriptor: int, end: int) -> None:
    # If this is refused too, the line may stay and count: then a repeat of the plan is answered from
    # it, after the next holder has settled it.
    with suppress(OSError):
        disk.cut(descriptor, end)
        disk.sync(descriptor)
