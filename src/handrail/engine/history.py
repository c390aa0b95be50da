"""A folded session log, and queries on it. Pure.

`fold` and `extend` (engine/folding.py) build it from records.
"""

from bisect import bisect_right
from collections.abc import Mapping
from typing import Any

import msgspec

from handrail.contract.ids import (
    Actor,
    AttemptId,
    BlobRef,
    BundleId,
    Confirmations,
    NodeId,
    RunId,
    SessionId,
    SourceKind,
    WorkflowHash,
    WorkflowId,
)
from handrail.engine.artifact_shapes import LOOP_CONTROL, LoopDecision, read_as
from handrail.engine.events import (
    Artifact,
    Blocked,
    CapabilityObserved,
    CloseReason,
    ConfirmationRecorded,
    DivergenceRecorded,
    EdgeCause,
    EvidenceRecorded,
    GapRecorded,
    NodeKind,
    Parent,
    Preferences,
    Project,
    ProofRecorded,
    ReceiptRecorded,
    ReportStatement,
    TreeRecorded,
    ValidationPerformed,
    ValueOwner,
)
from handrail.engine.navigate import LoopFrame, PassedBy, State, TraceEntry, list_passed
from handrail.engine.reasons import AskKind
from handrail.engine.receipts import MOST_RECEIPTS, PinnedCheck

# What a node inherits from its ancestors, kept up to date while the log is folded
#
# A node without a change of its own shares the value of its parent, so a step of a long run costs no more
# than one of a short run. What is added to an older node later does not reach the nodes that already followed
# it: their replies do not change.


class Decided(msgspec.Struct, frozen=True, kw_only=True):
    """The newest decision about a loop, the frames in which it was made, and its index in the log."""

    decision: str
    frames: tuple[LoopFrame, ...]
    index: int


class Inherited(msgspec.Struct, frozen=True, kw_only=True):
    """What holds at a node because of the node itself and its ancestors."""

    context: Mapping[str, Any] = {}
    artifacts: dict[str, dict[str, Any]] = {}
    """The newest validated artifact of each kind."""
    decisions: dict[str, Decided] = {}
    """By loop id; a decision that named no loop has the empty id."""
    preferences: Preferences | None = None
    seen: dict[str, str] = {}
    """What was observed on the way, if it differs from the start of the run."""


NOTHING_INHERITED = Inherited()


def add_artifact(held: Inherited, artifact: Artifact, frames: tuple[LoopFrame, ...], index: int) -> Inherited:
    """Return the values with one more artifact. Only an artifact that matches its contract counts; `frames`
    are those of the step that delivered it.
    """
    if not artifact.contract_ref:
        return held
    taken = msgspec.structs.replace(held, artifacts={**held.artifacts, artifact.kind: artifact.body})
    control = read_as(LoopDecision, artifact.body) if artifact.kind == LOOP_CONTROL else None
    if control is None or not frames:
        return taken
    decided = Decided(decision=control.decision, frames=frames, index=index)
    return msgspec.structs.replace(taken, decisions={**held.decisions, control.loop_id: decided})


def merge_context(context: dict[str, Any], delta: dict[str, Any]) -> dict[str, Any]:
    """Return the context with a change applied: null deletes, objects and arrays replace."""
    return {key: value for key, value in {**context, **delta}.items() if value is not None}


