"""Gaps: what was missing when runs continued. Pure."""

from __future__ import annotations

from typing import Literal, TypeAlias

from handrail.contract.outcome import Answer
from handrail.engine.events import GapSeverity

GapState: TypeAlias = Literal["open", "resolved", "noted"]
"""`noted` only informs: nothing is missing."""


class GapItem(Answer, frozen=True, kw_only=True):
    """One gap on the way to the preferred tip of its run, and where it was recorded."""

    id: str
    state: GapState
    severity: GapSeverity
    reason: str
    summary: str
    resolved_by: str
    """How it was resolved, as the report words it; empty while it is open."""
    session_id: str
    run_id: str
    node_id: str
    step_id: str
    """The step that the run left with this gap."""
    workflow_id: str
    workflow_name: str
    project: str
    goal: str
    health: str
    """Health of the session. In a damaged one, the gap may have been resolved after the part that is
    proven.
    """
    at: str


class GapCounts(Answer, frozen=True, kw_only=True):
    """Number of gaps in each state, and how many of the open ones are critical."""

    open: int
    resolved: int
    noted: int
    critical: int


class GapList(Answer, frozen=True, kw_only=True):
    """Fields beside the list of gaps; `counts` covers every state, whatever state the caller asked for."""

    scope: str
    counts: GapCounts
