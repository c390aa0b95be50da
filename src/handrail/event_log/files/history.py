"""Reading a session directory: the manifest, then the segments it attests, checked against each other.

Reading takes no lock and changes no byte. A commit in progress is invisible: its manifest line is
not there yet, or is not whole.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from handrail.contract.ids import BlobRef
from handrail.event_log.files.commit import Note, is_at, read_note
from handrail.event_log.files.disk import Disk, opened, read_from
from handrail.event_log.files.manifest import (
    MANIFEST_NAME,
    Attestation,
    Attested,
    Tip,
    attest_after,
    before_first,
    holds,
    pins_in,
    shows,
    trouble,
)
from handrail.event_log.files.segments import (
    has_lost_sector,
    is_one_commit,
    keys_in,
    segment_after,
    segments_up_to,
    unframed,
)
from handrail.event_log.plan import chained
from handrail.ports.log import Health, HealthReason, Loaded, Record

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


def read_history(disk: Disk, directory: int, session_id: str, note: Note | None) -> History | None:
    """The whole session, proven from its first event; None when there is no commit.

    `note` was read before. What is read may change meanwhile in two ways: a commit is added, or a writer
    that was refused by the disk takes its unacknowledged commit back. So an unsound reading counts only
    if the manifest is still the same.
    """
    start = before_first(session_id)
    content = read_manifest(disk, directory)
    for _ in range(_REREADS):
        history = _proven(disk, directory, start, content, note)
        if history is None or history.health.state == "healthy":
            return history
        before, content = content, read_manifest(disk, directory)
        if content == before:
            return history
    return history


def read_after(disk: Disk, directory: int, tip: Tip, note: Note | None) -> History | None:
    """The events after a tip; None when the manifest does not hold the tip, or what follows is unsound.

    None is no verdict: read the whole history, which gives one.
    """
    content = read_manifest(disk, directory, tip.start)
    if not holds(tip, content):
        return None
    history = _proven(disk, directory, tip, content[tip.end - tip.start :], note)
    return history if history is not None and history.health.state == "healthy" else None


def read_attested(disk: Disk, directory: int, session_id: str) -> Attested:
    """What the manifest proves, without a look at the events; unsound when the note tells of more.

    Raises: OSError.
    """
    start, note = before_first(session_id), read_note(disk, directory)
    content = read_manifest(disk, directory)
    return _judged(attest_after(start, content), start, content, note)


def make_sure_durable(disk: Disk, directory: int, tip: Tip, note: Note | None) -> None:
    """A reader shows nothing that a power failure could still take away.

    Between the write of a commit and its sync a reader can see it. The note says how far the manifest is
    known to be durable; a commit beyond it is synced by whoever shows it. The note at hand is as old as
    the reading, so it is looked at once more before anybody waits for the disk.
    """
    if tip.last is None or is_at(note, tip) or is_at(read_note(disk, directory), tip):
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


def _proven(disk: Disk, directory: int, start: Tip, content: bytes, note: Note | None) -> History | None:
    attested = _judged(attest_after(start, content), start, content, note)
    if attested.tip.last is None and attested.health.state == "healthy":
        return None
    segments = _Segments(disk, directory)
    records, damage = _checked(attested.attestations, start.digest, segments)
    if damage is None:
        health = attested.health
        if health.state == "healthy" and attested.attestations and segments.have_lost_commits():
            # Unless a writer was at work: what was added meanwhile is attested by now.
            is_same = read_manifest(disk, directory, start.end) == content
            health = _lost(attested.head) if is_same else health
        return History(attested=attested, records=tuple(records), head=attested.head, health=health)
    is_last = attested.tip.end == start.end + len(content)
    was_durable = note is not None and note.end >= attested.tip.end
    if damage.is_torn and is_last and not was_durable:
        return _proven(disk, directory, start, content[: attested.tip.start - start.end], note)
    return History(
        attested=attested,
        records=tuple(records),
        head=damage.event_index,
        health=trouble(damage.reason, damage.event_index),
    )


def _judged(attested: Attested, start: Tip, content: bytes, note: Note | None) -> Attested:
    """The same, unsound when a commit that was durable once is not among what the manifest shows."""
    if note is None or attested.health.state != "healthy":
        return attested
    is_shown = note.end <= attested.end and (not note.sum or shows(content, start.end, note.end, note.sum))
    return attested if is_shown else msgspec.structs.replace(attested, health=_lost(attested.head))


def _lost(head: int) -> Health:
    return trouble("history_lost", head)


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
    names = segments_up_to(tip.last.segment)
    contents = [read_segment(disk, directory, name) or b"" for name in names]
    contents[-1] = contents[-1][: tip.last.end]
    keys = [key for content in contents for key in keys_in(content)]
    known = {key: index for index, key in enumerate(keys)}
    pinned = pins_in(read_manifest(disk, directory)[: tip.end])
    return (known, pinned) if len(keys) == len(known) == tip.head else None


class _Segments:
    """The segments of a session as they are read, one after the other, each from some byte on."""

    def __init__(self, disk: Disk, directory: int) -> None:
        self._disk = disk
        self._directory = directory
        self._name = ""
        self._offset = self._end = 0
        self._content: bytes | None = b""

    def commit(self, attestation: Attestation) -> bytes | None:
        """The bytes of a commit, as far as they are there; None when its segment is not."""
        if attestation.segment != self._name:
            self._name, self._offset = attestation.segment, attestation.start
            self._content = read_segment(self._disk, self._directory, self._name, self._offset)
        self._end = attestation.end
        if self._content is None:
            return None
        return self._content[attestation.start - self._offset : attestation.end - self._offset]

    def have_lost_commits(self) -> bool:
        """Whether more follows the commit that was read last than one writer that died can have left.

        A writer leaves the events of one commit, in one place. More of them were attested once.
        """
        following = (self._content or b"")[self._end - self._offset :]
        new = read_segment(self._disk, self._directory, segment_after(self._name)) or b""
        return bool(following and new) or not is_one_commit(following + new)


def _checked(
    attestations: Sequence[Attestation], digest: str, segments: _Segments
) -> tuple[list[Record], _Damage | None]:
    """The events of these commits up to the first commit that is not what the manifest says."""
    records: list[Record] = []
    for attestation in attestations:
        commit = segments.commit(attestation)
        if commit is None:
            return records, _Damage(reason="missing_segment", event_index=attestation.first, is_torn=False)
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


def read_segment(disk: Disk, directory: int, name: str, offset: int = 0) -> bytes | None:
    try:
        with opened(disk, name, os.O_RDONLY, directory) as descriptor:
            return read_from(disk, descriptor, offset)
    except FileNotFoundError:
        return None