# The folded values


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One execution of one compiled workflow."""

    run_id: RunId
    workflow_id: WorkflowId
    workflow_hash: WorkflowHash
    source_kind: SourceKind
    source_ref: str
    input_digest: str
    started_at: str
    index: int
    first_node: NodeId = NodeId("")  # every commit that starts a run creates it
    seen: dict[str, str] = {}
    """What was observed around the session when the run began, including its goal."""
    source_digest: str = ""
    is_first_here: bool = False
    project: Project | None = None
    has_own_project: bool = False  # the first call that writes has fixed where it works
    workers: tuple[str, ...] = ()  # names that its helpers gave themselves
    accounts: tuple[str, ...] = ()  # in a team: who reported in it, if it was delegated
    tags: tuple[str, ...] = ()
    checks: tuple[PinnedCheck, ...] = ()
    confirmations: Confirmations = "claimed"
    rules: int = 1
    parent: Parent | None = None
    pins: tuple[WorkflowHash, ...] = ()
    agent: str = ""
    actor: Actor | None = None


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """One durable point of a run."""

    node_id: NodeId
    run_id: RunId
    kind: NodeKind
    parent: NodeId | None
    state: State
    tag: str
    index: int
    at: str
    steps_done: int
    """Steps done from the start of the run up to this node."""


class Notes(msgspec.Struct, frozen=True, kw_only=True):
    """Notes on the way to a node. `text` is complete unless `ref` names the blob that is."""

    text: str
    ref: BlobRef | None = None
    size_bytes: int = 0


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """How the session began; goal and digest are empty if a run began it."""

    tag: str
    index: int
    goal: str = ""
    input_digest: str = ""
    project: Project | None = None


class Title(msgspec.Struct, frozen=True, kw_only=True):
    """The title that a person gave the session."""

    text: str
    who: str
    index: int
    at: str


class SessionNotes(msgspec.Struct, frozen=True, kw_only=True):
    """Notes that belong to the session itself, and the tag by which a token names this point."""

    output_id: str
    notes: Notes
    input_digest: str
    tag: str
    index: int
    at: str


class KeptArtifact(msgspec.Struct, frozen=True, kw_only=True):
    """An artifact under the id of its output."""

    output_id: str
    artifact: Artifact


class Attached(msgspec.Struct, frozen=True, kw_only=True):
    """Artifacts, gaps and other facts recorded at a node."""

    artifacts: tuple[KeptArtifact, ...] = ()
    """The current artifacts, without those that a later one corrected."""
    preferences: Preferences | None = None
    """Set only if they changed at this node."""
    capabilities: tuple[CapabilityObserved, ...] = ()
    gaps: tuple[GapRecorded, ...] = ()
    divergences: tuple[DivergenceRecorded, ...] = ()
    validations: tuple[ValidationPerformed, ...] = ()
    """The checks that were made when the pending step of this node was acknowledged."""
    trace: tuple[TraceEntry, ...] = ()
    trace_omitted: int = 0
    passed_omitted: int | None = None
    """As in the event; see `not_run_by_move` for the meaning."""
    action_line: str = ""
    """What an action of Handrail did on the way to this node, or that it did not run, in Handrail's own
    words.
    """


class NotRun(msgspec.Struct, frozen=True, kw_only=True):
    """Parts that did not run, once for every round that skipped them."""

    parts: tuple[PassedBy, ...] = ()
    """Parts that were skipped because a value was missing, or was a default that the user was not asked
    about.
    """
    not_needed: tuple[PassedBy, ...] = ()
    """Parts that a given value made unnecessary; they are not counted."""
    unnamed: int = 0
    """Further parts that the log only counts, because one move skipped so many."""

    @property
    def total(self) -> int:
        return len(self.parts) + self.unnamed


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """The preferences with which new nodes of the session begin, and the index at which they were set."""

    preferences: Preferences
    index: int


NOTHING_ATTACHED = Attached()


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """How an attempt was answered. Its reply is rebuilt from this fact alone."""

    to_node_id: NodeId
    input_digest: str
    index: int
    blocked: Blocked | None = None
    """Why the attempt was not accepted; None if it moved the run or saved progress."""
    option_id: str = ""
    """The option that answered a choice step."""


class Closing(msgspec.Struct, frozen=True, kw_only=True):
    """A closing of a run, with the reason."""

    reason: CloseReason
    note: str
    node_id: NodeId
    request_id: str
    index: int
    at: str
    taken: RunId | None = None  # the run whose result counts instead


class Confirmation(msgspec.Struct, frozen=True, kw_only=True):
    """A person's answer, with its index in the log; the node is in the fact."""

    answer_id: str
    """The id by which a later answer to the same question says that the person saw this one."""
    fact: ConfirmationRecorded
    index: int
    at: str


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """A program that ran, with its index in the log; the node is in the fact."""

    fact: ReceiptRecorded
    index: int
    at: str


