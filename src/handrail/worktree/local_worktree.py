"""`ports.Worktree` on the local file system."""

# ruff: noqa: PLC0415 - places in a file and their spellings are a matter of reports, not of questions about code

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from handrail.host.bounds import Bounds
from handrail.ports.worktree import (
    LIST_SECONDS,
    FileList,
    FileWrite,
    LeftOut,
    ListedFile,
    LocatedFile,
    PlaceAsked,
    PlaceSeen,
    PresentFile,
    Unseen,
    Written,
)
from handrail.worktree import list_files, restore
from handrail.worktree.git_child import GitChild
from handrail.worktree.place import Place, ask


class LocalWorktree:
    """Remembers nothing."""

    def __init__(self, home: str, environment: Mapping[str, str]) -> None:
        self._home = home
        self._environment = environment
        self._journals = restore.Journals(home)

    def see_places(self, project: str, asked: Sequence[PlaceAsked]) -> tuple[PlaceSeen, ...]:
        from handrail.worktree.seen_places import see_places

        return see_places(Bounds(project, self._home), asked, self._find_unlisted)

    def _find_unlisted(self, bounds: Bounds, paths: Sequence[str]) -> frozenset[str]:
        """What git does not list may be private; where git does not answer, everything is of the project."""

        def find(place: Place, git: GitChild) -> frozenset[str]:
            return list_files.find_unlisted(place, paths, git)

        found = ask(bounds.root, self._home, self._environment, find, LIST_SECONDS, is_anywhere=False)
        return frozenset() if isinstance(found, Unseen) else found

    def locate_files(self, project: str, named: Sequence[str]) -> tuple[LocatedFile, ...]:
        from handrail.worktree.seen_places import locate

        bounds = Bounds(project, self._home)
        return tuple(locate(bounds, text) for text in named)

    def list_files(
        self, project: str, suffixes: Sequence[str], seconds: float = LIST_SECONDS
    ) -> FileList | Unseen:
        def find(place: Place, git: GitChild) -> FileList:
            return list_files.list_files(place, suffixes, git)

        return ask(project, self._home, self._environment, find, seconds, is_anywhere=True)

    def find_text(
        self, project: str, files: Iterable[ListedFile], needles: Sequence[bytes], most_bytes: int
    ) -> Iterator[tuple[ListedFile, bytes | None]]:
        return list_files.find_text(Bounds(project, self._home), files, needles, most_bytes)

    def read_files(self, project: str, paths: Collection[str]) -> Mapping[str, PresentFile]:
        return restore.read_files(Bounds(project, self._home), paths)

    def find_obstacles(self, project: str, writes: Sequence[FileWrite]) -> tuple[LeftOut, ...]:
        return restore.find_obstacles(Bounds(project, self._home), writes)

    def write_files(self, project: str, writes: Sequence[FileWrite], *, is_whole: bool = False) -> Written:
        return self._journals.write_files(Bounds(project, self._home), writes, is_whole=is_whole)

    def is_unfinished(self, project: str) -> bool:
        return self._journals.is_unfinished(os.path.realpath(project))

    def settle(self, project: str) -> Written | None:
        return self._journals.settle(os.path.realpath(project))
