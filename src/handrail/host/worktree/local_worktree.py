"""`ports.Worktree` on the local file system."""

# ruff: noqa: PLC0415 - places in a file and their spellings are a matter of reports, not of questions about code

from __future__ import annotations

import os
import time
from _thread import allocate_lock
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from handrail.contract.wording import make_readable, quote
from handrail.host.private_files import walk_up
from handrail.host.programs import RunningGit
from handrail.host.worktree import restore
from handrail.host.worktree.bounds import Bounds
from handrail.host.worktree.list_files import (
    can_list_known,
    find_text,
    list_known,
    list_with_git,
    list_without_git,
)
from handrail.host.worktree.repository import Repository, RepositoryFacts
from handrail.host.worktree.restore import Journals, find_obstacles
from handrail.host.worktree.stat_cache import WORTH_SAVING, CacheFiles, StatCache
from handrail.host.worktree.trees import (
    BARE,
    REFUSED,
    Look,
    NotReadableError,
    OutOfTimeError,
    show_path,
)
from handrail.ports.worktree import (
    FileList,
    FileWrite,
    LeftOut,
    LocatedFile,
    PlaceAsked,
    PlaceSeen,
    PresentFile,
    TreeEntry,
    Unseen,
    Written,
)

_T = TypeVar("_T")

_WITHOUT_GIT = "sha256"
_MOST_IN_MEMORY = 4
_READING_SECONDS = 10.0


