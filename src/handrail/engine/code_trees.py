"""The code of a node: which recorded tree is whose, and what it builds on. Pure.

An event names the tree; its list of files is a blob that says what differs from the list of an earlier tree,
and contents that nobody else keeps are one more blob, a pack. Both may be absent: then the tree is known by
its id alone, as in a session that came without its code. `operations/kept_trees.py` reads and makes
them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from handrail.contract.ids import BlobRef, NodeId, RunId
from handrail.engine.events import TreeRecorded
from handrail.engine.history import History, RecordedTree

LONGEST_CHAIN = 16
"""Lists that build on each other, before one is kept whole again."""
LONGEST_LARGE_CHAIN = 48
"""The same where a whole list would be large."""
LINKED = "linked"
"""The mark of a repository inside a project that is as the commit of the project names it."""


def state_of(mark: str) -> str:
    """What a mark in `apart` tells of the files, without what git thinks of the folder."""
    return mark.rpartition(" ")[2]


def list_unclear(first: Mapping[str, str] | None, last: Mapping[str, str] | None) -> list[str]:
    """By the marks of two trees: repositories inside that changed, and nobody can tell in which files.

    Of one that went from commit to commit a comparison names them.
    """
    old, new = first or {}, last or {}
    states = {name: {state_of(side.get(name, "")) for side in (old, new)} for name in old.keys() | new.keys()}
    return sorted(
        name
        for name, both in states.items()
        if len(both) > 1 and any(one not in ("", "sparse") and one[0] != "@" for one in both)
    )


def find_tree_of(history: History, node_id: NodeId) -> RecordedTree | None:
    """The files as the node was made: its first tree. None when none was taken."""
    found = history.trees.get(node_id, ())
    return found[0] if found else None


def find_nearest_tree(history: History, node_id: NodeId) -> RecordedTree | None:
    """The tree that the node was made with or, if it has none, its nearest ancestor with one."""
    return next((trees[0] for trees in _list_upwards(history, node_id)), None)


def find_latest_tree(history: History, node_id: NodeId) -> RecordedTree | None:
    """The newest tree of the node or, if it has none, of its nearest ancestor with one."""
    return next((trees[-1] for trees in _list_upwards(history, node_id)), None)


def find_last_seen(history: History, node_id: NodeId) -> RecordedTree | None:
    """The files as the last report was held against them, else the newest tree.

    Files that are as they were once at this step are not recorded again: the newest tree may be an older one.
    """
    judged = history.evidence.get(node_id) if not history.trees.get(node_id) else None
    seen = find_tree(history, judged.tree, history.nodes[node_id].run_id) if judged and judged.tree else None
    return seen or find_latest_tree(history, node_id)


def find_baseline(history: History, node_id: NodeId) -> RecordedTree | None:
    """The first tree on the way from the start of the run to this node: what its work began with."""
    *_, first = (None, *(trees[0] for trees in _list_upwards(history, node_id)))
    return first


def _list_upwards(history: History, node_id: NodeId) -> Iterator[tuple[RecordedTree, ...]]:
    """The trees of a node and of its ancestors, the nearest first."""
    current: NodeId | None = node_id
    while current is not None:
        if found := history.trees.get(current, ()):
            yield found
        current = history.nodes[current].parent


def list_recorded(history: History, run_id: RunId | None = None) -> list[RecordedTree]:
    """Every recorded tree of a session, or of one of its runs, the newest first."""
    found = [
        held
        for node_id, trees in history.trees.items()
        if run_id is None or history.nodes[node_id].run_id == run_id
        for held in trees
    ]
    return sorted(found, key=lambda held: held.index, reverse=True)


def find_tree(history: History, tree_id: str, run_id: RunId | None = None) -> RecordedTree | None:
    """The newest record of a tree, by its id."""
    return next((held for held in list_recorded(history, run_id) if held.fact.tree_id == tree_id), None)


def list_chain(history: History, recorded: RecordedTree) -> list[RecordedTree] | None:
    """The record and those that it builds on, oldest first."""
    chain = [recorded]
    while (base_node_id := chain[-1].fact.base_node_id) is not None:
        fact = chain[-1].fact
        base = next(
            (
                held
                for held in history.trees.get(base_node_id, ())
                if held.fact.tree_id == fact.base_tree_id and held.index < chain[-1].index
            ),
            None,
        )
        if base is None or len(chain) > LONGEST_LARGE_CHAIN:
            return None
        chain.append(base)
    chain.reverse()
    return chain


def list_refs(history: History, recorded: RecordedTree) -> tuple[BlobRef, ...] | None:
    """The lists that a tree builds on, oldest first; None when one of its events is missing."""
    chain = list_chain(history, recorded)
    if chain is None:
        return None
    return tuple(step.fact.list_ref for step in chain if step.fact.list_ref is not None)


def tree_refs(fact: TreeRecorded) -> tuple[BlobRef, ...]:
    """The blobs that one event names; they may be absent."""
    return tuple(ref for ref in (fact.list_ref, fact.pack_ref) if ref is not None)
