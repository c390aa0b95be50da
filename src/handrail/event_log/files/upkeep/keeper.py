"""The operator's side of a store in files: `ports.StoreKeeper`."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from typing import Final

import msgspec

from handrail.contract.catalogue import E_VALIDATION, STORE_TARGET_NOT_EMPTY
from handrail.contract.ids import BlobRef, SessionId
from handrail.contract.outcome import Fault, refuse_argument
from handrail.event_log.copying import CommitFacts, copy_session, plan_copy
from handrail.event_log.files.commit import acquire_existing, release
from handrail.event_log.files.disk import (
    Disk,
    make_directory,
    open_directory,
    open_file,
    read_from,
    replace_file,
    translate_os_errors,
)
from handrail.event_log.files.log import FileLog, list_heads
from handrail.event_log.files.store_key import StoreKey
from handrail.event_log.files.touched import INDEX_FOLDER
from handrail.event_log.files.upkeep.whole_store import (
    SET_ASIDE,
    StoredBlob,
    attested_in,
    blobs_in,
    bytes_in,
    check_sessions,
    half_made_in,
    half_removed_in,
    has_session,
    list_session_ids,
    names_in,
    pinned_in,
    usage_of,
)
from handrail.ports.store import (
    CopyWay,
    MovedSessions,
    RemovalPlan,
    Removed,
    SessionCheck,
    SessionCopy,
    SessionToRemove,
    StoreCheck,
    StoreOrigin,
    StoreUsage,
)


class FileKeeper:
    """Checks, measures, empties and copies the store in one data directory."""

    def __init__(
        self,
        data: str,
        disk: RemovingDisk | None = None,
        key_of: Callable[[str], StoreKey | None] = lambda _: None,
    ) -> None:
        self._disk = disk or RemovingDisk()
        self._data = data
        self._key_of = key_of
        self._log = FileLog(data, self._disk, key=key_of(data))

    def check(self, session_ids: Sequence[SessionId] = ()) -> Iterator[SessionCheck | StoreCheck]:
        return check_sessions(self._log, session_ids)

    def usage(self) -> StoreUsage:
        with translate_os_errors():
            pinned = pinned_in(self._log)
            half_made = half_made_in(self._log)
        return usage_of(self._log, None if pinned.blocked_by else pinned.refs, half_made)

    def plan_removal(self, older_than_days: int, keep: Sequence[SessionId] = ()) -> RemovalPlan:
        # Age counts from the newest commit, so a clock that runs ahead makes nothing old, and neither does
        # one commit made by such a clock.
        newest_ns = max((stamp.order for stamp in self._log.list_sessions()), default=0)
        before_ns = min(self._disk.now_ns(), newest_ns + 1) - older_than_days * DAY_NS
        return plan_removal(self._log, before_ns, keep)

    def remove(self, plan: RemovalPlan) -> Removed:
        return remove(self._log, self._disk, plan)

    def sessions_to_remove(self, session_ids: Sequence[SessionId]) -> tuple[SessionToRemove, ...]:
        with translate_os_errors():
            return tuple(_to_remove(self._log, one) for one in session_ids if has_session(self._log, one))

    def remove_session(self, session: SessionToRemove, wait_ms: int) -> int | None:
        log, disk = self._log, self._disk
        with translate_os_errors(session.session_id):
            if not _remove_session(log, disk, session, wait_ms):
                return None
        # No reader finds it any more, so it is removed; the next collection clears what stays now.
        with suppress(OSError):
            _clear_cache(log, disk, session.session_id)
        freed = 0
        with suppress(OSError):
            for size in _clear_files(log, disk, session.session_id + SET_ASIDE):
                freed += size
        return freed

    def clear(self, name: str) -> int:
        assert name.endswith(SET_ASIDE), "nothing else may be cleared"
        with translate_os_errors(name.removesuffix(SET_ASIDE)):
            return sum(_clear_files(self._log, self._disk, name))

    def wait_for_writers(self, session_ids: Sequence[SessionId], wait_ms: int) -> None:
        with translate_os_errors():
            for session_id in session_ids:
                _wait_for_writer(self._log, session_id, wait_ms)

    def origin(self) -> StoreOrigin:
        key = self._log.key
        if key is None or key.read() is None:
            return StoreOrigin()
        return StoreOrigin(listed=key.count_listed(), is_adopted=key.is_adopted())

    def adopt(self) -> None:
        key = self._log.key
        assert key is not None, "a store that has no key has nothing to adopt"
        key.adopt()

    def move(self, way: CopyWay) -> MovedSessions:
        source, target = self._open_both(way)
        own = self._log.key
        assert own is not None, "a store that is moved has a key"
        travelling = own.beside(target.root if way.target else source.root, TRAVELLING)
        with translate_os_errors():
            if way.target:
                own.ensure(lambda: list_heads(self._log))
                travelling.take_from(own)
            else:
                _require_fitting(travelling, own, self._log)
                own.take_from(travelling)
            _copy_keys(self._disk, source.root, target.root)
        moved: list[SessionCopy] = []
        left: list[SessionCopy] = []
        for session in plan_copy(source, target, ()):
            (left if session.trouble else moved).append(session)
        for session in moved:
            copy_session(source, commits_in(source, session.session_id), target, session)
        events = sum(session.events for session in moved)
        return MovedSessions(sessions=len(moved), events=events, left=tuple(left))

    def plan_copy(self, way: CopyWay, session_ids: Sequence[SessionId] = ()) -> tuple[SessionCopy, ...]:
        source, target = self._open_both(way)
        return plan_copy(source, target, session_ids)

    def copy_session(self, way: CopyWay, session: SessionCopy) -> None:
        source, target = self._open_both(way)
        copy_session(source, commits_in(source, session.session_id), target, session)

    def _open_both(self, way: CopyWay) -> tuple[FileLog, FileLog]:
        """Return the stores of two homes. Raise Fault E_VALIDATION."""
        homes = (way.source, way.target)
        source, target = (os.path.realpath(f"{home}/data" if home else self._data) for home in homes)
        if source == target:
            raise _invalid_home(
                "to", "is the place that is copied from", "two different homes: --from, --to or both"
            )
        into = FileLog(target, key=self._key_of(target))
        return open_source(way.source) if way.source else FileLog(source), into


def open_source(home: str) -> FileLog:
    """Return the store of a home that sessions are copied from. Raise Fault E_VALIDATION."""
    data = os.path.realpath(f"{home}/data")
    if not os.path.isdir(data):
        raise _invalid_home("from", "holds no store", "the home of a store")
    return FileLog(data)


TRAVELLING: Final = "moved"
"""The place of a store key that is being moved to another machine."""
_KEY_FILES: Final = ("keyring.json", "requests.key", "receipts.json")


def _require_fitting(travelling: StoreKey, own: StoreKey, log: FileLog) -> None:
    """Raise Fault E_VALIDATION or STORE_TARGET_NOT_EMPTY if the moved key does not fit this store."""
    key = travelling.read()
    if key is None:
        raise _invalid_home("from", "holds no store key", "what `store move` made on the old machine")
    if own.read() != key and log.list_sessions():
        message = "This store has sessions and a key of its own, so another store cannot move in."
        raise Fault(STORE_TARGET_NOT_EMPTY, message, details={"target": "store"})


def _copy_keys(disk: Disk, source: str, target: str) -> None:
    """Copy the existing keys of tokens and receipts. Raise OSError."""
    if not os.path.isdir(f"{source}/keys"):
        return
    make_directory(disk, f"{target}/keys")
    with open_directory(disk, f"{source}/keys") as there, open_directory(disk, f"{target}/keys") as here:
        for name in _KEY_FILES:
            with suppress(FileNotFoundError), open_file(disk, name, os.O_RDONLY, there) as file:
                replace_file(disk, name, read_from(disk, file), here)
        disk.sync_names(here)


def commits_in(log: FileLog, session_id: SessionId) -> Sequence[CommitFacts]:
    """Return the commits of a session as they were made."""
    with translate_os_errors(session_id):
        attestations = attested_in(log, session_id).attestations
    return [
        CommitFacts(first=one.first, last=one.last, blobs=tuple(one.blobs), line=one.auth)
        for one in attestations
    ]


def _invalid_home(param: str, problem: str, expected: str) -> Fault:
    message = f"{param} {problem}; expected {expected}."
    return refuse_argument(message, param, problem, expected, kind=E_VALIDATION)


# Removing old sessions and the blobs that no session names any more, never one in use.
#
# A session is renamed under its lock, durably, before its files are deleted: after a crash it is whole or
# gone. A blob is set aside first. Then every session is locked once, so that each writer that may have read
# the blob has finished. What a manifest names by then is put back, and only the rest is deleted.


DAY_NS: Final = 86_400 * 1_000_000_000
GRACE_NS: Final = 3_600 * 1_000_000_000
"""Age below which a blob may belong to a commit that is still being written."""
_WAIT_MS: Final = 5_000
_PATIENCE_MS: Final = 500


class RemovingDisk(Disk):
    """The further system calls that removing needs. Names are relative to the directory."""

    def unlink(self, name: str, directory: int) -> None:
        os.unlink(name, dir_fd=directory)

    def remove_directory(self, name: str, directory: int) -> None:
        os.rmdir(name, dir_fd=directory)


def plan_removal(
    log: FileLog, before_ns: int, keep: Collection[SessionId] = (), grace_ns: int = GRACE_NS
) -> RemovalPlan:
    """Return the sessions last active before this time, and the blobs that no other session names."""
    old: list[SessionToRemove] = []
    unread: list[SessionId] = []
    for stamp in sorted(log.list_sessions(), key=lambda stamp: stamp.session_id):
        if stamp.order < before_ns and stamp.session_id not in keep:
            try:
                with translate_os_errors(stamp.session_id):
                    old.append(_to_remove(log, stamp.session_id))
            except Fault:  # it stays; the others can still be removed
                unread.append(stamp.session_id)
    with translate_os_errors():
        pinned = pinned_in(log, without=[session.session_id for session in old])
        blocked_by = tuple(sorted({*pinned.blocked_by, *unread}))
        unused = [] if blocked_by else list(_find_unused(log, pinned.refs, grace_ns))
        blobs = [blob for blob in unused if blob.ref not in pinned.refs]
        return RemovalPlan(
            sessions=tuple(old),
            blobs=tuple(dict.fromkeys(blob.ref for blob in blobs)),
            blob_bytes=sum(blob.size for blob in blobs),
            blocked_by=blocked_by,
            half_made=tuple(_half_made(log)),
            half_removed=half_removed_in(log),
        )


def remove(log: FileLog, disk: RemovingDisk, plan: RemovalPlan, grace_ns: int = GRACE_NS) -> Removed:
    """Carry out a plan, as far as it is still valid. `disk` is the one that `log` uses."""
    with translate_os_errors():
        freed = _clear_half_removed(log, disk)
        gone: list[SessionId] = []
        kept: list[SessionId] = []
        for session in plan.sessions:
            if not has_session(log, session.session_id):
                continue  # an earlier attempt at this plan removed it
            if _remove_session(log, disk, session, _WAIT_MS):
                _clear_cache(log, disk, session.session_id)
                gone.append(session.session_id)
            else:
                kept.append(session.session_id)
        _remove_half_made(log, disk)
        freed += _clear_half_removed(log, disk)
        pinned = pinned_in(log)
        swept = _Swept() if pinned.blocked_by else _sweep(log, disk, pinned.refs, grace_ns)
        return Removed(
            sessions=tuple(gone),
            kept=tuple(kept),
            blobs=len(swept.blobs),
            bytes_freed=freed + sum(blob.size for blob in swept.blobs),
            blocked_by=pinned.blocked_by,
            busy=swept.busy,
        )


def _wait_for_writer(log: FileLog, session_id: SessionId, wait_ms: int) -> None:
    held = acquire_existing(log.disk, f"{log.sessions}/{session_id}", session_id, wait_ms)
    if held is not None:
        release(log.disk, held)


def _to_remove(log: FileLog, session_id: SessionId) -> SessionToRemove:
    loaded = log.load(session_id)
    return SessionToRemove(
        session_id=session_id,
        head_digest=loaded.records[-1].digest if loaded is not None and loaded.records else "",
        bytes=bytes_in(log.disk, f"{log.sessions}/{session_id}"),
    )


def _half_made(log: FileLog) -> Iterator[SessionToRemove]:
    for session_id in half_made_in(log):
        with suppress(Fault):
            yield _to_remove(log, session_id)


def _remove_half_made(log: FileLog, disk: RemovingDisk) -> None:
    """Remove the sessions that a killed start left; one that is still starting keeps its lock and stays.

    The call waits for locks, for all of them together as long as for one: a child process that another
    thread starts has a copy of every descriptor until it runs its own program.
    """
    ends_at = disk.monotonic_ms() + _WAIT_MS
    for session in _half_made(log):
        with suppress(Fault):
            _remove_session(log, disk, session, max(0, ends_at - disk.monotonic_ms()))


def _find_unused(log: FileLog, pins: Collection[BlobRef], grace_ns: int) -> Iterator[StoredBlob]:
    young_ns = log.disk.now_ns() - grace_ns
    for blob in blobs_in(log):
        if blob.is_set_aside or (blob.ref not in pins and blob.modified_ns <= young_ns):
            yield blob


def _remove_session(log: FileLog, disk: RemovingDisk, session: SessionToRemove, wait_ms: int) -> bool:
    """Rename a session that is unchanged since the plan, so that no reader finds it.
    Return False if it changed.
    """
    name = session.session_id
    held = acquire_existing(disk, f"{log.sessions}/{name}", name, wait_ms)
    if held is None:
        return False
    try:
        if _to_remove(log, name) != session:
            return False
        sum(_clear_files(log, disk, name + SET_ASIDE))  # of an earlier session of this name
        with open_directory(disk, log.sessions) as directory:
            disk.rename(name, name + SET_ASIDE, directory)
            try:
                # Deleting is safe only once the new name is durable: else the old name could come back empty.
                disk.sync_names(directory)
            except OSError:
                disk.rename(name + SET_ASIDE, name, directory)
                raise
    finally:
        release(disk, held)
    return True


def _clear_cache(log: FileLog, disk: RemovingDisk, session_id: SessionId) -> None:
    """Delete the cache of a removed session, and the index of all sessions as a whole."""
    index = f"{log.cache}/{INDEX_FOLDER}"
    for place, beginning in ((log.cache, session_id), (index, "")):
        names = [name for name in names_in(disk, place) if name.startswith(beginning)]
        if names:
            with open_directory(disk, place) as directory:
                for name in names:
                    with suppress(FileNotFoundError):
                        disk.unlink(name, directory)


def _clear_half_removed(log: FileLog, disk: RemovingDisk) -> int:
    """Delete everything under set-aside names; return the bytes freed."""
    return sum(size for name in half_removed_in(log) for size in _clear_files(log, disk, name))


def _clear_files(log: FileLog, disk: RemovingDisk, name: str) -> Iterator[int]:
    """Delete one of them, and yield the size of each file that this call deleted."""
    path = f"{log.sessions}/{name}"
    with suppress(FileNotFoundError), open_directory(disk, path) as directory:
        for inner in names_in(disk, path):
            with suppress(FileNotFoundError):
                size = disk.status_of(f"{path}/{inner}").st_size
                disk.unlink(inner, directory)
                yield size
    with suppress(FileNotFoundError), open_directory(disk, log.sessions) as directory:
        disk.remove_directory(name, directory)


class _Swept(msgspec.Struct, frozen=True, kw_only=True):
    """The deleted blobs; or none, and the sessions whose writers did not finish in time."""

    blobs: tuple[StoredBlob, ...] = ()
    busy: tuple[SessionId, ...] = ()


def _sweep(log: FileLog, disk: RemovingDisk, pins: set[BlobRef], grace_ns: int) -> _Swept:
    unused = list(_find_unused(log, pins, grace_ns))
    if not unused:
        return _Swept()
    aside = [blob for blob in unused if _set_aside(disk, blob)]
    try:
        busy = _busy_writers(log)
        pinned = pinned_in(log)
    except OSError:
        for blob in aside:
            _put_back(disk, blob)
        raise
    deleted = []
    for blob in aside:
        if busy or pinned.blocked_by or blob.ref in pinned.refs:
            _put_back(disk, blob)
        else:
            _delete(disk, blob)
            deleted.append(blob)
    return _Swept(blobs=tuple(deleted), busy=busy)


def _busy_writers(log: FileLog) -> tuple[SessionId, ...]:
    """Return the sessions whose writers did not finish.

    A writer of a blob has locked its session; a writer that begins from now on finds the blob gone and
    writes it again. All writers together have a moment to finish: a commit takes milliseconds.
    """
    busy = []
    ends_at = log.disk.monotonic_ms() + _PATIENCE_MS
    for session_id in list_session_ids(log):
        left_ms = max(0, ends_at - log.disk.monotonic_ms())
        try:
            _wait_for_writer(log, session_id, left_ms)
        except Fault:
            busy.append(session_id)
    return tuple(busy)


def _set_aside(disk: RemovingDisk, blob: StoredBlob) -> bool:
    """Set a blob aside; return False if another collection was faster."""
    if not blob.is_set_aside:
        try:
            with open_directory(disk, blob.directory) as directory:
                disk.rename(blob.name, blob.name + SET_ASIDE, directory)
        except FileNotFoundError:
            return False
    return True


def _put_back(disk: RemovingDisk, blob: StoredBlob) -> None:
    name = blob.name.removesuffix(SET_ASIDE)
    with suppress(FileNotFoundError), open_directory(disk, blob.directory) as directory:
        if name in names_in(disk, blob.directory):
            disk.unlink(name + SET_ASIDE, directory)  # written again meanwhile
        else:
            disk.rename(name + SET_ASIDE, name, directory)
        disk.sync_names(directory)


def _delete(disk: RemovingDisk, blob: StoredBlob) -> None:
    with open_directory(disk, blob.directory) as directory, suppress(FileNotFoundError):
        disk.unlink(blob.name.removesuffix(SET_ASIDE) + SET_ASIDE, directory)
