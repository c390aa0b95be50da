"""Which untracked files there are, known without asking git.

A file appears or vanishes only where its folder changes. So while the time and the inode of every folder that
git looked into are the same, and with them every file that decides what is ignored, git would list the same
paths again. Edits in place are no matter of this: each file is still asked for its own stat data.

Kept only where all of that had settled when git was asked: two changes within one tick of a coarse clock
would look like one. Settings that include others, and projects that are a part of a repository, are not
followed here; then git is asked in every call.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Mapping

from handrail.host.worktree.repository import Repository
from handrail.host.worktree.stat_cache import (
    COARSEST_CLOCK_NS,
    KnownFolders,
    TrackedTable,
    find_folders,
)

_IGNORE_FILE = b".gitignore"
_MOST_ROUNDS = 16
_MOST_FOLDERS = 50_000
_MARK_NUMBERS = 5

Mark = tuple[int, int, int, int, int]
"""Time of the content, time of the file, inode, size, owner; zeros where there is no such file."""


def holds(known: KnownFolders, project: str) -> bool:
    """Whether git would list the same untracked files."""
    files = known.files.split(b"\0")
    marks = _numbers(known.marks)
    for at, file in enumerate(files):
        if tuple(marks[at * _MARK_NUMBERS : (at + 1) * _MARK_NUMBERS]) != _mark(file):
            return False
    folders = known.folders.split(b"\0")
    stamps = _numbers(known.stamps)
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


def remember(
    project: str,
    repository: Repository,
    environment: Mapping[str, str],
    index: str,
    table: TrackedTable,
    printed: bytes,
    excluded: bytes,
    asked_at: int,
) -> KnownFolders | None:
    """What git has just listed, with its conditions; None where they cannot be told, or have not settled."""
    deciding = _find_deciding(project, repository, environment)
    if deciding is None:
        return None
    walked = _walk(project, repository, table, printed, excluded)
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
    project: str, repository: Repository, table: TrackedTable, printed: bytes, excluded: bytes
) -> tuple[list[bytes], list[bytes]] | None:
    """The folders that git looks into, and the ignore files in them."""
    listed = printed.split(b"\0")
    others = {path.rstrip(b"/") for path in (*table.submodules, *listed) if path[-1:] == b"/"}
    others |= {*table.submodules, excluded}
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
            found = _scan(project, folder)
            if found is None:
                return None
            below, has_ignore_file = found
            unknown |= below
            if has_ignore_file:
                ignore_files.append(os.path.join(os.fsencode(project), folder, _IGNORE_FILE))
        unknown -= watched.keys()
        waiting = unknown & (holding | others)
        asked = unknown - waiting
        ignored = repository.find_ignored(sorted(asked)) if asked else set()
        if ignored is None or len(watched) + len(unknown) > _MOST_FOLDERS:
            return None
        waiting |= asked - ignored
        waiting.discard(excluded)
        if not waiting:
            return list(watched), ignore_files
    return None


def _scan(project: str, folder: bytes) -> tuple[set[bytes], bool] | None:
    """The folders in this one, and whether it has an ignore file."""
    below: set[bytes] = set()
    has_ignore_file = False
    try:
        with os.scandir(os.path.join(os.fsencode(project), folder)) as entries:
            for entry in entries:
                if entry.name == _IGNORE_FILE:
                    has_ignore_file = True
                elif entry.name != b".git" and entry.is_dir(follow_symlinks=False):
                    below.add(entry.name if folder == b"." else folder + b"/" + entry.name)
    except OSError:
        return None
    return below, has_ignore_file


def _mark(path: bytes) -> Mark:
    try:
        found = os.stat(path)
    except OSError:
        return (0, 0, 0, 0, 0)
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_size, found.st_uid)


def _numbers(content: bytes) -> array[int]:
    numbers = array("q")
    numbers.frombytes(content)
    return numbers
