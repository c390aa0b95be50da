"""One session as a summary of limited size, with each of its runs. Pure."""

from __future__ import annotations

from handrail.contract.outcome import Answer
from handrail.views.statements import StatementRow


class StepNoteRow(Answer, frozen=True, kw_only=True):
    """Notes recorded at one node on the way to the preferred tip; `id` is that of the node."""

    id: str
    step_id: str
    at: str
    text: str
    is_cut: bool = False


class GapRow(Answer, frozen=True, kw_only=True):
    """Something that was missing when the run continued."""

    id: str
    severity: str
    reason: str
    summary: str
    is_open: bool
    who: str = ""
    """Who resolved the gap, and where; empty unless a person did."""


class ArtifactRow(Answer, frozen=True, kw_only=True):
    """The current artifact of a kind, without its body."""

    kind: str
    step_id: str
    digest: str
    is_validated: bool


class ConfirmationRow(Answer, frozen=True, kw_only=True):
    """What a person answered about a step: the newest answer at each node that asked for one."""

    step_id: str
    answer: str
    option_id: str = ""  # of a choice: the option that the person took
    summary: str = ""
    source: str
    who: str
    at: str
    note: str = ""


class SkippedRow(Answer, frozen=True, kw_only=True):
    """A step or loop that was skipped."""

    step_id: str
    condition_id: str
    """The condition of the part itself; empty for a loop that had no iteration."""
    reason: str
    """One of the reasons for which loops end; `condition_false` for a part whose own condition was false."""
    not_needed: bool
    """True if a value that was given made it unnecessary; false if a value was missing or only assumed."""


class LoopRow(Answer, frozen=True, kw_only=True):
    """A loop that ended, and why."""

    loop_id: str
    iterations: int
    reason: str


class DivergenceRow(Answer, frozen=True, kw_only=True):
    """A point where the agent left the instructions on purpose."""

    reason: str
    step_id: str
    summary: str


class ClosedRow(Answer, frozen=True, kw_only=True):
    """Why a run was closed without being continued."""

    reason: str
    note: str
    at: str


class RunRow(Answer, frozen=True, kw_only=True):
    """One run. Every field except `tips` describes the preferred tip."""

    id: str
    workflow_id: str
    workflow_name: str
    workflow_hash: str
    child_id: str = ""
    parent_run_id: str = ""  # of a delegated run: the run that waits for it
    worker: str = ""  # the name that the helper states for itself
    status: str
    pending_step: str | None
    closed: ClosedRow | None
    ledger_version: int
    node_count: int
    fork_count: int
    tips: list[str]
    """The newest tips; `omitted` counts what is left out of this and the other lists."""
    preferred_tip: str
    preferences: dict[str, str]
    capabilities: dict[str, str]
    gaps: list[GapRow]
    artifacts: list[ArtifactRow]
    summary: str = ""
    """For a finished run: what was done, what was proven, and what a person must review."""
    evidence: dict[str, int]
    """Counts of its statements by how they are known: executed, observed, approved, found, stated, and
    failed.
    """
    evidence_caveat: str
    """A caveat about every level and count here if another store recorded them; it names that store."""
    statements: list[StatementRow]
    """The newest entries, oldest first."""
    confirmations: list[ConfirmationRow] = []
    """Answers of people about steps of any branch."""
    divergences: list[DivergenceRow]
    skipped: list[SkippedRow]
    """One row for each loop iteration that skipped the part; `omitted` also counts those that the log only
    counts.
    """
    not_run_summary: str = ""
    """How many steps did not run, as text; empty if everything ran."""
    loops: list[LoopRow]
    notes: list[StepNoteRow]
    """The newest entries, oldest first."""
    notes_omitted: int = 0
    graph: list[str]
    """Lines of the drawing; `run.graph` returns the nodes."""
    omitted: dict[str, int] = {}
    """For each list that was cut, by its name: how many items, mostly older ones, were left out."""


class HealthRow(Answer, frozen=True, kw_only=True):
    """What the log can prove about the session."""

    state: str
    reason: str = ""
    banner: str = ""
    """A warning about a damaged session, and what helps; empty if the session is intact."""


class ImportRow(Answer, frozen=True, kw_only=True):
    """Where an imported session came from."""

    bundle_id: str
    source_session_id: str


class NoteRow(Answer, frozen=True, kw_only=True):
    """Notes of the session itself; if `is_cut` is set, `text` is only their beginning."""

    id: str
    at: str
    text: str
    is_cut: bool = False


class SessionSummary(Answer, frozen=True, kw_only=True):
    """One session."""

    session_id: str
    status: str
    health: HealthRow
    goal: str = ""
    project: str = ""
    """Name of the project in which its latest unfinished run, or else its latest run, was begun."""
    branch: str = ""
    event_count: int
    last_activity: str
    imported: ImportRow | None = None
    notes: list[NoteRow] = []
    """The newest notes of the session itself, oldest first."""
    notes_omitted: int = 0
    runs: list[RunRow]
    runs_omitted: int = 0
