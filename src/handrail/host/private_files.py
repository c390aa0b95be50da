"""Private files: 0600 in 0700 directories, written durably, as a whole or not at all."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

import msgspec

_T = TypeVar("_T")
# A pipe in place of a file would make the call wait forever.
_AT_ONCE = os.O_NONBLOCK | os.O_CLOEXEC
_DEFAULT_HOME = "~/.handrail"
_FILE_MODE = 0o600
_DIRECTORY_MODE = 0o700
_OTHERS = 0o077
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
_NO_HARD_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})


def find_homes(home: str) -> frozenset[str]:
    """Return the home in use and the usual one, without links: each holds keys."""
    return frozenset(os.path.realpath(one) for one in (home, os.path.expanduser(_DEFAULT_HOME)) if one)


def is_below(path: str, root: str) -> bool:
    """Whether the path is the folder, or in it."""
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def walk_up(folder: str) -> Iterator[str]:
    """Yield the folder and those above it."""
    while True:
        yield folder
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def is_of_git(path: bytes) -> bool:
    """Whether a folder of the path is a `.git` folder."""
    return any(name.lower() == b".git" for name in path.split(b"/"))


def lies_in_home(place: str, homes: Iterable[str]) -> bool:
    """Whether a path without links is a home, or lies in one. Case is ignored, as on some file systems."""
    return any(is_below(place.lower(), one.lower()) for one in homes)


def open_regular_file(path: str, flags: int, mode: int = 0o600) -> int:
    """Open a regular file; usable as the `opener` of `open`.

    Raises OSError, with EINVAL if it is anything else.
    """
    descriptor = os.open(path, flags | _AT_ONCE, mode)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, "not a regular file")


def open_unfollowed(path: str, flags: int) -> int:
    """Open a regular file, but never through a link: a link could lead to a file of another user."""
    return open_regular_file(path, flags | os.O_NOFOLLOW)


def read_document(path: str, kind: type[_T], most_bytes: int) -> _T | None:
    """Return the content of a JSON file; None if there is no file, or if it has another form."""
    try:
        with open(path, "rb", opener=open_regular_file) as file:
            return msgspec.json.decode(file.read(most_bytes), type=kind)
    except (OSError, msgspec.MsgspecError, ValueError, RecursionError):
        return None


def content_of(path: str, most: int) -> bytes:
    """Return the bytes of a file, at most one more than the limit; empty if it is not a readable regular
    file.
    """
    try:
        with open(path, "rb", opener=open_regular_file) as file:
            return file.read(most + 1)
    except OSError:
        return b""


def leads_outside(path: str, root: str) -> bool:
    """Whether the path leads outside of the root through links; False if it does not exist."""
    if not os.path.lexists(path):
        return False
    real_root, real = os.path.realpath(root), os.path.realpath(path)
    return os.path.commonpath((real_root, real)) != real_root


def explain_unreadable(path: str) -> str:
    """Return why nothing can be read at this path, as the end of a sentence; empty if it can."""
    try:
        os.close(open_regular_file(path, os.O_RDONLY))
    except FileNotFoundError:
        return "is a link that leads nowhere" if os.path.islink(path) else "does not exist"
    except PermissionError:
        return "may not be read"
    except OSError:
        return "is not a regular file"
    return ""


def ensure_private_directory(path: str) -> None:
    """Make the directory and its missing parents with mode 0700; remove the access of others from an
    existing one.

    Raises OSError.
    """
    missing = []
    parent = os.path.abspath(path)
    while not os.path.isdir(parent):
        missing.append(parent)
        parent = os.path.dirname(parent)
    for directory in reversed(missing):
        with _sync_names_after(os.path.dirname(directory)), suppress(FileExistsError):
            os.mkdir(directory, _DIRECTORY_MODE)
            os.chmod(directory, _DIRECTORY_MODE)  # whatever the umask is
    if not os.path.isdir(path):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    if os.stat(path).st_mode & _OTHERS:
        os.chmod(path, _DIRECTORY_MODE)


def replace_private(path: str, content: bytes) -> None:
    """Put the content at `path`, whatever was there; a reader sees the old or the new, never a part.

    Raises OSError; then the old content is still there.
    """
    temporary = f"{path}.{os.urandom(8).hex()}.tmp"  # so that two writers never share it
    _write_new(temporary, content)
    try:
        with _sync_names_after(os.path.dirname(path)):
            os.replace(temporary, path)
    except OSError:
        _remove(temporary)
        raise


def replace_cache(path: str, content: bytes) -> None:
    """Replace the content at `path` without waiting for the disk, for content that can be made again.
    Raises OSError.
    """
    temporary = f"{path}.{os.urandom(8).hex()}.tmp"
    try:
        with open(temporary, "xb", opener=open_regular_file) as file:
            file.write(content)
        os.replace(temporary, path)
    except OSError:
        _remove(temporary)
        raise


def create_private(path: str, parts: Iterable[bytes]) -> bool:
    """Put the content at `path` unless something is there. Return whether it did; only one of many callers
    succeeds.

    The content may come in parts: until the last one is durable, the name does not exist. A process that is
    killed meanwhile leaves a file `.handrail-….tmp` beside it; the next one that writes into this folder
    removes it. Raises OSError, and what `parts` raises.
    """
    folder = os.path.dirname(path)
    _remove_leftovers(folder or ".")
    # Not made from the name: that may be as long as names can be.
    temporary = os.path.join(folder, f"{_BEGUN}{os.urandom(8).hex()}{_UNFINISHED}")
    held = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, _FILE_MODE)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)  # as long as this process lives, it is no leftover
        _fill(held, parts)
        with _sync_names_after(folder):
            return _claim_name(temporary, path)
    finally:
        os.close(held)
        _remove(temporary)


_BEGUN, _UNFINISHED = ".handrail-", ".tmp"


def _remove_leftovers(folder: str) -> None:
    """Remove the files that killed processes of this user left in a folder: no process holds their lock any
    more.
    """
    with suppress(OSError):
        names = [
            name for name in os.listdir(folder) if name.startswith(_BEGUN) and name.endswith(_UNFINISHED)
        ]
        for path in (os.path.join(folder, name) for name in names):
            with suppress(OSError), lock_file(path, is_waiting=False):
                if os.lstat(path).st_uid == os.geteuid():
                    os.unlink(path)


def create_exclusively(path: str, content: bytes) -> bool:
    """Create the file directly under its name. Returns whether it did; needs only exclusive creation.

    A file that exists counts from its first moment, also while it is still empty. Raises OSError.
    """
    try:
        with _sync_names_after(os.path.dirname(path)):
            _write_new(path, content)
    except FileExistsError:
        return False
    return True


@contextmanager
def lock_file(path: str, *, is_waiting: bool = True) -> Iterator[None]:
    """Hold the lock of a file for the scope of the `with`.

    The lock ends with the process, however it dies. Raises OSError; without waiting, BlockingIOError too.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, _FILE_MODE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if is_waiting else fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _claim_name(temporary: str, path: str) -> bool:
    """Give the finished file its name, unless something has it."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError as trouble:
        if trouble.errno not in _NO_HARD_LINKS:
            raise
        if not create_exclusively(path, b""):  # without hard links, the name is claimed first
            return False
        os.replace(temporary, path)
    return True


def _write_new(path: str, content: bytes) -> None:
    """Write a new file; if that fails, remove it."""
    descriptor = os.open(path, _NEW, _FILE_MODE)
    is_whole = False
    try:
        _fill(descriptor, (content,))
        is_whole = True
    finally:
        os.close(descriptor)
        if not is_whole:
            _remove(path)


def _fill(descriptor: int, parts: Iterable[bytes]) -> None:
    os.fchmod(descriptor, _FILE_MODE)  # whatever the umask is
    for content in parts:
        write_all(descriptor, content)
    os.fsync(descriptor)


def write_all(descriptor: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


@contextmanager
def _sync_names_after(path: str) -> Iterator[None]:
    """Sync a directory after the scope, which makes a new name in it durable.

    The directory is opened before, because nothing may fail once other processes can see the name. If the
    disk refuses the sync, only a power failure can take the name back.
    """
    descriptor = os.open(path or ".", os.O_RDONLY | os.O_DIRECTORY)  # a pipe in its place would be waited for
    try:
        yield
        with suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
