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
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from handrail.engine.code_trees import LINKED, state_of
from handrail.host.private_files import open_regular_file
from handrail.host.programs import RunningGit
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
    HeadTable,
    Stamp,
    StatCache,
    TrackedTable,
    find_folders,
    is_recent,
    make_stamp,
    read_index_stamp,
)
from handrail.host.worktree.walking import is_by_product, walk_files
from handrail.ports.worktree import MOST_FILES, FileMode, Tree, TreeEntry, Unseen

MOST_DIGESTED_BYTES = 64_000_000
"""A larger file is known by its size alone."""

TOO_MANY = f"the project has more than {MOST_FILES:,} files".replace(",", " ")
REFUSED = "git is missing, refused to list the files of this repository, or took too long"
BARE = "this is a bare repository, which has no files"

_MODULUS = 1 << 256
_SHA1_BYTES = 20
_CHUNK_BYTES = 1 << 20
_FILES_BETWEEN_CLOCKS = 256
_MOST_SPARSE = 200
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

    def see_tracked(self, table: TrackedTable) -> dict[bytes, State | None]:
        """The tracked files that are not known to be as in the commit; None for one that is gone."""
        linked = self.find_linked(table.folders)
        return {
            path: self.see_tracked_file(path, at, linked) for at, path in self._find_touched(table, linked)
        }

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

    def find_repositories(self, paths: Iterable[bytes]) -> tuple[str, ...]:
        """Those of these folders that are another repository: what is in them is looked at by nobody."""
        names = (path.rstrip(b"/") for path in paths)
        found = [path for path in names if os.path.lexists(self.root + b"/" + path + b"/.git")]
        return tuple(show_path(path) for path in sorted(found))

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

    def _find_touched(self, table: TrackedTable, linked: frozenset[bytes]) -> list[tuple[int, bytes]]:
        """The tracked files whose stat data are not those of an unchanged file: one lstat for each."""
        touched: list[tuple[int, bytes]] = []
        root = os.open(self.project, os.O_RDONLY)
        lstat = os.lstat
        rows = zip(table.paths, *table.columns, table.clean, strict=True)
        try:
            for at, (path, mtime, ctime, inode, size, mode, is_clean) in enumerate(rows):
                if not at % _FILES_BETWEEN_CLOCKS:
                    self.check_time()
                if is_clean:
                    try:
                        found = lstat(path, dir_fd=root)
                    except OSError:
                        touched.append((at, path))
                        continue
                    if (
                        found.st_mtime_ns == mtime
                        and found.st_ctime_ns == ctime
                        and found.st_ino == inode
                        and found.st_size == size
                        and found.st_mode == mode
                        and not linked
                    ):
                        continue
                touched.append((at, path))
        finally:
            os.close(root)
        return touched

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


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What one look found in a repository."""

    table: TrackedTable
    head: HeadTable
    tracked: dict[bytes, State | None]
    """Only those that are not known to be as in the commit; None for one that is gone."""
    others: dict[bytes, State]
    """Also those that git was told to leave alone, and that are there."""
    absent: list[bytes]
    """Left alone by git's word, and gone, although nothing is left out on purpose."""
    left_out: list[bytes]
    """Left out of a sparse checkout."""
    repositories: tuple[str, ...]


def take_without_git(look: Look) -> Tree | Unseen:
    """Every file of the project that no ignore file names."""
    walked = walk_files(look.bounds, look.check_time)
    if walked is None:
        return Unseen(reason=TOO_MANY)
    states = look.see_others(walked.paths)
    look.cache.forget_others(states)
    total = sum(weigh(path, state.mode, state.digest, state.size) for path, state in states.items())
    return Tree(
        head="",
        entries=make_entries(states, look.cache.algorithm),
        tree_id=_make_id(total),
        files=len(states),
        skipped=walked.skipped + look.skipped,
        repositories=tuple(show_path(path) for path in walked.repositories),
    )


