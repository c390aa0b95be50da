"""The trees of a project, taken by git with a git directory of our own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import TypeVar

from handrail.ports.trees import (
    CHANGED_SECONDS,
    MOST_READ_BYTES,
    TAKE_SECONDS,
    GitEntry,
    Revision,
    TakenTree,
    TreeChange,
    WrittenTree,
)
from handrail.ports.worktree import Unseen
from handrail.worktree import keeping, read_trees, take, write_out
from handrail.worktree.git_child import GitChild, NotSeen
from handrail.worktree.place import Place, find_place

ASK_SECONDS = 30.0
"""For everything but taking a tree and naming changed files."""

_T = TypeVar("_T")


class GitTrees:
    """`ports.trees.Trees`; what is remembered lies in the home."""

    def __init__(self, home: str, environment: Mapping[str, str]) -> None:
        self._home = home
        self._environment = environment

    def take(self, project: str, seconds: float = TAKE_SECONDS) -> TakenTree | Unseen:
        return self._perform(project, self._take, seconds)

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
        return self._perform(project, lambda place, git: read_trees.resolve(place, name, git))

    def find_merge_base(self, project: str) -> Revision | Unseen:
        return self._perform(project, read_trees.find_merge_base)

    def is_clean(self, project: str, taken: TakenTree) -> bool | Unseen:
        return self._perform(project, lambda place, git: read_trees.is_clean(place, taken, git))

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

    def pack(self, project: str, trees: Sequence[str]) -> bytes | Unseen:
        return self._perform(project, lambda place, git: keeping.pack_trees(place, trees, git))

    def unpack(self, project: str, content: bytes) -> str:
        return _explain(self._perform(project, lambda place, git: keeping.unpack_trees(place, content, git)))

    def _perform(
        self, project: str, work: Callable[[Place, GitChild], _T], seconds: float = ASK_SECONDS
    ) -> _T | Unseen:
        try:
            git = GitChild(self._environment, seconds)
            return work(find_place(project, self._home, self._environment, git), git)
        except NotSeen as trouble:
            return Unseen(reason=str(trouble))
        except OSError as trouble:
            return Unseen(reason=f"the files could not be looked at ({trouble.strerror})")


def _explain(result: Unseen | None) -> str:
    return result.reason if isinstance(result, Unseen) else ""
