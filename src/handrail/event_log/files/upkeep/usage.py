"""A whole store in files: its sessions and blobs, which blobs the sessions name, and the space they take.

Whether a blob is in use is not always certain. A healthy session names what its manifest attests. A damaged
one may have named any blob, in lines that are gone. One in which nothing was acknowledged names none, but
the blobs in its events stay, because its start may be repeated.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Final

import msgspec

from handrail.contract.ids import BlobRef, SessionId, is_session_id
from handrail.event_log.files.disk import Disk, open_directory, translate_os_errors
from handrail.event_log.files.history import pins_of, read_attested, read_segment
from handrail.event_log.files.log import FileLog
from handrail.event_log.files.manifest import Attested, attest_after, empty_tip, pins_in
from handrail.event_log.files.segments import FIRST_SEGMENT, is_one_commit, segment_after
from handrail.ports.store import SessionUsage, StoreUsage

SET_ASIDE: Final = ".removed"
"""The end of the name of a session or blob that is about to be deleted; nothing else reads such a name."""

INDEX_FOLDER: Final = "index"
"""In the cache: the index of all sessions, in files of its own."""

_DIRECTORY = re.compile("[0-9a-f]{2}")
_BLOB = re.compile("[0-9a-f]{64}")


class StoredBlob(msgspec.Struct, frozen=True, kw_only=True):
    """One file among the blobs."""

    ref: BlobRef
    directory: str
    name: str
    size: int
    modified_ns: int
    is_set_aside: bool


def list_session_ids(log: FileLog) -> list[SessionId]:
    """Every session directory, even without a commit, sorted by id."""
    return [SessionId(name) for name in names_in(log.disk, log.sessions) if is_session_id(name)]


def attested_in(log: FileLog, session_id: SessionId) -> Attested:
    """What the manifest of a session proves; nothing when there is none.

    Raises: OSError.
    """
    with (
        suppress(FileNotFoundError),
        open_directory(log.disk, f"{log.sessions}/{session_id}") as directory,
    ):
        return read_attested(log.disk, directory, session_id)
    return attest_after(empty_tip(session_id), b"")


def blobs_in(log: FileLog) -> Iterator[StoredBlob]:
    """Every blob file, sorted by name; those set aside for deletion too."""
    for folder in names_in(log.disk, log.blobs):
        if _DIRECTORY.fullmatch(folder) is None:
            continue
        directory = f"{log.blobs}/{folder}"
        for name in names_in(log.disk, directory):
            digest = name.removesuffix(SET_ASIDE)
            if _BLOB.fullmatch(digest) is None:
                continue
            with suppress(FileNotFoundError):  # another collection was faster
                status = log.disk.status_of(f"{directory}/{name}")
                yield StoredBlob(
                    ref=BlobRef("sha256:" + digest),
                    directory=directory,
                    name=name,
                    size=status.st_size,
                    modified_ns=status.st_mtime_ns,
                    is_set_aside=name != digest,
                )


def usage_of(
    log: FileLog, in_use: Collection[BlobRef] | None, half_made: Collection[SessionId]
) -> StoreUsage:
    """The size of every session and of the shared blobs; `in_use` is None when any blob may be in use.

    A session that cannot be read is counted and named, and does not hide the others.
    """
    with translate_os_errors():
        sessions: list[SessionUsage] = []
        unreadable: list[SessionId] = []
        for session_id in list_session_ids(log):
            events = size = 0
            try:
                size = bytes_in(log.disk, f"{log.sessions}/{session_id}")
                events = attested_in(log, session_id).tip.head
            except OSError:
                unreadable.append(session_id)
            sessions.append(SessionUsage(session_id=session_id, events=events, bytes=size))
        blobs = list(blobs_in(log))
        leftover = [
            blob for blob in blobs if in_use is not None and (blob.is_set_aside or blob.ref not in in_use)
        ]
        left_bytes = sum(one.bytes for one in sessions if one.session_id in half_made)
        index = f"{log.cache}/{INDEX_FOLDER}"
        return StoreUsage(
            sessions=tuple(sorted(sessions, key=lambda one: (-one.bytes, one.session_id))),
            unreadable=tuple(unreadable),
            blobs=len(blobs),
            blob_bytes=sum(blob.size for blob in blobs),
            leftover_blobs=len(leftover),
            leftover_sessions=len(half_made),
            leftover_bytes=sum(blob.size for blob in leftover)
            + left_bytes
            + sum(half_removed_in(log).values()),
            cache_bytes=sum(bytes_in(log.disk, place) for place in (log.cache, index)),
        )


def names_in(disk: Disk, path: str) -> list[str]:
    """Sorted; nothing when the directory does not exist."""
    try:
        return sorted(disk.names(path))
    except FileNotFoundError:
        return []


def bytes_in(disk: Disk, path: str) -> int:
    """The total size of the plain files in a directory."""
    total = 0
    for name in names_in(disk, path):
        with suppress(FileNotFoundError):
            status = disk.status_of(f"{path}/{name}")
            total += status.st_size if stat.S_ISREG(status.st_mode) else 0
    return total


def half_removed_in(log: FileLog) -> dict[str, int]:
    """What removed sessions left behind: the bytes, by the name of the directory."""
    names = [name for name in names_in(log.disk, log.sessions) if name.endswith(SET_ASIDE)]
    return {name: bytes_in(log.disk, f"{log.sessions}/{name}") for name in names}


_SEGMENT = "events-"


class Pinned(msgspec.Struct, frozen=True, kw_only=True):
    """The blobs that must stay, and the sessions that make the list uncertain."""

    refs: set[BlobRef]
    blocked_by: tuple[SessionId, ...]
    """Sessions that could name any blob."""


def pinned_in(log: FileLog, without: Collection[SessionId] = ()) -> Pinned:
    """Every blob that a session may name."""
    refs: set[BlobRef] = set()
    unreadable: list[SessionId] = []
    for session_id in list_session_ids(log):
        if session_id in without:
            continue
        try:
            named = _named_by(log, session_id)
        except FileNotFoundError:
            continue  # just deleted
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
    for session_id in list_session_ids(log):
        with suppress(OSError):
            if is_half_made(log, session_id):
                found.append(session_id)
    return tuple(found)


def is_half_made(log: FileLog, session_id: SessionId) -> bool:
    """Whether nothing was ever acknowledged in it: its first commit broke off, or never began.

    False for events with several time stamps: they may be an import that broke off, or all that is left of
    a session. Raises: OSError.
    """
    path = f"{log.sessions}/{session_id}"
    with open_directory(log.disk, path) as directory:
        attested = read_attested(log.disk, directory, session_id)
        if attested.attestations or attested.health.state != "healthy":
            return False
        segments = [name for name in names_in(log.disk, path) if name.startswith(_SEGMENT)]
        return set(segments) <= {FIRST_SEGMENT} and is_one_commit(_text(log.disk, directory))


def _named_by(log: FileLog, session_id: SessionId) -> set[BlobRef] | None:
    """None when that is uncertain. Raises: OSError."""
    with open_directory(log.disk, f"{log.sessions}/{session_id}") as directory:
        attested = read_attested(log.disk, directory, session_id)
        if attested.health.state != "healthy":
            return None
        if attested.attestations:
            return pins_of(attested.attestations)
        return pins_in(_text(log.disk, directory))


def _text(disk: Disk, directory: int) -> bytes:
    """All segments, one after the other."""
    parts: list[bytes] = []
    name = FIRST_SEGMENT
    while (part := read_segment(disk, directory, name)) is not None:
        parts.append(part)
        name = segment_after(name)
    return b"".join(parts)
