"""Reading a session directory: the manifest, then the segments it attests, checked against each other.

Reading takes no lock and changes no byte. A commit in progress is invisible: its manifest line is
not there yet, or is not whole.
"""

from __future__ import annotations

import errno
import os
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Final, Literal

import msgspec

from handrail.contract.ids import BlobRef
from handrail.event_log.disk import Disk, opened, read_from
from handrail.event_log.lock import durable_end
from handrail.event_log.manifest import (
    MANIFEST_NAME,
    Attestation,
    Attested,
    Tip,
    attest_after,
    before_first,
    has_lost_sector,
    holds,
    pins_in,
    trouble,
)
from handrail.event_log.plan import chained
from handrail.event_log.segments import keys_in, segments_up_to, unframed
from handrail.ports import Health, HealthReason, Loaded, Record

_REREADS: Final = 8
"""How often a manifest that changes under an unsound reading is read again."""


class History(msgspec.Struct, frozen=True, kw_only=True):
    """The proven events of a session from some index on, and the manifest that attests them."""

    attested: Attested
    records: tuple[Record, ...]
    head: int
    health: Health


def loaded_of(history: History) -> Loaded:
    is_sound = history.health.state == "healthy"
    return Loaded(
        records=history.records,
        head=history.head,
        digest=history.attested.tip.digest if is_sound else "",
        health=history.health,
    )


def since(history: History, index: int) -> History:
    """The same without the events before an index."""
    records = tuple(record for record in history.records if record.index >= index)
    return msgspec.structs.replace(history, records=records)


def pins_of(attestations: Sequence[Attestation]) -> set[BlobRef]:
    return {ref for attestation in attestations for ref in attestation.blobs}


def read_history(disk: Disk, directory: int, session_id: str, since: int = 0) -> History | None:
    """The events from index `since` on; None when there is no commit.

    What is read may change meanwhile in one way: a writer that was refused by the disk takes its
    unacknowledged commit back. So an unsound reading counts only if the manifest is still the same.
    """
    start = before_first(session_id)
    content = read_manifest(disk, directory)
    for _ in range(_REREADS):
        history = _proven(disk, directory, start, content, since)
        if history is None or history.health.state == "healthy":
            return history
        before, content = content, read_manifest(disk, directory)
        if content == before:
            return history
    return history


def read_after(disk: Disk, directory: int, tip: Tip) -> History | None:
    """The events after a tip; None when the manifest does not hold the tip, or what follows is unsound.

    None is no verdict: read the whole history, which gives one.
    """
    content = read_manifest(disk, directory, tip.start)
    if not holds(tip, content):
        return None
    history = _proven(disk, directory, tip, content[tip.end - tip.start :], tip.head)
    return history if history is not None and history.health.state == "healthy" else None


def make_sure_durable(disk: Disk, directory: int, tip: Tip) -> None:
    """A reader shows nothing that a power failure could still take away.

    Between the write of a commit and its sync a reader can see it. The lock file says how far the
    manifest is known to be durable; a commit beyond it is synced by whoever shows it.
    """
    if tip.last is None or durable_end(disk, directory) == tip.end:
        return
    for name in (tip.last.segment, MANIFEST_NAME):
        with opened(disk, name, os.O_RDONLY, directory) as descriptor:
            try:
                disk.sync(descriptor)
            except OSError as error:
                # A read-only file system holds nothing back.
                if error.errno not in (errno.EROFS, errno.EINVAL):
                    raise


def read_manifest(disk: Disk, directory: int, offset: int = 0) -> bytes:
    try:
        with opened(disk, MANIFEST_NAME, os.O_RDONLY, directory) as descriptor:
            return read_from(disk, descriptor, offset)
    except FileNotFoundError:
        return b""


