"""The folders that a server works in. The one place that decides whether a path of a caller lies in them.

A root is the folder that the server was started in, a folder of the setting `roots`, or a linked worktree of
either. Paths are compared with every link resolved. What a server may write is decided at the file itself:
Handrail's state and program and the folders of interpreters are closed in every root, because whoever writes
there runs code outside of any project.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import site
import sys
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NoReturn

import msgspec

from handrail.contract.catalogue import E_FORBIDDEN
from handrail.contract.outcome import Fault
from handrail.contract.wording import quote
from handrail.host.bounds import read_path
from handrail.host.private_files import find_homes, is_below, lies_in_home, walk_up
from handrail.host.workspace import git_root, shared_directory
from handrail.ports.workspace import AuthoredFiles, FilePlace, Roots, Settings, Workspace
from handrail.ports.worktree import FileWrite, LeftOut, Worktree, Written

_NEIGHBOURS = ("handrail", "handrail_code", "handrail_serve", "handrail_team")
_OF_PYTHON = ("stdlib", "platstdlib", "purelib", "platlib", "scripts")
_INSTALLED = re.compile(r"/(?:site-packages|dist-packages)(?:/|\Z)|/lib(?:64)?/python\d+\.\d+(?:/|\Z)", re.I)
_OF_ENVIRONMENT = frozenset({"bin", "lib", "lib64", "include", "scripts", "pyvenv.cfg"})
"""Folders that an environment has beside its `pyvenv.cfg`; a project may lie around it."""
_OWN_STATE = "it is Handrail's own state"
_OWN_PROGRAM = "it belongs to the installed program"
_OF_AN_INTERPRETER = "it belongs to a Python installation"


class LocalRoots:
    """`ports.Roots` of a server on this machine."""

    def __init__(self, home: str, start: Callable[[], str], settings: Callable[[], Settings]) -> None:
        """`start` returns the project in which the server was started. It may raise Fault; then there is no
        such project.
        """
        self._home = home
        self._start = start
        self._settings = settings

    def require(self, named: Sequence[tuple[str, str]]) -> None:
        if not named:
            return
        asked = next((value for name, value in named if name == "project"), "")
        project = _resolve(asked) if asked else self._started_in
        for name, value in named:
            place = _resolve(value, "" if name == "project" else project)
            if lies_in_home(place, find_homes(self._home)):
                _refuse(name, value, "is Handrail's own state, which no server opens")
            if not any(_holds(root, place) for root in self._list_roots()):
                self._refuse_outside(name, value, os.path.join(project, os.path.expanduser(value)))

    def explain_closed(self, target: str) -> str:
        real = os.path.realpath(target)
        if lies_in_home(real, find_homes(self._home)):
            return _OWN_STATE
        identities = {_identify(folder) for folder in walk_up(os.path.dirname(real))}
        if identities & self._own_places:
            return _OWN_PROGRAM
        if identities & self._python_places or _INSTALLED.search(real) or _is_of_environment(real):
            return _OF_AN_INTERPRETER
        return ""

    @cached_property
    def _started_in(self) -> str:
        try:
            return os.path.realpath(self._start())
        except Fault:
            return ""

    def _list_roots(self) -> Iterator[str]:
        """Yield the folder in which the server was started, unless that is the whole machine, and the
        folders of the settings.
        """
        if self._started_in not in ("", os.sep):
            yield self._started_in
        yield from map(_resolve, self._settings().roots)

    @cached_property
    def _own_places(self) -> frozenset[tuple[int, int]]:
        above = os.path.abspath(__file__)  # src/handrail/host/roots.py
        for _ in range(3):
            above = os.path.dirname(above)
        return _identify_all(os.path.join(above, name) for name in _NEIGHBOURS)

    @cached_property
    def _python_places(self) -> frozenset[tuple[int, int]]:
        found = [sysconfig.get_path(name) for name in _OF_PYTHON]
        found += [sysconfig.get_path(name, "posix_user") for name in _OF_PYTHON]
        found += [*site.getsitepackages(), os.path.dirname(sys.executable)]
        return _identify_all(found)

    def _refuse_outside(self, name: str, value: str, path: str) -> NoReturn:
        path = os.path.abspath(path)
        folder = path if name == "project" else os.path.dirname(path)
        added = json.dumps([*self._settings().roots, folder], ensure_ascii=False)
        command = f"handrail settings set roots {shlex.quote(added)}"
        _refuse(
            name,
            value,
            "is outside the folders that this server works in",
            f"Ask the user to add the folder in a terminal of their own: `{command}`. You cannot run it.",
        )


def _refuse(name: str, value: str, why: str, hint: str = "") -> NoReturn:
    raise Fault(
        E_FORBIDDEN,
        f"The path {quote(value)} in {name} {why}. Nothing was done.",
        details={"setting": "roots", "needed": "a path inside a root", "given": name},
        hint=hint or "Name a path in the project.",
    )


def _resolve(named: str, project: str = "") -> str:
    """Return the path without links; empty for a name that no file can have."""
    try:
        return os.path.realpath(os.path.join(project, os.path.expanduser(named)))
    except ValueError:  # a null byte, or half of a surrogate pair
        return ""


def _holds(root: str, place: str) -> bool:
    """Whether the path lies in the root, or in a linked worktree of its repository at the same path."""
    if not root or not place:
        return False
    return is_below(place, root) or is_below(place, _find_twin(root, place))


def _find_twin(root: str, place: str) -> str:
    """Return the root in the linked worktree that holds the path; none unless both sides name each other."""
    top, own = git_root(place), git_root(root)
    if top is None or own is None or os.path.isdir(os.path.join(top, ".git")):
        return os.devnull
    shared = shared_directory(top)  # has compared both sides
    if not shared or shared != shared_directory(own):
        return os.devnull
    return os.path.normpath(os.path.join(os.path.realpath(top), os.path.relpath(root, os.path.realpath(own))))


def _is_of_environment(real: str) -> bool:
    below = real
    for folder in walk_up(os.path.dirname(real)):
        name = os.path.basename(below).lower()
        if name in _OF_ENVIRONMENT and os.path.lexists(os.path.join(folder, "pyvenv.cfg")):
            return True
        below = folder
    return False


def _identify(folder: str) -> tuple[int, int]:
    """Return the identity of a folder under any name, so that a second path to it is recognised."""
    try:
        found = os.stat(folder)
    except OSError:
        return (0, 0)
    return (found.st_dev, found.st_ino)


def _identify_all(folders: Any) -> frozenset[tuple[int, int]]:
    return frozenset(map(_identify, folders)) - {(0, 0)}


# The ports that choose a project and write its files, in a server


class RootedWorkspace:
    """`ports.Workspace` that works only in the roots, also if a path comes from an earlier run."""

    def __init__(self, workspace: Workspace, roots: Roots) -> None:
        self._workspace = workspace
        self._roots = roots

    def __getattr__(self, name: str) -> Any:
        return getattr(self._workspace, name)

    def project(self, asked: str) -> str:
        if asked:
            self._roots.require([("project", asked)])
        return self._workspace.project(asked)


class RootedWorktree:
    """`ports.Worktree` that leaves closed files as they are."""

    def __init__(self, worktree: Worktree, roots: Roots) -> None:
        self._worktree = worktree
        self._roots = roots

    def __getattr__(self, name: str) -> Any:
        return getattr(self._worktree, name)

    def find_obstacles(self, project: str, writes: Sequence[FileWrite]) -> tuple[LeftOut, ...]:
        closed = self._find_closed(project, writes)
        return closed + self._worktree.find_obstacles(project, _without(writes, closed))

    def write_files(self, project: str, writes: Sequence[FileWrite], *, is_whole: bool = False) -> Written:
        closed = self._find_closed(project, writes)
        if closed and is_whole:
            return Written(left_out=closed)
        done = self._worktree.write_files(project, _without(writes, closed), is_whole=is_whole)
        return msgspec.structs.replace(done, left_out=(*closed, *done.left_out))

    def _find_closed(self, project: str, writes: Sequence[FileWrite]) -> tuple[LeftOut, ...]:
        reasons = (
            (
                one.path,
                self._roots.explain_closed(os.path.join(project, os.fsdecode(read_path(one.path)))),
            )
            for one in writes
        )
        return tuple(LeftOut(path=path, why=why) for path, why in reasons if why)


def _without(writes: Sequence[FileWrite], closed: Sequence[LeftOut]) -> list[FileWrite]:
    paths = {one.path for one in closed}
    return [write for write in writes if write.path not in paths]


class RootedFiles:
    """`ports.AuthoredFiles` that leaves closed files as they are."""

    def __init__(self, files: AuthoredFiles, roots: Roots) -> None:
        self._files = files
        self._roots = roots

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)

    def place(self, project: str, directory: str, name: str, param: str) -> FilePlace:
        found = self._files.place(project, directory, name, param)
        self._require_open(found.path, param)
        return found

    def create(self, path: str, content: bytes) -> bool:
        self._require_open(path, "file")
        return self._files.create(path, content)

    def replace(self, path: str, content: bytes, expected: bytes) -> bool:
        self._require_open(path, "file")
        return self._files.replace(path, content, expected)

    def _require_open(self, path: str, param: str) -> None:
        if why := self._roots.explain_closed(path):
            _refuse(param, path, f"is written by no server: {why}")
