"""All files of a project with certain endings, each with its digest: one lstat for each, and little else.

What a commit holds is no matter here, so git is asked for untracked files alone, and not even for those while
the folders are as they were (`known_folders`).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping

from handrail.host.git import RunningGit
from handrail.host.worktree.by_products import is_by_product
from handrail.host.worktree.listing import known_folders
from handrail.host.worktree.repository import Repository, RepositoryFacts, is_inside
from handrail.host.worktree.stat_cache import (
    COARSEST_CLOCK_NS,
    WORTH_SAVING,
    StatCache,
    TrackedTable,
    read_index_stamp,
)
from handrail.host.worktree.trees import (
    REFUSED,
    TOO_MANY,
    Look,
    find_tracked,
    is_below,
    make_entries,
    make_entry,
    read_path,
    show_path,
)
from handrail.host.worktree.walking import walk_files
from handrail.ports.worktree import MOST_FILES, NO_ENDING, FileList, FileMode, TreeEntry, Unseen

_FILES_BETWEEN_CLOCKS = 256
_NO_ENDING = os.fsencode(NO_ENDING)


def list_without_git(look: Look, excluded: bytes, suffixes: tuple[bytes, ...]) -> FileList | Unseen:
    """Those of a walk."""
    walked = walk_files(look.project, look.check_time)
    if walked is None:
        return Unseen(reason=TOO_MANY)
    wanted = [path for path in walked.paths if _is_asked(path, suffixes) and not is_below(path, excluded)]
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
    excluded: bytes,
    suffixes: tuple[bytes, ...],
    environment: Mapping[str, str],
) -> FileList | Unseen:
    """The tracked files, and those that git lists beside them."""
    older = look.cache.tracked
    table = find_tracked(look, repository, facts)
    printed = None if table is None else untracked.answer()
    if table is None or printed is None:
        return Unseen(reason=REFUSED)
    listed = _list(look, table, printed, excluded, suffixes, look.find_linked(table.folders))
    if table is older and isinstance(listed, FileList):  # a project that is asked about more than once
        known = known_folders.remember(
            look.project, repository, environment, facts.index, table, printed, excluded, look.began_ns
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
        and known_folders.holds(known, project)
    )


def list_known(look: Look, excluded: bytes, suffixes: tuple[bytes, ...]) -> FileList | Unseen:
    """The same as with git, whose answer is known; no folder has become a link either."""
    known, table = look.cache.folders, look.cache.tracked
    assert known is not None, "checked by the caller"
    assert table is not None, "checked by the caller"
    return _list(look, table, known.untracked, excluded, suffixes, frozenset())


def _list(
    look: Look,
    table: TrackedTable,
    printed: bytes,
    excluded: bytes,
    suffixes: tuple[bytes, ...],
    linked: frozenset[bytes],
) -> FileList | Unseen:
    new = [
        path
        for path in printed.split(b"\0")
        if is_inside(path) and not is_below(path, excluded) and not is_by_product(path)
    ]
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
