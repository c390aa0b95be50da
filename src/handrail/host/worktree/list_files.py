"""All files of a project with certain endings, each with its digest: one lstat for each, and little else.

What a commit holds is no matter here, so git is asked for untracked files alone, and not even for those while
the folders are as they were.
"""

from __future__ import annotations

import os
import stat
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from itertools import groupby

from handrail.contract.credential_files import holds_credentials
from handrail.host.programs import RunningGit
from handrail.host.worktree.bounds import Bounds
from handrail.host.worktree.repository import Repository, RepositoryFacts
from handrail.host.worktree.restore import FOLDER, matches, open_below
from handrail.host.worktree.stat_cache import (
    COARSEST_CLOCK_NS,
    WORTH_SAVING,
    KnownFolders,
    StatCache,
    TrackedTable,
    find_folders,
    read_index_stamp,
    read_numbers,
)
from handrail.host.worktree.trees import (
    REFUSED,
    TOO_MANY,
    Look,
    find_tracked,
    is_plain_path,
    make_entries,
    make_entry,
    read_path,
    show_path,
)
from handrail.host.worktree.walking import walk_files
from handrail.ports.worktree import MOST_FILES, NO_ENDING, FileList, FileMode, TreeEntry, Unseen

_FILES_BETWEEN_CLOCKS = 256
_NO_ENDING = os.fsencode(NO_ENDING)


def list_without_git(look: Look, suffixes: tuple[bytes, ...]) -> FileList | Unseen:
    """Those of a walk."""
    walked = walk_files(look.bounds, look.check_time)
    if walked is None:
        return Unseen(reason=TOO_MANY)
    wanted = [path for path in walked.paths if _is_asked(path, suffixes)]
    states = look.see_others(wanted)
    return FileList(
        files=make_entries(states, look.cache.algorithm),
        changed_ns=tuple(states[path].changed_ns for path in sorted(states)),
        listed_at=look.began_ns - COARSEST_CLOCK_NS,
        skipped=walked.skipped + look.skipped,
    )


def list_with_git(
    look: Look,
    repository: Repository,
    facts: RepositoryFacts,
    untracked: RunningGit,
    suffixes: tuple[bytes, ...],
    environment: Mapping[str, str],
) -> FileList | Unseen:
    """The tracked files, and those that git lists beside them."""
    older = look.cache.tracked
    table = find_tracked(look, repository, facts)
    printed = None if table is None else untracked.answer()
    if table is None or printed is None:
        return Unseen(reason=REFUSED)
    listed = _list(look, table, printed, suffixes, look.find_linked(table.folders))
    if table is older and isinstance(listed, FileList):  # a project that is asked about more than once
        known = remember_folders(
            look.bounds, repository, environment, facts.index, table, printed, look.began_ns
        )
        look.cache.unsaved += WORTH_SAVING if known != look.cache.folders else 0
        look.cache.folders = known
    return listed


def can_list_known(cache: StatCache, project: str) -> bool:
    """Whether git need not be asked."""
    known, table = cache.folders, cache.tracked
    return (
        known is not None
        and table is not None
        and read_index_stamp(known.index) == table.index
        and is_unchanged(known, project)
    )


def list_known(look: Look, suffixes: tuple[bytes, ...]) -> FileList | Unseen:
    """The same as with git, whose answer is known; no folder has become a link either."""
    known, table = look.cache.folders, look.cache.tracked
    assert known is not None, "checked by the caller"
    assert table is not None, "checked by the caller"
    return _list(look, table, known.untracked, suffixes, frozenset())


