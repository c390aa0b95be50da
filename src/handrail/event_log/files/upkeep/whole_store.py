"""A whole store in files: what is in it, the space it takes, and whether every byte is as it was written.

Whether a blob is in use is not always certain. A healthy session names what its manifest attests. A damaged
one may have named any blob, in lines that are gone. One in which nothing was acknowledged names none, but
the blobs in its events stay, because its start may be repeated.

The check only reads, in a fixed order, so two checks of one store report the same.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from typing import Final

import msgspec

from handrail.contract.ids import BlobRef, SessionId, is_session_id
from handrail.contract.outcome import Fault
from handrail.engine.events import count_known, is_newer
from handrail.event_log.copying import has_foreign_facts
from handrail.event_log.files.disk import Disk, is_refused_link, open_directory, translate_os_errors
from handrail.event_log.files.history import pins_of, read_attested, read_segment
from handrail.event_log.files.log import FileLog
from handrail.event_log.files.manifest import MANIFEST_NAME, Attested, attest_after, empty_tip, pins_in
from handrail.event_log.files.segments import FIRST_SEGMENT, is_one_commit, segment_after
from handrail.ports.log import Loaded
from handrail.ports.store import SessionCheck, SessionUsage, StoreCheck, StoreProblem, StoreUsage

SET_ASIDE: Final = ".removed"
"""The end of the name of a session or blob that is about to be deleted; nothing else reads such a name."""

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
    """Return every session directory, even without a commit, sorted by id."""
    return [SessionId(name) for name in names_in(log.disk, log.sessions) if is_session_id(name)]


def has_session(log: FileLog, session_id: SessionId) -> bool:
    """Whether a session has a directory, even without a commit."""
    try:
        return is_session_id(session_id) and bool(log.disk.status_of(f"{log.sessions}/{session_id}"))
    except FileNotFoundError:
        return False


def attested_in(log: FileLog, session_id: SessionId) -> Attested:
    """Return what the manifest of a session proves; nothing if there is none.

    Raise OSError.
    """
    with (
        suppress(FileNotFoundError),
        open_directory(log.disk, f"{log.sessions}/{session_id}") as directory,
    ):
        return read_attested(log.disk, directory, session_id)
    return attest_after(empty_tip(session_id), b"")


def blobs_in(log: FileLog) -> Iterator[StoredBlob]:
    """Yield every blob file, sorted by name; those set aside for deletion too."""
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
    """Return the size of every session and of the shared blobs; `in_use` is None if any blob may be in use.

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
            cache_bytes=bytes_below(log.disk, log.cache),
        )


def names_in(disk: Disk, path: str) -> list[str]:
    """Return the names in a directory, sorted; empty if it does not exist."""
    try:
        return sorted(disk.names(path))
    except FileNotFoundError:
        return []


def bytes_in(disk: Disk, path: str) -> int:
    """Return the total size of the plain files in a directory."""
    total = 0
    for name in names_in(disk, path):
        with suppress(FileNotFoundError):
            status = disk.status_of(f"{path}/{name}")
            total += status.st_size if stat.S_ISREG(status.st_mode) else 0
    return total


def bytes_below(disk: Disk, path: str) -> int:
    """Return the total size of the plain files in a directory and all directories below it."""
    total = bytes_in(disk, path)
    for name in names_in(disk, path):
        with suppress(FileNotFoundError):
            if stat.S_ISDIR(disk.status_of(f"{path}/{name}").st_mode):
                total += bytes_below(disk, f"{path}/{name}")
    return total


def half_removed_in(log: FileLog) -> dict[str, int]:
    """Return what removed sessions left behind: the bytes, by the name of the directory."""
    names = [name for name in names_in(log.disk, log.sessions) if name.endswith(SET_ASIDE)]
    return {name: bytes_in(log.disk, f"{log.sessions}/{name}") for name in names}


_SEGMENT = "events-"


class Pinned(msgspec.Struct, frozen=True, kw_only=True):
    """The blobs that must stay, and the sessions that make the list uncertain."""

    refs: set[BlobRef]
    blocked_by: tuple[SessionId, ...]
    """Sessions that could name any blob."""


