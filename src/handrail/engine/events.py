"""The closed set of facts in a session log, and how one becomes the bytes of a record. Pure."""

# Annotations are not strings here: msgspec would compile each of them again in every process.

import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Literal, Protocol, TypeAlias, assert_never, get_args

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
"""How the status is known. `probe_step` and `attempted_use` are strong, because the agent tried the
capability. `manual_claim` is only a statement.
"""
GapSeverity: TypeAlias = Literal["info", "warning", "critical"]
TreeCause: TypeAlias = Literal["start", "advance", "checkpoint", "look", "receipt", "restore"]
"""Why a tree was recorded. `look`: a report was judged by it."""
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
    """A project: the name of its directory, and a hash of its path on the machine that wrote it."""

    name: str
    directory: str
    identity: str = ""  # identifies the project on every machine; empty: only the directory does


AnswerSource: TypeAlias = Literal["terminal", "elicitation", "console", "account"]
"""Where a person was asked. An agent controls none of these."""


class SessionCreated(Fact, frozen=True, kw_only=True):
    """The session exists. The event has the goal only if the session began without a run."""

    goal: str = ""
    input_digest: str = ""
    project: Project | None = None
    """Set only if the session began without a run."""


class ObservationRecorded(Fact, frozen=True, kw_only=True):
    """Something observed around the session that helps to find it again."""

    key: ObservationKey
    value: str
    confidence: Literal["low", "med", "high"] = "high"
    project: Project | None = None  # for the key `own_project`: where a delegated run works
    title: str = ""
    """The title that a person gave the session from this event on. The event repeats the current goal, so
    an older version that reads the log shows the goal.
    """
    source: AnswerSource | None = msgspec.field(default=None, name="door")  # where the person gave the title
    who: str = ""


