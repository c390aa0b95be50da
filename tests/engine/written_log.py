"""A session log written by the engine's plans and chained as every store chains it, without a store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from handrail.contract.ids import (
    AttemptId,
    BlobRef,
    ObservationKey,
    RunId,
    SessionId,
    WorkflowHash,
    WorkflowId,
)
from handrail.contract.json.canonical import chain_digest
from handrail.engine.decide import Attempt, decide_advance, decide_checkpoint, decide_start
from handrail.engine.events import NodeCreated, PlannedEvent, PreferencesDelta, RunStarted, encode_event
from handrail.engine.facts import WorkDone
from handrail.engine.folding import extend, fold
from handrail.engine.gathered import Gathered, StartFacts
from handrail.engine.history import History, Node
from handrail.ports.log import Record
from handrail.workflows.compiled import CompiledWorkflow, Part, Step

SESSION_ID = SessionId("ses_000000000001")
RUN_ID = RunId("run_000000000001")
WORKFLOW_HASH = WorkflowHash("sha256:" + "0" * 64)
AT = "2027-01-15T08:00:00.000Z"


def compiled(*step_ids: str, confirmed: Sequence[str] = ()) -> CompiledWorkflow:
    """A workflow with these steps, titled like their ids in capitals."""
    return workflow_of(*(step(step_id, require_confirmation=step_id in confirmed) for step_id in step_ids))


def step(step_id: str, **fields: Any) -> Step:
    """A step titled like its id in capitals."""
    return Step(**{"id": step_id, "title": step_id.upper(), "prompt": f"Do {step_id}."} | fields)


def workflow_of(*parts: Part, **fields: Any) -> CompiledWorkflow:
    """A workflow made of these parts."""
    return CompiledWorkflow(
        v=1,
        id=WorkflowId("project.test"),
        kind="workflow",
        name="Test",
        description="For tests.",
        version="1.0.0",
        steps=parts,
        **fields,
    )


def attempt(number: int) -> AttemptId:
    return AttemptId(f"{number:07d}")


def work(
    notes: str = "",
    context: dict[str, Any] | None = None,
    ref: BlobRef | None = None,
    artifacts: Sequence[dict[str, Any]] = (),
    option: int | None = None,
) -> WorkDone:
    return WorkDone(
        input_digest=f"digest of {notes[:20]}",
        notes=notes,
        notes_ref=ref,
        context=context or {},
        artifacts=tuple(artifacts),
        option=option,
    )


def start_facts(
    workflow: CompiledWorkflow,
    run_id: RunId = RUN_ID,
    context: dict[str, Any] | None = None,
    observations: dict[ObservationKey, str] | None = None,
    preferences: PreferencesDelta | None = None,
) -> StartFacts:
    return StartFacts(
        session_id=SESSION_ID,
        run_id=run_id,
        workflow=workflow,
        started=RunStarted(
            workflow_id=workflow.id,
            workflow_hash=WORKFLOW_HASH,
            source_kind="project",
            source_ref="test.json",
            input_digest="digest of start",
        ),
        context=context or {},
        observations=observations or {},
        preferences=preferences or PreferencesDelta(),
    )


def tried(
    workflow: CompiledWorkflow, node: Node, attempt_id: AttemptId, done: WorkDone
) -> tuple[Attempt, Gathered]:
    """A report at a node, and nothing seen around it."""
    return Attempt(node=node, attempt_id=attempt_id), Gathered(workflow=workflow, work=done)


class WrittenLog:
    """Plans go in, nodes come out; `records` and `history` are what a store would hold and tell."""

    def __init__(self, *step_ids: str, workflow: CompiledWorkflow | None = None) -> None:
        self.workflow = workflow or compiled(*(step_ids or ("a", "b", "c")))
        self.records: list[Record] = []
        self.history: History = fold(SESSION_ID, ())
        self._attempts = 0

    def start(
        self,
        run_id: RunId = RUN_ID,
        context: dict[str, Any] | None = None,
        preferences: PreferencesDelta | None = None,
    ) -> Node:
        facts = start_facts(self.workflow, run_id, context, preferences=preferences)
        return self._node_of(decide_start(self.history, facts))

    def advance(self, node: Node, notes: str = "", context: dict[str, Any] | None = None) -> Node:
        """Acknowledge the node with an attempt that was never used."""
        return self.report(node, work(notes, context))

    def report(self, node: Node, done: WorkDone) -> Node:
        """Acknowledge the node with this report; a blocked attempt is a node too."""
        return self._node_of(decide_advance(self.history, *tried(self.workflow, node, self._fresh(), done)))

    def checkpoint(self, node: Node, notes: str = "", artifacts: Sequence[dict[str, Any]] = ()) -> Node:
        saved = work(notes, artifacts=artifacts)
        return self._node_of(
            decide_checkpoint(self.history, *tried(self.workflow, node, self._fresh(), saved))
        )

    def walk(self, node: Node, *notes: str) -> Node:
        """Advance once per text."""
        for text in notes:
            node = self.advance(node, text)
        return node

    def take(self, plan: Sequence[PlannedEvent], at: str = AT) -> list[Record]:
        """Commit a plan; the records it became."""
        added: list[Record] = []
        digest = self.history.head_digest
        for place, planned in enumerate(plan, start=len(self.records)):
            body = encode_event(planned, at)
            digest = chain_digest(digest, planned.dedupe_key, body)
            added.append(Record(index=place, dedupe_key=planned.dedupe_key, body=body, digest=digest))
        self.records += added
        self.history = extend(self.history, added)
        return added

    def _fresh(self) -> AttemptId:
        self._attempts += 1
        return attempt(self._attempts)

    def _node_of(self, plan: Sequence[PlannedEvent]) -> Node:
        """Commit a plan that creates one node."""
        self.take(plan)
        (created,) = [planned.scope.node_id for planned in plan if isinstance(planned.data, NodeCreated)]
        assert created is not None, "a node is created in its own scope"
        return self.history.nodes[created]
