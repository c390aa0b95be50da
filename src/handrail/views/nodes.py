"""One node of a run, with everything that is recorded about it. Pure."""

from __future__ import annotations

from typing import Any

from handrail.contract.outcome import Answer
from handrail.engine.events import AnswerSource
from handrail.engine.receipts import ReceiptSource
from handrail.views.statements import StatementRow
from handrail.views.summaries import DivergenceRow


class NodeLink(Answer, frozen=True, kw_only=True):
    """A node beside this one. `title` is of the step that was done on the way to it."""

    id: str
    kind: str
    title: str
    is_on_path: bool


class NodeAnswer(Answer, frozen=True, kw_only=True):
    """What a person answered about a step."""

    answer: str
    summary: str
    """What they did, and whether another store recorded it."""
    option_id: str
    source: AnswerSource
    who: str
    note: str
    at: str


class KeptRow(Answer, frozen=True, kw_only=True):
    """The report that waits for a yes, with what earlier attempts brought and the agent need not repeat."""

    notes: str
    artifacts: list[NodeArtifact]


class PendingRow(Answer, frozen=True, kw_only=True):
    """The step that is pending at the node, with its prompt as an agent reads it."""

    step_id: str
    title: str
    prompt: str
    is_cut: bool
    person: NodeAnswer | None
    """What a person last answered about it."""
    needs_person: bool
    options: list[str]
    done: int
    at_least: int
    report: KeptRow | None
    """Of a blocked attempt: the whole report, also where this call kept an earlier one."""


class NodeArtifact(Answer, frozen=True, kw_only=True):
    """An artifact that came with the report."""

    kind: str
    digest: str
    contract_ref: str
    """The contract that it fits; empty: none asks for it."""
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
    """At the preferred tip of the run."""


class NodeReceipt(Answer, frozen=True, kw_only=True):
    """A program that ran while the step was pending that was done here, or the one that is pending now."""

    id: str
    node_id: str
    """The node at which it ran: this one, or its parent."""
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
    """What came of comparing the report with a contract, or the notes with the rules of the step."""

    contract_ref: str
    result: str
    issues: list[str]


class NodeTree(Answer, frozen=True, kw_only=True):
    """The files of the project that the node was made on."""

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
    """One node: what was done on the way to it, and what is pending there."""

    session_id: str
    run_id: str
    node_id: str
    goal: str
    kind: str
    at: str
    event_index: int
    step_id: str
    """The step whose acknowledgement led here, with the loops around it; empty at the start."""
    title: str
    parent: NodeLink | None
    children: list[NodeLink]
    is_tip: bool
    is_preferred_tip: bool
    preferred_tip: str
    """Of the run."""
    is_on_path: bool
    is_fork: bool
    run_status: str
    health: str
    banner: str
    """What a reader of a damaged session must know; empty when it is sound."""
    option_id: str
    """What a choice was answered with."""
    notes: str
    is_cut: bool
    artifacts: list[NodeArtifact]
    blockers: list[NodeBlocker]
    gaps: list[NodeGap]
    statements: list[StatementRow]
    """How the report was supported, the worst of each place."""
    evidence: dict[str, int]
    """The sum of all reports on the way here."""
    evidence_caveat: str
    """What is true of every count here: who recorded it, where that was another store."""
    is_imported: bool
    """Another store recorded the node: nothing of it was seen here."""
    divergences: list[DivergenceRow]
    capabilities: list[NodeCapability]
    validations: list[NodeValidation]
    trace: list[str]
    preferences: dict[str, str]
    preferences_before: dict[str, str] | None
    """Set where they changed at this node."""
    context_keys: list[str]
    """The names of the facts that were set here."""
    pending: PendingRow | None
    person: NodeAnswer | None
    """What a person answered about its report."""
    receipts: list[NodeReceipt]
    tree: NodeTree | None
    origin: NodeOrigin
    resume_prompt: str
    """What to paste into the chat of an agent; the session is named by its id, without a token."""
    omitted: dict[str, int]
    """By the name of a list: how many of its items are left out."""
