"""`ports.Worktree` on the local file system."""

# ruff: noqa: PLC0415 - places in a file and their spellings are a matter of reports, not of questions about code

from __future__ import annotations

import os
import time
from _thread import allocate_lock
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from handrail.contract.wording import make_readable, quote
from handrail.engine.code_trees import LINKED, state_of
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
from handrail.host.worktree.repository import Files, Repository, RepositoryFacts
from handrail.host.worktree.restore import Journals, absent, find_obstacles
from handrail.host.worktree.stat_cache import WORTH_SAVING, CacheFiles, StatCache
from handrail.host.worktree.trees import (
    BARE,
    REFUSED,
    Look,
    Lookup,
    NotReadableError,
    OutOfTimeError,
    effective_entries,
    mark_state,
    set_apart,
    show_path,
    take_with_git,
    take_without_git,
)
from handrail.ports.worktree import (
    MOST_PACK_BYTES,
    Changes,
    Difference,
    FileList,
    FileWrite,
    LeftOut,
    LocatedFile,
    Packed,
    PlaceAsked,
    PlaceSeen,
    Tree,
    TreeEntry,
    Unseen,
    Written,
)

_T = TypeVar("_T")

_WITHOUT_GIT = "sha256"
_MOST_IN_MEMORY = 4
_MOST_INSIDE = 24
"""Repositories inside a project that are looked at."""
_READING_SECONDS = 10.0
_NO_FILES: Files = {}
_COMMIT_GONE = "the repository no longer has a commit that was checked out then"


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

    def take_tree(self, project: str, seconds: float = _READING_SECONDS) -> Tree | Unseen:
        tree = self._see_project(project, seconds, take_without_git, take_with_git)
        if isinstance(tree, Unseen) or not tree.head or not tree.repositories:
            return tree
        found = self._look_inside(Bounds(project, self._home), tree, seconds)
        return set_apart(tree, found) if found else tree

    def _look_inside(self, bounds: Bounds, tree: Tree, seconds: float) -> dict[str, str]:
        """The repositories inside a project, with marks of their states.

        One without changes is known by its commit, whether or not the project has it committed already. More
        than a few are only named: each costs as much as a look at a project.
        """
        links = Repository(bounds, self._environment, seconds).find_links(tree.head, tree.repositories)
        with self._one_at_a_time:
            cache = self._remembered.get(bounds.root)
        found: dict[str, str] = {}
        for at, name in enumerate(tree.repositories):
            is_looked_at = at < _MOST_INSIDE
            inner = self.take_tree(os.path.join(bounds.root, name), seconds) if is_looked_at else None
            state = mark_state(inner)
            word = (
                LINKED if state == f"@{links.get(name)}" else "submodule" if name in links else "repository"
            )
            found[name] = f"{word} {state}"
        with self._one_at_a_time:
            if cache is not None:  # looks at others may have pushed out what is remembered of this one
                self._remembered.pop(bounds.root, None)
                self._remembered[bounds.root] = cache
        return found

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

    def compare(
        self, project: str, before: Tree, after: Tree, seconds: float = _READING_SECONDS
    ) -> Changes | Unseen:
        found = self._compare_files(project, before, after, seconds)
        names = {name for name, _ in before.apart.items() ^ after.apart.items()}
        if isinstance(found, Unseen) or not names:
            return found
        repository = Repository(Bounds(project, self._home), self._environment, seconds)
        marks = [_find_marks(repository, tree, names) for tree in (before, after)]
        return self._add_apart(project, found, marks[0], marks[1], is_moved=before.head != after.head)

    def _add_apart(
        self, project: str, found: Changes, old: dict[str, str], new: dict[str, str], *, is_moved: bool
    ) -> Changes:
        """With what is of another repository, or of a sparse checkout, and differs between the trees.

        Of a repository that went from one commit to another these are its files: a commit brought them.
        """
        changed, arrived, added, deleted = (
            {*paths} for paths in (found.changed, found.arrived, found.added, found.deleted)
        )
        names = {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)}
        for name in names - changed - arrived:
            commits = [side.get(name, "") for side in (old, new)]
            inner = self._compare_commits(os.path.join(project, name), commits)
            if inner is None:
                (arrived if is_moved else changed).add(name)
                added |= {name} if commits[0] in ("", "sparse") and commits[1] != "sparse" else set()
                deleted |= {name} if commits[1] in ("", "sparse") and commits[0] != "sparse" else set()
                continue
            arrived |= {f"{name}/{path}" for path in (*inner.changed, *inner.arrived)}
            added |= {f"{name}/{path}" for path in inner.added}
            deleted |= {f"{name}/{path}" for path in inner.deleted}
        sets = (tuple(sorted(one)) for one in (changed, arrived, added, deleted))
        return Changes(**dict(zip(("changed", "arrived", "added", "deleted"), sets, strict=True)))

    def _compare_commits(self, project: str, marks: list[str]) -> Changes | None:
        """What differs between two commits of a repository; None where one is none, or cannot be read."""
        if not all(mark.startswith("@") for mark in marks):
            return None
        trees = [Tree(head=mark[1:], entries=(), tree_id=mark) for mark in marks]
        found = self._compare_files(project, trees[0], trees[1], _READING_SECONDS)
        return None if isinstance(found, Unseen) else found

    def _compare_files(self, project: str, before: Tree, after: Tree, seconds: float) -> Changes | Unseen:
        differing = self.list_differences(project, before, after, seconds)
        if isinstance(differing, Unseen):
            return differing
        listed = {entry.path for entry in after.entries}
        is_moved = before.head != after.head
        arrived = tuple(one.path for one in differing if is_moved and one.path not in listed)
        came = set(arrived)
        return Changes(
            changed=tuple(one.path for one in differing if one.path not in came),
            arrived=arrived,
            added=tuple(one.path for one in differing if one.before.mode == "absent"),
            deleted=tuple(one.path for one in differing if one.after.mode == "absent"),
        )

    def _open_commit(self, bounds: Bounds, commit: str, seconds: float) -> Lookup | None:
        """What a commit has at a path, from what the last look remembers if it was of this one."""
        cache = self._remembered.get(bounds.root)
        if cache is not None and cache.head is not None and cache.head.head == commit:
            return cache.head.find
        files = Repository(bounds, self._environment, seconds).find_commit_files(commit)
        return None if files is None else files.get

    def list_differences(
        self, project: str, before: Tree, after: Tree, seconds: float = _READING_SECONDS
    ) -> tuple[Difference, ...] | Unseen:
        if before.tree_id == after.tree_id:
            return ()
        if not _are_comparable(before, after):
            return Unseen(reason="the project was put under git, or taken out of it, in between")
        bounds = Bounds(project, self._home)
        paths = {entry.path for tree in (before, after) for entry in tree.entries}
        if before.head == after.head:
            found = self._open_commit(bounds, after.head, seconds) if paths else _NO_FILES.get
            return _differ(before, after, found, found, paths) if found else Unseen(reason=_COMMIT_GONE)
        repository = Repository(bounds, self._environment, seconds)
        old, new = (repository.find_commit_files(tree.head) for tree in (before, after))
        if old is None or new is None:
            return Unseen(reason=_COMMIT_GONE)
        paths |= {show_path(path) for path in old.keys() | new.keys() if old.get(path) != new.get(path)}
        return _differ(before, after, old.get, new.get, paths)

    def pack_contents(
        self, project: str, tree: Tree, known: Collection[str] = (), most_bytes: int = MOST_PACK_BYTES
    ) -> Packed:
        return restore.pack_contents(Bounds(project, self._home), tree, known, most_bytes)

    def unpack(self, content: bytes) -> Mapping[str, bytes]:
        return restore.unpack(content)

    def read_contents(
        self, project: str, present: Sequence[TreeEntry], digests: Collection[str]
    ) -> Mapping[str, bytes]:
        bounds = Bounds(project, self._home)
        found: dict[str, bytes] = {}
        for entry in present:
            if entry.digest in digests and entry.digest not in found:
                content = restore.read_present(bounds, entry)
                if isinstance(content, bytes):
                    found[entry.digest] = content
        asked = {
            digest.partition(":")[2]: digest
            for digest in digests
            if digest not in found and not digest.startswith("size:")
        }
        if asked:
            read = Repository(bounds, self._environment, _READING_SECONDS).read_contents(sorted(asked))
            found.update(
                {
                    asked[name]: content
                    for name, content in read.items()
                    if name in asked and restore.matches(content, asked[name])
                }
            )
        return found

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