def _list(
    look: Look,
    table: TrackedTable,
    printed: bytes,
    suffixes: tuple[bytes, ...],
    linked: frozenset[bytes],
) -> FileList | Unseen:
    new = look.keep_new(printed.split(b"\0"))
    if len(table.paths) + len(new) > MOST_FILES:
        return Unseen(reason=TOO_MANY)
    skipped, _ = look.split_skipped(table)
    rows = _list_tracked(look, table, suffixes, linked)
    wanted = {path for path in (*new, *skipped) if _is_asked(path, suffixes)}
    others = look.see_others(sorted(wanted - set(table.paths))) if wanted else {}
    if others:
        rows += [
            (make_entry(path, state, look.cache.algorithm), state.changed_ns)
            for path, state in others.items()
        ]
        rows.sort(key=lambda row: read_path(row[0].path))
    return FileList(
        files=tuple([row[0] for row in rows]),
        changed_ns=tuple([row[1] for row in rows]),
        listed_at=look.began_ns - COARSEST_CLOCK_NS,
        skipped=len(table.submodules) + look.skipped,
    )


def _list_tracked(
    look: Look, table: TrackedTable, suffixes: tuple[bytes, ...], linked: frozenset[bytes]
) -> list[tuple[TreeEntry, int]]:
    """A file with the stat data of the last look has the digest of the last look."""
    touched = _find_touched(look, table, suffixes, are_all=bool(linked))
    algorithm, made, times = look.cache.algorithm, table.entries, table.columns[1]
    rows: list[tuple[TreeEntry, int]] = []
    for at, path in enumerate(table.paths):
        if at in touched:
            state = look.see_tracked_file(path, at, linked)
            if state is not None:
                rows.append((make_entry(path, state, algorithm), state.changed_ns))
        elif path.endswith(suffixes) or _is_asked(path, suffixes):
            entry = made.get(at)
            if entry is None:
                entry = made[at] = _make_known(table, at, path, algorithm)
            rows.append((entry, times[at]))
    return rows


def _is_asked(path: bytes, suffixes: tuple[bytes, ...]) -> bool:
    """Whether it has one of the endings, or none where that is asked for."""
    if path.endswith(suffixes):
        return True
    return suffixes[-1] == _NO_ENDING and b"." not in path[path.rfind(b"/") + 1 :]


def _find_touched(look: Look, table: TrackedTable, suffixes: tuple[bytes, ...], *, are_all: bool) -> set[int]:
    """The places of those that have to be looked at more closely."""
    touched: set[int] = set()
    verified = look.verified or bytes(len(table.paths))
    root = os.open(look.project, os.O_RDONLY)
    lstat = os.lstat
    rows = zip(table.paths, verified, *table.columns, strict=True)
    try:
        for at, (path, is_verified, mtime, ctime, inode, size, mode) in enumerate(rows):
            if not path.endswith(suffixes) and not _is_asked(path, suffixes):
                continue
            if are_all or not mode:
                touched.add(at)
                continue
            if is_verified:
                continue
            if not at % _FILES_BETWEEN_CLOCKS:
                look.check_time()
            try:
                found = lstat(path, dir_fd=root)
            except OSError:
                touched.add(at)
                continue
            if (
                found.st_mtime_ns != mtime
                or found.st_ctime_ns != ctime
                or found.st_ino != inode
                or found.st_size != size
                or found.st_mode != mode
            ):
                touched.add(at)
    finally:
        os.close(root)
    return touched


def _make_known(table: TrackedTable, at: int, path: bytes, algorithm: str) -> TreeEntry:
    mode = table.columns[4][at]
    digest = f"{algorithm}:{table.digests[at * table.length : (at + 1) * table.length].hex()}"
    kind: FileMode = "link" if stat.S_ISLNK(mode) else "executable" if mode & 0o100 else "file"
    return TreeEntry(path=show_path(path), mode=kind, digest=digest, size=table.columns[3][at])


# Which untracked files there are, known without asking git.
#
# A file appears or vanishes only where its folder changes. So while the time and the inode of every folder
# that git looked into are the same, and with them every file that decides what is ignored, git would list the
# same paths again. Edits in place are no matter of this: each file is still asked for its own stat data.
#
# Kept only where all of that had settled when git was asked: two changes within one tick of a coarse clock
# would look like one. Settings that include others, and projects that are a part of a repository, are not
# followed here; then git is asked in every call.

