"""The manifest of a session: which bytes of which segment are events, one line per commit. Pure.

A line is `{"v":1,…,"sum":"<64 hex>"}`. `sum` is chained over the line and the `sum` before it, so
a line proves every line before it. This frame, with `v` first and `sum` last, is the same in every
version: a reader can tell a newer line from a damaged one.
"""

from __future__ import annotations

import hashlib
from typing import Final

import msgspec

from handrail.contract.ids import BlobRef
from handrail.event_log import segments
from handrail.ports import Health, HealthReason

VERSION: Final = 1
MANIFEST_NAME: Final = "manifest.jsonl"
SECTOR_BYTES: Final = 512
"""The smallest unit a disk writes whole: a crash keeps or loses it as one."""

_SUM_START = b',"sum":"'
_SUM_END = b'"}'
_SUM_BYTES = len(_SUM_START) + 64 + len(_SUM_END)
_DIGITS = slice(-64 - len(_SUM_END), -len(_SUM_END))


class Attestation(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    rename={"start": "from", "end": "to"},
):
    """One commit: events `first` to `last` are the bytes `start` to `end` of a segment."""

    v: int
    first: int
    last: int
    segment: str
    start: int
    end: int
    head: str
    """The chain digest after event `last`."""
    blobs: tuple[BlobRef, ...]
    """The blobs that the plan introduced."""


class Attested(msgspec.Struct, frozen=True, kw_only=True):
    """What a manifest says, as far as it proves itself."""

    attestations: tuple[Attestation, ...]
    sum: str
    """The sum of the last intact line: what the next line is chained to."""
    last_start: int = 0
    """Where the last intact line begins."""
    end: int = 0
    """Where it ends. Bytes after it attest nothing."""
    segment_first: int = 0
    """The first event of the last segment."""
    health: Health = Health()

    @property
    def head(self) -> int:
        return self.attestations[-1].last + 1 if self.attestations else 0


class _AnyVersion(msgspec.Struct, frozen=True, kw_only=True):
    v: int


_decoder = msgspec.json.Decoder(Attestation)
_version_decoder = msgspec.json.Decoder(_AnyVersion)


def nothing_attested(session_id: str) -> Attested:
    """The manifest before the first commit; binds the sums to their session."""
    start = hashlib.sha256(b"handrail.manifest.v1\0" + session_id.encode()).hexdigest()
    return Attested(attestations=(), sum=start)


def attest(session_id: str, content: bytes) -> Attested:
    """Read manifest bytes up to the first line that does not prove itself."""
    found: list[Attestation] = []
    total = nothing_attested(session_id).sum
    last_start = position = segment_first = 0
    health = Health()
    while position < len(content):
        newline = content.find(b"\n", position)
        line = content[position:newline] if newline >= 0 else b""
        checked = _check(line, total, found[-1] if found else None)
        if isinstance(checked, str):
            if not _is_torn(content, position):
                health = trouble(checked, found[-1].last + 1 if found else 0)
            break
        found.append(checked)
        total = line[_DIGITS].decode()
        segment_first = checked.first if checked.start == 0 else segment_first
        last_start, position = position, newline + 1
    return Attested(
        attestations=tuple(found),
        sum=total,
        last_start=last_start,
        end=position,
        segment_first=segment_first,
        health=health,
    )


def is_begun(content: bytes) -> bool:
    """Whether manifest bytes that reach over the first line hold a commit, sound or damaged."""
    return content != b"" and not _is_torn(content, 0)


def add(attested: Attested, attestation: Attestation) -> tuple[Attested, bytes]:
    """The manifest with one more commit, and the line to write at `attested.end`."""
    body = msgspec.json.encode(attestation)[:-1]
    total = _sum(attested.sum, body)
    line = body + _SUM_START + total.encode() + _SUM_END + b"\n"
    grown = Attested(
        attestations=(*attested.attestations, attestation),
        sum=total,
        last_start=attested.end,
        end=attested.end + len(line),
        segment_first=attestation.first if attestation.start == 0 else attested.segment_first,
    )
    return grown, line


def trouble(reason: HealthReason, event_index: int) -> Health:
    """The health of a session that is proven up to `event_index` and no further."""
    if reason == "unsupported_version":
        detail = f"Event {event_index} and later were written by a newer version."
        return Health(state="unknown_version", reason=reason, detail=detail)
    if event_index == 0:
        return Health(state="corrupt_head", reason=reason, detail="No event of the session can be proven.")
    detail = f"Events 0 to {event_index - 1} are proven; event {event_index} is not."
    return Health(state="corrupt_tail", reason=reason, detail=detail)


def _check(line: bytes, previous_sum: str, before: Attestation | None) -> Attestation | HealthReason:
    body, seal = line[:-_SUM_BYTES], line[-_SUM_BYTES:]
    if len(line) <= _SUM_BYTES or not seal.startswith(_SUM_START) or not seal.endswith(_SUM_END):
        return "undecodable"
    if seal[_DIGITS] != _sum(previous_sum, body).encode():
        return "digest_mismatch"
    try:
        if _version_decoder.decode(body + b"}").v != VERSION:
            return "unsupported_version"
        attestation = _decoder.decode(body + b"}")
    except msgspec.MsgspecError:
        return "undecodable"
    return attestation if _follows(attestation, before) else "non_contiguous"


def _follows(attestation: Attestation, before: Attestation | None) -> bool:
    if attestation.last < attestation.first or attestation.end <= attestation.start:
        return False
    place = (attestation.first, attestation.segment, attestation.start)
    if before is None:
        return place == (0, segments.FIRST_SEGMENT, 0)
    next_place = (before.last + 1, before.segment, before.end)
    return place in (next_place, (before.last + 1, segments.segment_after(before.segment), 0))


def _sum(previous: str, body: bytes) -> str:
    return hashlib.sha256(bytes.fromhex(previous) + body).hexdigest()


def _is_torn(content: bytes, start: int) -> bool:
    """Whether a crash during the append of one line, before its sync, can have left exactly this.

    Then the line was never acknowledged. It shows as a missing end, or as a sector of zeros where
    the file grew and the bytes did not arrive. A whole line with another defect is damage, and so
    is a line that goes on after its own end: its line feed was there and has changed.
    """
    tail = content[start:]
    if tail.find(b"\n") not in (-1, len(tail) - 1):
        return False
    if _has_zero_sector(content, start):
        return True
    return not tail.endswith(b"\n") and tail.find(_SUM_END) in (-1, len(tail) - len(_SUM_END))


def _has_zero_sector(content: bytes, start: int) -> bool:
    while start < len(content):
        end = min(len(content), (start // SECTOR_BYTES + 1) * SECTOR_BYTES)
        if content.count(0, start, end) == end - start:
            return True
        start = end
    return False
