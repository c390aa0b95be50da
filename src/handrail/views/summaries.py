"""One session as a bounded summary, with each of its runs. Pure."""

from __future__ import annotations

from handrail.contract.outcome import Answer
from handrail.views.statements import StatementRow


class StepNoteRow(Answer, frozen=True, kw_only=True):
    """What was written down at one node on the way to the preferred tip; `id` is that of the node."""

    id: str
    step_id: str
    at: str
    text: str
    is_cut: bool = False


class GapRow(Answer, frozen=True, kw_only=True):
    """Something that was missing when the run went on."""

    id: str
    severity: str
    reason: str
    summary: str
    is_open: bool
    who: str = ""
    """Of what a person wrote who resolved the gap before it: who, and where."""


class ArtifactRow(Answer, frozen=True, kw_only=True):
    """The current artifact of a kind, without its body."""

    kind: str
    step_id: str
    digest: str
    is_validated: bool


class ConfirmationRow(Answer, frozen=True, kw_only=True):
    """What a person answered about a step: the newest answer at each node where one was asked."""

    step_id: str
    answer: str
    option_id: str = ""  # of a choice: the option that they took
    summary: str = ""
    source: str
    who: str
    at: str
    note: str = ""


class SkippedRow(Answer, frozen=True, kw_only=True):
    """A step or loop that was passed by."""

    step_id: str
    condition_id: str
    """Of the part itself; empty for a loop that had no round."""
    reason: str
    """The words of `loops`: `condition_false` for a part whose own condition did not hold."""
    not_needed: bool
    """What somebody gave made it superfluous; otherwise a value was missing or only assumed."""


class LoopRow(Answer, frozen=True, kw_only=True):
    """A loop that ended, and why."""

    loop_id: str
    iterations: int
    reason: str


class DivergenceRow(Answer, frozen=True, kw_only=True):
    """Where the agent left the instructions on purpose."""

    reason: str
    step_id: str
    summary: str


class ClosedRow(Answer, frozen=True, kw_only=True):
    """That nobody continues with a run."""

    reason: str
    note: str
    at: str


class RunRow(Answer, frozen=True, kw_only=True):
    """One run. All but its tips holds at the preferred one."""

    id: str
    workflow_id: str
    workflow_name: str
    workflow_hash: str
    child_id: str = ""
    parent_run_id: str = ""  # of a run that another one delegated
    worker: str = ""  # what those who work on it call themselves, as they state
    status: str
    pending_step: str | None
    closed: ClosedRow | None
    ledger_version: int
    node_count: int
    fork_count: int
    tips: list[str]
    """The newest; `omitted` counts what is left out of this and the other lists."""
    preferred_tip: str
    preferences: dict[str, str]
    capabilities: dict[str, str]
    gaps: list[GapRow]
    artifacts: list[ArtifactRow]
    summary: str = ""
    """Of a finished run: what was done, what was proven, and what a person must look at."""
    evidence: dict[str, int]
    """Its statements by how they are known: executed, observed, approved, found, stated; and what failed."""
    evidence_caveat: str
    """What is true of every level and count here: who recorded it, where that was another store."""
    statements: list[StatementRow]
    """The newest, oldest first."""
    confirmations: list[ConfirmationRow] = []
    """Of people, about steps of any branch."""
    divergences: list[DivergenceRow]
    skipped: list[SkippedRow]
    """Once for every round that passed the part by; `omitted` also counts those without a name in the log."""
    not_run_summary: str = ""
    """How many that are, in words; empty: everything ran."""
    loops: list[LoopRow]
    notes: list[StepNoteRow]
    """The newest, oldest first."""
    notes_omitted: int = 0
    graph: list[str]
    """The drawing; `run.graph` has the nodes."""
    omitted: dict[str, int] = {}
    """By the name of a list: how many of its items, mostly older ones, are left out."""


class HealthRow(Answer, frozen=True, kw_only=True):
    """What the log can prove."""

    state: str
    reason: str = ""
    banner: str = ""
    """What a reader of a damaged session must know, and what helps; empty when it is sound."""


class ImportRow(Answer, frozen=True, kw_only=True):
    """Where the session came from, when it was not begun here."""

    bundle_id: str
    source_session_id: str


class NoteRow(Answer, frozen=True, kw_only=True):
    """Notes that belong to the session itself; `text` is their beginning where `is_cut` says so."""

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
    """The name of the project that its latest unfinished run, else its latest, was begun in."""
    branch: str = ""
    event_count: int
    last_activity: str
    imported: ImportRow | None = None
    notes: list[NoteRow] = []
    """The newest notes of the session itself, oldest first."""
    notes_omitted: int = 0
    runs: list[RunRow]
    runs_omitted: int = 0
