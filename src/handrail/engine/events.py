"""The closed set of facts in a session log, and how one becomes the bytes of a record. Pure."""

# Annotations are not strings here: msgspec would compile each of them again in every process.

import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Literal, Protocol, TypeAlias, get_args

import msgspec

from handrail.contract.catalogue import STORE_UNSUPPORTED_VERSION
from handrail.contract.ids import (
    Actor,
    AttemptId,
    Autonomy,
    BlobRef,
    BundleId,
    Confirmations,
    NodeId,
    ObservationKey,
    ReceiptId,
    RiskPolicy,
    RunId,
    SessionId,
    SourceKind,
    WorkflowHash,
    WorkflowId,
)
from handrail.contract.outcome import Fault
from handrail.engine.navigate import State, TraceEntry
from handrail.engine.reasons import AskKind, Blocker, Issue, ReasonName, WaitsFor, issue_of
from handrail.engine.receipts import Counts, PinnedCheck, ReceiptSource, RunOutcome
from handrail.evidence.proof import Proof

EVENT_VERSION = 1
MOST_TRACE_ENTRIES = 25

NodeKind: TypeAlias = Literal["step", "checkpoint", "blocked_attempt"]
EdgeKind: TypeAlias = Literal["acked_step", "checkpoint", "blocked"]
EdgeCause: TypeAlias = Literal["advance", "non_tip_advance", "checkpoint_created", "validation_blocked"]
Capability: TypeAlias = Literal["delegation", "web_browsing"]
CapabilityStatus: TypeAlias = Literal["unknown", "available", "unavailable"]
CapabilityProvenance: TypeAlias = Literal["probe_step", "attempted_use", "manual_claim"]
"""The first two are strong: the agent tried it. The last is only a statement."""
GapSeverity: TypeAlias = Literal["info", "warning", "critical"]
TreeCause: TypeAlias = Literal["start", "advance", "checkpoint", "look", "receipt", "restore"]
"""What a tree was taken for; `look`: a report was judged by it."""
CloseReason: TypeAlias = Literal["abandoned", "superseded", "done_elsewhere"]
DivergenceReason: TypeAlias = Literal[
    "missing_user_context", "capability_unavailable", "efficiency_skip", "safety_stop", "policy_constraint"
]


