"""The graph of a run: the facts at its nodes, its tips and status, and a drawing for a terminal. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from handrail.contract.ids import NodeId, RunId
from handrail.contract.outcome import make_from
from handrail.engine.artifact_shapes import CAPABILITY_OBSERVATION
from handrail.engine.events import Artifact, Capability, CapabilityObserved, DivergenceRecorded
from handrail.engine.history import (
    Attached,
    Closing,
    History,
    Node,
    attached_to,
    list_tellers,
    path_to,
    way_to,
)
from handrail.engine.navigate import Complete, ExitedLoop, Running, leaf_at, step_key
from handrail.engine.tips import find_tips, is_closed, open_gaps, rank_tip
from handrail.workflows.compiled import CompiledWorkflow

# What applies at a node besides its context: outputs, gaps, capabilities, ended loops. All of it follows
# lineage: the newest fact on the way to the node wins, and a sibling's facts do not count. What was saved
# at a step belongs to every branch that left the step afterwards.


class CurrentArtifact(msgspec.Struct, frozen=True, kw_only=True):
    """The newest artifact of a kind on the way to a node, and the step that delivered it."""

    kind: str
    step_id: str
    node_id: NodeId
    digest: str
    is_validated: bool
    body: dict[str, Any]


def current_artifacts(history: History, node_id: NodeId) -> tuple[CurrentArtifact, ...]:
    """Return one artifact per kind, the most recently delivered last.

    Artifacts that do not match their contract are left out. So is what a blocked attempt delivered, except
    observations, which count at once.
    """
    newest: dict[str, CurrentArtifact] = {}
    for node in way_to(history, node_id):
        attached = attached_to(history, node.node_id)
        for held in attached.artifacts:
            artifact = held.artifact
            if artifact.is_refused or (
                node.kind == "blocked_attempt" and not _is_observed(attached, artifact)
            ):
                continue
            newest.pop(artifact.kind, None)
            newest[artifact.kind] = make_from(
                CurrentArtifact,
                artifact,
                step_id=completed_step(history, node),
                node_id=node.node_id,
                is_validated=bool(artifact.contract_ref),
            )
    return tuple(newest.values())


def _is_observed(attached: Attached, artifact: Artifact) -> bool:
    reported = (artifact.body.get("capability"), artifact.body.get("status"))
    is_seen = any(reported == (seen.capability, seen.status) for seen in attached.capabilities)
    return artifact.kind == CAPABILITY_OBSERVATION and is_seen


def capabilities_at(history: History, node_id: NodeId) -> dict[Capability, CapabilityObserved]:
    """Return what is known about each capability: the latest observation wins."""
    known: dict[Capability, CapabilityObserved] = {}
    for node in list_tellers(history, node_id):
        for seen in attached_to(history, node.node_id).capabilities:
            known[seen.capability] = seen
    return known


def divergences_at(history: History, node_id: NodeId) -> tuple[DivergenceRecorded, ...]:
    """Return where the agent left the instructions on purpose, oldest first."""
    return tuple(
        divergence
        for node in list_tellers(history, node_id)
        for divergence in attached_to(history, node.node_id).divergences
    )


def loop_exits_at(history: History, node_id: NodeId) -> tuple[ExitedLoop, ...]:
    """Return every loop that ended on the way, with its reason."""
    return tuple(
        entry
        for node in path_to(history, node_id)
        for entry in attached_to(history, node.node_id).trace
        if isinstance(entry, ExitedLoop)
    )


def completed_step(history: History, node: Node) -> str:
    """Return the step whose acknowledgement led to a node; empty at the first one."""
    return "" if node.parent is None else step_key(history.nodes[node.parent].state)


# Nodes, tips, the preferred tip and the status

RunStatus: TypeAlias = Literal["in_progress", "blocked", "complete", "complete_with_gaps", "closed"]


class RunGraph(msgspec.Struct, frozen=True, kw_only=True):
    """One run as a tree; nodes in the order of their creation."""

    run_id: RunId
    nodes: tuple[Node, ...]
    children: dict[NodeId, tuple[NodeId, ...]]
    tips: tuple[NodeId, ...]
    """The ends of its branches, where the run can continue; checkpoints of a step that was left are no
    tips.
    """
    forks: frozenset[NodeId]
    """Steps that started a further branch, because their step instance already had a successor."""
    preferred_tip: NodeId
    preferred_path: frozenset[NodeId]
    status: RunStatus
    reach: dict[NodeId, int]
    """For each node the highest event index on the way to it; the preferred tip has the highest of all."""


def run_graph(history: History, run_id: RunId) -> RunGraph:
    """Return the graph of one run of the history."""
    return _graph_of(history, run_id, [node for node in history.nodes.values() if node.run_id == run_id])


def run_graphs(history: History) -> dict[RunId, RunGraph]:
    """Return the graphs of all runs that have a node, in the order of the runs; each node is read once."""
    nodes: dict[RunId, list[Node]] = {run_id: [] for run_id in history.runs}
    for node in history.nodes.values():
        nodes[node.run_id].append(node)
    return {run_id: _graph_of(history, run_id, held) for run_id, held in nodes.items() if held}


def _graph_of(history: History, run_id: RunId, held: Sequence[Node]) -> RunGraph:
    nodes = tuple(held)
    found = find_tips(history, nodes)
    preferred = found.preferred
    return RunGraph(
        run_id=run_id,
        nodes=nodes,
        children={node.node_id: history.children.get(node.node_id, ()) for node in nodes},
        tips=found.tips,
        forks=frozenset(node_id for steps in found.followers.values() for node_id in steps[1:]),
        preferred_tip=preferred,
        preferred_path=frozenset(node.node_id for node in path_to(history, preferred)),
        status="closed"
        if is_closed(history, run_id, nodes)
        else status_at(history, history.nodes[preferred]),
        reach=found.reach,
    )


def closing_at(history: History, graph: RunGraph) -> Closing | None:
    """Return the closing of a run that is closed."""
    return history.closings[graph.run_id][-1] if graph.status == "closed" else None


def status_at(history: History, node: Node) -> RunStatus:
    """Return the status that the run would have if this node were its preferred tip."""
    if isinstance(node.state, Complete):
        return "complete_with_gaps" if open_gaps(history, node.node_id) else "complete"
    return "blocked" if node.kind == "blocked_attempt" else "in_progress"


def preferred_tip_below(history: History, graph: RunGraph, node_id: NodeId) -> NodeId:
    """Return the preferred tip among those below a node; the node itself if it is a tip or leads to none."""
    candidates = frozenset(graph.tips)
    tips: list[NodeId] = []
    waiting = [node_id]
    while waiting:
        current = waiting.pop()
        waiting.extend(graph.children[current])
        if current in candidates:
            tips.append(current)
    return max(tips or [node_id], key=lambda tip: rank_tip(history, graph.reach, tip))


# The drawing: the preferred path straight down, forks beside it

MOST_RAILS = 24
"""Most lanes of a drawing; every node repeats the lines of the other lanes."""
_MARKS = {"step": "o", "checkpoint": "#", "blocked_attempt": "x"}


def lay_out(graph: RunGraph) -> list[tuple[Node, int]]:
    """Return the nodes in reading order, each with its lane.

    Side branches come first, in the lane next to their parent's, so that the straight line continues below
    them. The preferred path has lane 0.
    """
    by_id = {node.node_id: node for node in graph.nodes}
    placed: list[tuple[Node, int]] = []
    waiting = [(graph.nodes[0].node_id, 0)]
    while waiting:
        node_id, lane = waiting.pop()
        placed.append((by_id[node_id], lane))
        below = sorted(graph.children[node_id], key=lambda child: child in graph.preferred_path)
        for number, child in enumerate(reversed(below)):
            waiting.append((child, lane if number == 0 else lane + 1))
    return placed


def draw_run(graph: RunGraph, label: Callable[[Node], str]) -> list[str]:
    """Return one line per node; a branch is indented.

    `*` marks the preferred tip, `o` a step, `#` a checkpoint, `x` a blocked attempt.
    """
    lanes: dict[NodeId | None, int] = {}
    lines: list[str] = []
    for node, lane in lay_out(graph):
        lanes[node.node_id] = lane
        turns = lane - lanes.get(node.parent, lane)  # 1 where a branch begins
        rail = "|  " * min(lane - turns, MOST_RAILS) + "|\\ " * turns
        mark = "*" if node.node_id == graph.preferred_tip else _MARKS[node.kind]
        lines.append(f"{rail}{mark} {label(node)}")
    return lines


def title_at(workflow: CompiledWorkflow, node: Node) -> str:
    """Return the title of the step that is pending at a node; empty when none is."""
    return leaf_at(workflow, node.state).title if isinstance(node.state, Running) else ""