class LocalWorktree:
    """Looks one after another: they share what they remember."""

    def __init__(self, home: str, environment: Mapping[str, str]) -> None:
        self._home = home
        self._environment = environment
        self._files = CacheFiles(home)
        self._journals = Journals(home)
        self._remembered: dict[str, StatCache] = {}
        self._one_at_a_time = allocate_lock()

    def see_places(self, project: str, asked: Sequence[PlaceAsked]) -> tuple[PlaceSeen, ...]:
        from handrail.host.worktree.seen_places import see_places

        return see_places(Bounds(project, self._home), asked, self._explain_unseen)

    def _explain_unseen(self, bounds: Bounds, paths: Sequence[str]) -> Mapping[str, str]:
        """What git does not list may be private; without an answer of git everything is of the project."""
        if not _is_in_repository(bounds.root):
            return {}
        from handrail.host.worktree.unlisted import UNKNOWN

        found = self.explain_unlisted(bounds.root, paths)
        return {path: why for path, why in found.items() if why != UNKNOWN}

    def locate_files(self, project: str, named: Sequence[str]) -> tuple[LocatedFile, ...]:
        bounds = Bounds(project, self._home)
        return tuple(_locate(bounds, text) for text in named)

    def explain_unlisted(self, project: str, paths: Sequence[str]) -> Mapping[str, str]:
        bounds = Bounds(project, self._home)
        if bounds.trouble:
            return dict.fromkeys(paths, bounds.trouble)
        from handrail.host.worktree.unlisted import explain_unlisted

        return explain_unlisted(bounds, paths, self._find_repository(bounds))

    def _find_repository(self, bounds: Bounds) -> Repository | None:
        is_there = _is_in_repository(bounds.root)
        return Repository(bounds, self._environment, _READING_SECONDS) if is_there else None

    def list_files(
        self, project: str, suffixes: Sequence[str], seconds: float = _READING_SECONDS
    ) -> FileList | Unseen:
        wanted = tuple(os.fsencode(suffix) for suffix in suffixes)
        known = self._list_known(Bounds(project, self._home), wanted, seconds)
        if known is not None:
            return known
        return self._see_project(
            project,
            seconds,
            lambda look: list_without_git(look, wanted),
            lambda look, repository, facts, untracked: list_with_git(
                look, repository, facts, untracked, wanted, self._environment
            ),
        )

    def _list_known(
        self, bounds: Bounds, suffixes: tuple[bytes, ...], seconds: float
    ) -> FileList | Unseen | None:
        """The files without a word from git; None where it has to be asked."""
        root = bounds.root
        if bounds.trouble:
            return Unseen(reason=bounds.trouble)
        with self._one_at_a_time:
            cache = self._remembered.get(root)
            if cache is None:
                cache = self._remembered[root] = self._files.load(root)
            try:
                if not os.path.lexists(os.path.join(root, ".git")) or not can_list_known(cache, root):
                    return None
                look = self._begin(bounds, cache.algorithm, seconds)
                return self._finish(look, seconds, lambda: list_known(look, suffixes))
            except OSError:
                return None

    def find_text(
        self, project: str, files: Iterable[TreeEntry], needles: Sequence[bytes], most_bytes: int
    ) -> Iterator[tuple[TreeEntry, bytes | None]]:
        return find_text(Bounds(project, self._home), files, needles, most_bytes)

    def read_files(self, project: str, paths: Collection[str]) -> Mapping[str, PresentFile]:
        return restore.read_files(Bounds(project, self._home), paths)

    def find_obstacles(self, project: str, writes: Sequence[FileWrite]) -> tuple[LeftOut, ...]:
        return find_obstacles(Bounds(project, self._home), writes)

    def write_files(self, project: str, writes: Sequence[FileWrite], *, is_whole: bool = False) -> Written:
        return self._journals.write_files(Bounds(project, self._home), writes, is_whole=is_whole)

    def is_unfinished(self, project: str) -> bool:
        return self._journals.is_unfinished(os.path.realpath(project))

    def settle(self, project: str) -> Written | None:
        return self._journals.settle(os.path.realpath(project))

    def _see_project(
        self,
        project: str,
        seconds: float,
        without_git: Callable[[Look], _T | Unseen],
        with_git: Callable[[Look, Repository, RepositoryFacts, RunningGit], _T | Unseen],
    ) -> _T | Unseen:
        with self._one_at_a_time:
            bounds = Bounds(project, self._home)
            root = bounds.root
            if not os.path.isdir(root):
                return Unseen(reason="the project directory does not exist")
            if bounds.trouble:
                return Unseen(reason=bounds.trouble)
            try:
                if _is_in_repository(root):
                    return self._see_repository(bounds, seconds, with_git)
                if _is_bare(root):
                    return Unseen(reason=BARE)
                look = self._begin(bounds, _WITHOUT_GIT, seconds)
                return self._finish(look, seconds, lambda: without_git(look))
            except OSError as trouble:
                return Unseen(reason=f"the disk refused to be read: {trouble.strerror}")

    def _see_repository(
        self,
        bounds: Bounds,
        seconds: float,
        with_git: Callable[[Look, Repository, RepositoryFacts, RunningGit], _T | Unseen],
    ) -> _T | Unseen:
        repository = Repository(bounds, self._environment, seconds)
        untracked = repository.start_untracked()  # git works while the tracked files are looked at
        try:
            facts = repository.find_facts()
            if facts is None:
                return Unseen(reason=REFUSED)
            look = self._begin(bounds, facts.algorithm, seconds)
            return self._finish(look, seconds, lambda: with_git(look, repository, facts, untracked))
        finally:
            untracked.stop()

    def _begin(self, bounds: Bounds, algorithm: str, seconds: float) -> Look:
        root = bounds.root
        cache = self._remembered.pop(root, None)
        if cache is None or cache.algorithm != algorithm:
            cache = self._files.load(root, algorithm)
        self._remembered[root] = cache  # the last one is the newest
        for oldest in list(self._remembered)[:-_MOST_IN_MEMORY]:
            del self._remembered[oldest]
        return Look(bounds, cache, time.monotonic() + seconds)

    def _finish(self, look: Look, seconds: float, take: Callable[[], _T | Unseen]) -> _T | Unseen:
        """What was digested is kept, also when the time was not enough: so the next look gets further."""
        try:
            return take()
        except OutOfTimeError:
            look.cache.unsaved *= 1_000
            return Unseen(
                reason=f"looking took longer than {seconds:g} s; the next look goes on where this one stopped"
            )
        except NotReadableError as trouble:
            return Unseen(
                reason=f"the folder {quote(make_readable(show_path(trouble.folder)))} may not be read"
            )
        finally:
            if look.cache.unsaved >= WORTH_SAVING:
                self._files.save(look.project, look.cache)


def _locate(bounds: Bounds, text: str) -> LocatedFile:
    from handrail.host.worktree.seen_places import find_named, list_readings

    named, root = find_named(bounds, text), bounds.root
    if named.state == "hidden":
        return LocatedFile(paths=(named.path,) if named.path else ())
    if named.state in ("outside", "impossible"):
        return LocatedFile(is_inside=named.state == "impossible")
    is_there = bool(named.path) and os.path.lexists(os.path.join(root, named.path))
    if named.state == "absent" and not is_there:
        return LocatedFile(paths=list_readings(bounds, text))
    paths = [named.path, os.path.relpath(named.real, root) if named.real not in ("", root) else ""]
    return LocatedFile(paths=tuple(dict.fromkeys(path for path in paths if path)), is_there=is_there)


def _is_in_repository(root: str) -> bool:
    return any(os.path.lexists(os.path.join(folder, ".git")) for folder in walk_up(root))


def _is_bare(root: str) -> bool:
    return os.path.isfile(os.path.join(root, "HEAD")) and all(
        os.path.isdir(os.path.join(root, name)) for name in ("objects", "refs")
    )
