"""A session as one row of a list. Pure."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from handrail.contract.outcome import Answer
from handrail.engine.events import ChangeSum
from handrail.projections.overview import Sources


class SessionView(Answer, frozen=True, kw_only=True):
    """One session; `status` and the fields below it describe its latest unfinished run, or else its latest
    run.
    """

    id: str
    status: str
    health: str
    goal: str = ""
    project: str = ""
    workflow_id: str = ""
    workflow_hash: str = ""
    """Hash of the workflow that its run is pinned to; the current file may have another hash."""
    run_id: str = ""
    run_count: int = 0
    pending_step: str | None = None
    pending_title: str = ""
    workflow_name: str = ""
    done: int = 0
    at_least: int = 0
    """Number of steps of the run, including those that are certain to follow."""
    parts: int = 0
    """How many child runs the pending step delegated; `parts_done` counts those that are done."""
    parts_done: int = 0
    since: str = ""
    """When the run reached its present state."""
    agent: str = ""
    """The name that the client stated when it began the run; empty for a command line."""
    account: str = ""
    """On a team server: the account whose agent began the run."""
    machine: str = ""
    silence: str = ""
    """`idle` or `stalled` if nothing changed for as long as the setting idleMinutes says."""
    needs_person: bool = False
    """Whether something waits for a person."""
    asked: str = ""
    """`waiting` if only a person's answer is missing, `answered` until the agent has read the answer."""
    started_at: str = ""
    """When the run began."""
    seconds: int = 0
    """Time from the start to the present state."""
    sources: Sources = Sources()
    """Counts of what is known about the run, by who recorded it."""
    changed: ChangeSum | None = None
    """How many files and lines changed since the run began; null if Handrail did not count them."""
    branch: str = ""
    """The git branch on which the run was last observed."""
    last_activity: str = ""
    imported_from: str = ""
    open_gaps: int = 0
    """Open gaps of all its runs."""
    critical_gaps: int = 0


class StoredValues(Answer, frozen=True, kw_only=True):
    """Values that occur in the sessions of the store, for filters; each once, in order."""

    projects: list[str]
    branches: list[str]
    workflows: dict[str, str]
    """Workflow ids, each with the name of the workflow, or its id if it has no name."""
    accounts: list[str]
    agents: list[str]


class SessionList(Answer, frozen=True, kw_only=True):
    """Fields beside the list of sessions: where Handrail searched."""

    scope: str
    session_count: int
    """Number of sessions in the store."""
    values: StoredValues | UnsetType = UNSET
    """Filter values; null unless the caller asked for them."""
