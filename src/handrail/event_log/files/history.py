"""Reads a session directory: the manifest, then the segments it attests, checked against each other.

Reading takes no lock and changes no byte. A commit in progress is invisible: its manifest line is not there
yet, or is not whole.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from handrail.contract.ids import BlobRef
from handrail.event_log.files.commit import Note, is_known_durable, read_note
from handrail.event_log.files.disk import Disk, open_file, read_from
from handrail.event_log.files.manifest import (
    MANIFEST_NAME,
    Attestation,
    Attested,
    IsOurs,
    Tip,
    attest_after,
    describe_damage,
    empty_tip,
    has_line_sum,
    has_tip_line,
    pins_in,
    vouch_for_all,
)
from handrail.event_log.files.segments import (
    has_lost_sector,
    is_one_commit,
    keys_in,
    parse_frames,
    segment_after,
    segments_up_to,
)
from handrail.event_log.plan import chain_records
from handrail.ports.log import Health, HealthReason, Loaded, Record

_REREADS: Final = 8
"""How often a manifest is read again if it looks damaged and keeps changing."""


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


def drop_before(history: History, index: int) -> History:
    """Return the history without the events before an index."""
    records = tuple(record for record in history.records if record.index >= index)
    return msgspec.structs.replace(history, records=records)


def pins_of(attestations: Sequence[Attestation]) -> set[BlobRef]:
    return {ref for attestation in attestations for ref in attestation.blobs}


def read_history(
    disk: Disk, directory: int, session_id: str, note: Note | None, is_ours: IsOurs = vouch_for_all
) -> History | None:
    """Return the whole session, proven from its first event; None if there is no commit.

    `note` was read before. The files may change meanwhile in two ways: a commit is added, or a writer whose
    disk refused a call takes its unacknowledged commit back. So damage counts only if the manifest is still
    the same.
    """
    start = empty_tip(session_id)
    content = read_manifest(disk, directory)
    for _ in range(_REREADS):
        history = _prove(disk, directory, start, content, note, is_ours)
        if history is None or history.health.state == "healthy":
            return history
        before, content = content, read_manifest(disk, directory)
        if content == before:
            return history
    return history


def read_after(
    disk: Disk, directory: int, tip: Tip, note: Note | None, is_ours: IsOurs = vouch_for_all
) -> History | None:
    """Return the events after a tip; None if the manifest lacks the tip, or what follows is damaged.

    None is no verdict: `read_history` gives one.
    """
    content = read_manifest(disk, directory, tip.start)
    if not has_tip_line(tip, content):
        return None
    history = _prove(disk, directory, tip, content[tip.end - tip.start :], note, is_ours)
    return history if history is not None and history.health.state == "healthy" else None


def read_attested(disk: Disk, directory: int, session_id: str) -> Attested:
    """Return what the manifest proves, without reading the events; damaged if the note names more.

    Raise OSError.
    """
    start, note = empty_tip(session_id), read_note(disk, directory)
    content = read_manifest(disk, directory)
    return _compare_with_note(attest_after(start, content), start, content, note)


def ensure_durable(disk: Disk, directory: int, tip: Tip, note: Note | None) -> None:
    """Sync the last commit if the note does not say that it is durable.

    A reader can read a commit between its write and its sync, and must not show what a power failure could
    still remove. The caller's note is as old as the reading, so it is read again before the slow sync.
    """
    if tip.last is None or is_known_durable(note, tip) or is_known_durable(read_note(disk, directory), tip):
        return
    for name in (tip.last.segment, MANIFEST_NAME):
        with open_file(disk, name, os.O_RDONLY, directory) as descriptor:
            try:
                disk.sync(descriptor)
            except OSError as error:
                # A read-only file system has nothing left to write.
                if error.errno not in (errno.EROFS, errno.EINVAL):
                    raise


def read_manifest(disk: Disk, directory: int, offset: int = 0) -> bytes:
    return read_segment(disk, directory, MANIFEST_NAME, offset) or b""


def _prove(
    disk: Disk, directory: int, start: Tip, content: bytes, note: Note | None, is_ours: IsOurs
) -> History | None:
    attested = _compare_with_note(attest_after(start, content), start, content, note)
    if attested.tip.last is None and attested.health.state == "healthy":
        return None
    segments = _Segments(disk, directory)
    records, damage = _read_commits(attested.attestations, start.digest, segments, is_ours)
    if damage is None:
        health = attested.health
        if health.state == "healthy" and attested.attestations and segments.have_lost_commits():
            # Unless a writer was at work: then its line is there by now.
            is_same = read_manifest(disk, directory, start.end) == content
            health = _describe_loss(attested.tip.head) if is_same else health
        return History(attested=attested, records=tuple(records), head=attested.tip.head, health=health)
    is_last = attested.tip.end == start.end + len(content)
    was_durable = note is not None and note.end >= attested.tip.end
    if damage.is_torn and is_last and not was_durable:
        return _prove(disk, directory, start, content[: attested.tip.start - start.end], note, is_ours)
    return History(
        attested=attested,
        records=tuple(records),
        head=damage.event_index,
        health=describe_damage(damage.reason, damage.event_index),
    )


def _compare_with_note(attested: Attested, start: Tip, content: bytes, note: Note | None) -> Attested:
    """Return the same, damaged if the manifest lacks a commit that the note says was durable."""
    if note is None or attested.health.state != "healthy":
        return attested
    is_shown = note.end <= attested.tip.end and (
        not note.sum or has_line_sum(content, start.end, note.end, note.sum)
    )
    return (
        attested if is_shown else msgspec.structs.replace(attested, health=_describe_loss(attested.tip.head))
    )


def _describe_loss(head: int) -> Health:
    return describe_damage("history_lost", head)


class _Damage(msgspec.Struct, frozen=True, kw_only=True):
    """The first commit that differs from its manifest line."""

    reason: HealthReason
    event_index: int
    is_torn: bool
    """Whether a crash before the sync of the last commit can have left exactly this."""


def scan_proven_bytes(disk: Disk, directory: int, tip: Tip) -> tuple[dict[str, int], set[BlobRef]] | None:
    """Collect every dedupe key with its index, and every pinned blob, from bytes proven up to a tip. None
    if the files do not match the tip; the whole session must then be read.
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
    """The segments of a session, read one after the other, each from some byte on."""

    def __init__(self, disk: Disk, directory: int) -> None:
        self._disk = disk
        self._directory = directory
        self._name = ""
        self._offset = self._end = 0
        self._content: bytes | None = b""

    def commit(self, attestation: Attestation) -> bytes | None:
        """Return the bytes of a commit, as many as there are; None if its segment is missing."""
        if attestation.segment != self._name:
            self._name, self._offset = attestation.segment, attestation.start
            self._content = read_segment(self._disk, self._directory, self._name, self._offset)
        self._end = attestation.end
        if self._content is None:
            return None
        return self._content[attestation.start - self._offset : attestation.end - self._offset]

    def have_lost_commits(self) -> bool:
        """Whether more follows the last commit than a single dead writer can have left.

        A writer leaves the events of one commit, in one place. More than that was attested once.
        """
        following = (self._content or b"")[self._end - self._offset :]
        new = read_segment(self._disk, self._directory, segment_after(self._name)) or b""
        return bool(following and new) or not is_one_commit(following + new)


