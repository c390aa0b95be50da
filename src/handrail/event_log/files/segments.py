"""The event segments of a session: their names, their limits and the frame around one event. Pure.

One line per event: `{"dedupeKey":"…","event":<body>}`. The body is never read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from handrail.ports.log import Draft

# Sectors: the smallest unit that a disk writes whole
#
# A sector reads as zeros if the file had grown and its bytes had not arrived.

SECTOR_BYTES: Final = 512


def sectors_of(start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield part of a file, in the pieces that a crash keeps or loses as a whole."""
    while start < end:
        edge = min(end, (start // SECTOR_BYTES + 1) * SECTOR_BYTES)
        yield start, edge
        start = edge


def has_lost_sector(content: bytes, offset: int) -> bool:
    """Whether text at this offset of a file lacks a whole sector."""
    return len(text_around_lost_sectors(content, offset)) > 1


def text_around_lost_sectors(content: bytes, offset: int) -> list[bytes]:
    """Return the text before, between and after the lost sectors; one piece if none is lost."""
    pieces = [b""]
    for start, end in sectors_of(offset, offset + len(content)):
        sector = content[start - offset : end - offset]
        if sector.count(0) == len(sector):
            pieces.append(b"")
        else:
            pieces[-1] += sector
    return pieces


# Segments and frames

FIRST_SEGMENT: Final = "events-000001.jsonl"

_START = b'{"dedupeKey":"'
_MIDDLE = b'","event":'
_END = b"}"
# Only intact time stamps: a sector that never arrived must not turn one into another.
_STAMPS = re.compile(
    b"^" + re.escape(_START) + b"[a-z0-9_:>-]+" + re.escape(_MIDDLE) + rb'\{"v":[0-9]+,"at":"([0-9TZ:.+-]+)"',
    re.MULTILINE,
)
_KEYS = re.compile(b"^" + re.escape(_START) + b'([^"]*)' + re.escape(_MIDDLE), re.MULTILINE)


class SegmentLimits(msgspec.Struct, frozen=True, kw_only=True):
    """A commit goes to a new segment once the current one has reached either limit."""

    max_bytes: int = 8 * 1024 * 1024
    max_events: int = 10_000


def segment_name(number: int) -> str:
    return f"events-{number:06d}.jsonl"


def segment_number(name: str) -> int:
    return int(name.removeprefix("events-").removesuffix(".jsonl"))


def segment_after(name: str) -> str:
    return segment_name(segment_number(name) + 1)


def segments_up_to(last: str) -> list[str]:
    """Return the names of all segments of a session with this last one."""
    names = [FIRST_SEGMENT]
    while names[-1] != last:
        names.append(segment_after(names[-1]))
    return names


def frame_events(plan: Sequence[Draft]) -> bytes:
    """Return the bytes of a plan in a segment."""
    return b"".join(_START + d.dedupe_key.encode() + _MIDDLE + d.body + _END + b"\n" for d in plan)


def keys_in(content: bytes) -> list[str]:
    """Return the dedupe keys of proven segment bytes, in order. Checks nothing, so it is fast."""
    return [key.decode() for key in _KEYS.findall(content)]


def is_one_commit(orphans: bytes, planned: bytes = b"") -> bool:
    """Whether a single writer that died can have left these unattested event bytes.

    All events of a plan have one time stamp, except those of an import, which bring their own. A repeated
    import has the same events except the last one, which labels it. This is the only place that reads
    inside an event, and only to find out whether too much would be cut off.
    """
    return len(set(_STAMPS.findall(orphans))) <= 1 or _is_left_of(orphans, planned)


def _is_left_of(orphans: bytes, planned: bytes) -> bool:
    """Whether every sector either has the planned bytes or never arrived."""
    same = planned[: planned.rfind(b"\n", 0, -1) + 1]
    return bool(same) and all(
        orphans[start:end] == same[start:end] or orphans.count(0, start, end) == end - start
        for start, end in sectors_of(0, min(len(orphans), len(same)))
    )


def parse_frames(content: bytes) -> list[Draft] | None:
    """Return the events in these bytes; None if they are not whole frames."""
    if not content.endswith(b"\n"):
        return None
    drafts: list[Draft] = []
    for line in content[:-1].split(b"\n"):
        middle = line.find(_MIDDLE)
        key = line[len(_START) : middle]
        if middle < 0 or not line.startswith(_START) or not line.endswith(_END) or not key.isascii():
            return None
        drafts.append(Draft(dedupe_key=key.decode(), body=line[middle + len(_MIDDLE) : -len(_END)]))
    return drafts
