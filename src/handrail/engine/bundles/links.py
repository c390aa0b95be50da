"""Whether the events of a bundle are consistent: every name refers to what an earlier event created. Pure.

The fold and every reader depend on it, and nothing else would notice a fault. The authentication line shows
who made the events, and a bundle has none, so answers and proofs in it count as those of another store.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from handrail.contract.ids import AttemptId, NodeId, RunId, is_node_id, is_receipt_id, is_run_id
from handrail.contract.json.canonical import digest
from handrail.contract.outcome import Fault
from handrail.engine.bundles.document import (
    event_order_fault,
    malformed_fault,
    missing_workflow_fault,
    too_large_fault,
)
from handrail.engine.bundles.limits import MOST_FOLDED
from handrail.engine.events import (
    AdvanceRecorded,
    Blocked,
    ConfirmationRecorded,
    ContextSet,
    EdgeCreated,
    EventBody,
    EvidenceRecorded,
    GapRecorded,
    NodeCreated,
    NodeOutputAppended,
    ObservationRecorded,
    PreferencesChanged,
    ProofRecorded,
    ReceiptRecorded,
    RunClosed,
    RunStarted,
    Scope,
    SessionAdopted,
    SessionCreated,
    SessionImported,
    TreeRecorded,
)
from handrail.engine.folding import StoredRecord
from handrail.engine.navigate import Running
from handrail.workflows.compiled import CompiledWorkflow, Loop
from handrail.workflows.part_contents import leaves_in_loops

KEY_LIMIT = 256
_KEY = re.compile(r"[a-z0-9_:>-]+")
_DATE = r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
_TIME = re.compile(_DATE + r"T([01][0-9]|2[0-3]):[0-5][0-9]:([0-5][0-9]|60)(\.[0-9]{1,9})?Z")
_ATTEMPT = re.compile(r"[a-z0-9]{1,32}")


class _SeenNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node that an earlier event created."""

    run_id: RunId
    kind: str
    parent: NodeId | None


def check_links(
    records: Sequence[StoredRecord], events: Sequence[EventBody], workflows: Mapping[str, CompiledWorkflow]
) -> None:
    """Check that every name in the events refers to something earlier.

    Raise Fault BUNDLE_EVENT_ORDER_INVALID, BUNDLE_MISSING_PINNED_WORKFLOW, BUNDLE_TOO_LARGE or
    BUNDLE_INVALID_FORMAT if one does not.
    """
    if not events or not isinstance(events[0].data, SessionCreated):
        raise event_order_fault("A session begins with session_created.", "session/events")
    check = _EventLinks(workflows)
    for record, event in zip(records, events, strict=True):
        check.take(record, event)
    check.finish()


