"""Which blobs the sessions of a store name, as far as that can be said for certain.

A sound session names what its manifest attests. One that is not sound may have named any blob, in lines
that are gone. One in which nothing was acknowledged names none; what its events speak of stays all the
same, because its start may be repeated.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from contextlib import suppress

import msgspec

from handrail.contract.ids import BlobRef, SessionId
from handrail.event_log.disk import Disk, opened_directory
from handrail.event_log.files import FileLog
from handrail.event_log.history import read_attested, read_segment
from handrail.event_log.segments import FIRST_SEGMENT, is_one_commit, segment_after
from handrail.event_log.usage import names_in, pins_of, session_ids

_REF = re.compile(rb"sha256:[0-9a-f]{64}")
_SEGMENT = "events-"


class Pinned(msgspec.Struct, frozen=True, kw_only=True):
    """What must stay, and why it may be more than can be told."""

    refs: set[BlobRef]
    blocked_by: tuple[SessionId, ...]
    """Sessions that could name any blob."""


def pinned_in(log: FileLog, without: Collection[SessionId] = ()) -> Pinned:
    """Every blob that a session may name."""
    refs: set[BlobRef] = set()
    unreadable: list[SessionId] = []
    for session_id in session_ids(log):
        if session_id in without:
            continue
        try:
            named = _named_by(log, session_id)
        except FileNotFoundError:
            continue  # deleted a moment ago
        except OSError:
            named = None
        if named is None:
            unreadable.append(session_id)
        else:
            refs |= named
    return Pinned(refs=refs, blocked_by=tuple(unreadable))


def half_made_in(log: FileLog) -> tuple[SessionId, ...]:
    """The sessions in which nothing was ever acknowledged."""
    found: list[SessionId] = []
    for session_id in session_ids(log):
        with suppress(OSError):
            if is_half_made(log, session_id):
                found.append(session_id)
    return tuple(found)


def is_half_made(log: FileLog, session_id: SessionId) -> bool:
    """Whether nothing was ever acknowledged in it: its first commit broke off, or never began.

    Events of many times are not counted among these: they may be an import that broke off, or all that is
    left of a session. Raises: OSError.
    """
    path = f"{log.sessions}/{session_id}"
    with opened_directory(log.disk, path) as directory:
        attested = read_attested(log.disk, directory, session_id)
        if attested.attestations or attested.health.state != "healthy":
            return False
        segments = [name for name in names_in(log.disk, path) if name.startswith(_SEGMENT)]
        return set(segments) <= {FIRST_SEGMENT} and is_one_commit(_text(log.disk, directory))


def _named_by(log: FileLog, session_id: SessionId) -> set[BlobRef] | None:
    """None when it cannot be told. Raises: OSError."""
    with opened_directory(log.disk, f"{log.sessions}/{session_id}") as directory:
        attested = read_attested(log.disk, directory, session_id)
        if attested.health.state != "healthy":
            return None
        if attested.attestations:
            return pins_of(attested)
        text = _text(log.disk, directory)
    return {BlobRef(ref.decode()) for ref in _REF.findall(text)}


def _text(disk: Disk, directory: int) -> bytes:
    """All segments, one after the other."""
    parts: list[bytes] = []
    name = FIRST_SEGMENT
    while (part := read_segment(disk, directory, name)) is not None:
        parts.append(part)
        name = segment_after(name)
    return b"".join(parts)
