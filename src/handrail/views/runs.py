"""One run: its state, its nodes and their layout, and the steps ahead. Pure."""

from __future__ import annotations

from handrail.contract.outcome import Answer
from handrail.engine.events import ChangeSum
from handrail.views.inbox import InboxItem
from handrail.views.nodes import NodeAnswer


class PassedRow(Answer, frozen=True, kw_only=True):
    """A step or loop that was skipped on the way to a node, and the condition that was false."""

    step_id: str
    title: str
    condition_id: str
    """The condition of the part itself; empty for a loop that had no iteration."""
    why: str


class ProofRow(Answer, frozen=True, kw_only=True):
    """What the four runs of a check showed."""

    check: str
    """The declared name of the check, or its command."""
    label: str
    """The one-word result, such as PROVED."""
    sentence: str
    rows: list[list[str]]
    """The table of the four runs, with its header row first; empty if nothing ran."""
    names: list[str]
    names_total: int
    machine: str
    at: str


class OutcomeRow(Answer, frozen=True, kw_only=True):
    """The result of a run so far, on the way to its preferred tip."""

    sentence: str
    """What was done. For a finished run also what was proven and what needs review."""
    seconds: int
    """Time from its start to its newest node."""
    proofs: list[ProofRow]
    """The newest proof of each check."""
    review: list[str]
    """What a person must review, the worst first."""
    changed: ChangeSum | None
    """How many files and lines changed; null if Handrail did not count them."""
    first_tree: str
    """The first and the last node of the path that have a file snapshot; empty if none has one."""
    last_tree: str


class RailNode(Answer, frozen=True, kw_only=True):
    """One node of the drawing, from top to bottom; `title` is that of the step that was done to reach it."""

    id: str
    parent: str | None
    kind: str
    step_id: str
    """The step with the loops around it; empty at the start."""
    title: str
    pending_title: str
    """Title of the step that is pending there; empty if the run ended."""
    at: str
    row: int
    lane: int
    """Column of the drawing. 0 is the preferred path; a branch is in the column next to its parent's."""
    is_on_path: bool
    is_tip: bool
    is_fork: bool
    has_notes: bool
    summary: str
    """The first line of its notes, or why the attempt was not accepted; empty if there is neither."""
    option: str
    """The option that was chosen there; empty if none was."""
    answer: NodeAnswer | None
    """What a person answered about its report."""
    seconds: int
    """Time since the step before was done."""
    attempts: int
    """How many reports of the step were not accepted before this one."""
    tree_id: str
    """The file snapshot taken when the node was created; empty if there is none."""
    changed: ChangeSum | None
    """How many files and lines the step changed; null if none did or Handrail did not count them."""
    artifact_count: int
    gap_count: int
    verdict: str
    """The weakest verdict on its report; empty if nothing was checked."""
    level: str
    """Who recorded that verdict; empty if nothing was checked."""
    is_imported: bool
    """Whether another store recorded the node, so that nothing about it was observed here."""
    is_diverged: bool
    person: str
    """What a person answered about its report: `confirmed`, `declined`, or empty."""
    passed: list[PassedRow]
    passed_omitted: int
    """How many more were skipped that the log only counts."""


class AheadRow(Answer, frozen=True, kw_only=True):
    """A step of the workflow that the path to the preferred tip has not reached."""

    step_id: str
    title: str


class RunName(Answer, frozen=True, kw_only=True):
    """A run of the session, by name."""

    id: str
    workflow_id: str
    workflow_name: str
    goal: str
    status: str
    branch_count: int
    node_count: int
    started_at: str
    child_id: str = ""
    """For a delegated run: the id of the child in its parent's workflow."""


class ChildRow(Answer, frozen=True, kw_only=True):
    """Work that a step of the run delegated."""

    node_id: str
    """The node at which it was delegated."""
    child_id: str
    run_id: str
    title: str
    status: str
    """The status of a run; also `handed_out` before anything is reported, `taken` if its result counts on
    another branch, and `set_aside` if the parent run no longer waits for it.
    """
    pending_title: str
    agent: str
    """The name that the client stated when it began the run; empty for a command line."""
    worker: str = ""
    """The name that the helper states for itself."""
    account: str = ""
    """On a team server: the account that reported in it."""
    result: str = ""
    """For finished work: what was done, what was proven, and what needs review."""


class RunView(Answer, frozen=True, kw_only=True):
    """One run as a drawing, with the names of the other runs of its session."""

    session_id: str
    run_id: str
    workflow_id: str
    workflow_name: str
    status: str
    health: str
    banner: str
    """A warning about a damaged session; empty if the session is intact."""
    node_count: int
    branch_count: int
    preferred_tip: str
    pending_step: str
    pending_title: str
    done: int
    at_least: int
    """Number of steps of the run, including those that are certain to follow."""
    agent: str
    """The name that the client stated when it began the run; empty for a command line."""
    account: str
    """On a team server: the account whose agent began the run."""
    machine: str
    pending_person: str
    """The newest answer of a person about the pending step; empty if there is none."""
    is_pending_person_imported: bool
    evidence: dict[str, int]
    evidence_caveat: str
    """A caveat about every level and count here if another store recorded them; it names that store."""
    open_gap_count: int
    silence: str
    """`idle` if the agent has saved nothing for long, `stalled` if the run has waited for a person for
    long; otherwise empty.
    """
    waiting: list[InboxItem]
    """The inbox items of the run; empty for a damaged session, because no answer could continue it."""
    resume_prompt: str
    """The text to paste into an agent's chat. It names the session by its id and contains no token.

    Empty for a damaged session.
    """
    nodes: list[RailNode]
    nodes_omitted: int
    """How many of the oldest nodes were left out because the run is longer than a drawing."""
    ahead: list[AheadRow]
    children: list[ChildRow]
    """The work that its steps delegated, next to the delegating nodes; the oldest first."""
    parent_run_id: str
    """For delegated work: the run that waits for it; otherwise empty."""
    outcome: OutcomeRow
    runs: list[RunName]
    """The newest runs, oldest first."""
    runs_omitted: int