def add_receipt(held: tuple[Receipt, ...], receipt: Receipt) -> tuple[Receipt, ...]:
    """Return the receipts of a node with one more; for each source only the newest are kept."""
    grown = (*held, receipt)
    same = [kept for kept in grown if kept.fact.by == receipt.fact.by]
    if len(same) <= MOST_RECEIPTS[receipt.fact.by]:
        return grown
    return tuple(kept for kept in grown if kept is not same[0])


class RecordedProof(msgspec.Struct, frozen=True, kw_only=True):
    """A proof, with its index in the log; the node is in the fact."""

    fact: ProofRecorded
    index: int
    at: str


MOST_PROOFS = 50
"""Limit for the proofs of one node that a history keeps: the newest."""


class RecordedTree(msgspec.Struct, frozen=True, kw_only=True):
    """A tree of the project's files, with its index in the log; the node is in the fact."""

    fact: TreeRecorded
    index: int
    at: str


MOST_TREES = 50
"""Limit for the trees of one node that a history keeps: the first, which was recorded with the node, and
the newest.
"""


def add_tree(held: tuple[RecordedTree, ...], tree: RecordedTree) -> tuple[RecordedTree, ...]:
    """Return the trees of a node with one more, within the limit."""
    grown = (*held, tree)
    return grown if len(grown) <= MOST_TREES else (grown[0], *grown[2:])


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """The label of a session that was imported in a bundle, with its index in the log."""

    bundle_id: BundleId
    source_session_id: SessionId
    index: int
    at: str


class UnsignedResolution(msgspec.Struct, frozen=True, kw_only=True):
    """A gap that a person resolved according to the log, without proof: its index, its node and its id."""

    index: int
    node_id: NodeId
    gap_id: str


class History(msgspec.Struct, frozen=True, kw_only=True):
    """A folded session. It is a value: extending it makes a new one, which shares the maps that did not
    change.
    """

    session_id: SessionId
    head: int = 0
    head_digest: str
    """The chain digest after the last event."""
    read_bytes: int = 0
    """Number of bytes of events that were folded; it bounds a cache of histories."""
    runs: Mapping[RunId, Run] = {}
    nodes: Mapping[NodeId, Node] = {}
    by_tag: Mapping[str, NodeId] = {}
    children: Mapping[NodeId, tuple[NodeId, ...]] = {}
    causes: Mapping[NodeId, EdgeCause] = {}
    advances: Mapping[tuple[NodeId, AttemptId], Recorded] = {}
    checkpoints: Mapping[tuple[NodeId, AttemptId], Recorded] = {}
    notes: Mapping[NodeId, Notes] = {}
    attached: Mapping[NodeId, Attached] = {}
    baseline: Baseline | None = None
    context: Mapping[NodeId, dict[str, Any]] = {}
    """The change of context made at a node; `inherited` has what holds there."""
    owners: Mapping[NodeId, dict[str, ValueOwner]] = {}
    """The owners of values set at a node, except those of the agent."""
    inherited: Mapping[NodeId, Inherited] = {}
    observations: Mapping[str, str] = {}
    """The newest observation of each key, in any run."""
    title: Title | None = None  # given by a person; None: the first goal is the title
    opening: Opening | None = None
    session_notes: Mapping[str, SessionNotes] = {}
    """By output id, oldest first."""
    last_index: Mapping[NodeId, int] = {}
    anchors: Mapping[RunId, tuple[int, ...]] = {}
    closings: Mapping[RunId, tuple[Closing, ...]] = {}
    """Every closing of a run, oldest first; `closing_of` says whether the last one is still in force."""
    evidence: Mapping[NodeId, EvidenceRecorded] = {}
    """By the node that the judged attempt led to."""
    confirmations: Mapping[NodeId, tuple[Confirmation, ...]] = {}
    """By the node that was pending, oldest first; `engine/ask.py` says which of them count."""
    receipts: Mapping[NodeId, tuple[Receipt, ...]] = {}
    """By the node that was pending, oldest first; `list_receipts` gives those of a run."""
    proofs: Mapping[NodeId, tuple[RecordedProof, ...]] = {}
    """By the node that they are about, oldest first; `list_proofs` gives those of a run."""
    trees: Mapping[NodeId, tuple[RecordedTree, ...]] = {}
    """By the node at which they were recorded, oldest first; `engine/code_trees.py` queries them."""
    last_at: str = ""
    imported: Imported | None = None
    """Set permanently if the session came in a bundle; the latest import if there were several."""
    unsigned_resolutions: tuple[UnsignedResolution, ...] = ()
    unsigned: tuple[int, ...] = ()
    """Indexes of the events that must be proven and are not: the beginning, answers, check results."""
    listed: int = 0
    """Number of first events that were in the store before it had a key; they are unproven, not imported."""
    is_adopted: bool = False
    """Whether a person adopted everything that is unproven."""


