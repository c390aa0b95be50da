"""Every system call of the file log, the faults for refused calls, and the files of blobs.

`FileLog` gets a `Disk`, so a test can refuse the k-th call or record the order of calls. A session
directory, a blob directory and every file in them must be the real thing: links are refused.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
import sys
import time
from _thread import allocate_lock, start_new_thread  # what `threading` is made of, without its import
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import Final

from handrail.contract.catalogue import STORE_CORRUPT, STORE_IO_ERROR, STORE_PERMISSION_DENIED
from handrail.contract.ids import BlobRef, blob_ref
from handrail.contract.outcome import Fault
from handrail.contract.wording import quote
from handrail.ports.log import Blob

FILE_MODE: Final = 0o600
DIRECTORY_MODE: Final = 0o700
QUICK_SYNC_NS: Final = 1_000_000

# O_NONBLOCK: a pipe in place of a file must not make a reader wait forever.
_PLAIN = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class Disk:
    """The calls themselves. `directory` is a descriptor; names are relative to it."""

    usual_sync_ns: int = 0
    """How long a sync took lately; until that is known, the disk counts as fast."""

    def open(self, name: str, flags: int, directory: int) -> int:
        return os.open(name, flags | _PLAIN, FILE_MODE, dir_fd=directory)

    def open_directory(self, path: str) -> int:
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | _PLAIN)

    def status(self, descriptor: int) -> os.stat_result:
        return os.fstat(descriptor)

    def status_of(self, path: str, directory: int | None = None) -> os.stat_result:
        return os.lstat(path, dir_fd=directory)

    def read(self, descriptor: int, size: int, offset: int) -> bytes:
        return os.pread(descriptor, size, offset)

    def write(self, descriptor: int, content: bytes, offset: int) -> int:
        return os.pwrite(descriptor, content, offset)

    def cut(self, descriptor: int, size: int) -> None:
        os.ftruncate(descriptor, size)

    def set_modified(self, descriptor: int, at_ns: int) -> None:
        os.utime(descriptor, ns=(at_ns, at_ns))

    def sync(self, descriptor: int) -> None:
        """Make the file's bytes and size durable."""
        if sys.platform == "darwin":
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)  # fsync there stops at the drive's cache
        else:
            os.fdatasync(descriptor)

    def sync_both(self, first: int, second: int) -> None:
        """Make two files durable, on a slow disk in the time of one sync.

        The system joins concurrent syncs. On a fast disk a second thread costs more than it saves, so one
        sync follows the other.
        """
        if self.usual_sync_ns > QUICK_SYNC_NS:
            run_both(lambda: self._timed_sync(first), lambda: self.sync(second))
        else:
            self._timed_sync(first)
            self.sync(second)

    def _timed_sync(self, descriptor: int) -> None:
        """Measure only the sync: on a busy machine, starting a thread takes longer than a quick sync."""
        started = time.monotonic_ns()
        self.sync(descriptor)
        took = time.monotonic_ns() - started
        self.usual_sync_ns += (took - self.usual_sync_ns) // 4 if self.usual_sync_ns else took

    def sync_names(self, descriptor: int) -> None:
        """Make the names in a directory durable."""
        os.fsync(descriptor)

    def rename(self, name: str, new_name: str, directory: int) -> None:
        os.rename(name, new_name, src_dir_fd=directory, dst_dir_fd=directory)

    def make(self, path: str) -> None:
        os.mkdir(path, DIRECTORY_MODE)

    def names(self, path: str) -> list[str]:
        return os.listdir(path)

    def is_empty(self, path: str) -> bool:
        with os.scandir(path) as entries:
            return next(entries, None) is None

    def lock_now(self, descriptor: int) -> bool:
        """Whether this descriptor now holds the lock; it ends with the descriptor or its process."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def close(self, descriptor: int) -> None:
        # What must be durable was synced before; nobody could act on an error now.
        with suppress(OSError):
            os.close(descriptor)

    def now_ns(self) -> int:
        return time.time_ns()

    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000

    def sleep_ms(self, duration_ms: int) -> None:
        time.sleep(duration_ms / 1000)

    def jittered_ms(self, duration_ms: int) -> int:
        """Return 0.5 to 1.5 times this time, at random, so that waiters do not all try at once."""
        return max(1, duration_ms * (32_768 + int.from_bytes(os.urandom(2))) // 65_536)


def find_holder(lock: os.stat_result, table: str = "/proc/locks") -> str:
    """Return who has a lock, in words: the process by its number, if the system reports it."""
    place = f"{os.major(lock.st_dev):02x}:{os.minor(lock.st_dev):02x}:{lock.st_ino}"
    with suppress(OSError), open(table, encoding="ascii") as lines:
        for words in map(str.split, lines):
            if words[1:2] == ["FLOCK"] and words[-3] == place and int(words[-4]) > 0:
                return f"Process {words[-4]}"
    return "Another writer"


def run_both(first: Callable[[], None], second: Callable[[], None]) -> None:
    """Run two calls side by side and wait for both.

    Raise OSError if one of them was refused or did not finish.
    """
    ended: list[OSError | None] = []
    is_second_over = allocate_lock()
    is_second_over.acquire()

    def run_second() -> None:
        try:
            second()
            ended.append(None)
        except OSError as error:
            ended.append(error)
        finally:
            is_second_over.release()

    try:
        start_new_thread(run_second, ())
    except RuntimeError:  # no thread is available: run them one after the other
        first()
        second()
        return
    try:
        first()
    finally:
        is_second_over.acquire()
    refused = ended[0] if ended else OSError(errno.EIO, "a concurrent call did not finish")
    if refused is not None:
        raise refused


class Opened:
    """An open descriptor that is closed at the end of a `with`.

    It is a class, as `TranslatedErrors` is: every call opens a dozen, and a generator takes longer.
    """

    __slots__ = ("_descriptor", "_disk")

    def __init__(self, disk: Disk, descriptor: int) -> None:
        self._disk = disk
        self._descriptor = descriptor

    def __enter__(self) -> int:
        return self._descriptor

    def __exit__(self, *raised: object) -> None:
        self._disk.close(self._descriptor)


def open_file(disk: Disk, name: str, flags: int, directory: int) -> Opened:
    """Open a plain file of a directory, for a `with`. Anything else under that name is refused."""
    descriptor = disk.open(name, flags, directory)
    try:
        if not stat.S_ISREG(disk.status(descriptor).st_mode):
            raise OSError(errno.ELOOP, "not a plain file", name)
    except OSError:
        disk.close(descriptor)
        raise
    return Opened(disk, descriptor)


def open_directory(disk: Disk, path: str) -> Opened:
    """Open a directory, for a `with`."""
    return Opened(disk, disk.open_directory(path))


LARGEST_FILE_BYTES: Final = 256 * 1024 * 1024
"""Far more than this store writes into one file; a larger file is not read."""


def read_from(disk: Disk, descriptor: int, offset: int = 0) -> bytes:
    """Return the bytes from `offset` to where the file ended when the call began."""
    size = disk.status(descriptor).st_size
    if size > LARGEST_FILE_BYTES:
        raise OSError(errno.EFBIG, "larger than any file of this store")
    parts: list[bytes] = []
    while offset < size:
        part = disk.read(descriptor, size - offset, offset)
        if not part:
            break
        parts.append(part)
        offset += len(part)
    return b"".join(parts)


def write_all(disk: Disk, descriptor: int, content: bytes, offset: int) -> None:
    while content:
        written = disk.write(descriptor, content, offset)
        if written == 0:
            raise OSError(errno.ENOBUFS, "the disk took no byte")
        content, offset = content[written:], offset + written


def replace_file(disk: Disk, name: str, content: bytes, directory: int) -> None:
    """Replace a file as a whole or not at all; the caller makes its name durable."""
    with open_file(disk, f"{name}.new", os.O_RDWR | os.O_CREAT, directory) as descriptor:
        write_all(disk, descriptor, content, 0)
        disk.cut(descriptor, len(content))
        disk.sync(descriptor)
    disk.rename(f"{name}.new", name, directory)


def make_directory(disk: Disk, path: str) -> None:
    """Create a directory and make its name durable before anything is put into it.

    An empty one may come from a process that died before it synced the name, so that is done again. A
    directory with content needs nothing more.
    """
    parent = os.path.dirname(path)
    try:
        if not disk.is_empty(path):
            return
    except FileNotFoundError:
        make_directory(disk, parent)
        with suppress(FileExistsError):
            disk.make(path)
    # "/." follows a link: the user may choose where the store as a whole is.
    with open_directory(disk, f"{parent}/.") as descriptor:
        disk.sync_names(descriptor)


# Refused calls and their faults

_REASONS: Final = {
    errno.ENOSPC: "disk_full",
    errno.EDQUOT: "quota_exceeded",
    errno.EIO: "io_error",
    errno.ENOBUFS: "short_write",
    errno.EFBIG: "file_too_large",
    errno.EMFILE: "too_many_open_files",
    errno.ENFILE: "too_many_open_files",
}
_DENIED: Final = {
    errno.EACCES: "access_denied",
    errno.EPERM: "access_denied",
    errno.EROFS: "read_only",
    errno.ELOOP: "link_refused",
    errno.ENOTDIR: "link_refused",
}
_HELP: Final = {
    "a directory": (
        "{} in the store cannot be reached: a file or a link stands where a directory belongs.",
        "Put a directory in its place, or set HANDRAIL_HOME to one, then send the same call again.",
    ),
    "link_refused": (
        "{} in the store is a link or a special file, or lies below one; that is refused there.",
        "Put a plain file or directory in its place, then send the same call again.",
    ),
    "read_only": (
        "The file system of the store is read-only: what is there can be read, and nothing was stored.",
        "Make it writable, or set HANDRAIL_HOME to another directory, then send the call again.",
    ),
    "access_denied": ("{} in the store may not be read or written by this user.", ""),
}
_TOO_LONG: Final = "Set HANDRAIL_HOME to a shorter path, then send the same call again."


OUT_OF_FILES: Final = (errno.EMFILE, errno.ENFILE)
"""The process or the machine has no descriptors left; this says nothing about the file itself."""


def is_refused_link(error: OSError) -> bool:
    """Whether something else is in place of a plain file or directory of the store."""
    return _DENIED.get(error.errno or 0) == "link_refused"


class TranslatedErrors:
    """The one place where an OSError of the store becomes a Fault."""

    __slots__ = ("_session_id",)

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            raise _fault_of(error, self._session_id) from error


def translate_os_errors(session_id: str = "") -> TranslatedErrors:
    """Turn an OSError inside a `with` into the Fault of the store."""
    return TranslatedErrors(session_id)


def _fault_of(error: OSError, session_id: str) -> Fault:
    number = error.errno or 0
    # The last two names are enough to find it, and reveal no path of the machine.
    what = quote("/".join(error.filename.split("/")[-2:])) if isinstance(error.filename, str) else "Something"
    if number in _DENIED:
        # ENOTDIR: the error for a plain file, and for a link that is not followed
        message, hint = _HELP["a directory" if number == errno.ENOTDIR else _DENIED[number]]
        details = {"reason": _DENIED[number]}
        return Fault(STORE_PERMISSION_DENIED, message.format(what), details=details, hint=hint)
    reason = _REASONS.get(number) or errno.errorcode.get(number, "unknown").lower()
    details = {"reason": reason, "session_id": session_id} if session_id else {"reason": reason}
    hint = _TOO_LONG if number == errno.ENAMETOOLONG else ""
    return Fault(
        STORE_IO_ERROR, f"The disk refused a call of the store ({reason}).", details=details, hint=hint
    )


# Blobs: one file per content, named by its digest, shared by all sessions
#
# A blob is written in place, without a temporary name. That is safe because every writer of the file writes
# the same bytes, nothing names it before it is durable, and every reader checks its digest.

_REF = re.compile(r"sha256:([0-9a-f]{2})([0-9a-f]{62})")


def read_blob(disk: Disk, root: str, ref: BlobRef) -> bytes:
    """Return the content of a blob below `root`.

    Raise Fault STORE_CORRUPT if it is missing or is not what its ref says.
    """
    content = _content(disk, root, ref)
    if content is None:
        raise Fault(
            STORE_CORRUPT, f"The blob {ref[:80]} is not in the store.", details={"reason": "missing_blob"}
        )
    if blob_ref(content) != ref:
        raise Fault(
            STORE_CORRUPT,
            f"The blob {ref} does not have the content it is named after.",
            details={"reason": "digest_mismatch"},
        )
    return content


def write_blobs(disk: Disk, root: str, blobs: Sequence[Blob], pinned: Collection[BlobRef]) -> None:
    """Make every blob durable.

    A blob that an intact manifest line pins was durable before that line. Any other blob that is already
    there may come from a writer that is still at work or dead, so it is written again.
    """
    directories: dict[str, None] = {}
    for blob in blobs:
        if blob.ref in pinned and _content(disk, root, blob.ref) == blob.content:
            continue
        directory, name = _place(root, blob.ref)
        make_directory(disk, directory)
        _write(disk, directory, name, blob.content)
        directories[directory] = None
    for directory in directories:
        with open_directory(disk, directory) as descriptor:
            disk.sync_names(descriptor)


def _place(root: str, ref: BlobRef) -> tuple[str, str]:
    matched = _REF.fullmatch(ref)
    assert matched, "a blob ref is sha256: and 64 hex digits"
    return f"{root}/{matched[1]}", matched[1] + matched[2]


def _content(disk: Disk, root: str, ref: BlobRef) -> bytes | None:
    if _REF.fullmatch(ref) is None:
        return None
    path, name = _place(root, ref)
    try:
        with (
            open_directory(disk, path) as directory,
            open_file(disk, name, os.O_RDONLY, directory) as descriptor,
        ):
            return read_from(disk, descriptor)
    except FileNotFoundError:
        return None


def _write(disk: Disk, path: str, name: str, content: bytes) -> None:
    with (
        open_directory(disk, path) as directory,
        open_file(disk, name, os.O_RDWR | os.O_CREAT, directory) as descriptor,
    ):
        write_all(disk, descriptor, content, 0)
        if disk.status(descriptor).st_size != len(content):
            disk.cut(descriptor, len(content))
        disk.sync(descriptor)
