"""Places that have the words of a search. Pure."""

from __future__ import annotations

from handrail.contract.outcome import Answer


class HitRow(Answer, frozen=True, kw_only=True):
    """One place that has the words."""

    session_id: str
    run_id: str
    """Empty: notes of the session itself."""
    node_id: str
    step_id: str
    what: str
    """`notes`, `session notes`, or the kind of the artifact."""
    goal: str
    health: str
    """Of the session; of a damaged one only what is proven was searched."""
    snippet: str
    at: str


class HitList(Answer, frozen=True, kw_only=True):
    """Beside the items: what was searched, and which of it is damaged."""

    scope: str
    session_count: int