# Questions about a history


def node_at(history: History, tag: str) -> Node | None:
    """Return the node that a token names, or None if the commit that created it is lost."""
    node_id = history.by_tag.get(tag)
    return None if node_id is None else history.nodes[node_id]


def is_session_point(history: History, tag: str) -> bool:
    """Whether a token with this tag names the session itself, not a node of a run."""
    opening = history.opening
    if tag in history.by_tag:
        return False
    return (opening is not None and opening.tag == tag) or any(
        held.tag == tag for held in history.session_notes.values()
    )


def seen_at(history: History, node_id: NodeId) -> dict[str, str]:
    """Return what was observed around a node: at the start of its run, then every change on the way."""
    run = history.runs[history.nodes[node_id].run_id]
    return {**run.seen, **history.inherited[node_id].seen}


def path_to(history: History, node_id: NodeId) -> list[Node]:
    """Return the node and its ancestors, oldest first."""
    path = []
    current: NodeId | None = node_id
    while current is not None:
        node = history.nodes[current]
        path.append(node)
        current = node.parent
    path.reverse()
    return path


def attached_to(history: History, node_id: NodeId) -> Attached:
    """Return what else was recorded at a node; NOTHING_ATTACHED if there is nothing."""
    return history.attached.get(node_id, NOTHING_ATTACHED)


def context_at(history: History, node_id: NodeId) -> dict[str, Any]:
    """Return the context that holds at a node: its ancestors' changes merged; null deleted a key."""
    return dict(history.inherited[node_id].context.items())


def instance_of(history: History, node_id: NodeId) -> Node:
    """Return the step instance of a node: its nearest ancestor of kind `step`, or the node itself.

    Checkpoints and blocked attempts keep the pending step, so they belong to the same piece of work.
    """
    node = history.nodes[node_id]
    while node.kind != "step":
        assert node.parent is not None, "a run begins with a step"
        node = history.nodes[node.parent]
    return node


def kept_in_instance(history: History, instance: Node) -> list[Node]:
    """Return the checkpoints and blocked attempts of a step instance, in the order of the log."""
    kept: list[Node] = []
    waiting = [instance.node_id]
    while waiting:
        below = [history.nodes[child] for child in history.children.get(waiting.pop(), ())]
        kept += [node for node in below if node.kind != "step"]
        waiting += [node.node_id for node in below if node.kind != "step"]
    return sorted(kept, key=lambda node: node.index)