def pinned_in(log: FileLog, without: Collection[SessionId] = ()) -> Pinned:
    """Return every blob that a session may name."""
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
    """Return the sessions in which nothing was ever acknowledged."""
    found: list[SessionId] = []
    for session_id in list_session_ids(log):
        with suppress(OSError):
            if is_half_made(log, session_id):
                found.append(session_id)
    return tuple(found)


def is_half_made(log: FileLog, session_id: SessionId) -> bool:
    """Whether nothing was ever acknowledged in it: its first commit broke off, or never began.

    False for events with several time stamps: they may be an import that broke off, or all that is left of a
    session. Raise OSError.
    """
    path = f"{log.sessions}/{session_id}"
    with open_directory(log.disk, path) as directory:
        attested = read_attested(log.disk, directory, session_id)
        if attested.attestations or attested.health.state != "healthy":
            return False
        segments = [name for name in names_in(log.disk, path) if name.startswith(_SEGMENT)]
        return set(segments) <= {FIRST_SEGMENT} and is_one_commit(_text(log.disk, directory))


def _named_by(log: FileLog, session_id: SessionId) -> set[BlobRef] | None:
    """Return the blobs that a session names; None if that is uncertain. Raise OSError."""
    with open_directory(log.disk, f"{log.sessions}/{session_id}") as directory:
        attested = read_attested(log.disk, directory, session_id)
        if attested.health.state != "healthy":
            return None
        if attested.attestations:
            return pins_of(attested.attestations)
        return pins_in(_text(log.disk, directory))


def _text(disk: Disk, directory: int) -> bytes:
    """Return all segments, one after the other."""
    parts: list[bytes] = []
    name = FIRST_SEGMENT
    while (part := read_segment(disk, directory, name)) is not None:
        parts.append(part)
        name = segment_after(name)
    return b"".join(parts)


# Checking every byte of a store in files: chains, manifests, blobs, and permissions.

_OTHERS = 0o077


class _Tally:
    """The counts so far."""

    def __init__(self) -> None:
        self.sessions = self.events = self.unattested = self.bytes_read = 0
        self.pins: set[BlobRef] = set()
        self.left_alone: list[SessionId] = []
        self.newer: list[SessionId] = []
        self.elsewhere: list[SessionId] = []
        self.problems: list[StoreProblem] = []


def check_store(log: FileLog, wanted: Sequence[SessionId] = ()) -> StoreCheck:
    """Check these sessions with their blobs; without ids, the whole store."""
    *_, check = check_sessions(log, wanted)
    assert isinstance(check, StoreCheck), "the check of the whole store comes last"
    return check


def check_sessions(log: FileLog, wanted: Sequence[SessionId] = ()) -> Iterator[SessionCheck | StoreCheck]:
    """Yield each session as soon as it is checked, and the whole store last."""
    tally = _Tally()
    with translate_os_errors():
        for session_id in sorted(wanted) if wanted else list_session_ids(log):
            yield _session_check(log, session_id, tally)
        blobs, leftover = _check_blobs(log, tally, is_whole=not wanted)
        half_removed = len(half_removed_in(log))
        if not wanted:
            tally.problems += _find_open_files(log)
            tally.problems += _check_key(log)
    yield StoreCheck(
        sessions=tally.sessions,
        events=tally.events,
        blobs=blobs,
        leftover_blobs=leftover,
        unattested_sessions=tally.unattested,
        bytes_read=tally.bytes_read,
        problems=tuple(tally.problems),
        unattested=tuple(tally.left_alone),
        half_removed=0 if wanted else half_removed,
        newer=tuple(tally.newer),
        elsewhere=tuple(tally.elsewhere),
    )


def _session_check(log: FileLog, session_id: SessionId, tally: _Tally) -> SessionCheck:
    """Add one session to the tally, and return what it added."""
    events, bytes_read, problems = tally.events, tally.bytes_read, len(tally.problems)
    _check_session(log, session_id, tally)
    return SessionCheck(
        session_id=session_id,
        events=tally.events - events,
        bytes_read=tally.bytes_read - bytes_read,
        problems=tuple(tally.problems[problems:]),
        is_newer=session_id in tally.newer,
    )


