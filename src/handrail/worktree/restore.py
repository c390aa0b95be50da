"""Files of a project as they are, each with its digest; and written through a journal.

A crash leaves each file old or new.

The journal holds everything that is to be written, and is durable before the first file is touched. Each file
is written beside its place and renamed. The next writer completes a journal that it finds, and leaves alone
what is neither as before nor as it should become, because that belongs to somebody. Of a restore it writes
what is left, because each file stands for itself. An edit that is whole or nothing it takes back: no reply
said that it was done, and its files mean something only together. A journal that was not finished itself
never counted, so nothing had been touched.

Every step goes through folders that are opened one by one without following a link.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress

import msgspec

from handrail.contract.catalogue import E_IO
from handrail.contract.outcome import Fault
from handrail.host.bounds import HIDDEN, Bounds, is_plain_path, read_path
from handrail.host.private_files import (
    ensure_private_directory,
    lock_file,
    open_regular_file,
    replace_private,
    write_all,
)
from handrail.ports.worktree import (
    READ_ONLY,
    FileMode,
    FileWrite,
    LeftOut,
    PresentFile,
    Written,
    describe_content,
)

_ALGORITHMS = ("sha1", "sha256")


def read_files(bounds: Bounds, paths: Collection[str]) -> dict[str, PresentFile]:
    """Return the content of these paths, without what is no file, too large, or unreadable."""
    found: dict[str, PresentFile] = {}
    root = os.open(bounds.root, FOLDER)
    try:
        for path in paths:
            if is_plain_path(path) and not bounds.is_hidden(read_path(path)):
                with suppress(OSError):
                    file = _read_file(bounds, root, path)
                    found |= {path: file} if file is not None else {}
    finally:
        os.close(root)
    return found


def _read_file(bounds: Bounds, root: int, path: str) -> PresentFile | None:
    """Raises OSError."""
    folders, name = os.path.split(read_path(path))
    with open_below(root, folders) as folder:
        found = os.lstat(name, dir_fd=folder)
        if bounds.explain_closed(path, found) or found.st_size > MOST_DIGESTED_BYTES:
            return None
        if stat.S_ISLNK(found.st_mode):
            return _describe(path, "link", os.readlink(name, dir_fd=folder))
        if not stat.S_ISREG(found.st_mode):
            return None
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=folder)
        with os.fdopen(descriptor, "rb") as file:
            content = file.read(MOST_DIGESTED_BYTES + 1)
    mode: FileMode = "executable" if found.st_mode & 0o100 else "file"
    return _describe(path, mode, content) if len(content) <= MOST_DIGESTED_BYTES else None


def _describe(path: str, mode: FileMode, content: bytes) -> PresentFile:
    return PresentFile(entry=describe_content(path, mode, content), content=content)


def matches(content: bytes, digest: str) -> bool:
    """Whether these bytes have this digest."""
    algorithm, _, expected = digest.partition(":")
    if algorithm not in _ALGORITHMS:
        return False
    hasher = hashlib.new(algorithm, b"blob %d\0" % len(content) + content, usedforsecurity=False)
    return hasher.hexdigest() == expected


# Writing files of a project through a journal, so that a crash leaves each of them old or new.

MOST_DIGESTED_BYTES = 64_000_000
"""Bytes of a file; a larger one is neither read nor overwritten."""
MOST_JOURNAL_BYTES = 1_000_000_000

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR})

BEHIND_LINK = "a folder above it is a link, or no folder"
OCCUPIED = "something that is not in the tree is in its place: an ignored file, or a folder"
CHANGED = "it has changed since it was looked at"
OUTSIDE = "it does not lead below the project"


class Disk:
    """Every change to the files of a project, one method each, so that a test can stop before any of them."""

    def write_new(self, name: bytes, folder: int, content: bytes, mode: int, *, is_exact: bool) -> None:
        descriptor = os.open(name, _NEW, mode, dir_fd=folder)
        try:
            if is_exact:
                os.fchmod(descriptor, mode)
            write_all(descriptor, content)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def link(self, name: bytes, folder: int, target: bytes) -> None:
        os.symlink(target, name, dir_fd=folder)

    def rename(self, name: bytes, new: bytes, folder: int) -> None:
        os.rename(name, new, src_dir_fd=folder, dst_dir_fd=folder)

    def unlink(self, name: bytes, folder: int) -> None:
        os.unlink(name, dir_fd=folder)

    def make_folder(self, name: bytes, folder: int) -> None:
        os.mkdir(name, 0o777, dir_fd=folder)

    def remove_folder(self, name: bytes, folder: int) -> None:
        os.rmdir(name, dir_fd=folder)

    def sync(self, folder: int) -> None:
        os.fsync(folder)


class _Write(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    path: bytes
    mode: str
    content: bytes
    before_mode: str
    before_digest: str
    before_content: bytes = b""
    """Kept where all files are one edit, to take it back."""


class _Journal(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    version: int
    project: bytes
    name: str
    writes: tuple[_Write, ...]
    is_whole: bool = False


class Journals:
    """The journals of one home; one project is written by one process at a time."""

    def __init__(self, home: str, disk: Disk | None = None) -> None:
        self._directory = os.path.join(home, "data", "restores")
        self._disk = disk or Disk()

    def write_files(self, bounds: Bounds, writes: Sequence[FileWrite], *, is_whole: bool = False) -> Written:
        """Raises Fault E_IO before the first file is touched."""
        project = bounds.root
        try:
            with self._locked(project):
                self._finish_earlier(project)
                left_out = find_obstacles(bounds, writes)
                blocked = {left.path for left in left_out}
                todo = tuple(_encode(write) for write in writes if write.path not in blocked)
                if not todo or (is_whole and left_out):
                    return Written(left_out=left_out)
                journal = _Journal(
                    version=1,
                    project=os.fsencode(project),
                    name=os.urandom(6).hex(),
                    writes=todo,
                    is_whole=is_whole,
                )
                self._keep(project, journal)
                done = self._apply(project, journal)
                if is_whole and done.left_out:
                    self._take_back(project, journal)
                    done = Written(left_out=done.left_out)
                self._forget(project)
        except OSError as trouble:
            raise Fault(
                E_IO,
                f"The files could not be prepared to be written: {trouble.strerror}.",
                details={"reason": errno.errorcode.get(trouble.errno or 0, "unknown")},
            ) from trouble
        return Written(changed=done.changed, left_out=(*left_out, *done.left_out))

    def is_unfinished(self, project: str) -> bool:
        """Whether some files are written and others not, because a process was killed."""
        if not os.path.exists(self._path(project)):
            return False
        try:
            with self._locked(project):
                journal = self._load(project)
                if journal is None or not journal.is_whole:
                    return journal is not None
                return len(_find_states(project, journal)) > 1
        except OSError:
            return True

    def settle(self, project: str) -> Written | None:
        """Finish the writes of a killed process, or take them back; None if there are none."""
        if not os.path.exists(self._path(project)):
            return None
        try:
            with self._locked(project):
                return self._finish_earlier(project)
        except OSError:
            return None

    def _finish_earlier(self, project: str) -> Written | None:
        journal = self._load(project)
        done = None
        if journal is not None and not journal.is_whole:
            done = self._apply(project, journal)
        elif journal is not None and _find_states(project, journal) != {"new"}:
            done = self._take_back(project, journal)
        self._forget(project)
        return done

    def _forget(self, project: str) -> None:
        with suppress(OSError):  # one that stays is found to be done
            os.unlink(self._path(project))

    def _take_back(self, project: str, journal: _Journal) -> Written:
        """Restore every file that already has its new state to its old state."""
        writes = []
        for write in journal.writes:
            before = msgspec.structs.replace(
                write,
                mode=write.before_mode,
                content=write.before_content,
                before_mode=write.mode,
                before_digest=_digest_of(write),
            )
            writes.append(before)
        return self._apply(project, msgspec.structs.replace(journal, writes=tuple(writes)))

    def _apply(self, project: str, journal: _Journal) -> Written:
        """Removals first, deepest first, so that a folder can make way for a file."""
        removals = [write for write in journal.writes if write.mode == "absent"]
        others = [write for write in journal.writes if write.mode != "absent"]
        changed: list[bytes] = []
        left_out: list[LeftOut] = []
        root = os.open(project, FOLDER)
        try:
            for write in [*sorted(removals, key=lambda write: write.path, reverse=True), *others]:
                beside = f".handrail-{journal.name}-{hashlib.sha256(write.path).hexdigest()[:12]}.tmp"
                why = self._apply_one(root, write, beside.encode())
                if why:
                    left_out.append(LeftOut(path=write.path.decode("utf-8", "surrogateescape"), why=why))
                else:
                    changed.append(write.path)
        finally:
            os.close(root)
        return Written(
            changed=tuple(path.decode("utf-8", "surrogateescape") for path in sorted(changed)),
            left_out=tuple(left_out),
        )

    def _apply_one(self, root: int, write: _Write, temporary: bytes) -> str:
        """Bring one file into its new state. Return why not; empty if it succeeded."""
        folders, name = os.path.split(write.path)
        try:
            with open_below(root, folders, self._disk if write.mode != "absent" else None) as folder:
                why = self._replace(folder, name, write, temporary)
        except OSError as trouble:
            if write.mode != "absent" or trouble.errno not in _ABSENT:
                return BEHIND_LINK if trouble.errno in _LINKS else f"the disk refused it: {trouble.strerror}"
            why = ""
        if write.mode == "absent" and not why:
            self._remove_empty(root, folders)
        return why

    def _replace(self, folder: int, name: bytes, write: _Write, temporary: bytes) -> str:
        if _exists(temporary, folder):  # left by a process that was killed
            self._disk.unlink(temporary, folder)
        if _is_in_state(name, folder, write.mode, _digest_of(write)):
            return ""
        if not _is_in_state(name, folder, write.before_mode, write.before_digest):
            return OCCUPIED if write.before_mode == "absent" else CHANGED
        if write.mode == "absent":
            self._disk.unlink(name, folder)
        else:
            try:
                self._write_beside(folder, name, write, temporary)
                self._disk.rename(temporary, name, folder)
            except OSError:
                with suppress(OSError):
                    self._disk.unlink(temporary, folder)
                raise
        self._disk.sync(folder)
        return ""

    def _write_beside(self, folder: int, name: bytes, write: _Write, temporary: bytes) -> None:
        if write.mode == "link":
            self._disk.link(temporary, folder, write.content)
            return
        mode, is_exact = _choose_mode(name, folder, is_executable=write.mode == "executable")
        self._disk.write_new(temporary, folder, write.content, mode, is_exact=is_exact)

    def _remove_empty(self, root: int, folders: bytes) -> None:
        """Remove folders that only held removed files; git does not track empty folders."""
        while folders:
            above, name = os.path.split(folders)
            try:
                with open_below(root, above) as folder:
                    self._disk.remove_folder(name, folder)
            except OSError:
                return
            folders = above

    def _keep(self, project: str, journal: _Journal) -> None:
        body = msgspec.msgpack.encode(journal)
        replace_private(self._path(project), zlib.crc32(body).to_bytes(4, "big") + body)

    def _load(self, project: str) -> _Journal | None:
        try:
            with open(self._path(project), "rb", opener=open_regular_file) as file:
                content = file.read(MOST_JOURNAL_BYTES)
        except FileNotFoundError:
            return None
        if zlib.crc32(content[4:]).to_bytes(4, "big") != content[:4]:
            return None
        try:
            journal = msgspec.msgpack.decode(content[4:], type=_Journal)
        except msgspec.MsgspecError:
            return None
        return journal if journal.project == os.fsencode(project) and journal.version == 1 else None

    @contextmanager
    def _locked(self, project: str) -> Iterator[None]:
        ensure_private_directory(self._directory)
        with lock_file(self._path(project) + ".lock"):
            yield

    def _path(self, project: str) -> str:
        return os.path.join(self._directory, hashlib.sha256(os.fsencode(project)).hexdigest()[:32])


_LINKS = frozenset({errno.ELOOP, errno.ENOTDIR})


def _find_states(project: str, journal: _Journal) -> set[str]:
    """Return the file states that exist: `new`, `old`, or `other` (changed by someone else)."""
    found = set()
    root = os.open(project, FOLDER)
    try:
        for write in journal.writes:
            folders, name = os.path.split(write.path)
            try:
                with open_below(root, folders) as folder:
                    is_new = _is_in_state(name, folder, write.mode, _digest_of(write))
                    is_old = not is_new and _is_in_state(name, folder, write.before_mode, write.before_digest)
            except OSError:
                is_new, is_old = write.mode == "absent", write.before_mode == "absent"
            found.add("new" if is_new else "old" if is_old else "other")
    finally:
        os.close(root)
    return found


def find_obstacles(bounds: Bounds, writes: Sequence[FileWrite]) -> tuple[LeftOut, ...]:
    """Return why some of these writes would be left out in the current state of the files."""
    going = {write.path for write in writes if write.mode == "absent"}
    found: list[LeftOut] = []
    root = os.open(bounds.root, FOLDER)
    try:
        for write in writes:
            is_hidden = is_plain_path(write.path) and bounds.is_hidden(read_path(write.path))
            why = HIDDEN if is_hidden else _find_obstacle(root, write, going)
            if why:
                found.append(LeftOut(path=write.path, why=why))
    finally:
        os.close(root)
    return tuple(found)


def _find_obstacle(root: int, write: FileWrite, going: set[str]) -> str:
    if not is_plain_path(write.path):
        return OUTSIDE
    folders, name = os.path.split(read_path(write.path))
    try:
        with open_below(root, folders) as folder:
            if _is_in_state(name, folder, write.before.mode, write.before.digest):
                is_spared = write.spares_read_only and write.before.mode in ("file", "executable")
                return READ_ONLY if is_spared and _is_read_only(name, folder) else ""
            if write.before.mode != "absent":
                return CHANGED
            is_folder = stat.S_ISDIR(os.lstat(name, dir_fd=folder).st_mode)
            makes_way = is_folder and any(path.startswith(write.path + "/") for path in going)
            return "" if makes_way else OCCUPIED
    except OSError as trouble:
        if trouble.errno in _ABSENT and (write.before.mode == "absent" or write.mode == "absent"):
            above = write.path.split("/")[:-1]
            makes_way = any("/".join(above[: at + 1]) in going for at in range(len(above)))
            return "" if trouble.errno == errno.ENOENT or makes_way else BEHIND_LINK
        return BEHIND_LINK


def _is_read_only(name: bytes, folder: int) -> bool:
    """Whether the mode of the file forbids writing, also for a user who may do everything."""
    return not os.lstat(name, dir_fd=folder).st_mode & 0o222


@contextmanager
def open_below(root: int, folders: bytes, making: Disk | None = None) -> Iterator[int]:
    """Open the folder below the root, name by name; missing folders are made. Raises OSError at a link."""
    current = os.dup(root)
    try:
        for name in folders.split(b"/") if folders else ():
            try:
                below = os.open(name, FOLDER, dir_fd=current)
            except FileNotFoundError:
                if making is None:
                    raise
                making.make_folder(name, current)
                making.sync(current)
                below = os.open(name, FOLDER, dir_fd=current)
            os.close(current)
            current = below
        yield current
    finally:
        os.close(current)


def _is_in_state(name: bytes, folder: int, mode: str, digest: str) -> bool:
    """Whether the file has exactly this state."""
    try:
        found = os.lstat(name, dir_fd=folder)
    except FileNotFoundError:
        return mode == "absent"
    if stat.S_ISLNK(found.st_mode):
        return mode == "link" and matches(os.readlink(name, dir_fd=folder), digest)
    if not stat.S_ISREG(found.st_mode) or mode not in ("file", "executable"):
        return False
    if bool(found.st_mode & 0o100) != (mode == "executable"):
        return False
    if found.st_size > MOST_DIGESTED_BYTES:
        return False
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    with os.fdopen(descriptor, "rb") as file:
        return matches(file.read(MOST_DIGESTED_BYTES + 1), digest)


def _choose_mode(name: bytes, folder: int, *, is_executable: bool) -> tuple[int, bool]:
    """Return the current mode of the file with the new executable bit; the umask decides for a new file."""
    try:
        found = os.lstat(name, dir_fd=folder)
    except FileNotFoundError:
        return 0o777 if is_executable else 0o666, False
    if not stat.S_ISREG(found.st_mode):
        return 0o777 if is_executable else 0o666, False
    kept = stat.S_IMODE(found.st_mode) & 0o777
    readers = (kept & 0o444) >> 2
    return kept | readers if is_executable else kept & ~0o111, True


def _exists(name: bytes, folder: int) -> bool:
    try:
        os.lstat(name, dir_fd=folder)
    except FileNotFoundError:
        return False
    return True


def _encode(write: FileWrite) -> _Write:
    return _Write(
        path=read_path(write.path),
        mode=write.mode,
        content=write.content,
        before_mode=write.before.mode,
        before_digest=write.before.digest,
        before_content=write.before_content,
    )


def _digest_of(write: _Write) -> str:
    return "" if write.mode == "absent" else describe_content("", "file", write.content).digest
