"""What is in no tree: why one tells nothing about a path, and what beside it decides what a check does.

A path is ignored, belongs to another repository, or could not be read. Ignore rules of the machine and files
that load themselves are known by the time, the inode and the size that the file system tells, never by their
content: what git ignores may be private, and nobody can set the time of a change back.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from handrail.engine.judge.named_places import (
    DECLARATIONS,
    IGNORE_RULES,
    configures_runner,
    has_name_of_module,
    is_of_checks,
    names_ignore_rules,
)
from handrail.host.private_files import content_of
from handrail.host.worktree.bounds import HIDDEN, Bounds
from handrail.host.worktree.repository import Repository
from handrail.host.worktree.trees import MOST_DIGESTED_BYTES, read_path, show_path
from handrail.host.worktree.walking import NEVER_ENTERED, is_by_product, is_ignored_below, walk_files
from handrail.ports.worktree import Beside, Tree

_MOST_FOLDERS = 2_000
"""Folders that are looked into; the first by their names."""
_MOST_LOADED = 200
_MOST_UNCOMMITTED = 20
_MOST_DECLARED_BYTES = 65_536
_MODULES = (b".py", b".pyc", b".so")
_SOURCE = b"__init__.py"
_COMPILED = b"__init__.pyc"
_INITIAL = (_SOURCE, _COMPILED, b"__main__.py")
_PROGRAMS = b"node_modules/.bin"
_ENVIRONMENT = b"pyvenv.cfg"
_METADATA = (b".egg-info", b".dist-info")
_SECTION = re.compile(rb"(?m)^\s*\[\s*([^\]]*?)\s*\]")
_COMMANDS = frozenset({b"console_scripts", b"gui_scripts"})


class _Declared(msgspec.Struct, frozen=True, kw_only=True):
    """What a project declares."""

    checks: dict[str, dict[str, Any]] = {}


def find_beside(
    bounds: Bounds,
    folders: Iterable[bytes],
    known: Collection[bytes],
    rules: Mapping[str, str],
    programs: Iterable[str] = (),
    search: str = "",
) -> Beside:
    """`known` is what trees tell about; `rules` are the files of ignore rules, by the names to show;
    `search` is where programs are looked for, as in PATH."""
    root = os.fsencode(bounds.root)
    loaded: dict[str, str] = {}
    for folder in sorted({b"", *folders})[:_MOST_FOLDERS]:
        for path in _find_loaded(root, folder):
            if path not in known and not bounds.is_hidden(path) and len(loaded) < _MOST_LOADED:
                loaded[os.fsdecode(path)] = _stamp(os.path.join(root, path))
    return Beside(
        ignore_rules={name: _stamp(os.fsencode(place)) for name, place in rules.items()},
        rule_files={
            name: shown
            for name, place in rules.items()
            if name.endswith(IGNORE_RULES[0])
            and names_ignore_rules(shown := os.path.relpath(place, bounds.root))
        },
        loaded=loaded,
        programs={
            path: _find_change(os.path.join(root, os.path.expanduser(read_path(path))), search)
            for path in programs
            if read_path(path) not in known and not bounds.is_hidden(read_path(path))
        },
    )


def find_uncommitted(
    root: str, tree: Tree, repository: Repository, tracked: Collection[bytes]
) -> tuple[str, ...]:
    """What decides about checks, and is not as the commit has it.

    Where git keeps other bytes than a file has, its own record of the file says whether it is the one of the
    commit. A declaration that git ignores is in no commit either.
    """
    inside = [name for name, mark in tree.apart.items() if mark.startswith("submodule")]
    found = [one.path for one in tree.entries if is_of_checks(one.path) or one.path == DECLARATIONS]
    if found and repository.changes_bytes(tracked):
        kept = repository.find_unchanged(tree.head, [read_path(path) for path in found])
        found = [path for path in found if read_path(path) not in kept]
    is_declared = os.path.lexists(os.path.join(root, DECLARATIONS))
    is_new = is_declared and DECLARATIONS.encode() not in tracked
    checks = _list_redeclared(root, repository, tree.head) if is_new or DECLARATIONS in found else []
    return tuple(sorted({*inside, *found, *checks} - {DECLARATIONS})[:_MOST_UNCOMMITTED])


def _list_redeclared(root: str, repository: Repository, head: str) -> list[str]:
    """The checks that the commit does not declare as they are: how long one may take is no matter."""
    _, digest = (repository.find_commit_files(head) or {}).get(DECLARATIONS.encode(), (b"", b""))
    committed = repository.read_contents([digest.hex()]).get(digest.hex(), b"")
    declared = content_of(os.path.join(root, DECLARATIONS), _MOST_DECLARED_BYTES)
    now, then = _read_checks(declared), _read_checks(committed)
    return [f"{DECLARATIONS}#{name}" for name, check in now.items() if then.get(name) != check]


def _read_checks(content: bytes) -> dict[str, object]:
    try:
        found = msgspec.json.decode(content, type=_Declared).checks
    except msgspec.MsgspecError:
        return {}
    return {name: {**check, "timeoutSeconds": 0} for name, check in found.items()}


def _find_loaded(root: bytes, folder: bytes) -> Iterator[bytes]:
    """What a program loads from this folder without being asked."""
    place = os.path.join(root, folder)
    try:
        held = frozenset(os.listdir(place))
    except OSError:
        return
    for name in sorted(held):
        path = os.path.join(folder, name)
        is_module = has_name_of_module(os.fsdecode(name))
        if name.endswith(_METADATA):
            yield from _find_plugins(root, path)
        elif configures_runner(os.fsdecode(name)) or ((not folder or is_module) and name.endswith(_MODULES)):
            yield path
        elif not folder or is_module or name + b".py" in held:  # Python finds a package before these modules
            inside = (os.path.join(path, one) for one in _INITIAL)
            yield from (one for one in inside if os.path.lexists(os.path.join(root, one)))
            if os.path.lexists(os.path.join(place, name, _ENVIRONMENT)):
                yield from _find_in_environment(root, path)
        elif b"." not in name and name not in NEVER_ENTERED and _has_no_source(os.path.join(place, name)):
            yield os.path.join(path, _COMPILED)
    if b"package.json" in held and os.path.isdir(os.path.join(place, _PROGRAMS)):
        yield os.path.join(folder, _PROGRAMS)


def _has_no_source(package: bytes) -> bool:
    is_compiled = os.path.lexists(os.path.join(package, _COMPILED))
    return is_compiled and not os.path.lexists(os.path.join(package, _SOURCE))


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
        for path in (os.path.join(packages, name) for name in names):
            if path.endswith(_METADATA):
                yield from _find_plugins(root, path)
            elif configures_runner(os.fsdecode(path)):
                yield path


def _find_plugins(root: bytes, metadata: bytes) -> Iterator[bytes]:
    """What a package says that runners load by themselves; its commands are none of that."""
    path = os.path.join(metadata, b"entry_points.txt")
    content = content_of(os.fsdecode(os.path.join(root, path)), _MOST_DECLARED_BYTES)
    if not _COMMANDS.issuperset(_SECTION.findall(content)):
        yield path


def _find_change(path: bytes, search: str) -> str:
    """When a program changed last, as the clock of a log spells it; empty: it is not there.

    What leads to the file that its name leads to elsewhere is that program, however new the link is; in a
    virtual environment it is another one, because it loads what that environment has.
    """
    is_virtual = os.path.exists(os.path.join(os.path.dirname(os.path.dirname(path)), b"pyvenv.cfg"))
    folders = [] if is_virtual else [os.fsencode(folder) for folder in search.split(os.pathsep) if folder]
    places = (path, *(os.path.join(folder, os.path.basename(path)) for folder in folders))
    same = [one for one in places if os.path.realpath(one) == os.path.realpath(path)]
    try:
        file = os.stat(path).st_ctime_ns
        changed = min(max(os.lstat(one).st_ctime_ns, file) for one in same)
    except OSError:
        return ""
    seconds, rest = divmod(changed, 1_000_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest // 1_000_000:03d}Z"


def _stamp(path: bytes) -> str:
    """Another one after every change; empty: it is not there."""
    try:
        found = os.lstat(path)
    except OSError:
        return ""
    facts = f"{found.st_mtime_ns} {found.st_ctime_ns} {found.st_ino} {found.st_size}"
    return hashlib.sha256(facts.encode()).hexdigest()[:16]


# Why no tree tells about a path

_IGNORED = "it is ignored, so it is not compared"
_NOT_LISTED = "git does not list it"
_OF_ANOTHER = "it belongs to another repository"
_NO_FILE = "it is not a regular file"
_UNREADABLE = "it may not be read"
_SPARSE = "it is left out of the sparse checkout"
UNKNOWN = "git could not be asked about it"
_TOO_LARGE = f"it is larger than {MOST_DIGESTED_BYTES:,} bytes, so only its size is known".replace(",", " ")
_BY_PRODUCT = "a tool leaves it behind, so it is not compared"
_SKIPPED, _UNTRACKED = b"S", b"?"


def explain_unlisted(bounds: Bounds, paths: Sequence[str], repository: Repository | None) -> dict[str, str]:
    """The paths of which trees say nothing, with the reason; without git, of the walk."""
    root = bounds.root
    found: dict[str, str] = {}
    plain: list[str] = []
    for path in paths:
        why = HIDDEN if bounds.is_hidden(read_path(path)) else _explain_file(root, path)
        if why:
            found[path] = why
        else:
            plain.append(path)
    listed = _find_listed(bounds, plain, repository) if plain else {}
    for path in plain:
        if listed is None:
            found[path] = UNKNOWN
        elif path not in listed:
            why = _explain_absence(root, path)
            found |= {path: why} if why else {}
        elif listed[path] == _SKIPPED and not os.path.lexists(os.path.join(root, path)):
            found[path] = _SPARSE
        elif listed[path] == _UNTRACKED and is_by_product(read_path(path)):
            found[path] = _BY_PRODUCT
    return found


def _explain_file(root: str, path: str) -> str:
    """What the file itself tells."""
    above = path
    while above:
        if os.path.lexists(os.path.join(root, above, ".git")):
            return _OF_ANOTHER
        above = os.path.dirname(above)
    try:
        state = os.lstat(os.path.join(root, path))
    except (OSError, ValueError):
        return ""
    if stat.S_ISDIR(state.st_mode) or stat.S_ISLNK(state.st_mode):
        return ""
    if not stat.S_ISREG(state.st_mode):
        return _NO_FILE
    if state.st_size > MOST_DIGESTED_BYTES:
        return _TOO_LARGE
    return "" if os.access(os.path.join(root, path), os.R_OK) else _UNREADABLE


def _find_listed(
    bounds: Bounds, paths: Sequence[str], repository: Repository | None
) -> dict[str, bytes] | None:
    """Those that are files of the project, or folders with some; with git's letter. None: nobody knows."""
    if repository is not None:
        printed = repository.find_listed([read_path(path) for path in paths])
        every = None if printed is None else [(show_path(path), letter) for path, letter in printed]
    else:
        walked = walk_files(bounds, lambda: None)
        every = None if walked is None else [(show_path(path), b"H") for path in walked.paths]
    if every is None:
        return None
    listed: dict[str, bytes] = {}
    for path, letter in every:
        above = os.path.dirname(path)
        while above and above not in listed:
            listed[above] = b""
            above = os.path.dirname(above)
        listed[path] = letter
    return {path: listed[path] for path in paths if path in listed}


def _explain_absence(root: str, path: str) -> str:
    """Of a path that is not listed: it is ignored, or would be. Empty: it is nowhere, and would be listed."""
    if is_ignored_below(root, read_path(path)):
        return _IGNORED
    if is_by_product(read_path(path)):
        return _BY_PRODUCT
    return _NOT_LISTED if os.path.lexists(os.path.join(root, path)) else ""
