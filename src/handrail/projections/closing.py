"""The line that an agent tells its user when a run has ended, from recorded facts. Pure."""

from __future__ import annotations

from handrail.contract.ids import NodeId
from handrail.contract.wording import counted
from handrail.engine.history import History, path_to
from handrail.projections.lineage import open_gaps, skipped_at


def closing_line(history: History, node_id: NodeId) -> str:
    """How the run ended: what was done, what did not run, what is left."""
    run = history.runs[history.nodes[node_id].run_id]
    done = sum(1 for node in path_to(history, node_id) if node.kind == "step" and node.parent is not None)
    passed = {entry.step_id for entry in skipped_at(history, node_id)}
    gaps = open_gaps(history, node_id)
    parts = [
        f"{counted(done, 'step')} done",
        *([f"{len(passed)} passed by"] if passed else []),
        *([f"{counted(len(gaps), 'open gap')}, the first: {gaps[0].summary}"] if gaps else []),
    ]
    told = "; ".join(parts)
    return f"{run.workflow_id} is finished: {told}" + ("" if told.endswith(".") else ".")
