"""Reading a session directory: the manifest, then the segments it attests, checked against each other.

Reading takes no lock and changes no byte. A commit in progress is invisible: its manifest line is
not there yet, or is not whole.
"""

from __future__ import annotations

import errno
import os
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from handrail.contract.chain import genesis
from handrail.event_log.disk import Disk, opened, read_from
from handrail.event_log.lock import durable_end
from handrail.event_log.manifest import MANIFEST_NAME, Attestation, Attested, attest, trouble
from handrail.event_log.plan import chained
from handrail.event_log.segments import unframed
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
    return Loaded(records=history.records, head=history.head, health=history.health)


def read_history(disk: Disk, directory: int, session_id: str, since: int = 0) -> History | None:
    """The events from index `since` on; None when there is no commit.

    What is read may change meanwhile in one way: a writer that was refused by the disk takes its
    unacknowledged commit back. So an unsound reading counts only if the manifest is still the same.
    """
    content = _manifest(disk, directory)
    for _ in range(_REREADS):
        history = _proven(disk, directory, session_id, content, since)
        if history is None or history.health.state == "healthy":
            return history
        before, content = content, _manifest(disk, directory)
        if content == before:
            return history
    return history


def make_sure_durable(disk: Disk, directory: int, history: History) -> None:
    """A reader shows nothing that a power failure could still take away.

    Between the write of a manifest line and its sync a reader can see the line. The lock file says
    how far the manifest is known to be durable; a line beyond it is synced by whoever shows it.
    """
    if durable_end(disk, directory) == history.attested.end:
        return
    with opened(disk, MANIFEST_NAME, os.O_RDONLY, directory) as descriptor:
        try:
            disk.sync(descriptor)
        except OSError as error:
            if error.errno not in (errno.EROFS, errno.EINVAL):  # a read-only file system holds nothing back
                raise


def _manifest(disk: Disk, directory: int) -> bytes:
    try:
        with opened(disk, MANIFEST_NAME, os.O_RDONLY, directory) as descriptor:
            return read_from(disk, descriptor)
    except FileNotFoundError:
        return b""


def _proven(disk: Disk, directory: int, session_id: str, content: bytes, since: int) -> History | None:
    attested = attest(session_id, content)
    if not attested.attestations and attested.health.state == "healthy":
        return None
    covering = bisect_left(attested.attestations, since, key=lambda attestation: attestation.last)
    digest = attested.attestations[covering - 1].head if covering else genesis(session_id)
    records, damage = _checked(attested.attestations[covering:], digest, _segment_reader(disk, directory))
    head = attested.head if damage is None else damage[1]
    return History(
        attested=attested,
        records=tuple(record for record in records if record.index >= since) if since else tuple(records),
        head=head,
        health=attested.health if damage is None else trouble(*damage),
    )


ReadSegment = Callable[[str, int], bytes | None]


def _checked(
    attestations: Sequence[Attestation], digest: str, read: ReadSegment
) -> tuple[list[Record], tuple[HealthReason, int] | None]:
    """The events of these commits up to the first commit that is not what the manifest says."""
    records: list[Record] = []
    segment, offset = "", 0
    content: bytes | None = b""
    for attestation in attestations:
        if attestation.segment != segment:
            segment, offset = attestation.segment, attestation.start
            content = read(segment, offset)
        if content is None:
            return records, ("missing_segment", attestation.first)
        drafts = unframed(content[attestation.start - offset : attestation.end - offset])
        if drafts is None:
            return records, ("undecodable", attestation.first)
        commit = chained(drafts, attestation.first, digest)
        if len(commit) != attestation.last - attestation.first + 1 or commit[-1].digest != attestation.head:
            return records, ("digest_mismatch", attestation.first)
        records.extend(commit)
        digest = attestation.head
    return records, None


def _segment_reader(disk: Disk, directory: int) -> ReadSegment:
    def read(name: str, offset: int) -> bytes | None:
        try:
            with opened(disk, name, os.O_RDONLY, directory) as descriptor:
                return read_from(disk, descriptor, offset)
        except FileNotFoundError:
            return None

    return read
