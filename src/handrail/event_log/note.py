"""The note of the last durable commit, in the lock file of its session: what a store once proved.

It names the end of the manifest and the sum of the line that ends there, with a checksum of its own. It is
written after the commit is durable and is never synced: a note may be old or missing after a power failure,
but it never speaks of more than there was. So whatever it tells and the manifest does not show any more is
lost. It is read before the manifest, which only grows.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from typing import Final

import msgspec

from handrail.event_log.disk import Disk, opened, write_all
from handrail.event_log.manifest import Tip

LOCK_NAME: Final = "lock"

_END_DIGITS: Final = 20
_SUM_DIGITS: Final = 64
_CHECK_DIGITS: Final = 16
_LENGTH: Final = _END_DIGITS + 1 + _SUM_DIGITS + 1 + _CHECK_DIGITS + 1
"""Less than a sector, so that a crash keeps the note before or this one."""


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """Up to here the manifest was durable. An older version wrote the end alone."""

    end: int
    sum: str = ""


_OF_SOMETHING: Final = Note(end=1)
"""A note that cannot be read: nothing is noted before a first line is durable, and it says no more."""


def note_at(tip: Tip) -> Note:
    return Note(end=tip.end, sum=tip.sum)


def is_at(note: Note | None, tip: Tip) -> bool:
    """Whether the last commit is known to be durable."""
    return note is not None and note.end == tip.end and note.sum in ("", tip.sum)


def read_note(disk: Disk, directory: int) -> Note | None:
    """The note of a session directory; None when nobody has noted anything."""
    try:
        with opened(disk, LOCK_NAME, os.O_RDONLY, directory) as descriptor:
            return noted(disk, descriptor)
    except FileNotFoundError:
        return None


def noted(disk: Disk, lock: int) -> Note | None:
    """The same, for whoever has the lock file open."""
    text = disk.read(lock, _LENGTH, 0)
    if not text:
        return None
    if len(text) == _END_DIGITS and text.isdigit():
        return Note(end=int(text))
    if len(text) != _LENGTH or text[-1 - _CHECK_DIGITS :] != _check(text):
        return _OF_SOMETHING
    end, total, _ = text.decode().split(" ")
    return Note(end=int(end), sum=total)


def write_note(disk: Disk, lock: int, tip: Tip) -> Note | None:
    """Note that everything up to this tip is durable; None when the disk refused that."""
    text = b"%0*d %s " % (_END_DIGITS, tip.end, tip.sum.encode())
    # The commit is durable with or without the note, so a refusal here is not the caller's trouble.
    with suppress(OSError):
        write_all(disk, lock, text + _check(text), 0)
        return note_at(tip)
    return None


def _check(text: bytes) -> bytes:
    """The checksum that ends a note, and its line feed."""
    told = text[: _LENGTH - _CHECK_DIGITS - 1]
    return hashlib.sha256(told).hexdigest()[:_CHECK_DIGITS].encode() + b"\n"
