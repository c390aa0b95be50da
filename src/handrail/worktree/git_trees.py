"""The trees of a project, taken by git with a git directory of our own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import TypeVar

from handrail.ports.trees import (
    CHANGED_SECONDS,
    MOST_READ_BYTES,
    MOST_WRITTEN_BYTES,
    TAKE_SECONDS,
    EarlierFile,
    GitEntry,
    Revision,
    TakenTree,
    TreeChange,
    WrittenTree,
)
from handrail.ports.worktree import Unseen
from handrail.worktree import keeping, read_trees, take, write_out
from handrail.worktree.git_child import GitChild, NotSeen
from handrail.worktree.place import Place, ask

ASK_SECONDS = 30.0
"""For everything but taking a tree and naming changed files."""

_T = TypeVar("_T")


class GitTrees:
    """`ports.trees.Trees`; what is remembered lies in the home."""

    def __init__(self, home: str, environment: Mapping[str, str]) -> None:
        self._home = home
        self._environment = environment

    def take(
        self, project: str, seconds: float = TAKE_SECONDS, *, is_anywhere: bool = False
    ) -> TakenTree | Unseen:
        return self._perform(project, self._take, seconds, is_anywhere=is_anywhere)

    def _take(self, place: Place, git: GitChild) -> TakenTree:
        taken = take.take_tree(place, git)
        with suppress(NotSeen, OSError):
            keeping.prune(place, git)
        return taken

    def list_changed(
        self, project: str, tree: str, seconds: float = CHANGED_SECONDS
    ) -> tuple[str, ...] | Unseen:
        return self._perform(
            project, lambda place, git: take.list_changed(place, read_trees.check_id(tree), git), seconds
        )

    def resolve(self, project: str, name: str) -> Revision | Unseen:
        return self._perform(
            project, lambda place, git: read_trees.resolve(place, name, git), is_anywhere=False
        )

    def find_merge_base(self, project: str) -> Revision | Unseen:
        return self._perform(project, read_trees.find_merge_base, is_anywhere=False)

    def is_clean(self, project: str, taken: TakenTree) -> bool | Unseen:
        return self._perform(
            project, lambda place, git: read_trees.is_clean(place, taken, git), is_anywhere=False
        )

    def has_tree(self, project: str, tree: str) -> bool:
        found = self._perform(project, lambda place, git: read_trees.has_tree(place, tree, git))
        return found is True

    def list_entries(self, project: str, tree: str) -> tuple[GitEntry, ...] | Unseen:
        return self._perform(project, lambda place, git: read_trees.list_entries(place, tree, git))

    def diff(self, project: str, before: str, after: str) -> tuple[TreeChange, ...] | Unseen:
        return self._perform(project, lambda place, git: read_trees.diff(place, before, after, git))

    def read(self, project: str, object_id: str, most_bytes: int = MOST_READ_BYTES) -> bytes | None:
        return self.read_all(project, (object_id,), most_bytes).get(object_id)

    def read_all(
        self, project: str, object_ids: Collection[str], most_bytes: int = MOST_READ_BYTES
    ) -> Mapping[str, bytes]:
        if not object_ids:
            return {}
        found = self._perform(
            project, lambda place, git: read_trees.read_all(place, object_ids, most_bytes, git)
        )
        return {} if isinstance(found, Unseen) else found

    def build(self, project: str, entries: Sequence[GitEntry]) -> str | Unseen:
        return self._perform(project, lambda place, git: write_out.build_tree(place, entries, git))

    def write_out(
        self, project: str, tree: str, folder: str, keep: Collection[str] = ()
    ) -> WrittenTree | Unseen:
        return self._perform(
            project, lambda place, git: write_out.write_tree_out(place, tree, folder, keep, git)
        )

    def keep(self, project: str, name: str, tree: str) -> str:
        return _explain(self._perform(project, lambda place, git: keeping.keep_tree(place, name, tree, git)))

    def drop(self, project: str, prefix: str) -> None:
        self._perform(project, lambda place, _: keeping.drop_trees(place, prefix))

    def pack_step(
        self, project: str, tree: str, known: Sequence[str] = (), most_bytes: int = MOST_READ_BYTES
    ) -> bytes | Unseen:
        def pack(place: Place, git: GitChild) -> bytes:
            return keeping.pack_step(place, tree, known, most_bytes, git)

        return self._perform(project, pack)

    def find_committed(self, project: str, object_ids: Collection[str]) -> frozenset[str]:
        found = self._perform(project, lambda place, git: read_trees.find_committed(place, object_ids, git))
        return frozenset() if isinstance(found, Unseen) else found

    def find_filtered(self, project: str, tree: str, paths: Collection[str]) -> frozenset[str]:
        found = self._perform(project, lambda place, git: write_out.find_filtered(place, tree, paths, git))
        return frozenset() if isinstance(found, Unseen) else found

    def find_ignored(self, project: str, tree: str, paths: Collection[str]) -> frozenset[str]:
        found = self._perform(project, lambda place, git: write_out.find_ignored(place, tree, paths, git))
        return frozenset(paths) if isinstance(found, Unseen) else found

    def read_written(
        self, project: str, tree: str, paths: Collection[str], most_bytes: int = MOST_WRITTEN_BYTES
    ) -> Mapping[str, bytes] | Unseen:
        if not paths:
            return {}
        return self._perform(
            project, lambda place, git: write_out.read_written(place, tree, paths, most_bytes, git)
        )

    def rebuild(
        self, project: str, commit: str, files: Sequence[EarlierFile], gone: Collection[str]
    ) -> str | Unseen:
        return self._perform(
            project, lambda place, git: write_out.rebuild_tree(place, commit, files, gone, git)
        )

    def unpack(self, project: str, content: bytes) -> str:
        return _explain(self._perform(project, lambda place, git: keeping.unpack_trees(place, content, git)))

    def _perform(
        self,
        project: str,
        work: Callable[[Place, GitChild], _T],
        seconds: float = ASK_SECONDS,
        *,
        is_anywhere: bool = True,
    ) -> _T | Unseen:
        return ask(project, self._home, self._environment, work, seconds, is_anywhere=is_anywhere)


def _explain(result: Unseen | None) -> str:
    return result.reason if isinstance(result, Unseen) else ""