def steps_after(history: History, node_id: NodeId) -> tuple[Node, ...]:
    """Return the steps that followed the instance of a node, in the order of the log.

    A further one is a fork, from whichever node of the instance it starts.
    """
    instance = instance_of(history, node_id)
    found = [
        history.nodes[child]
        for node in (instance, *kept_in_instance(history, instance))
        for child in history.children.get(node.node_id, ())
        if history.nodes[child].kind == "step"
    ]
    return tuple(sorted(found, key=lambda node: node.index))


def is_older(history: History, node: Node) -> bool:
    """Whether another step of its run was created since, after this node or on another branch."""
    if history.anchors[node.run_id][-1] < node.index:
        return False  # nothing of the run was accepted since
    return any(
        other.kind == "step" and other.index > node.index and other.run_id == node.run_id
        for other in history.nodes.values()
    )


def is_fork(history: History, node: Node) -> bool:
    """Whether another step had already followed the same instance, whatever cause was recorded."""
    if node.kind != "step" or node.parent is None:
        return False
    return steps_after(history, node.parent)[0].node_id != node.node_id


def is_late_checkpoint(history: History, node: Node) -> bool:
    """Whether a checkpoint was made after the run left its step, or after the run was closed."""
    if node.kind != "checkpoint":
        return False
    left = [step.index for step in steps_after(history, node.node_id)]
    closed = [closing.index for closing in history.closings.get(node.run_id, ())]
    return any(index < node.index for index in (*left, *closed))


def way_to(history: History, node_id: NodeId) -> list[Node]:
    """Return the node, its ancestors, and the checkpoints beside them; oldest first.

    For a step that the path leaves, only checkpoints made before it left count; for the last step, all.
    """
    return _list_way(history, node_id, ("checkpoint",))


def list_tellers(history: History, node_id: NodeId) -> list[Node]:
    """Return the nodes whose gaps, observations and divergences count at a node, oldest first.

    A fact counts whether its report was accepted or not, so the blocked attempts beside the way are
    included: repeating a step does not undo what was reported in it.
    """
    return _list_way(history, node_id, ("checkpoint", "blocked_attempt"))


def _list_way(history: History, node_id: NodeId, beside_it: tuple[NodeKind, ...]) -> list[Node]:
    path = path_to(history, node_id)
    on_path = {node.node_id for node in path}
    steps = [node for node in path if node.kind == "step"]
    ends: list[int] = [*(node.index for node in steps[1:]), history.head]
    beside = [
        kept
        for instance, end in zip(steps, ends, strict=True)
        for kept in kept_in_instance(history, instance)
        if kept.kind in beside_it and kept.index < end and kept.node_id not in on_path
    ]
    return sorted([*path, *beside], key=lambda node: node.index)


def closing_of(history: History, run_id: RunId) -> Closing | None:
    """Return the closing of a run that is closed, or None if it was never closed or has continued since.

    Only an ack continues a run: a checkpoint keeps notes without reopening it.
    """
    closings = history.closings.get(run_id, ())
    if not closings:
        return None
    last = closings[-1]
    answered = (held for held in history.advances.values() if held.index > last.index)
    return None if any(history.nodes[held.to_node_id].run_id == run_id for held in answered) else last


def statements_at(history: History, node_id: NodeId) -> tuple[ReportStatement, ...]:
    """Return how well the report that led to a node was supported, place by place."""
    recorded = history.evidence.get(node_id)
    return () if recorded is None else recorded.statements


def confirmation_of(history: History, node_id: NodeId) -> Confirmation | None:
    """Return the newest answer of a person about the step instance of a node, or None if there is none."""
    found = list_answers(history, instance_of(history, node_id))
    return max(found, key=lambda held: held.index, default=None)


def list_answers(history: History, instance: Node) -> list[Confirmation]:
    """Return every answer that people gave about a step instance."""
    nodes = (instance, *kept_in_instance(history, instance)) if history.confirmations else ()
    return [held for node in nodes for held in history.confirmations.get(node.node_id, ())]


