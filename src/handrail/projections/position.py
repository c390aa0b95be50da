"""Where a run stands, in short, for a caller with an older token. Pure."""

from __future__ import annotations

import msgspec

from handrail.contract.ids import NodeId
from handrail.engine.history import History, Node, path_to, steps_after
from handrail.engine.navigate import Running, leaf_at, step_key
from handrail.projections.run_graph import RunStatus, completed_step, run_graph
from handrail.workflows.compiled import CompiledWorkflow

# A newer position than the one that a token names

MOST_STEPS_SHOWN = 5


class NewerPosition(msgspec.Struct, frozen=True, kw_only=True):
    """The preferred tip of a run, and what was finished between an earlier node and it."""

    tip: Node
    status: RunStatus
    pending_step_id: str | None
    title: str
    """Of the pending step; empty when the run is finished."""
    done_since: tuple[str, ...]
    """The most recent last, at most five."""
    omitted: int


def find_newer_position(
    history: History, workflow: CompiledWorkflow, node_id: NodeId
) -> NewerPosition | None:
    """Find where the run stands if the step pending at a node was finished since; None if it was not."""
    if not steps_after(history, node_id):
        return None
    graph = run_graph(history, history.nodes[node_id].run_id)
    tip = history.nodes[graph.preferred_tip]
    before = {node.node_id for node in path_to(history, node_id)}
    done = [
        completed_step(history, node)
        for node in path_to(history, tip.node_id)
        if node.kind == "step" and node.node_id not in before
    ]
    return NewerPosition(
        tip=tip,
        status=graph.status,
        pending_step_id=step_key(tip.state) if isinstance(tip.state, Running) else None,
        title=title_at(workflow, tip),
        done_since=tuple(done[-MOST_STEPS_SHOWN:]),
        omitted=max(0, len(done) - MOST_STEPS_SHOWN),
    )


def title_at(workflow: CompiledWorkflow, node: Node) -> str:
    """The title of the step that is pending at a node; empty when none is."""
    return leaf_at(workflow, node.state).title if isinstance(node.state, Running) else ""