_IGNORE_FILE = b".gitignore"
_MOST_ROUNDS = 16
_MOST_FOLDERS = 50_000
_MARK_NUMBERS = 5

Mark = tuple[int, int, int, int, int]
"""Time of the content, time of the file, inode, size, owner; zeros where there is no such file."""


def is_unchanged(known: KnownFolders, project: str) -> bool:
    """Whether git would list the same untracked files."""
    files = known.files.split(b"\0")
    marks = read_numbers(known.marks)
    for at, file in enumerate(files):
        if tuple(marks[at * _MARK_NUMBERS : (at + 1) * _MARK_NUMBERS]) != _mark(file):
            return False
    folders = known.folders.split(b"\0")
    stamps = read_numbers(known.stamps)
    count, lstat = len(folders), os.lstat
    if len(stamps) != 3 * count:
        return False
    root = os.open(project, os.O_RDONLY)
    try:
        for folder, mtime, ctime, inode in zip(
            folders, stamps[:count], stamps[count : 2 * count], stamps[2 * count :], strict=True
        ):
            found = lstat(folder, dir_fd=root)
            if found.st_ctime_ns != ctime or found.st_mtime_ns != mtime or found.st_ino != inode:
                return False
    except OSError:
        return False
    finally:
        os.close(root)
    return True


def remember_folders(
    bounds: Bounds,
    repository: Repository,
    environment: Mapping[str, str],
    index: str,
    table: TrackedTable,
    printed: bytes,
    asked_at: int,
) -> KnownFolders | None:
    """What git has just listed, with its conditions; None where they cannot be told, or have not settled."""
    project = bounds.root
    deciding = _find_deciding(project, repository, environment)
    if deciding is None:
        return None
    walked = _walk(bounds, repository, table, printed)
    if walked is None:
        return None
    folders, ignore_files = walked
    newest = asked_at - COARSEST_CLOCK_NS
    columns: tuple[array[int], ...] = (array("q"), array("q"), array("q"))
    try:
        for folder in folders:
            found = os.lstat(os.path.join(os.fsencode(project), folder))
            if max(found.st_mtime_ns, found.st_ctime_ns) >= newest:
                return None
            for column, value in zip(
                columns, (found.st_mtime_ns, found.st_ctime_ns, found.st_ino), strict=True
            ):
                column.append(value)
        files = [*deciding, *ignore_files]
        marks = [_mark(file) for file in files]
    except (OSError, OverflowError):
        return None
    if any(max(mark[:2]) >= newest for mark in marks):
        return None
    return KnownFolders(
        index=index,
        untracked=printed,
        folders=b"\0".join(folders),
        stamps=b"".join(column.tobytes() for column in columns),
        files=b"\0".join(files),
        marks=array("q", [number for mark in marks for number in mark]).tobytes(),
    )


def _find_deciding(
    project: str, repository: Repository, environment: Mapping[str, str]
) -> list[bytes] | None:
    """The files outside of the folders that decide what git lists."""
    inside = os.path.join(project, ".git")
    named = repository.find_ignore_settings()
    if named is None or not os.path.isdir(inside):
        return None
    owner = environment.get("HOME", "")
    place = environment.get("XDG_CONFIG_HOME", "") or (os.path.join(owner, ".config") if owner else "")
    own = [os.path.join(owner, ".gitconfig")] if owner else []
    own += [os.path.join(place, "git", "config")] if place else []
    if named:
        own.append(os.path.join(owner, named[2:]) if named.startswith("~/") else named)
    elif place:
        own.append(os.path.join(place, "git", "ignore"))
    if not all(map(os.path.isabs, own)):
        return None
    local = [os.path.join(inside, name) for name in ("config", "config.worktree", "HEAD", "info/exclude")]
    return [os.fsencode(path) for path in (*own, *local)]


