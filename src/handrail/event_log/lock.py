"""The lock of a session: one writer at a time, gone with its process. Its file also holds the note."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

import msgspec

from handrail.contract.catalogue import SESSION_LOCKED
from handrail.contract.outcome import Fault
from handrail.event_log.disk import Disk, make_directory
from handrail.event_log.note import LOCK_NAME

_FIRST_PAUSE_MS: Final = 1
_LONGEST_PAUSE_MS: Final = 32


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """Descriptors of a session directory and of its lock file, which is locked."""

    directory: int
    lock: int


def acquire(disk: Disk, path: str, session_id: str, wait_ms: int) -> Held:
    """Lock the session directory at `path`, which is made if it is not there.

    Raises: Fault SESSION_LOCKED when another writer keeps it longer than `wait_ms`.
    """
    return _waited(disk, path, session_id, wait_ms, _open)


def acquire_existing(disk: Disk, path: str, session_id: str, wait_ms: int) -> Held | None:
    """The same for a session that is there: one that was deleted is not made again, and None."""
    try:
        return _waited(disk, path, session_id, wait_ms, _existing)
    except FileNotFoundError:
        return None


def release(disk: Disk, held: Held) -> None:
    disk.close(held.lock)
    disk.close(held.directory)


def _waited(
    disk: Disk, path: str, session_id: str, wait_ms: int, opened_both: Callable[[Disk, str], Held | None]
) -> Held:
    """Look until the lock is ours. The files stay open meanwhile: most looks find them as they were."""
    started = disk.monotonic_ms()
    pause_ms = _FIRST_PAUSE_MS
    held = opened_both(disk, path)
    try:
        while held is None or not disk.lock_now(held.lock):
            waited_ms = disk.monotonic_ms() - started
            if waited_ms >= wait_ms:
                raise Fault(
                    SESSION_LOCKED,
                    "Another writer holds this session.",
                    details={"session_id": session_id, "waited_ms": waited_ms},
                )
            pause_ms = min(pause_ms, _longest_pause_ms(waited_ms, wait_ms))
            disk.sleep_ms(min(disk.jittered_ms(pause_ms), wait_ms - waited_ms))
            pause_ms *= 2
            held = held or opened_both(disk, path)
        if is_current(disk, f"{path}/{LOCK_NAME}", held.lock):
            locked, held = held, None
            return locked
    finally:
        if held is not None:
            release(disk, held)
    left_ms = max(0, wait_ms - (disk.monotonic_ms() - started))
    return _waited(disk, path, session_id, left_ms, opened_both)  # it was deleted: look for it by its name


def _longest_pause_ms(waited_ms: int, wait_ms: int) -> int:
    """Up to half of its time a waiter looks more and more seldom: a look costs all the others time.

    From then on it looks more and more often, so that late comers do not pass it until its time is over.
    """
    left_ms = wait_ms - waited_ms
    return max(_FIRST_PAUSE_MS, min(_LONGEST_PAUSE_MS, left_ms * 2 * _LONGEST_PAUSE_MS // max(1, wait_ms)))


def _open(disk: Disk, path: str) -> Held | None:
    """Both descriptors; None when the session was deleted in between."""
    try:
        return _descriptors(disk, path, os.O_RDWR)
    except FileNotFoundError:
        make_directory(disk, path)
    try:
        return _descriptors(disk, path, os.O_RDWR | os.O_CREAT)
    except FileNotFoundError:
        return None


def _existing(disk: Disk, path: str) -> Held:
    """Raises: FileNotFoundError."""
    return _descriptors(disk, path, os.O_RDWR | os.O_CREAT)


def _descriptors(disk: Disk, path: str, flags: int) -> Held:
    directory = disk.open_directory(path)
    try:
        return Held(directory=directory, lock=disk.open(LOCK_NAME, flags, directory))
    except OSError:
        disk.close(directory)
        raise


def is_current(disk: Disk, path: str, descriptor: int) -> bool:
    """Whether what was opened is still what stands under its name: the session may have been deleted."""
    ours = disk.status(descriptor)
    try:
        named = disk.status_of(path)
    except FileNotFoundError:
        return False
    return (ours.st_dev, ours.st_ino) == (named.st_dev, named.st_ino)
