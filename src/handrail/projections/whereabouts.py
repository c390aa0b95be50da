"""Where a run stands, told to a caller that holds a token of an earlier step. Pure."""

from __future__ import annotations

import msgspec

from handrail.contract.ids import NodeId
from handrail.engine.history import History, Node, path_to, steps_after
from handrail.engine.navigate import leaf_at
from handrail.engine.state import Running, step_key
from handrail.projections.lineage import done_step
from handrail.projections.run_graph import RunStatus, run_graph
from handrail.workflows.compiled import CompiledWorkflow

MOST_STEPS_TOLD = 5


class Whereabouts(msgspec.Struct, frozen=True, kw_only=True):
    """The preferred tip of a run, and what was finished between an earlier node and it."""

    tip: Node
    status: RunStatus
    pending_step_id: str | None
    title: str
    """Of the pending step; empty when the run is finished."""
    done_since: tuple[str, ...]
    """The most recent last, at most five."""
    omitted: int


def moved_on_from(history: History, workflow: CompiledWorkflow, node_id: NodeId) -> Whereabouts | None:
    """Where the run stands, if the step that is pending at a node was finished since; None if it was not."""
    if not steps_after(history, node_id):
        return None
    graph = run_graph(history, history.nodes[node_id].run_id)
    tip = history.nodes[graph.preferred_tip]
    before = {node.node_id for node in path_to(history, node_id)}
    done = [
        done_step(history, node)
        for node in path_to(history, tip.node_id)
        if node.kind == "step" and node.node_id not in before
    ]
    return Whereabouts(
        tip=tip,
        status=graph.status,
        pending_step_id=step_key(tip.state) if isinstance(tip.state, Running) else None,
        title=title_at(workflow, tip),
        done_since=tuple(done[-MOST_STEPS_TOLD:]),
        omitted=max(0, len(done) - MOST_STEPS_TOLD),
    )


def title_at(workflow: CompiledWorkflow, node: Node) -> str:
    """The title of the step that is pending at a node; empty when none is."""
    return leaf_at(workflow, node.state).title if isinstance(node.state, Running) else ""
