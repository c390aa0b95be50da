"""One run: how it stands, its nodes in their places, and what is ahead. Pure."""

from __future__ import annotations

from handrail.contract.outcome import Answer
from handrail.engine.events import ChangeSum
from handrail.views.inbox import InboxItem
from handrail.views.nodes import NodeAnswer


class PassedRow(Answer, frozen=True, kw_only=True):
    """A step or loop that was passed by on the way to a node, and the condition that did not hold."""

    step_id: str
    title: str
    condition_id: str
    """Of the part itself; empty for a loop that had no round."""
    why: str


class ProofRow(Answer, frozen=True, kw_only=True):
    """What the four runs of a check showed."""

    check: str
    """The declared name, or the command."""
    label: str
    """The word, as in PROVED."""
    sentence: str
    rows: list[list[str]]
    """The table of the four runs, its heads first; empty where nothing ran."""
    names: list[str]
    names_total: int
    machine: str
    at: str


class OutcomeRow(Answer, frozen=True, kw_only=True):
    """What came of a run so far, on the way to its preferred tip."""

    sentence: str
    """What was done; of a finished run also what was proven and what is for review."""
    seconds: int
    """From its start to its newest node."""
    proofs: list[ProofRow]
    """The newest of each check."""
    review: list[str]
    """What a person must look at, the worst first."""
    changed: ChangeSum | None
    """Files that changed, and their lines; null: nobody counted."""
    first_tree: str
    """The first and the last node of the way whose files are recorded; empty: there is none."""
    last_tree: str


class RailNode(Answer, frozen=True, kw_only=True):
    """One node, from top to bottom. `title` is of the step that was done on the way to it."""

    id: str
    parent: str | None
    kind: str
    step_id: str
    """With the loops around it; empty at the start."""
    title: str
    pending_title: str
    """Of the step that is pending there; empty where the run ended."""
    at: str
    row: int
    lane: int
    """0 is the preferred path; a branch stands in the lane beside its parent's."""
    is_on_path: bool
    is_tip: bool
    is_fork: bool
    has_notes: bool
    summary: str
    """The first line of its notes, or why the attempt was not accepted; empty: there is neither."""
    option: str
    """What was chosen there; empty: nothing was."""
    answer: NodeAnswer | None
    """What a person answered about its report."""
    seconds: int
    """Since the step before was done."""
    attempts: int
    """Reports of the step that were not accepted on the way."""
    tree_id: str
    """Of the files as it was made; empty: they are not recorded."""
    changed: ChangeSum | None
    """Files that the step changed, and their lines; null: none, or nobody counted."""
    artifact_count: int
    gap_count: int
    verdict: str
    """The worst of its report; empty: nothing was checked."""
    level: str
    """Who saw that; empty: nothing was checked."""
    is_imported: bool
    """Another store recorded it: nothing of it was seen here."""
    is_diverged: bool
    person: str
    """What a person answered about its report: `confirmed`, `declined`, or empty."""
    passed: list[PassedRow]
    passed_omitted: int
    """More, which the log only counts."""


class AheadRow(Answer, frozen=True, kw_only=True):
    """A step of the workflow that the way to the preferred tip has not reached."""

    step_id: str
    title: str


class RunName(Answer, frozen=True, kw_only=True):
    """A run of the session."""

    id: str
    workflow_id: str
    workflow_name: str
    goal: str
    status: str
    branch_count: int
    node_count: int
    started_at: str
    child_id: str = ""
    """Of a run that another one delegated."""


class ChildRow(Answer, frozen=True, kw_only=True):
    """Work that a step of the run delegated."""

    node_id: str
    """Where it was delegated."""
    child_id: str
    run_id: str
    title: str
    status: str
    """As of any run; `handed_out` before anything is reported, `taken` where its result counts on another
    branch, `set_aside` where nobody waits for it."""
    pending_title: str
    agent: str
    """What the client that began the run calls itself; empty: a command line."""
    worker: str = ""
    """What those who work on it call themselves, as they state."""
    account: str = ""
    """In a team: who reported in it."""
    result: str = ""
    """Of finished work: what was done, what was proven, and what is for review."""


class RunView(Answer, frozen=True, kw_only=True):
    """One run as a rail, the other runs of its session by name."""

    session_id: str
    run_id: str
    workflow_id: str
    workflow_name: str
    status: str
    health: str
    banner: str
    """What a reader of a damaged session must know; empty when it is sound."""
    node_count: int
    branch_count: int
    preferred_tip: str
    pending_step: str
    pending_title: str
    done: int
    at_least: int
    """Steps of the run, those that surely follow among them."""
    agent: str
    """What the client that began the run calls itself; empty: a command line."""
    account: str
    """In a team: whose agent began the run."""
    machine: str
    pending_person: str
    """What a person last answered about the pending step; empty: nothing yet."""
    is_pending_person_imported: bool
    evidence: dict[str, int]
    evidence_caveat: str
    """What is true of every level and count here: who recorded it, where that was another store."""
    open_gap_count: int
    silence: str
    """`idle`: the agent has kept nothing for long; `stalled`: it waits, and nobody came; else empty."""
    waiting: list[InboxItem]
    """Empty where the session is damaged: no answer would lead on."""
    resume_prompt: str
    """What to paste into the chat of an agent; the session is named by its id, without a token.

    Empty where the session is damaged."""
    nodes: list[RailNode]
    nodes_omitted: int
    """The oldest ones, of a run that is longer than a drawing."""
    ahead: list[AheadRow]
    children: list[ChildRow]
    """What its steps delegated, each beside its node; the oldest first."""
    parent_run_id: str
    """Of work that was delegated: the run that waits for it; else empty."""
    outcome: OutcomeRow
    runs: list[RunName]
    """The newest, oldest first."""
    runs_omitted: int