def _walk(
    bounds: Bounds, repository: Repository, table: TrackedTable, printed: bytes
) -> tuple[list[bytes], list[bytes]] | None:
    """The folders that git looks into, and the ignore files in them."""
    listed = printed.split(b"\0")
    others = {path.rstrip(b"/") for path in (*table.submodules, *listed) if path[-1:] == b"/"}
    others |= {*table.submodules}
    holding = set(find_folders(path for path in listed if path[-1:] != b"/"))
    watched: dict[bytes, None] = {}
    ignore_files: list[bytes] = []
    waiting = {b".", *table.folders, *holding}
    for _ in range(_MOST_ROUNDS):
        unknown: set[bytes] = set()
        for folder in sorted(waiting):
            watched[folder] = None
            if folder in others:
                continue
            found = _scan(bounds, folder)
            if found is None:
                return None
            below, has_ignore_file = found
            unknown |= below
            if has_ignore_file:
                ignore_files.append(os.path.join(os.fsencode(bounds.root), folder, _IGNORE_FILE))
        unknown -= watched.keys()
        waiting = unknown & (holding | others)
        asked = unknown - waiting
        ignored = repository.find_ignored(sorted(asked)) if asked else set()
        if ignored is None or len(watched) + len(unknown) > _MOST_FOLDERS:
            return None
        waiting |= asked - ignored
        if not waiting:
            return list(watched), ignore_files
    return None


def _scan(bounds: Bounds, folder: bytes) -> tuple[set[bytes], bool] | None:
    """The folders in this one, and whether it has an ignore file."""
    below: set[bytes] = set()
    has_ignore_file = False
    try:
        with os.scandir(os.path.join(os.fsencode(bounds.root), folder)) as entries:
            for entry in entries:
                path = entry.name if folder == b"." else folder + b"/" + entry.name
                if entry.name == _IGNORE_FILE:
                    has_ignore_file = True
                elif not bounds.is_hidden(path) and entry.is_dir(follow_symlinks=False):
                    below.add(path)
    except OSError:
        return None
    return below, has_ignore_file


def _mark(path: bytes) -> Mark:
    try:
        found = os.stat(path)
    except OSError:
        return (0, 0, 0, 0, 0)
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_size, found.st_uid)


# Reading many files one by one, without following a link

_READING = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def find_text(
    bounds: Bounds, files: Iterable[TreeEntry], needles: Sequence[bytes], most_bytes: int
) -> Iterator[tuple[TreeEntry, bytes | None]]:
    """The files that hold one of the needles. Only those are digested: to look for text is cheaper."""
    only = needles[0] if len(needles) == 1 else b""
    searched = (entry for entry in files if _is_searched(bounds, entry, most_bytes))
    with ExitStack() as opened:
        root = os.open(bounds.root, FOLDER)
        opened.callback(os.close, root)
        for above, entries in groupby(searched, lambda entry: entry.path.rpartition("/")[0]):
            with ExitStack() as inside:
                folder = -1
                with suppress(OSError):
                    if not above or is_plain_path(above):
                        folder = inside.enter_context(open_below(root, read_path(above)))
                for entry in entries:
                    name = read_path(entry.path.rpartition("/")[2])
                    content = None if folder < 0 else _read(folder, name, entry.size)
                    if content is None:
                        yield entry, None
                    elif only in content if only else not needles or any(one in content for one in needles):
                        yield entry, content if matches(content, entry.digest) else None


def _is_searched(bounds: Bounds, entry: TreeEntry, most_bytes: int) -> bool:
    is_plain = entry.mode in ("file", "executable") and not entry.digest.startswith("size:")
    is_closed = holds_credentials(entry.path) or bounds.is_hidden(read_path(entry.path))
    return is_plain and not is_closed and entry.size <= most_bytes


def _read(folder: int, name: bytes, size: int) -> bytes | None:
    """The bytes of a regular file; None if it is none any more, or not of this size."""
    try:
        descriptor = os.open(name, _READING, dir_fd=folder)
    except OSError:
        return None
    try:
        content = os.read(descriptor, size + 1)
        while len(content) < size and (more := os.read(descriptor, size - len(content))):
            content += more
    except OSError:  # a folder, or a pipe that nobody writes to
        return None
    finally:
        os.close(descriptor)
    return content if len(content) == size else None
