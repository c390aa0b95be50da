"""Checking every byte of a store in files: chains, manifests, blobs, and who may read them.

It only reads, in a fixed order, so two checks of one store report the same.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress

from handrail.contract.ids import BlobRef, SessionId
from handrail.contract.outcome import Fault
from handrail.engine.events import count_known, is_newer
from handrail.event_log.files.disk import is_refused_link, translate_os_errors
from handrail.event_log.files.history import pins_of
from handrail.event_log.files.log import FileLog
from handrail.event_log.files.manifest import MANIFEST_NAME
from handrail.event_log.files.upkeep.usage import (
    attested_in,
    blobs_in,
    bytes_in,
    half_removed_in,
    is_half_made,
    list_session_ids,
    names_in,
)
from handrail.ports.log import Loaded
from handrail.ports.store import SessionCheck, StoreCheck, StoreProblem

_OTHERS = 0o077


class _Tally:
    """The counts so far."""

    def __init__(self) -> None:
        self.sessions = self.events = self.unattested = self.bytes_read = 0
        self.pins: set[BlobRef] = set()
        self.left_alone: list[SessionId] = []
        self.newer: list[SessionId] = []
        self.problems: list[StoreProblem] = []


def check_store(log: FileLog, wanted: Sequence[SessionId] = ()) -> StoreCheck:
    """Check these sessions with their blobs; without ids, the whole store."""
    *_, check = check_sessions(log, wanted)
    assert isinstance(check, StoreCheck), "the check of the whole store comes last"
    return check


def check_sessions(log: FileLog, wanted: Sequence[SessionId] = ()) -> Iterator[SessionCheck | StoreCheck]:
    """The same, with each session as soon as it is checked, and the whole store last."""
    tally = _Tally()
    with translate_os_errors():
        for session_id in sorted(wanted) if wanted else list_session_ids(log):
            yield _session_check(log, session_id, tally)
        blobs, leftover = _check_blobs(log, tally, is_whole=not wanted)
        half_removed = len(half_removed_in(log))
        if not wanted:
            tally.problems += _find_open_files(log)
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
    if _is_newer(loaded):
        tally.newer.append(session_id)
    elif loaded.health.state != "healthy":
        tally.problems.append(
            StoreProblem(
                what="session", id=session_id, reason=loaded.health.reason, detail=loaded.health.detail
            )
        )


def _is_newer(loaded: Loaded) -> bool:
    """Whether a newer version wrote the commits, or one of the events in them."""
    if loaded.health.state != "healthy":
        return is_newer(loaded.health.state)
    return count_known(record.body for record in loaded.records) < len(loaded.records)


def _check_blobs(log: FileLog, tally: _Tally, *, is_whole: bool) -> tuple[int, int]:
    """How many blobs commits name, and how many nobody names. Only the former are checked for damage."""
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
    """Files that another user could read or change, and links in place of files."""
    root = os.path.dirname(log.sessions)
    for path in _paths_below(log, root):
        try:
            status = log.disk.status_of(f"{root}/{path}")
        except FileNotFoundError:
            continue  # a writer or a collection at work
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
                continue  # no session, or one that could not be loaded and is in the report
            yield from (f"{room}/{folder}/{name}" for name in names)


def _link_problem(path: str) -> StoreProblem:
    detail = "A link or a special file stands where a plain file or directory belongs."
    return StoreProblem(what="file", id=path, reason="link_refused", detail=detail)


def _problem_of(fault: Fault, session_id: SessionId) -> StoreProblem:
    reason = str(fault.details.get("reason", "unreadable"))
    detail = f"{fault.message} ({MANIFEST_NAME} and its segments were being read.)"
    return StoreProblem(what="session", id=session_id, reason=reason, detail=detail)
