"""The places where a run can continue, the preferred one, and the gaps on the way there. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from handrail.contract.ids import NodeId, RunId
from handrail.engine.events import GapRecorded
from handrail.engine.history import History, Node, gaps_at, steps_after


def open_gaps(history: History, node_id: NodeId) -> tuple[GapRecorded, ...]:
    """Return gaps that were not resolved later. A gap that resolves another, or only informs, is not open."""
    every = gaps_at(history, node_id)
    resolved = {gap.resolves_gap_id for gap in every if gap.resolves_gap_id}
    return tuple(
        gap
        for gap in every
        if gap.gap_id not in resolved and not gap.resolves_gap_id and gap.severity != "info"
    )


class Tips(msgspec.Struct, frozen=True, kw_only=True):
    """The ends of the branches of a run."""

    tips: tuple[NodeId, ...]
    followers: dict[NodeId, list[NodeId]]
    """The steps that followed a step instance, in the order of their creation."""
    reach: dict[NodeId, int]
    """The highest event index on the way to a node."""
    preferred: NodeId


def find_tips(history: History, nodes: Sequence[Node]) -> Tips:
    """Return the tips among all nodes of one run, which come in the order of the log."""
    reach: dict[NodeId, int] = {}
    for node in nodes:  # a parent is created before its children, so its reach is known
        own = history.last_index[node.node_id]
        reach[node.node_id] = own if node.parent is None else max(own, reach[node.parent])
    instances = _instances(nodes)
    followers = _followers(nodes, instances)
    tips = _tips(nodes, instances, followers)
    preferred = max(tips, key=lambda tip: rank_tip(history, reach, tip))
    return Tips(tips=tips, followers=followers, reach=reach, preferred=preferred)


def find_tip(history: History, run_id: RunId) -> Node:
    """Return the tip whose reachable history has the highest last event index; the clock plays no part."""
    return history.nodes[find_tips(history, nodes_of(history, run_id)).preferred]


def find_newest_wait(history: History, node: Node) -> Node:
    """Return where the same step still waits after an option that was taken at it; for most nodes, the node
    itself.

    Only a step that delegated work is followed by itself.
    """
    following = [held for held in steps_after(history, node.node_id) if held.state == node.state]
    return find_newest_wait(history, following[-1]) if following else node


def nodes_of(history: History, run_id: RunId) -> list[Node]:
    return [node for node in history.nodes.values() if node.run_id == run_id]


def is_closed(history: History, run_id: RunId, nodes: Sequence[Node]) -> bool:
    """Whether a run is closed and has not continued since, whatever its tip is: `closing_of`, from the
    run's nodes alone.

    Only an ack continues a run, and it creates a node that is not a checkpoint.
    """
    closings = history.closings.get(run_id, ())
    return bool(closings) and not any(
        node.kind != "checkpoint" and node.index > closings[-1].index for node in nodes
    )


def _instances(nodes: Sequence[Node]) -> dict[NodeId, NodeId]:
    """Return the step instance of every node (`engine.history.instance_of`), found in one pass."""
    found: dict[NodeId, NodeId] = {}
    for node in nodes:
        if node.kind == "step" or node.parent is None:
            found[node.node_id] = node.node_id
        else:
            found[node.node_id] = found[node.parent]
    return found


def _followers(nodes: Sequence[Node], instances: dict[NodeId, NodeId]) -> dict[NodeId, list[NodeId]]:
    """Return the steps that followed a step instance, in the order of their creation."""
    found: dict[NodeId, list[NodeId]] = {}
    for node in nodes:
        if node.kind == "step" and node.parent is not None:
            found.setdefault(instances[node.parent], []).append(node.node_id)
    return found


def _tips(
    nodes: Sequence[Node], instances: dict[NodeId, NodeId], followers: dict[NodeId, list[NodeId]]
) -> tuple[NodeId, ...]:
    """Return the leaves, without checkpoints of step instances that the run has left."""
    has_more_below: set[NodeId] = set()
    tips: list[NodeId] = []
    for node in reversed(nodes):
        is_leaf = node.node_id not in has_more_below
        if is_leaf and node.kind == "checkpoint" and instances[node.node_id] in followers:
            continue
        if is_leaf:
            tips.append(node.node_id)
        if node.parent is not None:
            has_more_below.add(node.parent)
    return tuple(reversed(tips))


def rank_tip(history: History, reach: dict[NodeId, int], tip: NodeId) -> tuple[int, int, str]:
    return (reach[tip], history.nodes[tip].index, tip)
