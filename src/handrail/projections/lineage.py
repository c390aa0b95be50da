"""What holds at a node beside its context: outputs, gaps, capabilities, skipped steps. Pure.

All of it follows lineage: the newest fact on the way to the node wins, a sibling's is never seen. What was
saved at a step belongs to every branch that left the step afterwards.
"""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.contract.ids import NodeId
from handrail.engine.events import Artifact, Capability, CapabilityObserved, DivergenceRecorded, GapRecorded
from handrail.engine.history import Attached, History, Node, attached_to, path_to, way_to
from handrail.engine.navigate import ExitedLoop, SkippedStep
from handrail.engine.reported import CAPABILITY_OBSERVATION
from handrail.engine.state import Running, step_key


class CurrentArtifact(msgspec.Struct, frozen=True, kw_only=True):
    """The newest artifact of a kind on the way to a node, and the step that delivered it."""

    kind: str
    step_id: str
    node_id: NodeId
    digest: str
    is_validated: bool
    body: dict[str, Any]


def current_artifacts(history: History, node_id: NodeId) -> tuple[CurrentArtifact, ...]:
    """One per kind, the most recently delivered last.

    What does not fit its contract is not among them, nor what a blocked attempt brought, but for
    observations: they count at once.
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
            newest[artifact.kind] = CurrentArtifact(
                kind=artifact.kind,
                step_id=done_step(history, node),
                node_id=node.node_id,
                digest=artifact.digest,
                is_validated=bool(artifact.contract_ref),
                body=artifact.body,
            )
    return tuple(newest.values())


def _is_observed(attached: Attached, artifact: Artifact) -> bool:
    told = (artifact.body.get("capability"), artifact.body.get("status"))
    is_seen = any(told == (seen.capability, seen.status) for seen in attached.capabilities)
    return artifact.kind == CAPABILITY_OBSERVATION and is_seen


def gaps_at(history: History, node_id: NodeId) -> tuple[GapRecorded, ...]:
    """Every gap on the way to a node, oldest first."""
    return tuple(gap for node in way_to(history, node_id) for gap in attached_to(history, node.node_id).gaps)


def open_gaps(history: History, node_id: NodeId) -> tuple[GapRecorded, ...]:
    """Gaps that nothing later settled; one that settles another, or only informs, is no open one."""
    told = gaps_at(history, node_id)
    settled = {gap.resolves_gap_id for gap in told if gap.resolves_gap_id}
    return tuple(
        gap
        for gap in told
        if gap.gap_id not in settled and not gap.resolves_gap_id and gap.severity != "info"
    )


def capabilities_at(history: History, node_id: NodeId) -> dict[Capability, CapabilityObserved]:
    """What is known about each capability: the latest observation wins."""
    known: dict[Capability, CapabilityObserved] = {}
    for node in way_to(history, node_id):
        for seen in attached_to(history, node.node_id).capabilities:
            known[seen.capability] = seen
    return known


def divergences_at(history: History, node_id: NodeId) -> tuple[DivergenceRecorded, ...]:
    """Where the agent left the instructions on purpose, oldest first."""
    return tuple(
        told for node in way_to(history, node_id) for told in attached_to(history, node.node_id).divergences
    )


def skipped_at(history: History, node_id: NodeId) -> tuple[SkippedStep, ...]:
    """The steps and loops that the run passed by, in the order it did."""
    return tuple(
        entry
        for node in path_to(history, node_id)
        for entry in attached_to(history, node.node_id).trace
        if isinstance(entry, SkippedStep)
    )


def loop_exits_at(history: History, node_id: NodeId) -> tuple[ExitedLoop, ...]:
    """Every loop that ended on the way, with its reason."""
    return tuple(
        entry
        for node in path_to(history, node_id)
        for entry in attached_to(history, node.node_id).trace
        if isinstance(entry, ExitedLoop)
    )


def done_step(history: History, node: Node) -> str:
    """The step whose acknowledgement led to a node; empty at the first one."""
    if node.parent is None:
        return ""
    state = history.nodes[node.parent].state
    return step_key(state) if isinstance(state, Running) else ""
