"""The files of a project without git: a walk that honours ignore files and enters no other repository.

What tools leave behind when they run, as caches and data of coverage, nobody writes by hand. As long as git
does not track such a by-product it is in no tree, as if it were ignored: a check that writes it has changed
nothing, and nobody has to list it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import lru_cache

import msgspec

from handrail.host.private_files import is_of_git, open_unfollowed
from handrail.host.worktree.bounds import Bounds
from handrail.ports.worktree import MOST_FILES

# The rules of ignore files, where git is not there to apply them.
#
# They are those of `gitignore`: the last rule that matches decides, `!` takes back, a rule with a `/`
# before
# its end belongs to its directory, and nothing below an ignored directory comes back. The steps to match a
# pattern grow with pattern times name, whatever it is: an ignore file may be anyone's.


FILE_NAMES = (b".gitignore", b".ignore")
"""The second one is what search tools agree on; its rules come after those of the first."""
MOST_RULE_BYTES = 256_000
MOST_RULES = 5_000

_ANY_DEPTH = b"**"


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One line of an ignore file."""

    parts: tuple[bytes, ...]
    """Patterns of names, one per level; the whole path below the file's directory must match."""
    takes_back: bool
    only_directories: bool


def read_rules(content: bytes) -> tuple[Rule, ...]:
    """The rules of one file in their order; lines beyond the limits are not read."""
    rules = (_read_line(line) for line in content[:MOST_RULE_BYTES].split(b"\n")[:MOST_RULES])
    return tuple(rule for rule in rules if rule is not None)


def find_verdict(rules: tuple[Rule, ...], path: bytes, *, is_directory: bool) -> bool | None:
    """Whether the file's rules ignore a path below its directory; None when they say nothing."""
    names = tuple(path.split(b"/"))
    for rule in reversed(rules):
        if (is_directory or not rule.only_directories) and _matches(rule.parts, names):
            return not rule.takes_back
    return None


def _read_line(line: bytes) -> Rule | None:
    text = line.removesuffix(b"\r")
    while text.endswith(b" ") and not text.endswith(b"\\ "):
        text = text[:-1]
    if not text or text.startswith(b"#"):
        return None
    takes_back = text.startswith(b"!")
    text = text[1:] if takes_back else text
    only_directories = text.endswith(b"/")
    text = text.removesuffix(b"/")
    is_placed = b"/" in text
    parts = tuple(part for part in text.split(b"/") if part)
    if not parts:
        return None
    return Rule(
        parts=parts if is_placed else (_ANY_DEPTH, *parts),
        takes_back=takes_back,
        only_directories=only_directories,
    )


def _matches(parts: tuple[bytes, ...], names: tuple[bytes, ...]) -> bool:
    """Whether the patterns match all names; `**` stands for any number of them.

    When something fails, only the last `**` takes one name more: so the work stays small.
    """
    part = name = 0
    retry_part = retry_name = -1
    while name < len(names):
        if part < len(parts) and parts[part] == _ANY_DEPTH:
            if part == len(parts) - 1:
                return True  # `a/**`: everything inside
            retry_part, retry_name = part, name
            part += 1
        elif part < len(parts) and matches_name(parts[part], names[name]):
            part += 1
            name += 1
        elif retry_part >= 0:
            retry_name += 1
            part, name = retry_part + 1, retry_name
        else:
            return False
    return part == len(parts)


def matches_name(pattern: bytes, name: bytes) -> bool:
    """Whether a pattern of one level matches a name: `*`, `?`, `[...]` and `\\`."""
    units = _units(pattern)
    unit = at = 0
    retry_unit = retry_at = -1
    while at < len(name):
        if unit < len(units) and units[unit] is None:
            retry_unit, retry_at = unit, at
            unit += 1
        elif unit < len(units) and name[at] in (units[unit] or ()):
            unit += 1
            at += 1
        elif retry_unit >= 0:
            retry_at += 1
            unit, at = retry_unit + 1, retry_at
        else:
            return False
    return all(rest is None for rest in units[unit:])


@lru_cache(maxsize=10_000)
def _units(pattern: bytes) -> list[frozenset[int] | None]:
    """What each place of the pattern takes; None is `*`."""
    units: list[frozenset[int] | None] = []
    at = 0
    while at < len(pattern):
        character = pattern[at : at + 1]
        if character == b"*":
            if not units or units[-1] is not None:
                units.append(None)
        elif character == b"?":
            units.append(_EVERY)
        elif character == b"[" and (end := _end_of_set(pattern, at)) > 0:
            units.append(_read_set(pattern[at + 1 : end]))
            at = end
        elif character == b"\\" and at + 1 < len(pattern):
            at += 1
            units.append(frozenset(pattern[at : at + 1]))
        else:
            units.append(frozenset(character))
        at += 1
    return units


def _end_of_set(pattern: bytes, start: int) -> int:
    """Where the bracket closes; a closing one right after the opening belongs to the set."""
    first = start + 2 if pattern[start + 1 : start + 2] in (b"!", b"^") else start + 1
    return pattern.find(b"]", first + 1)


def _read_set(inner: bytes) -> frozenset[int]:
    is_negated = inner[:1] in (b"!", b"^")
    text = inner[1:] if is_negated else inner
    taken: set[int] = set()
    at = 0
    while at < len(text):
        if text[at + 1 : at + 2] == b"-" and at + 2 < len(text):
            taken.update(range(text[at], text[at + 2] + 1))
            at += 3
        else:
            taken.add(text[at])
            at += 1
    return _EVERY - taken if is_negated else frozenset(taken)


_EVERY = frozenset(range(256)) - {ord("/")}


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
    while waiting:  # a list of folders, not recursion: the depth is a stranger's
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
        with open(os.path.join(root, folder, name), "rb", opener=open_unfollowed) as file:
            return read_rules(file.read(MOST_RULE_BYTES))
    except OSError:
        return ()
