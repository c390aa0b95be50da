"""Taking a tree: list the files, digest those that changed since the last look, name what differs from HEAD.

A digest is the id that git gives the bytes on the disk. A file that git keeps in another form (line ends,
filters, large file storage) therefore counts as different from HEAD in every tree, with the same digest in
each: comparing two trees is right all the same, and no filter has to run.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import time
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from handrail.host.private_files import open_regular_file
from handrail.host.worktree.bounds import Bounds, is_plain
from handrail.host.worktree.repository import (
    EXECUTABLE,
    FILE,
    LINK,
    IndexedFile,
    Repository,
    RepositoryFacts,
    read_index,
)
from handrail.host.worktree.stat_cache import (
    COARSEST_CLOCK_NS,
    LARGEST,
    WORTH_SAVING,
    Stamp,
    StatCache,
    TrackedTable,
    find_folders,
    is_recent,
    make_stamp,
    read_index_stamp,
)
from handrail.host.worktree.walking import is_by_product
from handrail.ports.worktree import MOST_FILES, FileMode, TreeEntry

MOST_DIGESTED_BYTES = 64_000_000
"""A larger file is known by its size alone."""

TOO_MANY = f"the project has more than {MOST_FILES:,} files".replace(",", " ")
REFUSED = "git is missing, refused to list the files of this repository, or took too long"
BARE = "this is a bare repository, which has no files"

_CHUNK_BYTES = 1 << 20
_FILES_BETWEEN_CLOCKS = 256
_FEW = 100
"""Unknown files that are read at once rather than asking git what it remembers of all."""
_GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG})
_NAMES: dict[bytes, FileMode] = {FILE: "file", EXECUTABLE: "executable", LINK: "link"}


class OutOfTimeError(Exception):
    """The seconds of this look are over."""


class NotReadableError(Exception):
    """A folder keeps us out, so nothing can be said about the files in it."""

    def __init__(self, folder: bytes) -> None:
        super().__init__(folder)
        self.folder = folder


class State(msgspec.Struct, frozen=True, kw_only=True):
    """One file as it is: mode, digest (empty when it could not be taken) and size."""

    mode: bytes
    digest: bytes
    size: int
    changed_ns: int = 0
    """When it last changed, as the file system tells it."""


class Look:
    """One look at a project, with its time limit and what is remembered of earlier ones."""

    def __init__(self, bounds: Bounds, cache: StatCache, deadline: float) -> None:
        self.bounds = bounds
        self.project = bounds.root
        self.root = os.fsencode(bounds.root)
        self.cache = cache
        self.deadline = deadline
        self.skipped = 0
        self.began_ns = time.time_ns()
        self.verified = bytearray()
        """1 for each tracked file whose stat data this look has compared already."""

    def check_time(self) -> None:
        if time.monotonic() > self.deadline:
            raise OutOfTimeError

    def see_tracked_file(self, path: bytes, at: int, linked: frozenset[bytes]) -> State | None:
        return None if _is_behind(path, linked) else self._see(path, at)

    def split_skipped(self, table: TrackedTable) -> tuple[list[bytes], list[bytes]]:
        """Of the files that git was told to leave alone: those that are there all the same, and the rest."""
        present: list[bytes] = []
        absent: list[bytes] = []
        for folder, paths in table.sparse_folders.items():
            self.check_time()
            if folder and not os.path.isdir(self.root + b"/" + folder):
                absent += paths
                continue
            for path in paths:
                (present if os.path.lexists(self.root + b"/" + path) else absent).append(path)
        return present, absent

    def keep_new(self, listed: Iterable[bytes]) -> list[bytes]:
        """Of the paths that git lists as untracked: the files of the project."""
        is_hidden = self.bounds.is_hidden
        return [path for path in listed if is_plain(path) and not is_hidden(path) and not is_by_product(path)]

    def see_others(self, paths: Sequence[bytes]) -> dict[bytes, State]:
        """The states of those that are files."""
        linked = self.find_linked(find_folders(paths))
        states: dict[bytes, State] = {}
        for path in paths:
            state = None if _is_behind(path, linked) else self._see(path, -1)
            if state is not None:
                states[path] = state
        return states

    def _see(self, path: bytes, at: int) -> State | None:
        """None when it is no file: gone, a folder, or a pipe."""
        self.check_time()
        try:
            found = os.lstat(self.root + b"/" + path)
        except OSError as trouble:
            if trouble.errno in _GONE:
                return None
            raise NotReadableError(os.path.dirname(path)) from trouble
        if not stat.S_ISREG(found.st_mode):
            return self._see_other_kind(path, found)
        stamp = make_stamp(found)
        table = self.cache.tracked
        known = table.find(at, stamp) if at >= 0 and table is not None else self.cache.find(path, stamp)
        if self.bounds.explain_anothers(found):
            known = b""
        digest = self._digest(path, at, stamp) if known is None else known
        mode = EXECUTABLE if found.st_mode & 0o100 else FILE
        return State(mode=mode, digest=digest, size=found.st_size, changed_ns=found.st_ctime_ns)

    def _see_other_kind(self, path: bytes, found: os.stat_result) -> State | None:
        if not stat.S_ISLNK(found.st_mode):
            self.skipped += 0 if stat.S_ISDIR(found.st_mode) else 1
            return None
        try:
            target = os.readlink(self.root + b"/" + path)
        except OSError:
            return None
        digest = digest_content(target, self.cache.algorithm)
        return State(mode=LINK, digest=digest, size=len(target), changed_ns=found.st_ctime_ns)

    def _digest(self, path: bytes, at: int, stamp: Stamp) -> bytes:
        """The digest of the bytes on the disk; empty for a file that is too large or may not be read."""
        if stamp[3] > MOST_DIGESTED_BYTES:
            return b""
        read_at = time.time_ns()
        try:
            descriptor = open_regular_file(os.fsdecode(self.root + b"/" + path), _READING)
        except OSError:
            return b""
        try:
            size = os.fstat(descriptor).st_size
            hasher = hashlib.new(self.cache.algorithm, b"blob %d\0" % size, usedforsecurity=False)
            left = size
            while left > 0:
                part = os.read(descriptor, min(left, _CHUNK_BYTES))
                if not part:
                    break
                hasher.update(part)
                left -= len(part)
                if left:
                    self.check_time()
            is_same = make_stamp(os.fstat(descriptor)) == stamp
        except OSError:
            return b""
        finally:
            os.close(descriptor)
        if is_same and not left and not is_recent(stamp, read_at):
            self.cache.keep(path, at, stamp, hasher.digest())
        return hasher.digest()

    def find_linked(self, folders: Iterable[bytes]) -> frozenset[bytes]:
        """Folders that are links now: what git tracked below them is not there any more."""
        return frozenset(folder for folder in folders if os.path.islink(self.root + b"/" + folder))


_READING = os.O_RDONLY | os.O_NOFOLLOW


def digest_content(content: bytes, algorithm: str) -> bytes:
    """The id that git gives these bytes."""
    return hashlib.new(algorithm, b"blob %d\0" % len(content) + content, usedforsecurity=False).digest()


def find_tracked(look: Look, repository: Repository, facts: RepositoryFacts) -> TrackedTable | None:
    """Git's list, asked for again when the file that holds it changed."""
    listed_at = time.time_ns()
    index = read_index_stamp(facts.index)
    if look.cache.tracked is not None and look.cache.tracked.index == index:
        return look.cache.tracked
    # Its paths are those of the whole repository.
    is_whole = os.path.lexists(os.path.join(look.project, ".git"))
    read = read_index(facts.index, facts.algorithm) if is_whole else None
    tracked = repository.find_tracked() if read is None else read.tracked
    if tracked is None:
        return None
    is_settled = max(index[:2]) + COARSEST_CLOCK_NS < listed_at
    tracked = msgspec.structs.replace(
        tracked,
        paths=look.bounds.keep_shown(tracked.paths),
        sparse=look.bounds.keep_shown(tracked.sparse),
        submodules=look.bounds.keep_shown(tracked.submodules),
    )
    table = TrackedTable(
        index if is_settled else (-1,),
        tracked,
        look.cache.length,
        keeps_modes=repository.keeps_modes(),
        folders=find_folders(tracked.paths),
    )
    look.cache.replace_tracked(table)
    if sum(not time_of for time_of in table.columns[0]) > _FEW and not repository.changes_bytes(table.paths):
        _believe_git(look, table, repository.find_indexed() if read is None else read.indexed, index[0])
    return table


