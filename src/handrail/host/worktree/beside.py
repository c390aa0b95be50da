"""What is in no tree and decides what a check does: ignore rules of the machine, files that load themselves.

Each is known by the time, the inode and the size that the file system tells, never by its content: what git
ignores may be private, and nobody can set the time of a change back.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Collection, Iterable, Iterator, Mapping

from handrail.engine.judge.named_places import configures_runner
from handrail.host.worktree.bounds import Bounds
from handrail.host.worktree.trees import read_path
from handrail.ports.worktree import Beside

_MOST_FOLDERS = 2_000
"""Folders that are looked into; the first by their names."""
_MOST_LOADED = 200
_MODULES = (b".py", b".pyc", b".so")
_INITIAL = (b"__init__.py", b"__init__.pyc", b"__main__.py")
_PROGRAMS = b"node_modules/.bin"
_ENVIRONMENT = b"pyvenv.cfg"


def find_beside(
    bounds: Bounds,
    folders: Iterable[bytes],
    known: Collection[bytes],
    rules: Mapping[str, str],
    programs: Iterable[str] = (),
) -> Beside:
    """`known` is what trees tell about; `rules` are the files of ignore rules, by the names to show."""
    root = os.fsencode(bounds.root)
    loaded: dict[str, str] = {}
    for folder in sorted({b"", *folders})[:_MOST_FOLDERS]:
        for path in _find_loaded(root, folder):
            if path not in known and not bounds.is_hidden(path) and len(loaded) < _MOST_LOADED:
                loaded[os.fsdecode(path)] = _stamp(os.path.join(root, path))
    return Beside(
        ignore_rules={name: _stamp(os.fsencode(place)) for name, place in rules.items()},
        loaded=loaded,
        programs={
            path: _describe_change(os.path.join(root, read_path(path)))
            for path in programs
            if read_path(path) not in known and not bounds.is_hidden(read_path(path))
        },
    )


def _find_loaded(root: bytes, folder: bytes) -> Iterator[bytes]:
    """What a program loads from this folder without being asked."""
    place = os.path.join(root, folder)
    try:
        names = sorted(os.listdir(place))
    except OSError:
        return
    for name in names:
        path = os.path.join(folder, name)
        if configures_runner(os.fsdecode(name)) or (not folder and _is_module(place, name)):
            yield path
        elif not folder and os.path.lexists(os.path.join(place, name, _ENVIRONMENT)):
            yield from _find_in_environment(root, path)
    if b"package.json" in names and os.path.isdir(os.path.join(place, _PROGRAMS)):
        yield os.path.join(folder, _PROGRAMS)


def _is_module(place: bytes, name: bytes) -> bool:
    """Whether Python finds it by this name before its own modules, where it starts in this folder."""
    return name.endswith(_MODULES) or any(os.path.lexists(os.path.join(place, name, one)) for one in _INITIAL)


def _find_in_environment(root: bytes, environment: bytes) -> Iterator[bytes]:
    libraries = os.path.join(environment, b"lib")
    try:
        versions = sorted(os.listdir(os.path.join(root, libraries)))
    except OSError:
        return
    for version in versions:
        packages = os.path.join(libraries, version, b"site-packages")
        try:
            names = sorted(os.listdir(os.path.join(root, packages)))
        except OSError:
            continue
        yield from (os.path.join(packages, name) for name in names if configures_runner(os.fsdecode(name)))


def _describe_change(path: bytes) -> str:
    """When it changed last, as the clock of a log spells it; empty: it is not there."""
    try:
        seconds, rest = divmod(os.lstat(path).st_ctime_ns, 1_000_000_000)
    except OSError:
        return ""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest // 1_000_000:03d}Z"


def _stamp(path: bytes) -> str:
    """Another one after every change; empty: it is not there."""
    try:
        found = os.lstat(path)
    except OSError:
        return ""
    told = f"{found.st_mtime_ns} {found.st_ctime_ns} {found.st_ino} {found.st_size}"
    return hashlib.sha256(told.encode()).hexdigest()[:16]