def find_last_answer(history: History, node_id: NodeId, kind: AskKind) -> Confirmation | None:
    """Return the newest answer to a question of the step instance of a node, or None if there is none."""
    answers = list_answers(history, instance_of(history, node_id))
    same = (held for held in answers if held.fact.asked in (None, kind))
    return max(same, key=lambda held: held.index, default=None)


def list_confirmations(history: History, run_id: RunId) -> list[Confirmation]:
    """Return the answers that count in a run, on all of its branches, in the order of the log."""
    every = (
        one
        for node, held in history.confirmations.items()
        if history.nodes[node].run_id == run_id
        for one in held
    )
    return sorted((one for one in every if not confirms_nothing(one.fact)), key=lambda one: one.index)


def confirms_nothing(fact: ConfirmationRecorded) -> bool:
    """Whether an answer approves a step before there was a report, and so approves nothing."""
    return fact.answer == "confirmed" and fact.asked == "confirm" and not fact.subject


def answer_about(history: History, node: Node) -> Confirmation | None:
    """Return what a person answered about the report of a node, or None if there is no answer.

    An attempt and a checkpoint are asked about at their own node. A report that was accepted is asked about
    before that, and an approval of another report does not count for it.
    """
    if node.kind != "step":
        return next(reversed(history.confirmations.get(node.node_id, ())), None)
    if node.parent is None:
        return None
    found = list_answers(history, instance_of(history, node.parent))
    statements = (
        statement for statement in statements_at(history, node.node_id) if statement.check == "person"
    )
    if any(statement.verdict == "missing" for statement in statements):
        return None
    return max((held for held in found if held.index < node.index), key=lambda held: held.index, default=None)


def list_receipts(history: History, run_id: RunId) -> list[Receipt]:
    """Return the receipts of a run, in the order of the log."""
    kept = history.receipts.items()
    found = [one for node_id, held in kept if history.nodes[node_id].run_id == run_id for one in held]
    return sorted(found, key=lambda receipt: receipt.index)


def list_proofs(history: History, run_id: RunId) -> list[RecordedProof]:
    """Return the proofs of a run on all of its branches, in the order of the log."""
    kept = history.proofs.items()
    found = [one for node_id, held in kept if history.nodes[node_id].run_id == run_id for one in held]
    return sorted(found, key=lambda proof: proof.index)


def ledger_version(history: History, run_id: RunId, index: int) -> int:
    """Return how many accepted mutations of the run there are up to an event index."""
    return bisect_right(history.anchors.get(run_id, ()), index)


# What did not run: every reply and view gets it here


def not_run_by_move(attached: Attached) -> NotRun:
    """Return the parts that the move to a node skipped."""
    passed = list_passed(attached.trace)
    parts = tuple(part for part in passed if not part.not_needed)
    not_needed = tuple(part for part in passed if part.not_needed)
    unnamed = max(0, min(attached.passed_omitted or 0, attached.trace_omitted))
    return NotRun(parts=parts, not_needed=not_needed, unnamed=unnamed)


def not_run_at(history: History, node_id: NodeId) -> NotRun:
    """Return what did not run on the way from the start of the run to a node, in order."""
    moves = [not_run_by_move(attached_to(history, node.node_id)) for node in path_to(history, node_id)]
    return NotRun(
        parts=tuple(part for move in moves for part in move.parts),
        not_needed=tuple(part for move in moves for part in move.not_needed),
        unnamed=sum(move.unnamed for move in moves),
    )


def gaps_at(history: History, node_id: NodeId) -> tuple[GapRecorded, ...]:
    """Return every gap on the way to a node, oldest first."""
    tellers = list_tellers(history, node_id)
    return tuple(gap for node in tellers for gap in attached_to(history, node.node_id).gaps)