def _believe_git(
    look: Look, table: TrackedTable, indexed: Mapping[bytes, IndexedFile], index_time: int
) -> None:
    """Take digests from git for files that have not changed since git looked at them.

    As git does, not for a file as new as the list itself; and not for one too large to be read later.
    """
    settled = min(time.time_ns() - COARSEST_CLOCK_NS, index_time)
    look.verified = bytearray(len(table.paths))
    look.cache.unsaved += WORTH_SAVING
    mtimes, ctimes, inodes, sizes, modes = table.columns
    root = os.open(look.project, os.O_RDONLY)
    lstat, length = os.lstat, table.length
    try:
        for at, path in enumerate(table.paths):
            if not at % _FILES_BETWEEN_CLOCKS:
                look.check_time()
            known = indexed.get(path)
            if known is None or modes[at]:
                continue
            try:
                found = lstat(path, dir_fd=root)
            except OSError:
                continue
            mtime, ctime, inode, mode = found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_mode
            if (
                known.mtime_ns == mtime < settled
                and known.ctime_ns == ctime < settled
                and known.inode == inode & 0xFFFFFFFF
                and known.size == found.st_size <= MOST_DIGESTED_BYTES
                and stat.S_ISREG(mode)
            ):
                mtimes[at], ctimes[at], inodes[at], modes[at] = mtime, ctime, inode & LARGEST, mode
                sizes[at] = known.size
                table.digests[at * length : (at + 1) * length] = known.digest
                look.verified[at] = 1
    finally:
        os.close(root)


def make_entries(states: Mapping[bytes, State | None], algorithm: str) -> tuple[TreeEntry, ...]:
    return tuple(make_entry(path, states[path], algorithm) for path in sorted(states))


def make_entry(path: bytes, state: State | None, algorithm: str) -> TreeEntry:
    if state is None:
        return TreeEntry(path=show_path(path), mode="absent", digest="", size=0)
    digest = f"{algorithm}:{state.digest.hex()}" if state.digest else f"size:{state.size}"
    return TreeEntry(path=show_path(path), mode=_NAMES[state.mode], digest=digest, size=state.size)


def show_path(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")


def read_path(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")


def is_plain_path(path: str) -> bool:
    """Whether a path of a tree leads below the project: a tree may come from a bundle."""
    return is_plain(read_path(path)) and "\0" not in path and all(path.split("/"))


def is_below(path: bytes, folder: bytes) -> bool:
    """Whether the path is in the folder; an empty one has nothing in it."""
    return bool(folder) and (path == folder or path.startswith(folder + b"/"))


def _is_behind(path: bytes, linked: frozenset[bytes]) -> bool:
    """Whether one of these folders is above the path."""
    return bool(linked) and any(is_below(path, folder) for folder in linked)
