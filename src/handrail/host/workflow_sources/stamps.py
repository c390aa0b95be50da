"""Stamps of folders with workflow files: two equal stamps mean that nothing in them was changed.

A running server reads the files again only if their stamp changed. A stamp is taken before the files are
read, so a change in between makes the next stamp another one.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from handrail.workflows.limits import is_looked_into

_Row: TypeAlias = tuple[str, int, int, int, int, int]
Stamp: TypeAlias = tuple[_Row, ...]
"""Path, device, inode, size, modification time and change time of every file; a folder has no times."""
MOST_STAMPED: Final = 2_000
"""Files and folders; for more, the files are read each time."""
_NOTHING: Final = (0, 0, 0, 0, 0)
_SETTLED_NS: Final = 50_000_000
"""Longer than the tick of any clock that a system takes the times of files from."""
_COARSE_NS: Final = 2_000_000_000
"""The same for a file system that keeps whole seconds."""


def stamp_sources(folders: Iterable[str], files: Iterable[str]) -> Stamp | None:
    """Return the stamp of these files and of all below these folders; None if it would say too little: with
    a link or a second name, what is read depends on other folders.
    """
    found: list[_Row] = []
    try:
        found += map(_stamp, files)
        for folder in folders:
            for row in _walk(folder):
                found.append(row)
                if len(found) > MOST_STAMPED:
                    return None
    except (OSError, _Uncertain):
        return None
    return tuple(found)


def is_settled(stamp: Stamp, now_ns: int | None = None) -> bool:
    """Whether a later change surely gets another time than those in the stamp."""
    now_ns = time.time_ns() if now_ns is None else now_ns
    for _, _, _, _, modified, changed in stamp:
        is_coarse = changed > 0 and modified % 1_000_000_000 == changed % 1_000_000_000 == 0
        if max(modified, changed) > now_ns - (_COARSE_NS if is_coarse else _SETTLED_NS):
            return False
    return True


class _Uncertain(Exception):
    """Something that no stamp describes."""


def _walk(folder: str) -> Iterator[_Row]:
    top = _stamp(folder)
    yield top
    if top[1:] == _NOTHING:
        return
    folders = [folder]
    for one in folders:  # grows while it is walked
        with os.scandir(one) as entries:
            below = sorted(entries, key=lambda entry: entry.name)
        for entry in below:
            if entry.is_dir(follow_symlinks=False):
                yield _stamp(entry.path)
                if is_looked_into(entry.name):
                    folders.append(entry.path)
            else:
                yield _describe(entry.path, entry.stat(follow_symlinks=False))


def _stamp(path: str) -> _Row:
    try:
        return _describe(path, os.lstat(path))
    except FileNotFoundError:
        return (path, *_NOTHING)


def _describe(path: str, status: os.stat_result) -> _Row:
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        raise _Uncertain
    place = (path, status.st_dev, status.st_ino)
    if stat.S_ISDIR(status.st_mode):
        return (*place, 0, 0, 0)  # its times also change with an editor's temporary files
    return (*place, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
