"""A session as one row of a list. Pure."""

from __future__ import annotations

from handrail.contract.outcome import Answer


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
    """Pieces of work that the pending step handed out; `parts_done` of them are done."""
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
    branch: str = ""
    """The git branch that it was last seen on."""
    last_activity: str = ""
    imported_from: str = ""
    open_gaps: int = 0
    """Of all its runs."""
    critical_gaps: int = 0


class SessionList(Answer, frozen=True, kw_only=True):
    """Beside the items: where was looked."""

    scope: str
