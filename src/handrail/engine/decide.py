"""What happens next, as a plan of events. Pure: time, ids and digests are arguments.

In every plan the ledger anchor (`run_started`, `advance_recorded`, a checkpoint's `node_created`)
is the run's first event.
"""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.contract.ids import (
    AttemptId,
    BlobRef,
    NodeId,
    RunId,
    SessionId,
    WorkflowHash,
    first_node_of,
    node_after,
)
from handrail.contract.vocabulary import ObservationKey, SourceKind
from handrail.engine.events import (
    Advanced,
    AdvanceRecorded,
    ContextSet,
    EdgeCause,
    EdgeCreated,
    EdgeKind,
    Event,
    NodeCreated,
    NodeOutputAppended,
    NotesKept,
    NotesStored,
    ObservationRecorded,
    PlannedEvent,
    RunStarted,
    Scope,
    SessionCreated,
)
from handrail.engine.history import History, Node, step_children
from handrail.engine.state import Complete, Running, State
from handrail.workflows.compiled import CompiledWorkflow

RECAP_EXCERPT_BYTES = 4_096
"""Notes up to this size stand in the event; longer ones go to a blob, and recaps show this much."""


class StartFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a start brings with it."""

    session_id: SessionId
    run_id: RunId
    workflow: CompiledWorkflow
    workflow_hash: WorkflowHash
    source_kind: SourceKind
    source_ref: str
    input_digest: str
    context: dict[str, Any]
    observations: dict[ObservationKey, str]


class WorkDone(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent reports with an ack or a checkpoint."""

    input_digest: str
    notes: str = ""
    notes_ref: BlobRef | None = None
    """Where the whole notes are kept when they are longer than an event holds."""
    context: dict[str, Any] = {}


def decide_start(history: History, facts: StartFacts, salt: int = 0) -> list[PlannedEvent]:
    """A run and its first node, in a session that may be new."""
    run = Scope(run_id=facts.run_id)
    first = first_node_of(facts.run_id, salt)
    at_first = Scope(run_id=facts.run_id, node_id=first)
    plan = _session_opening(history, facts)
    started = RunStarted(
        workflow_id=facts.workflow.id,
        workflow_hash=facts.workflow_hash,
        source_kind=facts.source_kind,
        source_ref=facts.source_ref,
        input_digest=facts.input_digest,
    )
    plan.append(_event(f"run_started:{facts.run_id}", run, started))
    created = NodeCreated(node_kind="step", state=Running(step_id=facts.workflow.steps[0].id))
    plan.append(_event(f"node_created:{first}", at_first, created))
    if facts.context:
        initial = ContextSet(context=facts.context, source="initial")
        plan.append(_event(f"context_set:{first}", at_first, initial))
    return plan


def decide_advance(
    history: History,
    workflow: CompiledWorkflow,
    node: Node,
    attempt_id: AttemptId,
    work: WorkDone,
    salt: int = 0,
) -> list[PlannedEvent]:
    """Acknowledge the pending step of a node. Where a step follows already, a second one is a fork."""
    cause: EdgeCause = "non_tip_advance" if step_children(history, node.node_id) else "advance"
    to_node_id = node_after(node.node_id, attempt_id, "advance", salt)
    recorded = AdvanceRecorded(
        attempt_id=attempt_id, input_digest=work.input_digest, outcome=Advanced(to_node_id=to_node_id)
    )
    anchor_scope = Scope(run_id=node.run_id, node_id=node.node_id)
    created = NodeCreated(
        node_kind="step", parent_node_id=node.node_id, state=next_state(workflow, node.state)
    )
    return [
        _event(f"advance_recorded:{node.node_id}:{attempt_id}", anchor_scope, recorded),
        _event(f"node_created:{to_node_id}", Scope(run_id=node.run_id, node_id=to_node_id), created),
        _edge(node, to_node_id, "acked_step", cause),
        *_work_events(node.run_id, to_node_id, work),
    ]


def decide_checkpoint(node: Node, attempt_id: AttemptId, work: WorkDone, salt: int = 0) -> list[PlannedEvent]:
    """Keep notes at a node without moving the run: the pending step stays what it was."""
    to_node_id = node_after(node.node_id, attempt_id, "checkpoint", salt)
    created = NodeCreated(
        node_kind="checkpoint",
        parent_node_id=node.node_id,
        state=node.state,
        attempt_id=attempt_id,
        input_digest=work.input_digest,
    )
    return [
        _event(f"node_created:{to_node_id}", Scope(run_id=node.run_id, node_id=to_node_id), created),
        _edge(node, to_node_id, "checkpoint", "checkpoint_created"),
        *_work_events(node.run_id, to_node_id, work),
    ]


def next_state(workflow: CompiledWorkflow, state: State) -> State:
    """The position after the pending step is acknowledged."""
    assert isinstance(state, Running), "only a pending step can be acknowledged"
    ids = [step.id for step in workflow.steps]
    following = ids.index(state.step_id) + 1
    return Running(step_id=ids[following]) if following < len(ids) else Complete()


def _session_opening(history: History, facts: StartFacts) -> list[PlannedEvent]:
    plan = []
    if history.head == 0:
        plan.append(_event(f"session_created:{facts.session_id}", Scope(), SessionCreated()))
    for key, value in sorted(facts.observations.items()):
        if history.observations.get(key) != value:
            seen = ObservationRecorded(key=key, value=value)
            plan.append(_event(f"observation_recorded:{facts.run_id}:{key}", Scope(), seen))
    return plan


def _work_events(run_id: RunId, node_id: NodeId, work: WorkDone) -> list[PlannedEvent]:
    """Notes and context belong to the node they lead to, so a fork never sees its sibling's."""
    scope = Scope(run_id=run_id, node_id=node_id)
    plan = []
    if work.context:
        delta = ContextSet(context=work.context, source="agent_delta")
        plan.append(_event(f"context_set:{node_id}", scope, delta))
    if work.notes:
        output_id = f"out_{node_id.removeprefix('nod_')}_recap"
        appended = NodeOutputAppended(output_id=output_id, channel="recap", notes=_notes(work))
        plan.append(_event(f"node_output_appended:{output_id}", scope, appended))
    return plan


def _notes(work: WorkDone) -> NotesKept | NotesStored:
    if work.notes_ref is None:
        return NotesKept(text=work.notes)
    encoded = work.notes.encode()
    return NotesStored(excerpt=excerpt(work.notes), ref=work.notes_ref, size_bytes=len(encoded))


def excerpt(notes: str, limit: int = RECAP_EXCERPT_BYTES) -> str:
    """The leading bytes of a text, cut between characters."""
    return notes.encode()[:limit].decode(errors="ignore")


def _edge(node: Node, to_node_id: NodeId, kind: EdgeKind, cause: EdgeCause) -> PlannedEvent:
    edge = EdgeCreated(edge_kind=kind, from_node_id=node.node_id, to_node_id=to_node_id, cause=cause)
    return _event(f"edge_created:{node.node_id}->{to_node_id}", Scope(run_id=node.run_id), edge)


def _event(dedupe_key: str, scope: Scope, data: Event) -> PlannedEvent:
    return PlannedEvent(dedupe_key=dedupe_key, scope=scope, data=data)
