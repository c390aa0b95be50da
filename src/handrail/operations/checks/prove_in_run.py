"""The part of `check.prove` that knows runs: the start of a step's change, and recording proofs.

A proof is recorded at the pending step of a run, or later at the gap that it closes. Replies that were
recorded before stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import UNSET, UnsetType

from handrail.contract.ids import NodeId
from handrail.contract.outcome import Fault, NextCall, refuse_argument
from handrail.contract.wording import quote
from handrail.engine.events import GapRecorded, PlannedEvent, ProofRecorded
from handrail.engine.history import History, Node, attached_to, gaps_at, list_tellers
from handrail.engine.judge.proofs import choose_for_step, find_base, resolve_proof_gaps
from handrail.engine.judge.resolving import list_unresolved
from handrail.engine.navigate import Running, leaf_at
from handrail.engine.plans import plan_proof, plan_resolution
from handrail.engine.tips import find_tip
from handrail.evidence.proof import Proof
from handrail.operations.finding import find_run
from handrail.operations.kept_trees import is_project_of
from handrail.operations.pending_step import find_open_work
from handrail.runtime.runtime import ReadPorts, WritePorts
from handrail.runtime.sessions import (
    PlanWith,
    Session,
    decide_and_commit,
    load_pinned_workflow,
    require_healthy,
)
from handrail.workflows.compiled import Step


class ProvenRun(msgspec.Struct, frozen=True, kw_only=True):
    """The run that a proof belongs to, and where its change begins."""

    session: Session
    node: Node
    """The pending node, or the end of the run."""
    base: str
    """A git tree; empty if unknown."""
    step_id: str = ""
    """The pending step; empty if the run is finished."""


def find_proven_run(rt: ReadPorts, project: str, run: str | UnsetType) -> ProvenRun | None:
    """Return the run of this id, else the only one in progress in a project; None if there is none.

    Raise Fault SESSION_NOT_FOUND and VALIDATION_ERROR for a run that is named.
    """
    if run is UNSET:
        try:
            work = find_open_work(rt, project).runs
        except Fault:  # without a readable store, the proof is not recorded
            return None
        if len(work) != 1:
            return None
        session, run_id = work[0].session, work[0].run_id
    else:
        found = find_run(rt, run)
        session, run_id = found.session, found.run.run_id
        require_healthy(session)
    node = find_tip(session.history, run_id)
    if not is_project_of(rt.workspace, session.history, node.node_id, project):
        if run is UNSET:
            return None
        raise refuse_argument(
            f"The run {quote(run)} belongs to another project.",
            "run",
            "belongs to another project",
            "a run of this project",
            hint="Go to the folder of the run, then prove it there.",
            next_call=NextCall(operation="session.list", params={}),
        )
    return _describe(rt, session, node)


def _describe(rt: ReadPorts, session: Session, node: Node) -> ProvenRun:
    history = session.history
    workflow = load_pinned_workflow(rt.log, history.runs[node.run_id].workflow_hash)
    if isinstance(node.state, Running):
        leaf = leaf_at(workflow, node.state)
        demand = leaf.proof if isinstance(leaf, Step) else None
        return ProvenRun(
            session=session, node=node, base=find_base(history, node.node_id, demand), step_id=leaf.id
        )
    waiting = (gap.waits_for for gap in list_unresolved(gaps_at(history, node.node_id)))
    bases = [
        held.values["base"] for held in waiting if held and held.kind == "proof" and "base" in held.values
    ]
    return ProvenRun(
        session=session, node=node, base=bases[-1] if bases else find_base(history, node.node_id)
    )


def record_proofs(rt: WritePorts, target: ProvenRun, proofs: Sequence[Proof]) -> Session:
    """Record proofs at the run's present node, close the gaps that they answer, and return the session."""
    facts = [
        ProofRecorded(node_id=target.node.node_id, proof=proof, machine=rt.team_client) for proof in proofs
    ]

    def decide(now: Session) -> PlanWith:
        plan = [plan_proof(target.node, fact) for fact in facts]
        plan += _plan_resolutions(now.history, target, proofs)
        return lambda _: plan

    session, _ = decide_and_commit(rt, target.session, decide, by_token=False)
    return session


def _plan_resolutions(history: History, target: ProvenRun, proofs: Sequence[Proof]) -> list[PlannedEvent]:
    """Return events that close the open gaps of steps that needed these proofs."""
    word = choose_for_step(proofs)
    node_id = target.node.node_id
    places: dict[str, NodeId] = {
        gap.gap_id: node.node_id
        for node in list_tellers(history, node_id)
        for gap in attached_to(history, node.node_id).gaps
    }
    plan: list[PlannedEvent] = []
    for gap in resolve_proof_gaps(gaps_at(history, node_id), word, target.base) if word else ():
        resolved: GapRecorded = msgspec.structs.replace(gap, node_id=places[gap.resolves_gap_id])
        plan += plan_resolution(history, resolved)
    return plan
