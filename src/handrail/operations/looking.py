"""Looking at the working tree for one attempt: once, after the gate says open and before the lock is taken.

The rules are pure, so what was seen goes to them as a value. Only what the report names is looked at, and the
whole tree only where a contract asks about it. What cannot be seen is unknown, and never stops an advance.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UnsetType

from handrail.contract.outcome import Fault
from handrail.engine.code_trees import find_baseline, find_tree
from handrail.engine.facts import encode_project
from handrail.engine.history import History, Node, RecordedTree, list_receipts, path_to
from handrail.engine.judge.run_claims import (
    MOST_PATHS_NAMED,
    AskedPlace,
    ChangedPaths,
    Look,
    SeenPlace,
    Sighting,
)
from handrail.operations.kept_trees import load_tree
from handrail.ports.worktree import MOST_PLACES, PlaceAsked, Tree, Unseen, Worktree
from handrail.runtime.runtime import Runtime, project_of

MOST_BRANCHES = 20
"""Other branches whose files are looked at."""
MOST_RECEIPT_TREES = 3

ELSEWHERE = "this call does not come from the project of the run"


def look(rt: Runtime, history: History, node: Node, wanted: Look, project: str | UnsetType) -> Sighting:
    """What the working tree says to a report. Never raises for what is odd about the tree."""
    if not wanted.places and not wanted.wants_tree:
        return Sighting()
    try:
        directory = project_of(rt, project)
    except Fault as fault:
        return Sighting(trouble=fault.message)
    if not _is_here(history, node, directory):
        return Sighting(trouble=ELSEWHERE)
    worktree = rt.worktree()
    places = _see_places(worktree, directory, wanted.places)
    if not wanted.wants_tree:
        return Sighting(places=places)
    tree = worktree.take_tree(directory)
    if isinstance(tree, Unseen):
        return Sighting(places=places, trouble=tree.reason)
    files = _Files(rt, history, directory, tree)
    changes = files.compare_with_start(node)
    return Sighting(
        places=places,
        tree=tree.tree_id,
        changes=changes if isinstance(changes, ChangedPaths) else None,
        elsewhere=files.find_of_other_branches(node) if isinstance(changes, ChangedPaths) else frozenset(),
        since=files.name_changes_since_receipts(node),
        trouble="" if isinstance(changes, ChangedPaths) else changes.reason,
    )


class _Files:
    """The present files beside those that the run has recorded."""

    def __init__(self, rt: Runtime, history: History, directory: str, tree: Tree) -> None:
        self._rt = rt
        self._history = history
        self._directory = directory
        self._tree = tree

    def compare_with_start(self, node: Node) -> ChangedPaths | Unseen:
        """What differs from the files that the run began with.

        A first tree that was taken later may hold work of the run already, so it says nothing about it.
        """
        baseline = find_baseline(self._history, node.node_id)
        if baseline is None or baseline.fact.cause != "start":
            return Unseen(reason="the files that the run began with were not recorded")
        return self.compare_with(baseline)

    def compare_with(self, recorded: RecordedTree | None) -> ChangedPaths | Unseen:
        """What differs from a recorded tree."""
        if recorded is None:
            return Unseen(reason="the files then were not recorded")
        stored = load_tree(self._rt.log, self._history, recorded)
        if isinstance(stored, Unseen):
            return stored
        found = self._rt.worktree().compare(self._directory, stored.tree, self._tree)
        if isinstance(found, Unseen):
            return found
        return ChangedPaths(changed=found.changed, arrived=found.arrived)

    def find_of_other_branches(self, node: Node) -> frozenset[str]:
        """Paths that are as another branch of the run left them: the rewind did not bring them back."""
        history = self._history
        own = {held.node_id for held in path_to(history, node.node_id)}
        others = [
            tree
            for node_id, held in history.trees.items()
            if node_id not in own and history.nodes[node_id].run_id == node.run_id
            if history.nodes[node_id].kind == "step"
            for tree in held[-1:]
        ]
        now = {(entry.path, entry.digest) for entry in self._tree.entries}
        found: set[str] = set()
        for recorded in others[-MOST_BRANCHES:]:
            stored = load_tree(self._rt.log, history, recorded)
            if not isinstance(stored, Unseen):
                found |= {one.path for one in stored.tree.entries if (one.path, one.digest) in now}
        return frozenset(found)

    def name_changes_since_receipts(self, node: Node) -> dict[str, tuple[str, ...]]:
        """By the newest trees on which something ran: some paths that changed since."""
        trees = [held.fact.tree_after for held in list_receipts(self._history, node.run_id)]
        newest = [one for one in dict.fromkeys(reversed(trees)) if one and one != self._tree.tree_id]
        found: dict[str, tuple[str, ...]] = {}
        for tree_id in newest[:MOST_RECEIPT_TREES]:
            changes = self.compare_with(find_tree(self._history, tree_id))
            if isinstance(changes, ChangedPaths):
                found[tree_id] = (*changes.changed, *changes.arrived)[:MOST_PATHS_NAMED]
        return found


def _is_here(history: History, node: Node, directory: str) -> bool:
    """Whether the directory is the project that the run was begun in: paths are relative to that one."""
    begun = history.runs[node.run_id].project
    return begun is not None and begun.directory == encode_project(directory).directory


def _see_places(
    worktree: Worktree, directory: str, wanted: Sequence[AskedPlace]
) -> dict[AskedPlace, SeenPlace]:
    asked = wanted[:MOST_PLACES]
    seen = worktree.see_places(
        directory, [PlaceAsked(path=one.path, line=one.line, quote=one.quote) for one in asked]
    )
    return {
        one: SeenPlace(path=found.path, line=found.line, state=found.state, note=found.note)
        for one, found in zip(asked, seen, strict=True)
    }
