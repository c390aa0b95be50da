"""What happened in a session, moment by moment. Pure."""

from __future__ import annotations

from handrail.contract.outcome import Answer


class MomentRow(Answer, frozen=True, kw_only=True):
    """One thing that happened."""

    index: int
    at: str
    seconds: int | None
    """Since the moment before it in its lane; null for the first."""
    lane: str
    """The run, or `session`."""
    workflow_name: str
    what: str
    said: str
    """What a person did who answered: chose an option, gave a value, confirmed, declined; of a check its
    command and how it ended; of a report that was not accepted why, in words for people."""
    who: str
    """Who answered; empty: nobody was asked."""
    note: str
    """What they wrote."""
    node_id: str
    step_id: str
    title: str


class Timeline(Answer, frozen=True, kw_only=True):
    """Beside the items: whose they are."""

    session_id: str
    health: str
    banner: str
    """What a reader of a damaged session must know; empty when it is sound."""
    earlier: int
    """How many came before these."""
