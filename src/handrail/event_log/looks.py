"""How the files of a session look from outside: proven bytes are read again only if they may have changed.

A look is taken before the bytes are read. A writer gives the events and the manifest one time when it
commits; whatever else changes one of them gives it another. So a look says whether only writers were at work
since, and costs a few calls that read nothing.
"""

from __future__ import annotations

import os
from itertools import count
from typing import TypeAlias

import msgspec

from handrail.event_log.disk import Disk
from handrail.event_log.manifest import MANIFEST_NAME, Tip
from handrail.event_log.segments import segment_name, segment_number

Mark: TypeAlias = tuple[int, int, int, int]
"""Size, modification time, inode and change time of a file."""
_NO_FILE: Mark = (-1, 0, 0, 0)


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """The marks of a session's files at one moment."""

    manifest: Mark
    segments: tuple[Mark, ...]


def mark_of(status: os.stat_result) -> Mark:
    return (status.st_size, status.st_mtime_ns, status.st_ino, status.st_ctime_ns)


def look_at(disk: Disk, directory: int, known: Look | None = None) -> Look:
    """How the files look now: all segments there are, or as many as were known."""
    numbers = count(1) if known is None else range(1, 1 + len(known.segments))
    manifest = _mark(disk, directory, MANIFEST_NAME)
    segments: list[Mark] = []
    for number in numbers:
        mark = _mark(disk, directory, segment_name(number))
        if mark is _NO_FILE:
            break
        segments.append(mark)
    return Look(manifest=manifest, segments=tuple(segments))


def is_left_by_writers(known: Look, now: Look) -> bool:
    """Whether nothing changed since, or only commits were added."""
    if known == now:
        return True
    return (
        now.manifest[0] > known.manifest[0]
        and len(now.segments) == len(known.segments)
        and now.segments[:-1] == known.segments[:-1]
        and now.segments[-1][1] == now.manifest[1]
    )


def look_up_to(look: Look, tip: Tip) -> Look | None:
    """The look without segments that nothing attests; None when it does not show them all."""
    number = 0 if tip.last is None else segment_number(tip.last.segment)
    if not 0 < number <= len(look.segments):
        return None
    if number == len(look.segments):
        return look
    return msgspec.structs.replace(look, segments=look.segments[:number])


def look_after(before: Look | None, tip: Tip, marks: tuple[Mark, Mark] | None) -> Look | None:
    """The look after a commit, which ended at this tip and left manifest and events so; None if unknown."""
    assert tip.last is not None, "a commit was made"
    number = segment_number(tip.last.segment)
    earlier = () if before is None else before.segments[: number - 1]
    if marks is None or len(earlier) != number - 1:
        return None
    return Look(manifest=marks[0], segments=(*earlier, marks[1]))


def _mark(disk: Disk, directory: int, name: str) -> Mark:
    try:
        return mark_of(disk.status_of(name, directory))
    except FileNotFoundError:
        return _NO_FILE
