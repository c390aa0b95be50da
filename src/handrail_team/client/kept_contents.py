"""File contents of a linked project, kept in the home of its machine; the server has only names and ids.

A tree of a step stays in our git directory for ninety days after its last use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from handrail.contract.tokens.confirm import refusal
from handrail.ports.trees import LASTING_PREFIX, MOST_READ_BYTES, TAKE_SECONDS, TakenTree
from handrail.ports.worktree import FileWrite, Unseen, Written
from handrail.runtime.hub import try_afterwards
from handrail.runtime.runtime import Runtime
from handrail.worktree.git_trees import GitTrees
from handrail.worktree.local_worktree import LocalWorktree


class KeepingTrees(GitTrees):
    """Git trees that keep the contents they pack in the home of the machine."""

    def __init__(self, home: str, environment: Mapping[str, str]) -> None:
        super().__init__(home, environment)
        self.seen = ""
        """The id of the last tree taken."""

    def take(
        self, project: str, seconds: float = TAKE_SECONDS, *, is_anywhere: bool = False
    ) -> TakenTree | Unseen:
        taken = super().take(project, seconds, is_anywhere=is_anywhere)
        self.seen = "" if isinstance(taken, Unseen) else taken.tree
        return taken

    def pack_step(
        self, project: str, tree: str, known: Sequence[str] = (), most_bytes: int = MOST_READ_BYTES
    ) -> bytes | Unseen:
        if most_bytes and (why := self.keep(project, f"{LASTING_PREFIX}{tree}", tree)):
            return Unseen(reason=why)
        return super().pack_step(project, tree, known, most_bytes)


class KeepingWorktree(LocalWorktree):
    """Writes files only after the server recorded those that are there.

    `note` makes the server record them and returns the id of their tree.
    """

    def __init__(
        self,
        home: str,
        environment: Mapping[str, str],
        local: Runtime,
        note: Callable[[], str],
        trees: KeepingTrees,
    ) -> None:
        super().__init__(home, environment)
        self.trees = trees
        self._local = local
        self._note = note

    def write_files(self, project: str, writes: Sequence[FileWrite], *, is_whole: bool = False) -> Written:
        """Write the files. Raises Fault before any write if the server did not record the present files."""
        if self._note() != self.trees.seen:
            raise refusal("target_changed")
        done = super().write_files(project, writes, is_whole=is_whole)
        try_afterwards(self._local, self._note)
        return done
