"""The code of a node: which recorded tree belongs to it, and on which trees that builds. Pure.

An event names the tree. Names and contents that neither the commit nor an earlier tree has are a blob, a
git pack; the files left out of the tree are a separate list. Both may be absent: then only the id of the
tree is known, as in a session that came without its code. `operations/kept_trees.py` makes them,
`stored_trees.py` reads them, and `earlier_trees.py` reads those of earlier versions.
"""

from __future__ import annotations

from collections.abc import Iterator

from handrail.contract.ids import BlobRef, NodeId, RunId
from handrail.engine.events import ChangeSum, TreeRecorded
from handrail.engine.history import History, RecordedTree, way_to

LONGEST_CHAIN = 16
"""Limit for lists that build on each other, before a complete one is kept again."""
LONGEST_LARGE_CHAIN = 48
"""The same limit if a complete list would be large."""


def find_tree_of(history: History, node_id: NodeId) -> RecordedTree | None:
    """Return the first tree of the node: its files when it was created. None if none was recorded."""
    found = history.trees.get(node_id, ())
    return found[0] if found else None


def find_nearest_tree(history: History, node_id: NodeId) -> RecordedTree | None:
    """Return the tree with which the node was created or, if it has none, that of the nearest ancestor with
    one.
    """
    return next((trees[0] for trees in _list_upwards(history, node_id)), None)


def find_latest_tree(history: History, node_id: NodeId) -> RecordedTree | None:
    """Return the newest tree of the node or, if it has none, of its nearest ancestor with one."""
    return next((trees[-1] for trees in _list_upwards(history, node_id)), None)


def find_baseline(history: History, node_id: NodeId) -> RecordedTree | None:
    """Return the first tree on the way from the start of the run to this node: the files when its work
    began.
    """
    *_, first = (None, *(trees[0] for trees in _list_upwards(history, node_id)))
    return first


def find_changed(history: History, node_id: NodeId) -> ChangeSum | None:
    """Return how much changed since the run began, as last counted up to a node, or None if it was not
    counted.

    A report about files is judged with a count; other reports get one with the tree that is kept.
    """
    for node in reversed(way_to(history, node_id)):
        judged = history.evidence.get(node.node_id)
        if judged is not None and judged.changed is not None:
            return judged.changed
        tree = find_tree_of(history, node.node_id)
        if tree is not None and tree.fact.changed is not None:
            return tree.fact.changed
    return None


def _list_upwards(history: History, node_id: NodeId) -> Iterator[tuple[RecordedTree, ...]]:
    """Yield the trees of a node and of its ancestors, the nearest first."""
    current: NodeId | None = node_id
    while current is not None:
        if found := history.trees.get(current, ()):
            yield found
        current = history.nodes[current].parent


def list_recorded(history: History, run_id: RunId | None = None) -> list[RecordedTree]:
    """Return every recorded tree of a session, or of one of its runs, the newest first."""
    found = [
        held
        for node_id, trees in history.trees.items()
        if run_id is None or history.nodes[node_id].run_id == run_id
        for held in trees
    ]
    return sorted(found, key=lambda held: held.index, reverse=True)


def find_tree(history: History, tree_id: str, run_id: RunId | None = None) -> RecordedTree | None:
    """Return the newest record of a tree, by its id."""
    return next((held for held in list_recorded(history, run_id) if held.fact.tree_id == tree_id), None)


def list_chain(history: History, recorded: RecordedTree) -> list[RecordedTree] | None:
    """Return the record and those that it builds on, oldest first."""
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
    """Return the lists that a tree builds on, oldest first, or None if one of its events is missing."""
    chain = list_chain(history, recorded)
    if chain is None:
        return None
    return tuple(step.fact.list_ref for step in chain if step.fact.list_ref is not None)


def tree_refs(fact: TreeRecorded) -> tuple[BlobRef, ...]:
    """Return the blobs that one event names; they may be absent."""
    return tuple(ref for ref in (fact.list_ref, fact.pack_ref) if ref is not None)
