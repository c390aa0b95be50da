"""A session as one row of a list. Pure."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from handrail.contract.outcome import Answer
from handrail.engine.events import ChangeSum
from handrail.projections.overview import Sources


class SessionView(Answer, frozen=True, kw_only=True):
    """One session; `status` and what follows are those of its latest unfinished run, else of its latest."""

    id: str
    status: str
    health: str
    goal: str = ""
    project: str = ""
    workflow_id: str = ""
    workflow_hash: str = ""
    """What its run is pinned to; the workflow as it is now may have another."""
    run_id: str = ""
    run_count: int = 0
    pending_step: str | None = None
    pending_title: str = ""
    workflow_name: str = ""
    done: int = 0
    at_least: int = 0
    """Steps of the run, those that surely follow among them."""
    parts: int = 0
    """Pieces of work that the pending step delegated; `parts_done` of them are done."""
    parts_done: int = 0
    since: str = ""
    """When the run came to where it stands."""
    agent: str = ""
    """What the client that began it calls itself; empty: a command line."""
    account: str = ""
    """In a team: whose agent began it."""
    machine: str = ""
    silence: str = ""
    """`idle` or `stalled` after the setting idleMinutes without a change."""
    needs_person: bool = False
    """Whether something waits for a person."""
    asked: str = ""
    """`waiting` where only the answer of a person is missing, `answered` until the agent has read it."""
    started_at: str = ""
    """When the run began."""
    seconds: int = 0
    """From there to where it stands."""
    sources: Sources = Sources()
    """What is known of the run, by who recorded it."""
    changed: ChangeSum | None = None
    """Files that changed since the run began, and their lines; null: nobody counted."""
    branch: str = ""
    """The git branch that it was last seen on."""
    last_activity: str = ""
    imported_from: str = ""
    open_gaps: int = 0
    """Of all its runs."""
    critical_gaps: int = 0


class StoredValues(Answer, frozen=True, kw_only=True):
    """What the sessions of the store have, for filters: each value once, in order."""

    projects: list[str]
    branches: list[str]
    workflows: dict[str, str]
    """By id: the name, else the id."""
    accounts: list[str]
    agents: list[str]


class SessionList(Answer, frozen=True, kw_only=True):
    """Beside the items: where was looked."""

    scope: str
    session_count: int
    """Of the store."""
    values: StoredValues | UnsetType = UNSET
    """Only if it is asked for."""