def _find_marks(repository: Repository, tree: Tree, names: Collection[str]) -> dict[str, str]:
    """How these are in a tree: as they were seen, else as its commit names them."""
    unmarked = [name for name in names if name not in tree.apart]
    links = repository.find_links(tree.head, unmarked) if unmarked else {}
    return {name: f"@{link}" for name, link in links.items()} | {
        name: state_of(mark) for name, mark in tree.apart.items() if name in names
    }


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


def _differ(
    before: Tree, after: Tree, old: Lookup, new: Lookup, paths: Collection[str]
) -> tuple[Difference, ...]:
    """Those of these paths at which the trees are not the same."""
    was, now = effective_entries(before, old, paths), effective_entries(after, new, paths)
    pairs = ((path, was.get(path) or absent(path), now.get(path) or absent(path)) for path in sorted(paths))
    return tuple(
        Difference(path=path, before=one, after=other)
        for path, one, other in pairs
        if _facts(one) != _facts(other)
    )


def _facts(entry: TreeEntry) -> tuple[str, str]:
    return (entry.mode, entry.digest)


def _are_comparable(before: Tree, after: Tree) -> bool:
    one, other = _algorithms(before), _algorithms(after)
    return not one or not other or one == other


def _algorithms(tree: Tree) -> set[str]:
    found = {entry.digest.partition(":")[0] for entry in tree.entries}
    return found - {"", "size"}


def _is_in_repository(root: str) -> bool:
    return any(os.path.lexists(os.path.join(folder, ".git")) for folder in walk_up(root))


def _is_bare(root: str) -> bool:
    return os.path.isfile(os.path.join(root, "HEAD")) and all(
        os.path.isdir(os.path.join(root, name)) for name in ("objects", "refs")
    )
