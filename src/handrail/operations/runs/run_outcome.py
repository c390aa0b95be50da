"""The outcome of a run: one sentence, its proofs, what is for review, and how long it took."""

from __future__ import annotations

from handrail.contract.ids import NodeId
from handrail.contract.outcome import make_from
from handrail.engine.code_trees import find_changed, find_tree_of
from handrail.engine.history import History, RecordedProof, path_to, way_to
from handrail.engine.navigate import Complete
from handrail.evidence.proof import LABELS
from handrail.evidence.rendering import MOST_SHOWN, describe, list_rows
from handrail.operations.durations import find_seconds
from handrail.projections.summary import summarize_run
from handrail.views.runs import OutcomeRow, ProofRow
from handrail.workflows.compiled import CompiledWorkflow


def find_outcome(history: History, workflow: CompiledWorkflow, node_id: NodeId) -> OutcomeRow:
    """Return the outcome of a run on the way to a node; only a finished run has a sentence."""
    node = history.nodes[node_id]
    summary = summarize_run(history, workflow, node_id) if isinstance(node.state, Complete) else None
    recorded = [one.node_id for one in path_to(history, node_id) if find_tree_of(history, one.node_id)]
    return OutcomeRow(
        sentence="" if summary is None else summary.text,
        seconds=find_seconds(history.runs[node.run_id].started_at, node.at) or 0,
        proofs=list_newest_proofs(history, node_id),
        review=[] if summary is None else list(summary.review),
        changed=find_changed(history, node_id),
        first_tree=recorded[0] if recorded else "",
        last_tree=recorded[-1] if recorded else "",
    )


def list_newest_proofs(history: History, node_id: NodeId) -> list[ProofRow]:
    """Return the newest proof of each check on the way to a node, in the order of the log."""
    newest: dict[str, RecordedProof] = {}
    for node in way_to(history, node_id) if history.proofs else ():
        newest |= {one.fact.proof.check: one for one in history.proofs.get(node.node_id, ())}
    return [_show_proof(one) for one in newest.values()]


def _show_proof(held: RecordedProof) -> ProofRow:
    proof = held.fact.proof
    return make_from(
        ProofRow,
        held.fact,
        held,
        proof,
        check=proof.check or proof.command,
        label=LABELS[proof.word],
        sentence=describe(proof),
        rows=[list(row) for row in list_rows(proof.cells)],
        names=list(proof.names[:MOST_SHOWN]),
    )
