"""Whether a bundle holds what a run can continue with: workflows safe to walk, and events that agree. Pure.

What we compiled and wrote keeps these rules by construction, and the fold relies on them; what somebody else
wrote may hold anything. Every workflow is whole and known, every link has two ends, and time runs forward.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from handrail.contract.ids import AttemptId, NodeId, RunId, is_node_id, is_receipt_id, is_run_id, node_tag
from handrail.contract.json.canonical import digest
from handrail.contract.outcome import Fault, Json
from handrail.contract.wording import quote
from handrail.engine.bundles.document import (
    event_order_fault,
    malformed_fault,
    missing_workflow_fault,
    newer_version_fault,
    too_large_fault,
)
from handrail.engine.bundles.limits import MOST_CONTRACT_PLACES, MOST_FOLDED
from handrail.engine.events import (
    MOST_TRACE_ENTRIES,
    AdvanceRecorded,
    Blocked,
    ConfirmationRecorded,
    ContextSet,
    DecisionTraceAppended,
    EdgeCreated,
    Event,
    EventBody,
    EvidenceRecorded,
    GapRecorded,
    NodeCreated,
    NodeKind,
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
from handrail.workflows import limits
from handrail.workflows.compiled import (
    VERSIONS,
    Action,
    Choice,
    CompiledWorkflow,
    Delegate,
    Loop,
    Part,
    PatternRule,
    Step,
    list_leaves,
    list_required_contracts,
)
from handrail.workflows.compiling.shelf import find_contract_problems
from handrail.workflows.contracts.heavy_parts import (
    count_contract_places,
    find_heavy_contracts,
    find_heavy_parts,
)
from handrail.workflows.contracts.patterns import explain_pinned_refusal
from handrail.workflows.part_contents import conditions_of, leaves_in_loops, walk_rules

# Compiled workflows that came from elsewhere


def check_workflows(pinned: Mapping[str, Json]) -> dict[str, CompiledWorkflow]:
    """The workflows by hash.

    Raises Fault BUNDLE_UNSUPPORTED_VERSION, BUNDLE_INVALID_FORMAT or BUNDLE_TOO_LARGE.
    """
    checked = {}
    places = 0
    for workflow_hash in sorted(pinned):
        workflow = _decoded(workflow_hash, pinned[workflow_hash])
        places += count_contract_places(workflow)
        if places > MOST_CONTRACT_PLACES:
            raise too_large_fault("places in the schemas of its contracts", places, MOST_CONTRACT_PLACES)
        _check(workflow_hash, workflow)
        checked[workflow_hash] = workflow
    return checked


def _decoded(workflow_hash: str, plain: Json) -> CompiledWorkflow:
    path = f"session/pinnedWorkflows/{workflow_hash}"
    if plain.get("v") not in VERSIONS:
        message = "A pinned workflow was compiled by a version that is not known here."
        raise newer_version_fault(message, path, found=str(plain.get("v")), supported=max(VERSIONS))
    try:
        return msgspec.convert(plain, CompiledWorkflow)
    except msgspec.ValidationError as error:
        raise malformed_fault(f"A pinned workflow has another shape: {error}"[:512], path) from error


def _check(workflow_hash: str, workflow: CompiledWorkflow) -> None:
    problem = next(_problems(workflow), "")
    if problem:
        path = f"session/pinnedWorkflows/{workflow_hash}"
        raise malformed_fault(f"A pinned workflow cannot be executed: {problem}"[:512], path)


def _problems(workflow: CompiledWorkflow) -> Iterator[str]:
    """The first problem ends the check."""
    for heavy in find_heavy_contracts(workflow):
        yield heavy.message
    yield from _broken_contracts(workflow)
    yield from _misplaced(workflow)
    yield from _slow_rules(workflow.steps)
    for heavy in find_heavy_parts(workflow):
        yield heavy.message


def _misplaced(workflow: CompiledWorkflow) -> Iterator[str]:
    ids: set[str] = set()
    waiting: list[tuple[Part, int]] = [(part, 0) for part in workflow.steps]
    if not waiting:
        yield "it has no steps"
    while waiting:
        part, depth = waiting.pop()
        if part.id in ids:
            yield "an id is used twice"
        ids.add(part.id)
        if len(ids) > limits.MAX_PARTS:
            yield "it has too many steps"
        yield from _dangling(workflow, part)
        if isinstance(part, Loop):
            yield from _endless(part, depth)
            waiting += [(inner, depth + 1) for inner in part.body]


def _broken_contracts(workflow: CompiledWorkflow) -> Iterator[str]:
    """A contract is checked like the file of one: it decides what a run accepts, and what that costs."""
    if len(workflow.contracts) > limits.MAX_PARTS:
        yield "it has too many contracts"
        return
    for contract_id, contract in sorted(workflow.contracts.items()):
        if len(contract.guidance) > limits.MAX_DESCRIPTION_CHARACTERS:
            yield f"the guidance of the contract {quote(contract_id)} is too long"
        for problem in find_contract_problems(contract)[:1]:
            yield f"the contract {quote(contract_id)} is broken. {problem.message}"


def _dangling(workflow: CompiledWorkflow, part: Part) -> Iterator[str]:
    """Check that every name leads somewhere."""
    match part:
        case Step():
            if part.contract and part.contract not in workflow.contracts:
                yield "a step names a contract that is not there"
            if not set(list_required_contracts(part)) <= set(workflow.contracts):
                yield "a step requires a contract that is not there"
            if not set(part.functions) <= set(workflow.functions):
                yield "a step names a function that is not there"
        case Choice(options=options):
            if not options or len({option.id for option in options}) != len(options):
                yield "a choice has no options, or two with one id"
        case Delegate(children=children):
            if not children or len({child.id for child in children}) != len(children):
                yield "a step delegates nothing, or two children with one id"
            if len(children) > limits.MAX_CHILDREN or (part.for_each and len(children) > 1):
                yield "a step delegates too much"
        case Loop() | Action():
            pass
    if not set(conditions_of(part)) <= set(workflow.conditions):
        yield "a condition is named that is not there"


def _endless(loop: Loop, depth: int) -> Iterator[str]:
    if not 1 <= loop.max_iterations <= limits.MAX_ITERATIONS:
        yield "a loop may run too often"
    if depth >= limits.MAX_LOOP_DEPTH:
        yield "loops are nested too deep"
    if not loop.body:
        yield "a loop is empty"


def _slow_rules(parts: tuple[Part, ...]) -> Iterator[str]:
    """A bundle of an older version may have look-around: it was pinned, and is held to what is quick."""
    steps = (leaf for leaf in list_leaves(parts) if isinstance(leaf, Step))
    for rule in (rule for step in steps for rule in walk_rules(step.rules)):
        if isinstance(rule, PatternRule) and explain_pinned_refusal(rule.pattern, rule.flags):
            yield "a rule has a pattern that is refused"


KEY_LIMIT = 256

_KEY = re.compile(r"[a-z0-9_:>-]+")
_DATE = r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
_TIME = re.compile(_DATE + r"T([01][0-9]|2[0-3]):[0-5][0-9]:([0-5][0-9]|60)(\.[0-9]{1,9})?Z")
_ATTEMPT = re.compile(r"[a-z0-9]{1,32}")


_ABOUT_RUN: dict[type[Event], str] = {
    RunClosed: "closes a run at a node of another one",
    ConfirmationRecorded: "confirms a step at a node of another run",
    EvidenceRecorded: "judges a report at a node of another run",
    ProofRecorded: "is a proof at a node of another run",
    TreeRecorded: "is a tree at a node of another run",
}
"""What a fact about a run does that names a node elsewhere."""


class _Seen(msgspec.Struct, frozen=True, kw_only=True):
    """A node that an earlier event created."""

    run_id: RunId
    kind: NodeKind
    parent: NodeId | None


def check_events(
    records: Sequence[StoredRecord], events: Sequence[EventBody], workflows: Mapping[str, CompiledWorkflow]
) -> None:
    """Raises Fault BUNDLE_EVENT_ORDER_INVALID, BUNDLE_MISSING_PINNED_WORKFLOW or BUNDLE_INVALID_FORMAT."""
    if not events or not isinstance(events[0].data, SessionCreated):
        raise event_order_fault("A session begins with session_created.", "session/events")
    check = _LineageCheck(workflows)
    for record, event in zip(records, events, strict=True):
        check.take(record, event)
    check.finish()


class _LineageCheck:
    """One walk over the events."""

    def __init__(self, workflows: Mapping[str, CompiledWorkflow]) -> None:
        self._workflows = workflows
        self._positions = {
            held: {leaf.id: around for leaf, around in leaves_in_loops(flow.steps)}
            for held, flow in workflows.items()
        }
        self._runs: dict[RunId, str] = {}
        """The hash of the workflow of each."""
        self._nodes: dict[NodeId, _Seen] = {}
        self._first: set[RunId] = set()
        self._tags: set[str] = set()
        self._edges: set[NodeId] = set()
        self._answers: dict[NodeId, tuple[NodeId, bool, str]] = {}
        self._outputs: set[str] = set()
        self._facts: dict[NodeId, int] = {}
        """How many facts a node has that its attempt brought."""
        self._context_keys: dict[NodeId, int] = {}
        """How many keys the context of a node may have."""
        self._receipts: set[str] = set()
        self._folded = 0
        self._path = ""

    def take(self, record: StoredRecord, event: EventBody) -> None:
        # Somebody else wrote this, so every name must lead to something that an earlier event made, in its
        # own run; and what folding would copy per event is counted before it is folded.
        self._path = f"session/events/{record.index}"
        if len(record.dedupe_key) > KEY_LIMIT or not _KEY.fullmatch(record.dedupe_key):
            raise self._malformed("has a dedupe key that no log takes")
        if not _TIME.fullmatch(event.at):
            raise self._malformed("has a time that is not UTC")
        if record.index and isinstance(event.data, SessionCreated):
            raise event_order_fault("A session is created once.", self._path)
        match event.data:
            case SessionCreated():
                self._tags.add(node_tag(record.digest))
            case ObservationRecorded() | SessionImported() | SessionAdopted():
                pass
            case RunStarted(workflow_hash=workflow_hash, parent=parent):
                self._start(event, workflow_hash)
                if parent is not None:
                    handed = Scope(run_id=parent.run_id)
                    self._about_run(handed, parent.node_id, "is delegated at a node of another run")
            case NodeCreated() as created:
                self._create(event, created, node_tag(record.digest))
            case EdgeCreated() as edge:
                self._connect(event, edge)
            case ReceiptRecorded() as receipt:
                self._take_receipt(event, receipt)
            case (
                RunClosed() | ConfirmationRecorded() | EvidenceRecorded() | ProofRecorded() | TreeRecorded()
            ) as fact:
                self._about_run(event.scope, fact.node_id, _ABOUT_RUN[type(fact)])
                self._count(fact.node_id, event)
            case GapRecorded(node_id=node_id) if node_id is not None:
                self._about_run(event.scope, node_id, "resolves a gap at a node of another run")
                self._count(node_id, event)
            case PreferencesChanged() if event.scope.node_id is None:
                pass
            case NodeOutputAppended() as output if event.scope.node_id is None:
                self._keep_session_notes(event, output, node_tag(record.digest))
            case _:
                self._about_node(event)

    def finish(self) -> None:
        """Check what can be known only at the end: nothing dangles."""
        self._path = "session/events"
        if set(self._runs) - self._first:
            raise malformed_fault("A run has no node.", self._path)
        if {node_id for node_id, seen in self._nodes.items() if seen.parent} != self._edges:
            raise malformed_fault("A node is not connected to the node before it.", self._path)
        for to_node_id, (from_node_id, is_blocked, path) in self._answers.items():
            seen = self._nodes.get(to_node_id)
            kind = "blocked_attempt" if is_blocked else "step"
            if seen is None or (seen.parent, seen.kind) != (from_node_id, kind):
                raise malformed_fault("An answer leads to a node that does not follow from it.", path)

    def _start(self, event: EventBody, workflow_hash: str) -> None:
        run_id = event.scope.run_id
        if run_id is None or not is_run_id(run_id) or run_id in self._runs:
            raise self._malformed("starts a run without an id of its own")
        if workflow_hash not in self._workflows:
            raise missing_workflow_fault(workflow_hash)
        self._runs[run_id] = workflow_hash

    def _create(self, event: EventBody, created: NodeCreated, tag: str) -> None:
        run_id, node_id = event.scope.run_id, event.scope.node_id
        if run_id not in self._runs:
            raise event_order_fault("A node stands before its run.", self._path)
        if node_id is None or not is_node_id(node_id) or node_id in self._nodes or tag in self._tags:
            raise self._malformed("creates a node without an id of its own")
        self._check_parent(run_id, created)
        positions = self._positions[self._runs[run_id]]
        if isinstance(created.state, Running) and not _is_position(positions, created.state):
            raise self._malformed("stands at a position that its workflow does not have")
        if created.node_kind == "checkpoint" and not _is_attempt(created.attempt_id):
            raise self._malformed("is a checkpoint without its attempt")
        self._tags.add(tag)
        parent = created.parent_node_id
        self._context_keys[node_id] = 0 if parent is None else self._context_keys[parent]
        self._nodes[node_id] = _Seen(run_id=run_id, kind=created.node_kind, parent=created.parent_node_id)

    def _check_parent(self, run_id: RunId, created: NodeCreated) -> None:
        parent = created.parent_node_id
        if parent is None:
            if run_id in self._first or created.node_kind != "step":
                raise self._malformed("is a second beginning of its run")
            self._first.add(run_id)
        elif parent not in self._nodes:  # a parent that comes later, or a circle
            raise event_order_fault("A node stands before the node it follows from.", self._path)
        elif self._nodes[parent].run_id != run_id:
            raise self._malformed("follows from a node of another run")

    def _connect(self, event: EventBody, edge: EdgeCreated) -> None:
        child = self._nodes.get(edge.to_node_id)
        if child is None or edge.from_node_id not in self._nodes:
            raise event_order_fault("An edge stands before its nodes.", self._path)
        if child.parent != edge.from_node_id or edge.to_node_id in self._edges:
            raise self._malformed("connects nodes that do not follow from each other")
        if event.scope.run_id != child.run_id:
            raise self._malformed("connects nodes of another run")
        self._edges.add(edge.to_node_id)

    def _about_run(self, scope: Scope, node_id: NodeId, otherwise: str) -> None:
        """A fact about a run that names the node where the run stood."""
        seen = self._nodes.get(node_id)
        if seen is None:
            raise event_order_fault("A fact about a run names a node that comes later.", self._path)
        if scope.node_id is not None or scope.run_id != seen.run_id:
            raise self._malformed(otherwise)

    def _take_receipt(self, event: EventBody, receipt: ReceiptRecorded) -> None:
        self._about_run(event.scope, receipt.node_id, "is a receipt at a node of another run")
        if not is_receipt_id(receipt.receipt_id) or receipt.receipt_id in self._receipts:
            raise self._malformed("is a receipt without an id of its own")
        self._receipts.add(receipt.receipt_id)
        self._count(receipt.node_id, event)

    def _about_node(self, event: EventBody) -> None:
        node_id = event.scope.node_id
        seen = self._nodes.get(node_id) if node_id is not None else None
        if node_id is None or seen is None:
            raise event_order_fault("A fact about a node stands before the node.", self._path)
        if event.scope.run_id != seen.run_id:
            raise self._malformed("is about a node of another run")
        self._count(node_id, event)
        match event.data:
            case AdvanceRecorded() as answered:
                self._answer(node_id, answered)
            case NodeOutputAppended() as output:
                self._output(output)
            case DecisionTraceAppended(entries=entries) if len(entries) > MOST_TRACE_ENTRIES:
                raise self._malformed("has too long a trace")
            case _:
                pass

    def _count(self, node_id: NodeId, event: EventBody) -> None:
        """Count what folding this event copies, before anything is folded."""
        match event.data:
            case ContextSet(context=delta):
                keys = self._context_keys[node_id] + len(delta)
                self._context_keys[node_id] = keys
                self._folded += keys
            case AdvanceRecorded() | PreferencesChanged() | DecisionTraceAppended() | RunClosed():
                pass
            case _:
                self._facts[node_id] = self._facts.get(node_id, 0) + 1
                self._folded += self._facts[node_id]
        if self._folded > MOST_FOLDED:
            raise too_large_fault("values that change from step to step", self._folded, MOST_FOLDED)

    def _keep_session_notes(self, event: EventBody, output: NodeOutputAppended, tag: str) -> None:
        """DESIGN 9: an output without a node belongs to the session itself, and is notes."""
        if event.scope.run_id is not None or output.notes is None or output.channel != "recap":
            raise self._malformed("belongs to the session itself and is not notes")
        if output.supersedes_output_id or tag in self._tags:
            raise self._malformed("is not a point of the session of its own")
        self._output(output)
        self._tags.add(tag)

    def _answer(self, node_id: NodeId, answered: AdvanceRecorded) -> None:
        outcome = answered.outcome
        if not _is_attempt(answered.attempt_id) or outcome.to_node_id in self._answers:
            raise self._malformed("answers an attempt that cannot be")
        is_blocked = isinstance(outcome, Blocked)
        if isinstance(outcome, Blocked) and not outcome.blockers:
            raise self._malformed("is blocked by nothing")
        self._answers[outcome.to_node_id] = (node_id, is_blocked, self._path)

    def _output(self, output: NodeOutputAppended) -> None:
        if (output.notes is None) == (output.artifact is None) or output.output_id in self._outputs:
            raise self._malformed("is an output without one content and an id of its own")
        if output.supersedes_output_id and output.supersedes_output_id not in self._outputs:
            raise event_order_fault("An output corrects one that does not stand before it.", self._path)
        if output.artifact is not None and _digest(output.artifact.body) != output.artifact.digest:
            raise self._malformed("has an artifact with another digest")
        self._outputs.add(output.output_id)

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