def _check_session(log: FileLog, session_id: SessionId, tally: _Tally) -> None:
    directory = f"{log.sessions}/{session_id}"
    try:
        loaded = log.load(session_id)
        attested = attested_in(log, session_id)
        names = log.disk.names(directory)
    except Fault as fault:
        tally.problems.append(_problem_of(fault, session_id))
        return
    except FileNotFoundError:
        return  # just deleted
    except OSError as error:
        if not is_refused_link(error):
            raise
        tally.problems.append(_link_problem(f"sessions/{session_id}"))
        return
    if loaded is None:
        if any(name.startswith("events-") for name in names):
            tally.unattested += 1
            with suppress(OSError):
                tally.left_alone += [] if is_half_made(log, session_id) else [session_id]
        return
    tally.sessions += 1
    tally.events += len(loaded.records)
    tally.bytes_read += bytes_in(log.disk, directory)
    tally.pins |= pins_of(attested.attestations)
    if has_foreign_facts(log, session_id, loaded):
        tally.elsewhere.append(session_id)
    if _is_newer(loaded):
        tally.newer.append(session_id)
    elif loaded.health.state != "healthy":
        tally.problems.append(
            StoreProblem(
                what="session", id=session_id, reason=loaded.health.reason, detail=loaded.health.detail
            )
        )


def _check_key(log: FileLog) -> Iterator[StoreProblem]:
    found = None if log.key is None else log.key.check()
    if found is not None:
        yield StoreProblem(what="keys", id="store-key", reason=found[0], detail=found[1])


def _is_newer(loaded: Loaded) -> bool:
    """Whether a newer version wrote the commits, or one of the events in them."""
    if loaded.health.state != "healthy":
        return is_newer(loaded.health.state)
    return count_known(record.body for record in loaded.records) < len(loaded.records)


def _check_blobs(log: FileLog, tally: _Tally, *, is_whole: bool) -> tuple[int, int]:
    """Return how many blobs commits name, and how many no commit names.

    Only the former are checked for damage.
    """
    stored = {blob.ref: blob.size for blob in blobs_in(log) if not blob.is_set_aside}
    for ref in sorted(tally.pins):
        try:
            tally.bytes_read += len(log.get_blob(ref))
        except Fault as fault:
            tally.problems.append(
                StoreProblem(
                    what="blob", id=ref, reason=str(fault.details.get("reason", "")), detail=fault.message
                )
            )
    return len(tally.pins), len(stored.keys() - tally.pins) if is_whole else 0


def _find_open_files(log: FileLog) -> Iterator[StoreProblem]:
    """Yield files that another user could read or change, and links in place of files."""
    root = os.path.dirname(log.sessions)
    for path in _paths_below(log, root):
        try:
            status = log.disk.status_of(f"{root}/{path}")
        except FileNotFoundError:
            continue  # a writer or a collection has just removed it
        is_plain = stat.S_ISDIR(status.st_mode) or (stat.S_ISREG(status.st_mode) and "/" in path)
        if not is_plain:
            yield _link_problem(path)
        elif status.st_mode & _OTHERS:
            detail = (
                f"Other users can access it: mode {stat.S_IMODE(status.st_mode):04o}. Remove their rights."
            )
            yield StoreProblem(what="file", id=path, reason="too_open", detail=detail)


def _paths_below(log: FileLog, root: str) -> Iterator[str]:
    for room in ("sessions", "blobs", "cache"):
        if room not in names_in(log.disk, root):
            continue
        yield room
        if not stat.S_ISDIR(log.disk.status_of(f"{root}/{room}").st_mode):
            continue
        for folder in names_in(log.disk, f"{root}/{room}"):
            yield f"{room}/{folder}"
            try:
                names = names_in(log.disk, f"{root}/{room}/{folder}")
            except (NotADirectoryError, PermissionError):
                continue  # not a session, or one that could not be loaded and is in the report already
            yield from (f"{room}/{folder}/{name}" for name in names)


def _link_problem(path: str) -> StoreProblem:
    detail = "A link or a special file stands where a plain file or directory belongs."
    return StoreProblem(what="file", id=path, reason="link_refused", detail=detail)


def _problem_of(fault: Fault, session_id: SessionId) -> StoreProblem:
    reason = str(fault.details.get("reason", "unreadable"))
    detail = f"{fault.message} ({MANIFEST_NAME} and its segments were being read.)"
    return StoreProblem(what="session", id=session_id, reason=reason, detail=detail)
