"""What waits for a person: one item of the inbox, whoever shows it. Pure."""

from __future__ import annotations

from handrail.contract.outcome import Answer


class InboxItem(Answer, frozen=True, kw_only=True):
    """One thing that waits for a person."""

    kind: str
    """`person`: a step asks for one; `blocked`; `gap`: a critical one is open; `damaged`; `newer`: a
    newer version wrote it."""
    session_id: str
    run_id: str
    node_id: str
    goal: str
    project: str
    branch: str
    workflow_id: str
    workflow_name: str
    agent: str
    """What the client that began the run calls itself; empty: a command line."""
    account: str
    """In a team: whose agent it is."""
    machine: str
    since: str
    """When the run came there."""
    silence: str
    """`stalled` after the setting idleMinutes without a change."""
    title: str
    """Of the step."""
    why: str
    fix: str
    gap_id: str
    count: int
    asked: str
    """What a person is asked for: `confirm`, `choose`, `give` or `allow_write`; else empty."""
    is_answered: bool
    """A person answered, and the agent has not taken it up yet."""
    reply: str
    """What to paste into the chat of the agent."""
    command: str
    """What a person can run instead, where there is something; in a team the page where they answer."""
    last_activity: str


class Inbox(Answer, frozen=True, kw_only=True):
    """Beside the items: how many wait in all, and where they were looked for."""

    scope: str
    total: int
    answered: int = 0
    """Of these: answered by a person, and not taken up by the agent yet; they come last."""
    session_count: int
