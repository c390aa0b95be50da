"""Search hits. Pure."""

from __future__ import annotations

from handrail.contract.outcome import Answer


class HitRow(Answer, frozen=True, kw_only=True):
    """One place that contains the words of the search."""

    session_id: str
    run_id: str
    """The run; empty for notes of the session itself."""
    node_id: str
    step_id: str
    what: str
    """`notes`, `session notes`, or the kind of the artifact."""
    goal: str
    health: str
    """Health of the session; only the proven part of a damaged one was searched."""
    snippet: str
    at: str


class HitList(Answer, frozen=True, kw_only=True):
    """Fields beside the list of hits: what was searched, and which of it is damaged."""

    scope: str
    session_count: int