def take_with_git(
    look: Look, repository: Repository, facts: RepositoryFacts, untracked: RunningGit
) -> Tree | Unseen:
    """The commit and what differs from it."""
    seen = _see_repository(look, repository, facts, untracked)
    if isinstance(seen, Unseen):
        return seen
    table, head, others = seen.table, seen.head, seen.others
    look.cache.forget_others(others)
    gone = [path for path, state in seen.tracked.items() if state is None]
    present = {path: state for path, state in seen.tracked.items() if state is not None} | others
    if not table.keeps_modes:
        present = {path: _with_known_mode(state, head.find(path)) for path, state in present.items()}
    unlisted = (path for path in table.unlisted if path not in others)
    tree = _make_tree(look, head, present, (*gone, *seen.absent, *unlisted), seen.left_out)
    return msgspec.structs.replace(
        tree,
        files=len(table.paths) - len(gone) + len(others),
        skipped=len(table.submodules) + look.skipped,
        repositories=seen.repositories,
        apart={show_path(path): "sparse" for path in sorted(seen.left_out)[:_MOST_SPARSE]},
    )


def mark_state(inner: Tree | Unseen | None) -> str:
    """A mark of the files of another repository: its commit, where they are just those."""
    if inner is None or isinstance(inner, Unseen):
        return "unseen"
    is_plain = not inner.entries and all(mark.startswith(LINKED) for mark in inner.apart.values())
    return f"@{inner.head}" if is_plain and inner.head else inner.tree_id[-16:]


def set_apart(tree: Tree, found: Mapping[str, str]) -> Tree:
    """With these repositories inside it, whose states count in its id, committed or not."""
    states = "\0".join(f"{name} {state_of(mark)}" for name, mark in sorted(found.items()))
    total = int(tree.tree_id.rpartition(":")[2], 16) + weigh(
        b"", b"apart", hashlib.sha256(states.encode()).digest(), 0
    )
    return msgspec.structs.replace(tree, tree_id=_make_id(total), apart={**tree.apart, **found})


def _see_repository(
    look: Look,
    repository: Repository,
    facts: RepositoryFacts,
    untracked: RunningGit,
) -> Seen | Unseen:
    """Look at the tracked files, and at the others."""
    table = find_tracked(look, repository, facts)
    head = _find_head(look.cache, repository, facts.head)
    if table is None or head is None:
        return Unseen(reason=REFUSED)
    if len(table.paths) > MOST_FILES:
        return Unseen(reason=TOO_MANY)
    if table.clean_head != (head.head or "none"):
        _mark_clean(table, head)
    tracked = look.see_tracked(table)
    printed = untracked.answer()
    if printed is None:
        return Unseen(reason=REFUSED)
    listed = printed.split(b"\0")
    new = look.keep_new(listed)
    if len(table.paths) + len(new) > MOST_FILES:
        return Unseen(reason=TOO_MANY)
    skipped, missing = look.split_skipped(table)
    is_sparse = bool(missing) and repository.is_sparse()
    others = look.see_others([path for path in (*new, *skipped) if path not in tracked])
    _learn_clean(table, head, tracked)
    return Seen(
        table=table,
        head=head,
        tracked=tracked,
        others=others,
        absent=[] if is_sparse else missing,
        left_out=missing if is_sparse else [],
        repositories=look.find_repositories(
            (*table.submodules, *(path for path in listed if path[-1:] == b"/"))
        ),
    )


def _make_tree(
    look: Look,
    head: HeadTable,
    present: Mapping[bytes, State],
    gone: Iterable[bytes],
    left_out: Sequence[bytes],
) -> Tree:
    """What a sparse checkout leaves out is as in the commit; but which files those are counts in the id."""
    total = head.total
    if left_out:
        total += weigh(b"", b"sparse", hashlib.sha256(b"\0".join(left_out)).digest(), 0)
    differing: dict[bytes, State | None] = {}
    for path, state in present.items():
        known = head.find(path)
        if known == (state.mode, state.digest):
            continue
        total += weigh(path, state.mode, state.digest, state.size)
        total -= 0 if known is None else weigh(path, *known, 0)
        differing[path] = state
    for path in gone:
        known = head.find(path)
        if known is not None:
            total -= weigh(path, *known, 0)
            differing[path] = None
    return Tree(
        head=head.head,
        entries=make_entries(differing, look.cache.algorithm),
        tree_id=_make_id(total),
    )


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


