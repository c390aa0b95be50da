"""One node of a run, with everything that is recorded about it. Pure."""

from __future__ import annotations

from typing import Any

from handrail.contract.outcome import Answer
from handrail.engine.events import AnswerSource
from handrail.engine.receipts import ReceiptSource
from handrail.views.statements import StatementRow
from handrail.views.summaries import DivergenceRow


class NodeLink(Answer, frozen=True, kw_only=True):
    """A parent or child of this node; `title` is that of the step that was done to reach it."""

    id: str
    kind: str
    title: str
    is_on_path: bool


class NodeAnswer(Answer, frozen=True, kw_only=True):
    """What a person answered about a step."""

    answer: str
    summary: str
    """What the person did, and the store that recorded it if it was another one."""
    option_id: str
    source: AnswerSource
    who: str
    note: str
    at: str


class KeptRow(Answer, frozen=True, kw_only=True):
    """A report that waits for approval, including what earlier attempts delivered and the agent need not
    repeat.
    """

    notes: str
    artifacts: list[NodeArtifact]


class PendingRow(Answer, frozen=True, kw_only=True):
    """The step that is pending at the node, with its prompt as the agent reads it."""

    step_id: str
    title: str
    prompt: str
    is_cut: bool
    person: NodeAnswer | None
    """The newest answer of a person about it."""
    needs_person: bool
    options: list[str]
    done: int
    at_least: int
    report: KeptRow | None
    """The whole report of a blocked attempt, including what Handrail kept from earlier attempts."""


class NodeArtifact(Answer, frozen=True, kw_only=True):
    """An artifact that the report contained."""

    kind: str
    digest: str
    contract_ref: str
    """The contract that it matches; empty if no contract applies."""
    is_refused: bool
    body: dict[str, Any]


class NodeBlocker(Answer, frozen=True, kw_only=True):
    """Why the report was not accepted, and what resolves it."""

    code: str
    message: str
    fix: str


class NodeGap(Answer, frozen=True, kw_only=True):
    """Something that was missing when the run went on from here."""

    id: str
    severity: str
    reason: str
    summary: str
    resolves: str
    is_open: bool
    """Whether it is still open at the preferred tip of the run."""


class NodeReceipt(Answer, frozen=True, kw_only=True):
    """A check result recorded while the step done here, or the step pending now, was pending."""

    id: str
    node_id: str
    """The node at which the check ran: this one or its parent."""
    check: str
    command: list[str]
    directory: str
    outcome: str
    has_passed: bool
    by: ReceiptSource
    at: str
    duration_ms: int
    tail: str


class NodeCapability(Answer, frozen=True, kw_only=True):
    """What was observed about an optional capability."""

    capability: str
    status: str
    provenance: str
    summary: str


class NodeValidation(Answer, frozen=True, kw_only=True):
    """The result of validating the report against a contract, or the notes against the rules of the step."""

    contract_ref: str
    result: str
    issues: list[str]


class NodeTree(Answer, frozen=True, kw_only=True):
    """The file snapshot that was taken when the node was created."""

    tree_id: str
    cause: str
    at: str


class NodeOrigin(Answer, frozen=True, kw_only=True):
    """Where the node comes from."""

    workflow_id: str
    workflow_name: str
    workflow_hash: str
    source_kind: str
    source_ref: str
    project: str
    branch: str
    head_sha: str
    imported_from: str
    bundle_id: str


class NodeView(Answer, frozen=True, kw_only=True):
    """One node: the step that was done to reach it, and the step that is pending there."""

    session_id: str
    run_id: str
    node_id: str
    goal: str
    kind: str
    at: str
    event_index: int
    step_id: str
    """The step whose acknowledgement created this node, with the loops around it; empty at the start."""
    title: str
    parent: NodeLink | None
    children: list[NodeLink]
    is_tip: bool
    is_preferred_tip: bool
    preferred_tip: str
    """The preferred tip of the run."""
    is_on_path: bool
    is_fork: bool
    run_status: str
    health: str
    banner: str
    """A warning about a damaged session; empty if the session is intact."""
    option_id: str
    """The option that was chosen, if the step was a choice."""
    notes: str
    is_cut: bool
    artifacts: list[NodeArtifact]
    blockers: list[NodeBlocker]
    gaps: list[NodeGap]
    statements: list[StatementRow]
    """How each statement of the report is supported, with the weakest result for each place."""
    evidence: dict[str, int]
    """Counts over all reports on the way to this node."""
    evidence_caveat: str
    """A caveat about every count here if another store recorded them; it names that store."""
    is_imported: bool
    """Whether another store recorded the node, so that nothing about it was observed here."""
    divergences: list[DivergenceRow]
    capabilities: list[NodeCapability]
    validations: list[NodeValidation]
    trace: list[str]
    preferences: dict[str, str]
    preferences_before: dict[str, str] | None
    """The preferences before this node, if they changed here."""
    context_keys: list[str]
    """Names of the facts that were set here."""
    pending: PendingRow | None
    person: NodeAnswer | None
    """What a person answered about its report."""
    receipts: list[NodeReceipt]
    tree: NodeTree | None
    origin: NodeOrigin
    resume_prompt: str
    """The text to paste into an agent's chat. It names the session by its id and contains no token."""
    omitted: dict[str, int]
    """For each list that was cut, by its name: how many items were left out."""
