"""The files of a project without git: a walk that honours ignore files and enters no other repository.

What tools leave behind when they run, as caches and data of coverage, nobody writes by hand. As long as git
does not track such a by-product it is in no tree, as if it were ignored: a check that writes it has changed
nothing, and nobody has to list it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

import msgspec

from handrail.host.private_files import is_of_git, open_regular_file
from handrail.host.worktree.bounds import Bounds
from handrail.host.worktree.ignore_rules import (
    FILE_NAMES,
    MOST_RULE_BYTES,
    Rule,
    find_verdict,
    read_rules,
)
from handrail.ports.worktree import MOST_FILES

_FOLDERS = frozenset({b".pytest_cache", b".mypy_cache", b".ruff_cache", b".hypothesis", b".nyc_output"})
_BYTECODE = (b".pyc", b".pyo", b".nbi", b".nbc")
_COVERAGE = b".coverage"
_FILES = frozenset({_COVERAGE, b".eslintcache", b".stylelintcache"})
_IN_PACKAGES = b"node_modules/.cache/"


def is_by_product(path: bytes) -> bool:
    """Whether a path that git does not track was left behind by a tool."""
    *folders, name = path.split(b"/")
    if name in _FILES or name.startswith(_COVERAGE + b"."):
        return True
    if b"__pycache__" in folders and name.endswith(_BYTECODE):
        return True  # elsewhere it is what Python loads where there is no source
    return not _FOLDERS.isdisjoint(folders) or b"/" + _IN_PACKAGES in b"/" + path


NEVER_ENTERED = frozenset({b".hg", b".svn", b".jj", b"node_modules", b"__pycache__"})
"""Directories of other version control, and those that tools fill with what can be made again."""
DEEPEST_FOLDER = 64
_MOST_FOLDERS = MOST_FILES


class Walked(msgspec.Struct, frozen=True, kw_only=True):
    """What a walk found."""

    paths: list[bytes]
    """Sorted."""
    repositories: list[bytes]
    """Folders that are another repository; sorted."""
    skipped: int
    """Pipes, sockets, devices, other repositories, and folders that could not be read or lie too deep."""


NOTHING_INSTEAD: Mapping[bytes, bytes] = {}

_Rules = tuple[tuple[bytes, tuple[Rule, ...]], ...]


def walk_files(bounds: Bounds, check_time: Callable[[], None]) -> Walked | None:
    """Every file that no rule ignores; None when there are too many. Links are listed, never followed."""
    root = os.fsencode(bounds.root)
    paths: list[bytes] = []
    repositories: list[bytes] = []
    skipped = folders = 0
    waiting: list[tuple[bytes, _Rules, int]] = [(b"", (), 0)]
    while waiting:
        check_time()
        folder, rules, depth = waiting.pop()
        folders += 1
        try:
            entries = list(os.scandir(os.path.join(root, folder) if folder else root))
        except OSError:
            skipped += 1
            continue
        # Rules travel down with the folder that they stand in, because git reads them relative to it.
        names = {entry.name for entry in entries}
        own = tuple(rule for name in FILE_NAMES if name in names for rule in _load(root, folder, name))
        rules = (*rules, (folder, own)) if own else rules
        for entry in entries:
            path = folder + b"/" + entry.name if folder else entry.name
            if bounds.is_hidden(path):
                continue
            if entry.is_dir(follow_symlinks=False):
                if entry.name in NEVER_ENTERED or _is_ignored(rules, path, is_directory=True):
                    continue
                # Another repository has rules and owners of its own; it is named, and never entered.
                is_other = os.path.lexists(os.path.join(root, path, b".git"))
                if depth == DEEPEST_FOLDER or is_other:
                    skipped += 1
                    repositories += [path] if is_other else []
                    continue
                waiting.append((path, rules, depth + 1))
            elif entry.is_file(follow_symlinks=False) or entry.is_symlink():
                if not is_by_product(path) and not _is_ignored(rules, path, is_directory=False):
                    paths.append(path)
            else:
                skipped += 1
        if len(paths) > MOST_FILES or folders > _MOST_FOLDERS:
            return None
    return Walked(paths=sorted(paths), repositories=sorted(repositories), skipped=skipped)


def is_ignored_below(project: str, path: bytes, instead: Mapping[bytes, bytes] = NOTHING_INSTEAD) -> bool:
    """Whether an ignore file of the project names this path or a folder above it, be it there or not.

    Git's own file for one checkout counts too; those of the user do not. `instead` has the contents of
    ignore files as they are to become.
    """
    root = os.fsencode(project)
    own = _load(root, os.path.join(b".git", b"info"), b"exclude")
    rules: _Rules = ((b"", own),) if own else ()
    names = path.split(b"/")
    for depth in range(len(names)):
        folder = b"/".join(names[:depth])
        found = tuple(rule for name in FILE_NAMES for rule in _read(root, folder, name, instead))
        rules = (*rules, (folder, found)) if found else rules
        here = b"/".join(names[: depth + 1])
        is_folder = here != path or os.path.isdir(os.path.join(root, path))
        is_left = is_of_git(names[depth]) or names[depth] in NEVER_ENTERED
        if is_left or _is_ignored(rules, here, is_directory=is_folder):
            return True
    return False


def _is_ignored(rules: _Rules, path: bytes, *, is_directory: bool) -> bool:
    """The nearest file that says something decides."""
    for folder, own in reversed(rules):
        below = path[len(folder) + 1 :] if folder else path
        verdict = find_verdict(own, below, is_directory=is_directory)
        if verdict is not None:
            return verdict
    return False


def _read(root: bytes, folder: bytes, name: bytes, instead: Mapping[bytes, bytes]) -> tuple[Rule, ...]:
    content = instead.get(folder + b"/" + name if folder else name)
    return _load(root, folder, name) if content is None else read_rules(content)


def _load(root: bytes, folder: bytes, name: bytes) -> tuple[Rule, ...]:
    try:
        with open(os.path.join(root, folder, name), "rb", opener=_open_rules) as file:
            return read_rules(file.read(MOST_RULE_BYTES))
    except OSError:
        return ()


def _open_rules(path: str, flags: int) -> int:
    # A link could make somebody else's file the rules of this project.
    return open_regular_file(path, flags | os.O_NOFOLLOW)