class _EventLinks:
    """One walk over the events."""

    def __init__(self, workflows: Mapping[str, CompiledWorkflow]) -> None:
        self._positions = {
            held: {leaf.id: around for leaf, around in leaves_in_loops(flow.steps)}
            for held, flow in workflows.items()
        }
        self._runs: dict[RunId, str] = {}
        """The hash of the workflow of each run."""
        self._nodes: dict[NodeId, _SeenNode] = {}
        self._begun: set[RunId] = set()
        self._edges: set[NodeId] = set()
        self._answers: dict[NodeId, tuple[NodeId, str]] = {}
        """By the node that follows an answer: the node that was answered, and the kind of the node that
        follows.
        """
        self._outputs: set[str] = set()
        self._facts: dict[NodeId, int] = {}
        """Number of facts of each node. Folding copies them with every event, as it does the keys of a
        context.
        """
        self._context_keys: dict[NodeId, int] = {}
        self._folded = 0
        self._path = ""

    def take(self, record: StoredRecord, event: EventBody) -> None:
        self._path = f"session/events/{record.index}"
        is_key = len(record.dedupe_key) <= KEY_LIMIT and _KEY.fullmatch(record.dedupe_key)
        self._require(is_key, "has a dedupe key that no log takes")
        self._require(_TIME.fullmatch(event.at), "has a time that is not UTC")
        scope = event.scope
        if not isinstance(event.data, RunStarted | NodeCreated):
            self._require_scope(scope)
        match event.data:
            case SessionCreated():
                self._require_order(record.index == 0, "A session is created once.")
            case ObservationRecorded(key="own_project" | "worker"):
                self._require(scope.run_id, "is about a run and names none")
            case ObservationRecorded() | SessionImported() | SessionAdopted():
                pass
            case RunStarted(workflow_hash=workflow_hash, parent=parent):
                self._start(scope.run_id, workflow_hash)
                if parent is not None:
                    self._require_node(parent.run_id, parent.node_id)
            case NodeCreated() as created:
                self._create(scope.run_id, scope.node_id, created)
            case EdgeCreated() as edge:
                self._connect(scope.run_id, edge)
            case (
                RunClosed(node_id=node_id)
                | ConfirmationRecorded(node_id=node_id)
                | EvidenceRecorded(node_id=node_id)
                | ProofRecorded(node_id=node_id)
                | TreeRecorded(node_id=node_id)
                | ReceiptRecorded(node_id=node_id)
            ):
                if isinstance(event.data, ReceiptRecorded):
                    self._require(is_receipt_id(event.data.receipt_id), "is a receipt without an id")
                self._add_fact(scope.run_id, node_id, event)
            case GapRecorded(node_id=node_id) if node_id is not None:
                self._add_fact(scope.run_id, node_id, event)
            case PreferencesChanged() if scope.node_id is None:
                pass
            case NodeOutputAppended() as output if scope.node_id is None:
                # DESIGN 9: an output without a node belongs to the session itself, and is notes.
                self._require(output.notes is not None and scope.run_id is None, "is not notes of a session")
                self._output(output)
            case _:
                self._add_fact(scope.run_id, scope.node_id, event)

    def finish(self) -> None:
        """Check what is known only at the end: that no reference is left without its target."""
        self._path = "session/events"
        if set(self._runs) != self._begun:
            raise malformed_fault("A run has no node.", self._path)
        if {node_id for node_id, seen in self._nodes.items() if seen.parent} != self._edges:
            raise malformed_fault("A node is not connected to the node before it.", self._path)
        for to_node_id, expected in self._answers.items():
            seen = self._nodes.get(to_node_id)
            if seen is None or (seen.parent, seen.kind) != expected:
                raise malformed_fault("An answer leads to a node that does not follow from it.", self._path)

    def _start(self, run_id: RunId | None, workflow_hash: str) -> None:
        if run_id is None or not is_run_id(run_id) or run_id in self._runs:
            raise self._malformed("starts a run without an id of its own")
        if workflow_hash not in self._positions:
            raise missing_workflow_fault(workflow_hash)
        self._runs[run_id] = workflow_hash

    def _create(self, run_id: RunId | None, node_id: NodeId | None, created: NodeCreated) -> None:
        if run_id is None or run_id not in self._runs:
            raise event_order_fault("A node stands before its run.", self._path)
        if node_id is None or not is_node_id(node_id) or node_id in self._nodes:
            raise self._malformed("creates a node without an id of its own")
        parent = created.parent_node_id
        if parent is None:
            is_first = run_id not in self._begun and created.node_kind == "step"
            self._require(is_first, "is a second beginning of its run")
            self._begun.add(run_id)
        else:  # a parent that comes later would make a cycle
            self._require_node(run_id, parent)
        if isinstance(created.state, Running):
            is_known = _is_position(self._positions[self._runs[run_id]], created.state)
            self._require(is_known, "stands at a position that its workflow does not have")
        is_saved = created.node_kind != "checkpoint" or _is_attempt(created.attempt_id)
        self._require(is_saved, "is a checkpoint without its attempt")
        self._context_keys[node_id] = 0 if parent is None else self._context_keys[parent]
        self._nodes[node_id] = _SeenNode(run_id=run_id, kind=created.node_kind, parent=parent)

    def _connect(self, run_id: RunId | None, edge: EdgeCreated) -> None:
        child = self._require_node(run_id, edge.to_node_id)
        is_next = child.parent == edge.from_node_id and edge.to_node_id not in self._edges
        self._require(is_next, "connects nodes that do not follow from each other")
        self._edges.add(edge.to_node_id)

    def _require_scope(self, scope: Scope) -> None:
        if scope.node_id is not None:
            self._require_node(scope.run_id, scope.node_id)
        elif scope.run_id is not None:
            self._require_order(scope.run_id in self._runs, "An event stands before its run.")

    def _require_node(self, run_id: RunId | None, node_id: NodeId | None) -> _SeenNode:
        """Return the node that an earlier event created in this run."""
        seen = None if node_id is None else self._nodes.get(node_id)
        if seen is None:
            raise event_order_fault("An event names a node that stands not before it.", self._path)
        self._require(seen.run_id == run_id, "names a node of another run")
        return seen

    def _add_fact(self, run_id: RunId | None, node_id: NodeId | None, event: EventBody) -> None:
        """Count a fact about a node; what folding copies for it is counted before anything is folded."""
        self._require_node(run_id, node_id)
        assert node_id is not None, "there is such a node"
        match event.data:
            case ContextSet(context=delta):
                self._context_keys[node_id] += len(delta)
                self._folded += self._context_keys[node_id]
            case AdvanceRecorded() as answered:
                self._answer(node_id, answered)
            case data:
                if isinstance(data, NodeOutputAppended):
                    self._output(data)
                self._facts[node_id] = self._facts.get(node_id, 0) + 1
                self._folded += self._facts[node_id]
        if self._folded > MOST_FOLDED:
            raise too_large_fault("values that change from step to step", self._folded, MOST_FOLDED)

    def _answer(self, node_id: NodeId, answered: AdvanceRecorded) -> None:
        outcome = answered.outcome
        is_possible = _is_attempt(answered.attempt_id) and outcome.to_node_id not in self._answers
        self._require(is_possible, "answers an attempt that cannot be")
        is_blocked = isinstance(outcome, Blocked)
        self._require(not isinstance(outcome, Blocked) or outcome.blockers, "is blocked by nothing")
        self._answers[outcome.to_node_id] = (node_id, "blocked_attempt" if is_blocked else "step")

    def _output(self, output: NodeOutputAppended) -> None:
        is_one = (output.notes is None) != (output.artifact is None) and output.output_id not in self._outputs
        self._require(is_one, "is an output without one content and an id of its own")
        if output.artifact is not None:
            is_whole = _digest(output.artifact.body) == output.artifact.digest
            self._require(is_whole, "has an artifact with another digest")
        self._outputs.add(output.output_id)

    def _require(self, held: object, otherwise: str) -> None:
        if not held:
            raise self._malformed(otherwise)

    def _require_order(self, held: object, otherwise: str) -> None:
        if not held:
            raise event_order_fault(otherwise, self._path)

    def _malformed(self, what: str) -> Fault:
        return malformed_fault(f"Event {self._path.rpartition('/')[2]} {what}.", self._path)


def _is_position(around: Mapping[str, tuple[Loop, ...]], state: Running) -> bool:
    """Whether this step exists, inside exactly these loops, at iterations that can happen."""
    loops = around.get(state.step_id)
    if loops is None or [loop.id for loop in loops] != [frame.loop_id for frame in state.loops]:
        return False
    pairs = zip(loops, state.loops, strict=True)
    return all(0 <= frame.iteration < loop.max_iterations for loop, frame in pairs)


def _is_attempt(attempt_id: AttemptId | None) -> bool:
    return attempt_id is not None and _ATTEMPT.fullmatch(attempt_id) is not None


def _digest(body: dict[str, object]) -> str:
    try:
        return digest(body)
    except Fault:
        return ""