def _proven(disk: Disk, directory: int, start: Tip, content: bytes, since: int) -> History | None:
    attested = attest_after(start, content)
    if attested.tip.last is None and attested.health.state == "healthy":
        return None
    covering = bisect_left(attested.attestations, since, key=lambda attestation: attestation.last)
    covering = max(0, min(covering, len(attested.attestations) - 1))  # the last commit is always looked at
    digest = attested.attestations[covering - 1].head if covering else start.digest
    records, damage = _checked(attested.attestations[covering:], digest, _segment_reader(disk, directory))
    if damage is None:
        return History(
            attested=attested,
            records=tuple(record for record in records if record.index >= since) if since else tuple(records),
            head=attested.head,
            health=attested.health,
        )
    is_last = attested.tip.end == start.end + len(content)
    if damage.is_torn and is_last and not _was_durable(disk, directory, attested.tip):
        return _proven(disk, directory, start, content[: attested.tip.start - start.end], since)
    return History(
        attested=attested,
        records=tuple(record for record in records if record.index >= since),
        head=damage.event_index,
        health=trouble(damage.reason, damage.event_index),
    )


def _was_durable(disk: Disk, directory: int, tip: Tip) -> bool:
    """Whether some writer or reader knew of this very commit that it had arrived whole."""
    noted = durable_end(disk, directory)
    return noted is not None and noted >= tip.end


class _Damage(msgspec.Struct, frozen=True, kw_only=True):
    """The first commit that is not what the manifest says."""

    reason: HealthReason
    event_index: int
    is_torn: bool
    """A crash before the sync of the last commit can have left exactly this."""


def scan(disk: Disk, directory: int, tip: Tip) -> tuple[dict[str, int], set[BlobRef]] | None:
    """Every dedupe key with its index, and every pinned blob, in bytes that are proven up to a tip.

    None when the files are not what the tip says; then only a whole reading helps.
    """
    assert tip.last is not None, "there is something to scan"
    read = _segment_reader(disk, directory)
    names = segments_up_to(tip.last.segment)
    contents = [read(name, 0) or b"" for name in names]
    contents[-1] = contents[-1][: tip.last.end]
    keys = [key for content in contents for key in keys_in(content)]
    known = {key: index for index, key in enumerate(keys)}
    pinned = pins_in(read_manifest(disk, directory)[: tip.end])
    return (known, pinned) if len(keys) == len(known) == tip.head else None


ReadSegment = Callable[[str, int], bytes | None]


def _checked(
    attestations: Sequence[Attestation], digest: str, read: ReadSegment
) -> tuple[list[Record], _Damage | None]:
    """The events of these commits up to the first commit that is not what the manifest says."""
    records: list[Record] = []
    segment, offset = "", 0
    content: bytes | None = b""
    for attestation in attestations:
        if attestation.segment != segment:
            segment, offset = attestation.segment, attestation.start
            content = read(segment, offset)
        if content is None:
            return records, _Damage(reason="missing_segment", event_index=attestation.first, is_torn=False)
        commit = content[attestation.start - offset : attestation.end - offset]
        found = _records_in(commit, attestation, digest)
        if isinstance(found, str):
            is_torn = attestation is attestations[-1] and _is_torn(commit, attestation)
            return records, _Damage(reason=found, event_index=attestation.first, is_torn=is_torn)
        records.extend(found)
        digest = attestation.head
    return records, None


def _records_in(
    commit: bytes, attestation: Attestation, digest: str
) -> tuple[Record, ...] | Literal["undecodable", "digest_mismatch"]:
    drafts = unframed(commit)
    if drafts is None:
        return "undecodable"
    records = chained(drafts, attestation.first, digest)
    if len(records) != attestation.last - attestation.first + 1 or records[-1].digest != attestation.head:
        return "digest_mismatch"
    return records


def _is_torn(commit: bytes, attestation: Attestation) -> bool:
    """The events and the line of a commit are synced side by side, so the line may arrive alone."""
    return len(commit) < attestation.end - attestation.start or has_lost_sector(commit, attestation.start)


def _segment_reader(disk: Disk, directory: int) -> ReadSegment:
    def read(name: str, offset: int) -> bytes | None:
        try:
            with opened(disk, name, os.O_RDONLY, directory) as descriptor:
                return read_from(disk, descriptor, offset)
        except FileNotFoundError:
            return None

    return read