class Parent(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The step that delegated a run, and the name of the child."""

    run_id: RunId
    node_id: NodeId
    child_id: str


OWNED_VALUES = 2
"""From these rules on, a name leads to one value, and a value not set by the agent has an owner."""
STATED_REPORTS = 3
"""From these rules on, Handrail judges no commands and lists in a report: they are stated."""
RULES = STATED_REPORTS
"""The rules of new runs."""


class RunStarted(Fact, frozen=True, kw_only=True):
    """A run began and is pinned to this compiled workflow for good."""

    workflow_id: WorkflowId
    workflow_hash: WorkflowHash
    source_kind: SourceKind
    source_ref: str
    input_digest: str
    source_digest: str = ""  # of the bytes of the source file, to notice later changes
    is_first_here: bool = False
    """The store had no run of this hash before. The reply to the start says so, and so does every replay of
    it.
    """
    project: Project | None = None  # where the run began; None in logs of older versions
    tags: tuple[str, ...] = ()
    """The workflow's tags, to find the run by. They are not in the hash, because no tag changes what a run
    does.
    """
    checks: tuple[PinnedCheck, ...] = ()
    """The checks that the project declared at that moment, by name."""
    confirmations: Confirmations = "claimed"
    """Who could approve a step at that moment; `person` stays in force for the whole run."""
    confirmations_from: Literal["", "user", "project"] = ""  # whose settings said `person`; empty: none did
    rules: int = 1  # version of the rules for finding and replacing its values
    parent: Parent | None = None  # None: no step delegated it
    pins: tuple[WorkflowHash, ...] = ()  # the workflows that its steps may delegate
    agent: str = ""  # the client's own name for itself; empty: a command line, or an older version


class NodeCreated(Fact, frozen=True, kw_only=True):
    """A durable point of a run. The snapshot is `{v, workflowHash, state}`; the run has its hash."""

    node_kind: NodeKind
    parent_node_id: NodeId | None = None
    state: State
    attempt_id: AttemptId | None = None
    """For a checkpoint: the attempt at the parent node that made it."""
    input_digest: str | None = None


class EdgeCreated(Fact, frozen=True, kw_only=True):
    """How a node followed from another."""

    edge_kind: EdgeKind
    from_node_id: NodeId
    to_node_id: NodeId
    cause: EdgeCause


ValueOwner: TypeAlias = Literal["default", "goal", "agent", "parent", "action", "agent_option", "person"]
"""Who set a value, weakest first; `agent` means the context of a call."""


class ContextSet(Fact, frozen=True, kw_only=True):
    """External facts that hold from this node on: a shallow merge in which null deletes."""

    context: dict[str, Any]
    source: Literal["initial", "agent_delta"]
    owners: dict[str, ValueOwner] = {}
    """The owner of each value that the agent did not set; logs of older versions have none."""


class _Outcome(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind", omit_defaults=True
):
    """Shared options of the outcomes of an attempt."""


class Advanced(_Outcome, frozen=True, kw_only=True, tag="advanced"):
    """The attempt moved the run on; `option_id` is the option that answered a choice step."""

    to_node_id: NodeId
    option_id: str = ""


class Blocked(_Outcome, frozen=True, kw_only=True, tag="blocked"):
    """The attempt was not accepted; the event keeps everything that its reply says."""

    to_node_id: NodeId
    blockers: tuple[Blocker, ...]
    retryable: bool = True
    example: dict[str, Any] | None = None
    issues: tuple[Issue, ...] = ()
    left_out: tuple[Blocker, ...] = ()
    """Reasons that exceed the limit of `blockers`."""

    @property
    def every_blocker(self) -> tuple[Blocker, ...]:
        """Every reason why the attempt was blocked, including those that are not shown as blockers."""
        return (*self.blockers, *self.left_out)

    @property
    def every_issue(self) -> tuple[Issue, ...]:
        """The faults of the report, then the reasons that exceed the limit of `blockers`."""
        return (*self.issues, *(issue_of(blocker) for blocker in self.left_out))


class AdvanceRecorded(Fact, frozen=True, kw_only=True):
    """An attempt was answered. Replay reads this and computes nothing."""

    attempt_id: AttemptId
    input_digest: str
    outcome: Advanced | Blocked


class ValidationPerformed(Fact, frozen=True, kw_only=True):
    """An artifact of an attempt was checked against a contract, or its notes against the step's rules."""

    attempt_id: AttemptId
    contract_ref: str = ""
    """The contract; empty if the step's rules were checked."""
    result: Literal["valid", "invalid", "missing"]
    issues: tuple[str, ...] = ()


class NotesKept(msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind", tag="inline"):
    text: str
    """The complete notes, if they are short."""


class NotesStored(msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind", tag="blob"):
    """Long notes: the blob has them complete, and recaps show the excerpt."""

    excerpt: str
    ref: BlobRef
    size_bytes: int


class Artifact(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A small structured payload, stored complete: conditions read it, and a reader needs no second file."""

    kind: str
    digest: str
    """Digest of the RFC 8785 bytes of the body."""
    body: dict[str, Any]
    contract_ref: str = ""
    """The contract that it matches; empty if it was not checked."""
    is_refused: bool = False
    """It does not match its contract. The log records that it was sent, but it is not an output of the run.
    """


class NodeOutputAppended(Fact, frozen=True, kw_only=True):
    """Notes or one artifact, written on the way to this node.

    Without a node, the output belongs to the session itself.
    """

    output_id: str
    channel: Literal["recap", "artifact", "action"]
    """`action`: what Handrail did, in its own words; notes of an agent never use this channel."""
    notes: NotesKept | NotesStored | None = None
    artifact: Artifact | None = None
    supersedes_output_id: str = ""
    """The output of the same node and channel that this one corrects."""
    input_digest: str = ""
    """For notes of the session: the digest of what the checkpoint sent."""


class Preferences(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How much the agent may do on its own."""

    autonomy: Autonomy
    risk_policy: RiskPolicy


class PreferencesDelta(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The requested changes; None leaves a preference as it is."""

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
"""Why there is a gap: a reason that would block the run in another mode, a report of the agent, a loop that
ended with work left, or a list that lost items while a loop went through it. With `settled_by_person`, a
person resolved an earlier gap.
"""


class GapRecorded(Fact, frozen=True, kw_only=True):
    """Something required was missing and the run went on. Never changed: a later gap resolves it by link."""

    gap_id: str
    severity: GapSeverity
    reason: GapReason
    summary: str
    resolves_gap_id: str = ""  # the earlier gap that this one resolves; then this one is not open itself
    evidence_refs: tuple[str, ...] = ()
    source: AnswerSource | None = msgspec.field(
        default=None, name="door"
    )  # where a person resolved the earlier one
    who: str = ""
    node_id: NodeId | None = None
    """If a person resolved a gap: the node where that gap was recorded. The event belongs to the run and
    moves no tip.
    """
    waits_for: WaitsFor | None = None
    """What the reason waited for, if it would have blocked the run in another mode."""


class DivergenceRecorded(Fact, frozen=True, kw_only=True):
    """The agent left the instructions on purpose and said so."""

    reason: DivergenceReason
    summary: str
    related_step_id: str = ""


class DecisionTraceAppended(Fact, frozen=True, kw_only=True):
    """The decisions that led the run to this node."""

    entries: tuple[TraceEntry, ...]
    omitted: int = 0
    """Number of entries left out in the middle, so that at most 25 are kept."""
    passed_omitted: int | None = None
    """How many of those are steps and loops that did not run. None if nothing was left out, or if it was
    not counted.
    """


class RunClosed(Fact, frozen=True, kw_only=True):
    """The run is no longer needed. Closing uses no token, and the next report reopens the run."""

    reason: CloseReason
    node_id: NodeId
    """The preferred tip at that moment. The event belongs to the run and moves no tip."""
    note: str = ""
    request_id: str = ""
    taken: RunId | None = None  # the run whose result counts instead of this one


ConfirmationAnswer: TypeAlias = Literal["confirmed", "declined"]


class ConfirmationRecorded(Fact, frozen=True, kw_only=True):
    """A person answered a question about a pending step. The event belongs to the run, moves no tip and
    uses no token.
    """

    node_id: NodeId  # the node that was pending when the person answered
    source: AnswerSource = msgspec.field(name="door")
    who: str  # the person's account at that source
    what_digest: str  # digest of everything that the person was shown
    answer: ConfirmationAnswer
    note: str = ""
    option_id: str = ""
    """For a choice: the option that the person took."""
    asked: AskKind | None = None  # missing in logs of older versions, like the fields below
    subject: str = ""
    """Digest of the report, preview, options or question alone; an approval is valid for exactly that."""
    value: str = ""  # the value that the person gave
    by: str = ""  # who has to confirm, if the step says so; only the source `account` was checked against it
    based_on: str = ""
    """The id of the earlier answer to this question that the person saw before they answered; empty if
    there was none.
    """


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
"""Where the evidence comes from: only the agent, Handrail itself, a process that really ran, or a person."""
EvidenceVerdict: TypeAlias = Literal["holds", "contradicted", "stale", "missing", "unknown"]


class ReportStatement(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One place in a report, how it was checked, and the result."""

    contract_ref: str = ""  # empty: the step itself requires it
    pointer: str
    check: EvidenceCheck
    level: EvidenceLevel = "claimed"
    verdict: EvidenceVerdict = "holds"
    fact: str = ""
    """What was observed, if it differs from what the report says."""
    refs: tuple[str, ...] = ()  # the receipts or confirmations that support it
    paths: tuple[str, ...] = ()
    """Changed files that a report leaves out; for a command, its own tests or configuration that changed."""
    # The next two fields are only in logs of earlier versions.
    grown: tuple[str, ...] = ()  # tests that made it fail before and have only gained lines since the start
    unanswered: tuple[str, ...] = ()  # new or grown tests: it failed without them, and has not passed since


class ChangeSum(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The size of a change: files, and lines added and removed."""

    files: int
    added: int = 0
    removed: int = 0


class EvidenceRecorded(Fact, frozen=True, kw_only=True):
    """How each part of a report was supported when it was judged.

    The event belongs to the run: it moves no tip and opens no ledger entry.
    """

    attempt_id: AttemptId
    node_id: NodeId  # the node that the attempt led to
    statements: tuple[ReportStatement, ...] = msgspec.field(name="claims")
    omitted: int = 0  # statements beyond those that an event holds
    tree: str = ""  # the files at that moment; empty: they were not read
    machine: str = ""  # whose team client read the files; empty: the one that recorded it
    unseen: str = ""
    """Why the files, or the changes in them, could not be read; what was observed before is unknown then."""
    approved: tuple[str, ...] = ()  # declared checks that a person approved since the run began
    changed: ChangeSum | None = None  # by the time of the report; None: not counted


class ReceiptRecorded(Fact, frozen=True, kw_only=True):
    """A program ran. The event belongs to the run, moves no tip and opens no ledger entry.

    The text that is stored for readers is redacted and bounded; the digests are of the original content.
    """

    receipt_id: ReceiptId
    node_id: NodeId  # the node that was pending when the program began
    by: ReceiptSource
    machine: str = ""  # whose team client started it; empty: the one that recorded it
    check: str = ""  # the declared name; empty: the command was given in full
    argv: tuple[str, ...]
    """From a client's hook: the line that its shell got, as one word."""
    argv_digest: str
    """Digest of the words before redaction (`engine.receipts.digest_argv`)."""
    directory: str = "."
    """Relative to the project; or `ELSEWHERE`, or `UNPLACED` of `engine.receipts`."""
    outcome: RunOutcome
    duration_ms: int = 0
    output_digest: str = ""  # of everything that it printed; empty: the output was not captured
    output_bytes: int = 0
    head: str = ""
    tail: str = ""  # the last part of what followed the head; empty if the head has everything
    tree_before: str = ""
    tree_after: str = ""
    """The files of the project before and after it ran; empty if unknown."""
    changed_meanwhile: tuple[str, ...] = ()
    """Some files that changed while it ran, except the report that its check declares."""
    counts: Counts | None = None  # from the test runner's report; None if there is none
    uncounted: str = ""
    """Why the declared report gave no counts: then nothing shows that a test ran."""
    steering: dict[str, str] = {}  # only in logs of earlier versions, like the program and its digest
    program: str = ""
    program_digest: str = ""
    environment_digest: str = ""  # of the variables that its declaration sets, as in `PinnedCheck`


class ProofRecorded(Fact, frozen=True, kw_only=True):
    """What the four runs of a check showed. The event belongs to the run, moves no tip and opens no ledger
    entry.

    It is about two trees: one comparison of `proof.head` shows whether it is stale. It may follow the step,
    or the end of the run; replies that were recorded before stay as they are.
    """

    node_id: NodeId  # the node that was pending, or whose report required the proof
    proof: Proof
    machine: str = ""  # where it was made; empty: on the machine that recorded it
    detail_ref: BlobRef | None = None
    """What does not fit into an event, such as names beyond the limit; the blob may be absent."""


class TreeRecorded(Fact, frozen=True, kw_only=True):
    """The files of the project at a node. The event belongs to the run, moves no tip and opens no ledger
    entry.

    The blobs that it names may be absent: then only the id of the tree is known.
    """

    node_id: NodeId
    tree_id: str
    head: str = ""
    """The commit that was checked out; empty without git or without a commit."""
    cause: TreeCause = "advance"
    files: int = 0
    listed: int = 0
    """0 if the files are those of the commit, 1 if not. Logs of earlier versions have the number of
    differing paths.
    """
    left_out: int = 0  # 1 if new contents were not kept; earlier versions counted them
    git_tree: str = ""
    """The id that git gives these files, if a proof may start from them."""
    base_node_id: NodeId | None = None
    base_tree_id: str = ""
    """The earlier tree on which the contents of this one build; empty if there is none."""
    depth: int = 0  # how many earlier trees it builds on
    list_ref: BlobRef | None = None
    """The files left out of the tree; in logs of earlier versions, the differences from the base's list."""
    pack_ref: BlobRef | None = None  # new contents; None if there are none
    # The next four fields are only in logs of earlier versions.
    ignore_rules: dict[str, str] | None = None  # in the first tree: what its list leaves out
    loaded: dict[str, str] | None = None  # in the first tree: files outside the list that a check depends on
    uncommitted: tuple[str, ...] = ()  # files and `config.json#CHECK`s that differ from the commit
    apart: dict[str, str] | None = None
    changed: ChangeSum | None = None  # since the run began; None: not counted
    changed_in_step: ChangeSum | None = None  # since the tree before; None: nothing, or not counted
    differs_from: NodeId | None = None
    differing: int = 0
    """If an older step was continued: the node whose files were compared, and how many files differ."""


class SessionImported(Fact, frozen=True, kw_only=True):
    """Everything before this event came from elsewhere, in a bundle. The label is permanent.

    `source_head` is the chain digest that the events before this one give under `source_session_id`: with
    the source log, a reader can prove that nothing was changed on the way.
    """

    bundle_id: BundleId
    source_session_id: SessionId
    source_head: str


class SessionAdopted(Fact, frozen=True, kw_only=True):
    """A person accepted everything before this event as their own, although another store recorded it."""

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
"""The closed set of events. Reading fails at once on a kind or version outside it."""

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
        case SessionCreated() | SessionImported() | ObservationRecorded() | RunStarted() | RunClosed():
            return False
        case NodeCreated() | EdgeCreated() | AdvanceRecorded() | ValidationPerformed():
            return False
        case NodeOutputAppended() | PreferencesChanged() | CapabilityObserved():
            return False
        case DivergenceRecorded() | DecisionTraceAppended():
            return False
        case never:
            assert_never(never)


class Scope(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What an event is about. With neither id, it is about the session itself."""

    run_id: RunId | None = None
    node_id: NodeId | None = None


class PlannedEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event of a plan: the fact, its scope, and the key under which it can happen only once."""

    dedupe_key: str
    scope: Scope
    data: Event


class EventBody(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The stored form of an event. Its session id, index and event id follow from the record's place in the
    chain.
    """

    v: int
    at: str
    scope: Scope
    data: Event
    actor: Actor | None = None  # who recorded it; None without accounts


_DECODER = msgspec.json.Decoder(EventBody)


def encode_event(planned: PlannedEvent, at: str, actor: Actor | None = None) -> bytes:
    """Return the bytes of one event; they never change again."""
    body = EventBody(v=EVENT_VERSION, at=at, scope=planned.scope, data=planned.data, actor=actor)
    return msgspec.json.encode(body)


def decode_event(body: bytes) -> EventBody:
    """Return the event that attested bytes contain.

    Raise Fault STORE_UNSUPPORTED_VERSION if they cannot be read: the bytes are proven, so a newer version
    wrote them.
    """
    try:
        event = _DECODER.decode(body)
    except msgspec.DecodeError as error:
        raise _written_by_newer(str(error)) from error
    if event.v != EVENT_VERSION:
        raise _written_by_newer(f"event version {event.v}")
    return event


class SignedRecord(Protocol):
    """A record, and whether this store can prove that it wrote it."""

    @property
    def index(self) -> int: ...
    @property
    def body(self) -> bytes: ...
    @property
    def is_ours(self) -> bool: ...


def find_unsigned(records: Iterable[SignedRecord]) -> list[int]:
    """Return the indexes of events that must be proven and are not, without those that a newer version
    wrote.
    """
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
    """Whether a session is intact, but a newer version wrote it. `health` is its state or an error code."""
    return health in ("unknown_version", STORE_UNSUPPORTED_VERSION.code)


def count_known(bodies: Iterable[bytes]) -> int:
    """Return how many of these events this version knows, up to the first that a newer version wrote."""
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