def _read_commits(
    attestations: Sequence[Attestation], digest: str, segments: _Segments, is_ours: IsOurs
) -> tuple[list[Record], _Damage | None]:
    """Return the events of these commits, up to the first that differs from its manifest line."""
    records: list[Record] = []
    for attestation in attestations:
        commit = segments.commit(attestation)
        if commit is None:
            return records, _Damage(reason="missing_segment", event_index=attestation.first, is_torn=False)
        found = _records_in(commit, attestation, digest, is_ours=is_ours(attestation))
        if isinstance(found, str):
            is_torn = attestation is attestations[-1] and _is_torn(commit, attestation)
            return records, _Damage(reason=found, event_index=attestation.first, is_torn=is_torn)
        records.extend(found)
        digest = attestation.head
    return records, None


def _records_in(
    commit: bytes, attestation: Attestation, digest: str, *, is_ours: bool
) -> tuple[Record, ...] | Literal["undecodable", "digest_mismatch"]:
    drafts = parse_frames(commit)
    if drafts is None:
        return "undecodable"
    records = chain_records(drafts, attestation.first, digest, is_ours=is_ours)
    if len(records) != attestation.last - attestation.first + 1 or records[-1].digest != attestation.head:
        return "digest_mismatch"
    return records


def _is_torn(commit: bytes, attestation: Attestation) -> bool:
    """Whether a commit is torn: its events and line are synced concurrently, so the line may arrive alone."""
    return len(commit) < attestation.end - attestation.start or has_lost_sector(commit, attestation.start)


def read_segment(disk: Disk, directory: int, name: str, offset: int = 0) -> bytes | None:
    try:
        with open_file(disk, name, os.O_RDONLY, directory) as descriptor:
            return read_from(disk, descriptor, offset)
    except FileNotFoundError:
        return None
