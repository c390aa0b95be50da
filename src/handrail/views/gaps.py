"""What runs went on without. Pure."""

from __future__ import annotations

from typing import Literal, TypeAlias

from handrail.contract.outcome import Answer
from handrail.engine.events import GapSeverity

GapState: TypeAlias = Literal["open", "resolved", "noted"]


class GapItem(Answer, frozen=True, kw_only=True):
    """One gap on the way to the preferred tip of its run, and where it was recorded."""

    id: str
    state: GapState
    severity: GapSeverity
    reason: str
    summary: str
    resolved_by: str
    """How it was resolved, in the words of the report; empty while it is open."""
    session_id: str
    run_id: str
    node_id: str
    step_id: str
    """The step that was left with it."""
    workflow_id: str
    workflow_name: str
    project: str
    goal: str
    health: str
    """Of the session; what came after the proven part of a damaged one may have resolved it."""
    at: str


class GapCounts(Answer, frozen=True, kw_only=True):
    """How many there are by state, and how many of the open ones are critical."""

    open: int
    resolved: int
    noted: int
    critical: int


class GapList(Answer, frozen=True, kw_only=True):
    """Beside the items: how many there are of each state, whatever state was asked for."""

    scope: str
    counts: GapCounts
