"""The files that Handrail never reads: its own home, git's own, credentials, files of other users,
processes.

This is the one place that decides it. All code that lists, reads, quotes, packs or writes files of a
project asks here, so that no answer shows more about a private file than another one does. A hidden file is
in no list, and Handrail does not even check whether it exists. A closed file is listed, also as changed,
but its content is never read. A second name of a private file (a hard link) is closed: it has another path,
and the same inode.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property

from handrail.contract.credential_files import holds_credentials
from handrail.host.private_files import find_homes, is_of_git, lies_in_home

OWN_HOME = "the project is Handrail's own home, or lies in it"
OF_GIT = "the project is a folder of git, or lies in one"
OF_ANOTHER_USER = "the project belongs to another user"
OF_THE_SYSTEM = "the project is a folder in which the system shows its processes"
HIDDEN = "Handrail does not read it: it belongs to git, or to Handrail itself"
_CREDENTIALS = "it holds credentials, which are never read"
_ANOTHERS = "it belongs to another user"
_LINKED = "it is another name of a file of Handrail itself"
_OF_THE_SYSTEM = "the system makes it up when it is read, from its processes"
_SYSTEM = ("/proc", "/sys")
"""Mounts of the system in which each process has its environment as a file, including passwords."""


class Bounds:
    """The bounds of one project; `root` is its directory without links."""

    def __init__(self, project: str, home: str) -> None:
        self.root = os.path.realpath(project)
        homes = find_homes(home)
        self._places = tuple(homes)
        self._homes = tuple(os.fsencode(os.path.relpath(one, self.root)).lower() for one in homes)
        self._homes = tuple(one for one in self._homes if not is_outside(one))
        self._owners = frozenset({os.geteuid()})
        self.trouble = self._find_trouble(homes)
        """Why Handrail reads nothing of this project; empty if it does."""

    def _find_trouble(self, homes: Iterable[str]) -> str:
        if lies_in_home(self.root, homes):
            return OWN_HOME
        if is_of_git(os.fsencode(self.root)):
            return OF_GIT
        with suppress(OSError):
            found = os.stat(self.root)
            if found.st_dev in self._system_devices:
                return OF_THE_SYSTEM
            self._owners |= {found.st_uid}
        is_anothers = os.geteuid() != 0 and len(self._owners) > 1
        return OF_ANOTHER_USER if is_anothers else ""

    def is_hidden(self, path: bytes) -> bool:
        """Whether a path below the project, with its links resolved, is left out of every list, snapshot
        and answer.
        """
        lowered = path.lower()
        if b".git" in lowered and is_of_git(lowered):
            return True
        return any(lowered == one or lowered.startswith(one + b"/") for one in self._homes)

    def is_hidden_place(self, place: str) -> bool:
        """Whether an absolute path below the project is hidden."""
        return self.is_hidden(os.fsencode(os.path.relpath(place, self.root)))

    def explain_closed(self, path: str, found: os.stat_result) -> str:
        """Return why the content of a file is not read, given its stat data; empty if it may be read."""
        if holds_credentials(path):
            return _CREDENTIALS
        return self.explain_anothers(found)

    def is_another_name(self, path: str) -> bool:
        """Whether a path in an open folder is another name of a file that Handrail never reads."""
        real = os.path.realpath(path)
        if os.path.islink(path) and (self.is_hidden_place(real) or holds_credentials(real)):
            return True
        try:
            return bool(self.explain_anothers(os.stat(real)))
        except OSError:
            return False

    def explain_anothers(self, found: os.stat_result) -> str:
        """Return why the file is closed: the system makes it, another user owns it, or it is another name
        of a file of Handrail. Empty if none of these applies.
        """
        if found.st_dev in self._system_devices:
            return _OF_THE_SYSTEM
        if found.st_uid not in self._owners:
            return _ANOTHERS
        is_linked = found.st_nlink > 1 and (found.st_dev, found.st_ino) in self._linked_in_homes
        return _LINKED if is_linked else ""

    @cached_property
    def _system_devices(self) -> frozenset[int]:
        """Devices of the system mounts, which identify them wherever they are mounted."""
        return frozenset(os.stat(place).st_dev for place in _SYSTEM if os.path.ismount(place))

    @cached_property
    def _linked_in_homes(self) -> frozenset[tuple[int, int]]:
        """Device and inode of the files in the homes that have another name too. They are collected only if
        a file of a project has several names, which is rare.
        """
        found: set[tuple[int, int]] = set()
        for home in self._places:
            for folder, _, names in os.walk(home):
                for name in names:
                    with suppress(OSError):
                        held = os.lstat(os.path.join(folder, name))
                        found |= {(held.st_dev, held.st_ino)} if held.st_nlink > 1 else set()
        return frozenset(found)


def is_outside(path: bytes) -> bool:
    return path in (b"..", b".") or path.startswith((b"../", b"/"))


def is_plain(path: bytes) -> bool:
    """Whether a path of git leads to a file below the project, outside of every `.git` folder."""
    if b".git" in path.lower() and is_of_git(path):
        return False
    return bool(path) and not is_outside(path) and b"/../" not in path and path[-1:] != b"/"


def is_plain_path(path: str) -> bool:
    """Whether a path of a tree leads below the project: a tree may come from a bundle."""
    return is_plain(read_path(path)) and "\0" not in path and all(path.split("/"))


def read_path(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")