def _kind_of(class_name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", class_name).lower()


class Fact(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    tag_field="kind",
    tag=_kind_of,
    omit_defaults=True,
):
    """Shared options of durable facts: immutable, camelCase on the wire, tagged by `kind`."""


class Project(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A project by the name of its directory, and a hash of where that is on the machine that wrote it."""

    name: str
    directory: str
    identity: str = ""  # what tells it on every machine; empty: nothing but the directory does


AnswerSource: TypeAlias = Literal["terminal", "elicitation", "console", "account"]
"""Where a person was asked: none of them is held by the agent."""


class SessionCreated(Fact, frozen=True, kw_only=True):
    """The session exists. Its goal is here only if it began without a run."""

    goal: str = ""
    input_digest: str = ""
    project: Project | None = None
    """Here only if the session began without a run."""


class ObservationRecorded(Fact, frozen=True, kw_only=True):
    """Something seen around the session that helps to find it again."""

    key: ObservationKey
    value: str
    confidence: Literal["low", "med", "high"] = "high"
    project: Project | None = None  # of `own_project`: where a run that was delegated works
    title: str = ""
    """What a person called the session from here on. The event repeats the goal that it has, so an older
    version reads the log and shows the goal."""
    source: AnswerSource | None = msgspec.field(default=None, name="door")  # where the person did so
    who: str = ""


class Parent(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The step that delegated a run, and under which name."""

    run_id: RunId
    node_id: NodeId
    child_id: str


OWNED_VALUES = (
    2  # from these rules on a name leads to one value, and one that is not the agent's has an owner
)
STATED_REPORTS = 3  # from these rules on a report is stated, and Handrail judges no commands and lists in it
RULES = STATED_REPORTS  # of new runs


class RunStarted(Fact, frozen=True, kw_only=True):
    """A run began and is pinned to this compiled workflow for good."""

    workflow_id: WorkflowId
    workflow_hash: WorkflowHash
    source_kind: SourceKind
    source_ref: str
    input_digest: str
    source_digest: str = ""  # of the bytes of the file it came from, to notice later that it changed
    is_first_here: bool = False
    """No run of this hash was in the store before: its start says so, and so does every replay of it."""
    project: Project | None = None  # where it was begun; logs of older versions do not tell
    tags: tuple[str, ...] = ()
    """Of the workflow, to find the run by. They are not in the hash: no tag changes what a run does."""
    checks: tuple[PinnedCheck, ...] = ()
    """What the project declared at that moment, by name."""
    confirmations: Confirmations = "claimed"
    """Who could approve a step at that moment; `person` stays for the run."""
    confirmations_from: Literal["", "user", "project"] = ""  # whose settings said `person`; empty: nobody's
    rules: int = 1  # by which its values are looked up and replaced
    parent: Parent | None = None  # nobody delegated it
    pins: tuple[WorkflowHash, ...] = ()  # the workflows that its steps may delegate
    agent: str = ""  # what the client called itself; empty: a command line, or an older version


class NodeCreated(Fact, frozen=True, kw_only=True):
    """A durable point of a run. The snapshot is `{v, workflowHash, state}`; its hash is in the run."""

    node_kind: NodeKind
    parent_node_id: NodeId | None = None
    state: State
    attempt_id: AttemptId | None = None
    """Of a checkpoint: the attempt at the parent that made it."""
    input_digest: str | None = None


class EdgeCreated(Fact, frozen=True, kw_only=True):
    """How a node followed from another."""

    edge_kind: EdgeKind
    from_node_id: NodeId
    to_node_id: NodeId
    cause: EdgeCause


ValueOwner: TypeAlias = Literal["default", "goal", "agent", "parent", "action", "agent_option", "person"]
"""Who stated a value, weakest first; `agent`: the context of a call."""


class ContextSet(Fact, frozen=True, kw_only=True):
    """External facts that hold from this node on: a shallow merge in which null deletes."""

    context: dict[str, Any]
    source: Literal["initial", "agent_delta"]
    owners: dict[str, ValueOwner] = {}
    """Of each value that is not the agent's own; logs of older versions do not tell it."""


class _Outcome(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind", omit_defaults=True
):
    """Shared options of what an attempt led to."""


class Advanced(_Outcome, frozen=True, kw_only=True, tag="advanced"):
    """The attempt moved the run on; `option_id` is what a choice step was answered with."""

    to_node_id: NodeId
    option_id: str = ""


class Blocked(_Outcome, frozen=True, kw_only=True, tag="blocked"):
    """The attempt was not accepted; everything its reply says is kept here."""

    to_node_id: NodeId
    blockers: tuple[Blocker, ...]
    retryable: bool = True
    example: dict[str, Any] | None = None
    issues: tuple[Issue, ...] = ()
    left_out: tuple[Blocker, ...] = ()
    """Reasons beyond those that `blockers` may hold."""

    @property
    def every_blocker(self) -> tuple[Blocker, ...]:
        """Whatever stands in the way, shown as a blocker or not."""
        return (*self.blockers, *self.left_out)

    @property
    def every_issue(self) -> tuple[Issue, ...]:
        """The faults of the report, and what stands in the way beyond the blockers."""
        return (*self.issues, *(issue_of(blocker) for blocker in self.left_out))


class AdvanceRecorded(Fact, frozen=True, kw_only=True):
    """An attempt was answered. Replay reads this and computes nothing."""

    attempt_id: AttemptId
    input_digest: str
    outcome: Advanced | Blocked


class ValidationPerformed(Fact, frozen=True, kw_only=True):
    """What an attempt brought was checked against a contract, or the notes against the step's rules."""

    attempt_id: AttemptId
    contract_ref: str = ""
    """Empty: the rules of the step."""
    result: Literal["valid", "invalid", "missing"]
    issues: tuple[str, ...] = ()


class NotesKept(msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind", tag="inline"):
    text: str
    """Short notes, whole."""


class NotesStored(msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind", tag="blob"):
    """Long notes: whole in the blob, and the excerpt that recaps show."""

    excerpt: str
    ref: BlobRef
    size_bytes: int


class Artifact(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A small structured payload, whole: conditions read it, and a reader needs no second file."""

    kind: str
    digest: str
    """Of the RFC 8785 bytes of the body."""
    body: dict[str, Any]
    contract_ref: str = ""
    """The contract it was found valid against; empty: nothing was checked."""
    is_refused: bool = False
    """It does not fit its contract: the log knows what came, and no output of the run holds it."""


class NodeOutputAppended(Fact, frozen=True, kw_only=True):
    """What the agent wrote down on the way to this node: notes, or one artifact.

    Without a node it belongs to the session itself.
    """

    output_id: str
    channel: Literal["recap", "artifact", "action"]
    """`action`: what Handrail did, in its own words; notes of an agent never stand there."""
    notes: NotesKept | NotesStored | None = None
    artifact: Artifact | None = None
    supersedes_output_id: str = ""
    """The output of the same node and channel that this one corrects."""
    input_digest: str = ""
    """Of notes that belong to the session: what the checkpoint sent."""


class Preferences(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How much the agent may do on its own."""

    autonomy: Autonomy
    risk_policy: RiskPolicy


class PreferencesDelta(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What somebody asked to change."""

    autonomy: Autonomy | None = None
    risk_policy: RiskPolicy | None = None


class PreferencesChanged(Fact, frozen=True, kw_only=True):
    """The preferences in force from this node on; without a node, the baseline of the session."""

    change_id: str
    source: Literal["user", "workflow_recommendation", "system"]
    operation: Literal["run.start", "run.continue", "preferences.set"]
    delta: PreferencesDelta
    effective: Preferences


class CapabilityObserved(Fact, frozen=True, kw_only=True):
    """What is known about an optional capability of the agent."""

    capability: Capability
    status: CapabilityStatus
    provenance: CapabilityProvenance
    summary: str = ""


GapReason: TypeAlias = (
    ReasonName | Literal["reported", "loop_limit_reached", "items_dropped", "settled_by_person"]
)
"""Why there is a gap: a reason that would have stopped another mode, a report of the agent, a loop that ended
with work left, a list that lost items while a loop went through it; or who resolved an earlier one."""


class GapRecorded(Fact, frozen=True, kw_only=True):
    """Something required was missing and the run went on. Never changed: a later gap resolves it by link."""

    gap_id: str
    severity: GapSeverity
    reason: GapReason
    summary: str
    resolves_gap_id: str = ""  # the earlier gap that this one resolves; it is itself no open one
    evidence_refs: tuple[str, ...] = ()
    source: AnswerSource | None = msgspec.field(
        default=None, name="door"
    )  # where a person resolved the earlier one
    who: str = ""
    node_id: NodeId | None = None
    """Of what a person resolved: where that gap was recorded; the event is of the run and moves no tip."""
    waits_for: WaitsFor | None = None
    """Where a reason that would block another mode became a gap: what it waited for."""


class DivergenceRecorded(Fact, frozen=True, kw_only=True):
    """The agent left the instructions on purpose and said so."""

    reason: DivergenceReason
    summary: str
    related_step_id: str = ""


class DecisionTraceAppended(Fact, frozen=True, kw_only=True):
    """Why the run stands where it stands."""

    entries: tuple[TraceEntry, ...]
    omitted: int = 0
    """Entries left out in the middle, so that at most 25 stand here."""
    passed_omitted: int | None = None
    """Of those, steps and loops that did not run. None: nothing was left out, or nobody counted them."""


class RunClosed(Fact, frozen=True, kw_only=True):
    """Nobody wants to continue the run. It uses no token: the next thing the run does opens it again."""

    reason: CloseReason
    node_id: NodeId
    """The preferred tip of that moment; scoped to the run, the event moves no tip."""
    note: str = ""
    request_id: str = ""
    taken: RunId | None = None  # of work that was delegated again: the run whose result counts instead


ConfirmationAnswer: TypeAlias = Literal["confirmed", "declined"]


class ConfirmationRecorded(Fact, frozen=True, kw_only=True):
    """A person was asked about a pending step. Scoped to the run, it moves no tip and uses no token."""

    node_id: NodeId  # that was pending when the person answered
    source: AnswerSource = msgspec.field(name="door")
    who: str  # the account of that source
    what_digest: str  # of what the person was shown
    answer: ConfirmationAnswer
    note: str = ""
    option_id: str = ""
    """Of a choice: the one that the person took."""
    asked: AskKind | None = None  # logs of older versions do not tell it, nor what follows
    subject: str = ""
    """The digest of the report, preview, options or question alone: a yes is about that and nothing else."""
    value: str = ""  # what the person gave
    by: str = (
        ""  # who had to confirm, where the step says it; only the source `account` was checked against it
    )
    based_on: str = ""
    """The id of the answer to this question that the person saw when they gave theirs; empty: none."""


EvidenceCheck: TypeAlias = Literal[
    "shape",
    "not_example",
    "consistent",
    "path_exists",
    "place_exists",
    "changed_in_run",
    "ran",
    "red_then_green",
    "covers_change",
    "person",
]
EvidenceLevel: TypeAlias = Literal["claimed", "observed", "ran", "confirmed"]
"""Who saw it: only the agent, Handrail itself, a process that really ran, a person."""
EvidenceVerdict: TypeAlias = Literal["holds", "contradicted", "stale", "missing", "unknown"]


class ReportStatement(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One place of a report, how it was checked, and what came of that."""

    contract_ref: str = ""  # empty: what the step itself asks for
    pointer: str
    check: EvidenceCheck
    level: EvidenceLevel = "claimed"
    verdict: EvidenceVerdict = "holds"
    fact: str = ""
    """What was seen, where it is not plainly what the report says."""
    refs: tuple[str, ...] = ()  # receipts or confirmations that it rests on
    paths: tuple[str, ...] = ()
    """Changed files that a report leaves out; of a command, its own tests or configuration that changed."""
    grown: tuple[str, ...] = ()  # tests by which it failed before, with nothing but new lines since the start
    unanswered: tuple[str, ...] = ()  # new or grown tests, without which it failed and has not passed since


class ChangeSum(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """How much changed since a run began."""

    files: int
    added: int = 0
    removed: int = 0


class EvidenceRecorded(Fact, frozen=True, kw_only=True):
    """How each part of a report was supported when it was judged.

    Scoped to the run: it moves no tip and opens no entry.
    """

    attempt_id: AttemptId
    node_id: NodeId  # the node that the attempt led to
    statements: tuple[ReportStatement, ...] = msgspec.field(name="claims")
    omitted: int = 0  # statements beyond those that an event holds
    tree: str = ""  # the files then; empty: not looked at
    machine: str = ""  # whose team client looked; empty: who recorded it
    unseen: str = ""
    """Why the files, or what changed in them, could not be seen: what was seen before is unknown then."""
    approved: tuple[str, ...] = ()  # declared checks that a person approved since the run began
    changed: ChangeSum | None = None  # by the time of the report; None: nobody counted


class ReceiptRecorded(Fact, frozen=True, kw_only=True):
    """A program ran. Scoped to the run, it moves no tip and opens no ledger entry.

    What is stored for readers is redacted and bounded; the digests are of what really was.
    """

    receipt_id: ReceiptId
    node_id: NodeId  # the node that was pending when the program began
    by: ReceiptSource
    machine: str = ""  # whose team client started it; empty: who recorded it
    check: str = ""  # the declared name; empty: the command was given word by word
    argv: tuple[str, ...]
    """Of a client's hook: the line that its shell got, as one word."""
    argv_digest: str
    """Of the words before redaction (`engine.receipts.digest_argv`)."""
    directory: str = "."
    """Relative to the project; or `ELSEWHERE`, or `UNPLACED` of `engine.receipts`."""
    outcome: RunOutcome
    duration_ms: int = 0
    output_digest: str = ""  # of everything that it printed; empty: not seen
    output_bytes: int = 0
    head: str = ""
    tail: str = ""  # what followed the head, its last part; empty when the head holds everything
    tree_before: str = ""
    tree_after: str = ""
    """The files of the project then; empty: unknown."""
    changed_meanwhile: tuple[str, ...] = ()
    """Some files that changed while it ran, without the report that its check declares."""
    counts: Counts | None = None  # from the report of the test runner; None: there is none
    uncounted: str = ""
    """Why the declared report counted nothing: then nothing shows that a test ran."""
    steering: dict[str, str] = {}  # of logs of earlier versions, like the program and its digest
    program: str = ""
    program_digest: str = ""
    environment_digest: str = ""  # of the variables that its declaration sets, as `PinnedCheck` has it


class ProofRecorded(Fact, frozen=True, kw_only=True):
    """What the four runs of a check showed. Scoped to the run, it moves no tip and opens no ledger entry.

    It is about two trees: whether it is stale is one comparison of `proof.head`. It may come after the step,
    or after the end of the run; replies that were recorded before stay as they are.
    """

    node_id: NodeId  # that was pending, or whose report wanted the proof
    proof: Proof
    machine: str = ""  # where it was made; empty: who recorded it
    detail_ref: BlobRef | None = None
    """What does not fit into an event, such as the names beyond the first; the blob may be absent."""


class TreeRecorded(Fact, frozen=True, kw_only=True):
    """The files of the project at a node. Scoped to the run, it moves no tip and opens no ledger entry.

    The blobs that it names may be absent: then the tree is known by its id alone.
    """

    node_id: NodeId
    tree_id: str
    head: str = ""
    """The commit that was checked out; empty: no git, or no commit."""
    cause: TreeCause = "advance"
    files: int = 0
    listed: int = 0
    """Paths that differ from the commit; without one, all."""
    left_out: int = 0  # new contents that were not kept: too large, or changed meanwhile
    git_tree: str = ""
    """The id that git gives these files, where a proof may begin with them."""
    base_node_id: NodeId | None = None
    base_tree_id: str = ""
    """The earlier tree whose list this one builds on; empty: its list is whole."""
    depth: int = 0  # how many lists it builds on
    list_ref: BlobRef | None = None  # what differs from that list; None: nothing
    pack_ref: BlobRef | None = None  # new contents; None: there are none
    ignore_rules: dict[str, str] | None = None  # of the first tree: what it does not list, and a check
    loaded: dict[str, str] | None = None  # depends on, with marks that every change changes
    uncommitted: tuple[str, ...] = ()  # and files and `config.json#CHECK`s that the commit has otherwise
    apart: dict[str, str] | None = None  # as in `ports.worktree.Tree`
    changed: ChangeSum | None = None  # since the run began; None: nobody counted
    changed_in_step: ChangeSum | None = None  # since the tree before; None: nothing, or nobody counted
    differs_from: NodeId | None = None
    differing: int = 0
    """Where an older step was continued: the node whose files were compared, and how many differ."""


class SessionImported(Fact, frozen=True, kw_only=True):
    """Everything before this event came from elsewhere, in a bundle. The label stays for good.

    `source_head` is the chain digest that the events before this one give under `source_session_id`:
    whoever has the source log can prove that nothing was changed on the way.
    """

    bundle_id: BundleId
    source_session_id: SessionId
    source_head: str


class SessionAdopted(Fact, frozen=True, kw_only=True):
    """A person said that everything before this event is their own, although another store recorded it."""

    source: AnswerSource = msgspec.field(name="door")
    who: str


Event: TypeAlias = (
    SessionCreated
    | ObservationRecorded
    | RunStarted
    | NodeCreated
    | EdgeCreated
    | ContextSet
    | AdvanceRecorded
    | ValidationPerformed
    | NodeOutputAppended
    | PreferencesChanged
    | CapabilityObserved
    | GapRecorded
    | DivergenceRecorded
    | DecisionTraceAppended
    | SessionImported
    | SessionAdopted
    | RunClosed
    | ReceiptRecorded
    | TreeRecorded
    | EvidenceRecorded
    | ConfirmationRecorded
    | ProofRecorded
)
"""The closed set. A kind or version outside it fails fast."""

EVENT_KINDS: tuple[str, ...] = tuple(_kind_of(kind.__name__) for kind in get_args(Event))


def must_be_proven(data: Event) -> bool:
    """Whether the fact counts only if this store can prove that it recorded it.

    Such facts are answers of people, values that they gave, check results, proofs and trees of files.
    """
    match data:
        case TreeRecorded():
            return True
        case ContextSet(owners=owners):
            return "person" in owners.values()
        case ConfirmationRecorded() | ReceiptRecorded() | ProofRecorded() | SessionAdopted():
            return True
        case GapRecorded(source=source):
            return source is not None
        case EvidenceRecorded(statements=statements):
            return any(statement.level != "claimed" for statement in statements)
        case _:
            return False


class Scope(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What an event is about; neither: the session itself."""

    run_id: RunId | None = None
    node_id: NodeId | None = None


class PlannedEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event of a plan: the fact, its scope, and the key under which it can happen only once."""

    dedupe_key: str
    scope: Scope
    data: Event


class EventBody(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The stored form. Session id, index and event id follow from the record's place in the chain."""

    v: int
    at: str
    scope: Scope
    data: Event
    actor: Actor | None = None  # where there are accounts


_DECODER = msgspec.json.Decoder(EventBody)


def encode_event(planned: PlannedEvent, at: str, actor: Actor | None = None) -> bytes:
    """The bytes of one event; they never change again."""
    body = EventBody(v=EVENT_VERSION, at=at, scope=planned.scope, data=planned.data, actor=actor)
    return msgspec.json.encode(body)


def decode_event(body: bytes) -> EventBody:
    """The event of attested bytes.

    Raises Fault STORE_UNSUPPORTED_VERSION: the bytes are proven, so a newer version wrote them.
    """
    try:
        event = _DECODER.decode(body)
    except msgspec.DecodeError as error:
        raise _written_by_newer(str(error)) from error
    if event.v != EVENT_VERSION:
        raise _written_by_newer(f"event version {event.v}")
    return event


class SignedRecord(Protocol):
    """A record, and whether this store can prove that it is its own."""

    @property
    def index(self) -> int: ...
    @property
    def body(self) -> bytes: ...
    @property
    def is_ours(self) -> bool: ...


def find_unsigned(records: Iterable[SignedRecord]) -> list[int]:
    """The events that must be proven and are not, by index; what a newer version wrote is left out."""
    found: list[int] = []
    for record in records:
        with suppress(Fault):
            if record.is_ours:
                if b'"session_adopted"' in record.body and _is_adoption(record.body):
                    found.clear()
            elif record.index == 0 or must_be_proven(decode_event(record.body).data):
                found.append(record.index)
    return found


def _is_adoption(body: bytes) -> bool:
    return isinstance(decode_event(body).data, SessionAdopted)


def is_newer(health: str) -> bool:
    """Whether a session is whole, but written by a newer version: its state, or the code of its refusal."""
    return health in ("unknown_version", STORE_UNSUPPORTED_VERSION.code)


def count_known(bodies: Iterable[bytes]) -> int:
    """How many of these events this version knows, up to the first that a newer one wrote."""
    known = 0
    for body in bodies:
        try:
            decode_event(body)
        except Fault:
            break
        known += 1
    return known


def _written_by_newer(found: str) -> Fault:
    return Fault(
        STORE_UNSUPPORTED_VERSION,
        "This session was written by a newer version of Handrail: an event in its log is unknown here.",
        details={"found": found[:200], "supported": EVENT_VERSION},
    )
