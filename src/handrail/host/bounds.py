"""What of a project Handrail never reads: its own home, git's own, credentials, files of others, processes.

The one place that decides it. Whoever lists, reads, quotes, packs or writes files of a project asks here, so
that no answer tells more about a private file than another one does. What is hidden is in no list, and is not
even asked whether it is there; what is closed is listed, also as changed, and its content is read by
nobody. A second name of a private file (a hard link) is closed: it has another path, and the same inode.
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
"""A process has its environment there as a file, with the passwords that were given to it."""


class Bounds:
    """Of one project; `root` is its directory without links."""

    def __init__(self, project: str, home: str) -> None:
        self.root = os.path.realpath(project)
        homes = find_homes(home)
        self._places = tuple(homes)
        self._homes = tuple(os.fsencode(os.path.relpath(one, self.root)).lower() for one in homes)
        self._homes = tuple(one for one in self._homes if not is_outside(one))
        self._owners = frozenset({os.geteuid()})
        self.trouble = self._find_trouble(homes)
        """Why nothing of this project is looked at; empty: it is."""

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
        """Whether a path below the project, its links resolved, is in no list, snapshot or answer."""
        lowered = path.lower()
        if b".git" in lowered and is_of_git(lowered):
            return True
        return any(lowered == one or lowered.startswith(one + b"/") for one in self._homes)

    def is_hidden_place(self, place: str) -> bool:
        """The same of an absolute path below the project."""
        return self.is_hidden(os.fsencode(os.path.relpath(place, self.root)))

    def explain_closed(self, path: str, found: os.stat_result) -> str:
        """Why the content of a file is not read, with its stat data; empty: it may be."""
        if holds_credentials(path):
            return _CREDENTIALS
        return self.explain_anothers(found)

    def is_another_name(self, path: str) -> bool:
        """Whether a path in an open folder is another name of a file that nobody reads."""
        real = os.path.realpath(path)
        if os.path.islink(path) and (self.is_hidden_place(real) or holds_credentials(real)):
            return True
        try:
            return bool(self.explain_anothers(os.stat(real)))
        except OSError:
            return False

    def explain_anothers(self, found: os.stat_result) -> str:
        """Whether the file is neither the caller's nor of the project's owner, or ours; empty: theirs."""
        if found.st_dev in self._system_devices:
            return _OF_THE_SYSTEM
        if found.st_uid not in self._owners:
            return _ANOTHERS
        is_linked = found.st_nlink > 1 and (found.st_dev, found.st_ino) in self._linked_in_homes
        return _LINKED if is_linked else ""

    @cached_property
    def _system_devices(self) -> frozenset[int]:
        """By these it is known wherever it is mounted."""
        return frozenset(os.stat(place).st_dev for place in _SYSTEM if os.path.ismount(place))

    @cached_property
    def _linked_in_homes(self) -> frozenset[tuple[int, int]]:
        """The files of the homes that have a name elsewhere too; few projects have a file that asks."""
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
    """Whether git's path leads to a file below the project, and to nothing of a repository."""
    if b".git" in path.lower() and is_of_git(path):
        return False
    return bool(path) and not is_outside(path) and b"/../" not in path and path[-1:] != b"/"


def is_plain_path(path: str) -> bool:
    """Whether a path of a tree leads below the project: a tree may come from a bundle."""
    return is_plain(read_path(path)) and "\0" not in path and all(path.split("/"))


def read_path(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")
