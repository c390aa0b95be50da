"""The manifest of a session: which bytes of which segment are events, one line per commit. Pure.

A line is `{"v":1,…,"sum":"<64 hex>"}`. `sum` is chained over the line and the `sum` before it, so
a line proves every line before it. This frame, with `v` first and `sum` last, is the same in every
version: a reader can tell a newer line from a damaged one. A line of version 2 has `auth` as well: the
authentication line of its commit (`event_log/lines.py`).
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import msgspec

from handrail.contract.ids import BlobRef
from handrail.contract.json.canonical import genesis
from handrail.event_log.files import segments
from handrail.event_log.files.segments import text_around_lost_sectors
from handrail.event_log.lines import LINE
from handrail.ports.log import Health, HealthReason

PLAIN_VERSION: Final = 1
_AUTHENTICATED: Final = 2
MANIFEST_NAME: Final = "manifest.jsonl"

_SUM_START = b',"sum":"'
_SUM_END = b'"}'
_SUM_BYTES = len(_SUM_START) + 64 + len(_SUM_END)
_REFS = re.compile(b"sha256:[0-9a-f]{64}")
_DIGITS = slice(-64 - len(_SUM_END), -len(_SUM_END))
_PRINTABLE = re.compile(rb"[ -~]*\n?")
_NEWER_LINE = re.compile(rb'\{"v":([0-9]+),')
_NUMBER = re.compile(rb"[0-9]+")
_DIGEST = re.compile(rb"[0-9a-f]{1,64}")
_NAMED_BLOBS = re.compile(rb'[0-9a-fsh:",]+')
# fmt: off
_MIDDLE_PARTS = (
    _NUMBER, b',"last":', _NUMBER,
    b',"segment":"events-', _NUMBER, b'.jsonl","from":', _NUMBER, b',"to":', _NUMBER,
    b',"head":"', _DIGEST, b'","blobs":[', _NAMED_BLOBS,
)
_LINE_PARTS = (
    (b'{"v":1,"first":', *_MIDDLE_PARTS, b"]" + _SUM_START, _DIGEST, _SUM_END + b"\n"),
    (b'{"v":2,"first":', *_MIDDLE_PARTS,
     b'],"auth":"', _DIGEST, b'"' + _SUM_START, _DIGEST, _SUM_END + b"\n"),
)
# fmt: on
"""A line of either version as its writer spells it: fixed texts, and runs that may be incomplete."""


class Attestation(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
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
    auth: str = ""
    """The authentication line of the commit; empty for a line of version 1."""


IsOurs: TypeAlias = Callable[[Attestation], bool]
"""Returns whether this store made a commit."""


def vouch_for_all(attestation: Attestation) -> bool:
    """Return True, for a store without a key: every commit counts as its own."""
    del attestation
    return True


def write_no_line(attestation: Attestation) -> str:
    """Return no authentication line."""
    del attestation
    return ""


class Tip(msgspec.Struct, frozen=True, kw_only=True):
    """The proven end of a manifest: all that the next line builds on."""

    sum: str
    """The sum of the last intact line, which the next line is chained to."""
    sum_before: str = ""
    """The sum that the last intact line itself is chained to."""
    digest: str
    """The chain digest after the last event."""
    last: Attestation | None = None
    start: int = 0
    """Where the last intact line begins."""
    end: int = 0
    """Where it ends. Bytes after it attest nothing."""
    segment_first: int = 0
    """The first event of the last segment."""

    @property
    def head(self) -> int:
        return 0 if self.last is None else self.last.last + 1


class Attested(msgspec.Struct, frozen=True, kw_only=True):
    """The proven part of a manifest from some line on, and its health."""

    attestations: tuple[Attestation, ...]
    tip: Tip
    health: Health = Health()


class _AnyVersion(msgspec.Struct, frozen=True, kw_only=True):
    v: int


_decoder = msgspec.json.Decoder(Attestation)
_version_decoder = msgspec.json.Decoder(_AnyVersion)


def empty_tip(session_id: str) -> Tip:
    """Return the tip before the first commit; it binds the sums to their session."""
    start = hashlib.sha256(b"handrail.manifest.v1\0" + session_id.encode()).hexdigest()
    return Tip(sum=start, digest=genesis(session_id))


def attest_after(tip: Tip, content: bytes) -> Attested:
    """Read the manifest bytes that follow a tip, up to the first line that does not prove itself."""
    found: list[Attestation] = []
    base, position = tip.end, 0
    health = Health()
    while position < len(content):
        newline = content.find(b"\n", position)
        line = content[position:newline] if newline >= 0 else b""
        checked = _check(line, tip.sum, tip.last)
        if isinstance(checked, str):
            if not _is_torn(content, position, base):
                health = describe_damage(checked, tip.head)
            break
        found.append(checked)
        tip = _advance_tip(tip, checked, line[_DIGITS].decode(), base + newline + 1)
        position = newline + 1
    return Attested(attestations=tuple(found), tip=tip, health=health)


def has_tip_line(tip: Tip, content: bytes) -> bool:
    """Whether manifest bytes from `tip.start` on begin with the last line of the tip."""
    line = content[: tip.end - tip.start]
    seal = _SUM_START + tip.sum.encode() + _SUM_END + b"\n"
    return line.endswith(seal) and _sum(tip.sum_before, line.removesuffix(seal)) == tip.sum


def has_line_sum(content: bytes, base: int, end: int, total: str) -> bool:
    """Whether the line that ends at `end` of a manifest has this sum, in proven bytes from `base` on.

    True for a line before these bytes, which they cannot show.
    """
    seal = total.encode() + _SUM_END + b"\n"
    place = end - base
    return place < len(seal) or content[place - len(seal) : place] == seal


def pins_in(content: bytes) -> set[BlobRef]:
    """Return the blobs that proven manifest bytes name."""
    return {BlobRef(ref.decode()) for ref in _REFS.findall(content)}


def has_first_line(content: bytes) -> bool:
    """Whether manifest bytes that include the first line hold a commit, intact or damaged."""
    return not _is_torn(content, 0, 0)


def authenticate(attestation: Attestation, auth: str) -> Attestation:
    """Return the same commit with an authentication line; an empty one changes nothing."""
    return msgspec.structs.replace(attestation, v=_AUTHENTICATED, auth=auth) if auth else attestation


def add_attestation(tip: Tip, attestation: Attestation) -> tuple[Tip, bytes]:
    """Return the tip with one more commit, and the line to write at `tip.end`."""
    body = msgspec.json.encode(attestation)[:-1]
    total = _sum(tip.sum, body)
    line = body + _SUM_START + total.encode() + _SUM_END + b"\n"
    return _advance_tip(tip, attestation, total, tip.end + len(line)), line


def describe_damage(reason: HealthReason, event_index: int) -> Health:
    """Return the health of a session that is proven up to `event_index` and no further."""
    if reason == "unsupported_version":
        detail = f"Event {event_index} and later were written by a newer version."
        return Health(state="unknown_version", reason=reason, detail=detail)
    if reason == "history_lost":
        left = f"events 0 to {event_index - 1} are" if event_index else "no event is"
        detail = f"Work that was acknowledged is not in {MANIFEST_NAME} any more; {left} proven."
        return Health(state="corrupt_tail" if event_index else "corrupt_head", reason=reason, detail=detail)
    if event_index == 0:
        return Health(state="corrupt_head", reason=reason, detail="No event of the session can be proven.")
    detail = f"Events 0 to {event_index - 1} are proven; event {event_index} is not."
    return Health(state="corrupt_tail", reason=reason, detail=detail)


def _advance_tip(tip: Tip, attestation: Attestation, total: str, end: int) -> Tip:
    return Tip(
        sum=total,
        sum_before=tip.sum,
        digest=attestation.head,
        last=attestation,
        start=tip.end,
        end=end,
        segment_first=attestation.first if attestation.start == 0 else tip.segment_first,
    )


def _check(line: bytes, previous_sum: str, before: Attestation | None) -> Attestation | HealthReason:
    body, seal = line[:-_SUM_BYTES], line[-_SUM_BYTES:]
    if len(line) <= _SUM_BYTES or not seal.startswith(_SUM_START) or not seal.endswith(_SUM_END):
        return "undecodable"
    if seal[_DIGITS] != _sum(previous_sum, body).encode():
        return "digest_mismatch"
    try:
        version = _version_decoder.decode(body + b"}").v
        if version not in (PLAIN_VERSION, _AUTHENTICATED):
            return "unsupported_version"
        attestation = _decoder.decode(body + b"}")
    except msgspec.MsgspecError:
        return "undecodable"
    is_whole = LINE.fullmatch(attestation.auth) if version == _AUTHENTICATED else not attestation.auth
    if not is_whole:
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


def _is_torn(content: bytes, start: int, base: int) -> bool:
    """Whether a crash during the append of one line, before its sync, can have left exactly this.

    Then the line was never acknowledged. Its end is missing, or a sector of zeros shows where the file grew
    and the bytes did not arrive. A whole line with another defect is damage, and so is a line that goes on
    after its own end: its line feed was there and has changed. Anything else was overwritten.
    """
    tail = content[start:]
    if tail.find(b"\n") not in (-1, len(tail) - 1):
        return False
    before, *after = text_around_lost_sectors(tail, base + start)
    if not _is_begun_line(before) or not all(map(_PRINTABLE.fullmatch, after)):
        return False
    return bool(after) or (
        not tail.endswith(b"\n") and tail.find(_SUM_END) in (-1, len(tail) - len(_SUM_END))
    )


def _is_begun_line(text: bytes) -> bool:
    """Whether a line can begin with this text. Of a newer version, only the frame is known."""
    newer = _NEWER_LINE.match(text)
    if newer is not None and newer[1] not in (b"1", b"2"):
        return _PRINTABLE.fullmatch(text) is not None
    return any(_is_begun(text, parts) for parts in _LINE_PARTS)


def _is_begun(text: bytes, parts: Sequence[bytes | re.Pattern[bytes]]) -> bool:
    for part in parts:
        if isinstance(part, bytes):
            if not text.startswith(part):
                return part.startswith(text)
            text = text[len(part) :]
        else:
            run = part.match(text)
            text = text if run is None else text[run.end() :]
    return not text