def _find_head(cache: StatCache, repository: Repository, commit: str) -> HeadTable | None:
    """The files of the commit that is checked out."""
    if cache.head is not None and cache.head.head == commit:
        return cache.head
    files = repository.find_commit_files(commit)
    if files is None:
        return None
    total = sum(weigh(path, mode, digest, 0) for path, (mode, digest) in files.items())
    cache.head = HeadTable(commit, files, total % _MODULUS)
    cache.unsaved += WORTH_SAVING
    return cache.head


def _mark_clean(table: TrackedTable, head: HeadTable) -> None:
    """Note which files with known digests are as in this commit, so that a later look only asks for stats."""
    files = head.all()
    modes = table.columns[4]
    for at, path in enumerate(table.paths):
        known = files.get(path)
        digest = table.digests[at * table.length : (at + 1) * table.length]
        mode = EXECUTABLE if modes[at] & 0o100 else FILE
        is_clean = known is not None and bool(modes[at]) and known == (mode, bytes(digest))
        table.clean[at] = is_clean
    table.unlisted = sorted(files.keys() - set(table.paths) - set(table.sparse))
    table.clean_head = head.head or "none"


def _learn_clean(table: TrackedTable, head: HeadTable, seen: Mapping[bytes, State | None]) -> None:
    """The same for the files that this look read: those whose stamp was kept."""
    for path, state in seen.items():
        at = bisect_left(table.paths, path)
        is_known = state is not None and bytes(
            table.digests[at * table.length : (at + 1) * table.length]
        ) == (state.digest)
        is_same = state is not None and head.find(path) == (state.mode, state.digest)
        table.clean[at] = is_known and is_same and bool(table.columns[4][at])


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


def weigh(path: bytes, mode: bytes, digest: bytes, size: int) -> int:
    """What one file adds to the id of a tree: a sum, so that few changes cost little."""
    content = digest or b"size %d" % size
    return int.from_bytes(hashlib.sha256(path + b"\0" + mode + content).digest(), "big")


def make_entries(states: Mapping[bytes, State | None], algorithm: str) -> tuple[TreeEntry, ...]:
    return tuple(make_entry(path, states[path], algorithm) for path in sorted(states))


def make_entry(path: bytes, state: State | None, algorithm: str) -> TreeEntry:
    if state is None:
        return TreeEntry(path=show_path(path), mode="absent", digest="", size=0)
    digest = f"{algorithm}:{state.digest.hex()}" if state.digest else f"size:{state.size}"
    return TreeEntry(path=show_path(path), mode=_NAMES[state.mode], digest=digest, size=state.size)


def make_committed_entry(path: str, known: tuple[bytes, bytes]) -> TreeEntry:
    """A file as a commit has it; its size is not known from there."""
    algorithm = "sha1" if len(known[1]) == _SHA1_BYTES else "sha256"
    return TreeEntry(path=path, mode=_NAMES[known[0]], digest=f"{algorithm}:{known[1].hex()}", size=0)


Lookup: TypeAlias = Callable[[bytes], tuple[bytes, bytes] | None]
"""What a commit has at a path."""


def effective_entries(tree: Tree, committed: Lookup, paths: Iterable[str]) -> dict[str, TreeEntry]:
    """The files of a tree at these paths, be they listed in it or as its commit has them."""
    listed = {entry.path: entry for entry in tree.entries}
    found: dict[str, TreeEntry] = {}
    for path in paths:
        if path in listed:
            found[path] = listed[path]
        elif (known := committed(read_path(path))) is not None:
            found[path] = make_committed_entry(path, known)
    return found


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


def _with_known_mode(state: State, known: tuple[bytes, bytes] | None) -> State:
    """On a file system without an executable bit, the commit's word is taken for it."""
    if state.mode == LINK:
        return state
    mode = known[0] if known is not None and known[0] != LINK else FILE
    return msgspec.structs.replace(state, mode=mode)


def _is_behind(path: bytes, linked: frozenset[bytes]) -> bool:
    """Whether one of these folders is above the path."""
    return bool(linked) and any(is_below(path, folder) for folder in linked)


def _make_id(total: int) -> str:
    return f"t1:{total % _MODULUS:064x}"
