"""`session.list`: every stored session, unreadable ones included."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from handrail.contract.outcome import Fault, Success
from handrail.contract.payload import Answer
from handrail.contract.shape import Shape
from handrail.ports import SessionStamp
from handrail.projections.overview import (
    imported_from,
    latest_run,
    pending_step,
    run_overview,
    session_status,
)
from handrail.runtime.operation import Input, Operation
from handrail.runtime.paging import MOST_ITEMS, page_of
from handrail.runtime.runtime import Runtime
from handrail.runtime.sessions import read_session

_FAR = 10**24
"""Larger than any activity order, so that the latest session sorts first."""


class ListSessions(Input, frozen=True, kw_only=True):
    """Which sessions to list."""

    status: (
        Annotated[
            Literal["in_progress", "blocked", "complete", "complete_with_gaps", "unreadable"],
            Meta(description="Only this status."),
        ]
        | UnsetType
    ) = UNSET
    workflow: (
        Annotated[
            str,
            Meta(description="Only sessions whose latest run is of this workflow.", max_length=128),
        ]
        | UnsetType
    ) = UNSET
    limit: Annotated[int, Meta(description="Items per page.", ge=1, le=MOST_ITEMS)] | UnsetType = UNSET
    cursor: Annotated[str, Meta(description="next_cursor of the page before.")] | UnsetType = UNSET


class SessionRow(Answer, frozen=True, kw_only=True):
    """One session; `status` and what follows are those of its latest run."""

    id: str
    status: str
    health: str
    goal: str = ""
    workflow_id: str = ""
    run_id: str = ""
    run_count: int = 0
    pending_step: str | None = None
    last_activity: str = ""
    imported_from: str = ""


class SessionList(Answer, frozen=True, kw_only=True):
    """Beside the items: where was looked."""

    scope: str


def list_sessions(rt: Runtime, request: ListSessions) -> Success:
    """One page, last activity first. Without a filter only the sessions of this page are read."""
    stamps = rt.log.list_sessions()
    is_filtered = request.status is not UNSET or request.workflow is not UNSET
    chosen: Iterable[SessionStamp] = _matching(rt, stamps, request) if is_filtered else stamps
    page = page_of(rt, OPERATION, request, chosen, _sort_key, lambda stamp: _row(rt, stamp))
    return Success(data={"scope": "all sessions of this store"}, page=page)


def _matching(rt: Runtime, stamps: Sequence[SessionStamp], request: ListSessions) -> Iterator[SessionStamp]:
    for stamp in stamps:
        row = _row(rt, stamp)
        if request.status is not UNSET and row.status != request.status:
            continue
        if request.workflow is UNSET or row.workflow_id == request.workflow:
            yield stamp


def _sort_key(stamp: SessionStamp) -> tuple[str, ...]:
    return (f"{_FAR - stamp.order:025d}", stamp.session_id)


def _row(rt: Runtime, stamp: SessionStamp) -> SessionRow:
    try:
        session = read_session(rt.log, stamp.session_id)
    except Fault as fault:  # one bad session never hides the others
        return SessionRow(id=stamp.session_id, status="unreadable", health=fault.kind.code)
    if session is None:
        return SessionRow(id=stamp.session_id, status="unreadable", health="missing")
    history = session.history
    run_id = latest_run(history)
    if run_id is None:
        is_sound = session.health.state == "healthy"
        return SessionRow(
            id=stamp.session_id,
            status=session_status(history) if is_sound else "unreadable",
            health=session.health.state,
            goal=history.observations.get("goal", ""),
            last_activity=history.last_at,
        )
    run = run_overview(history, run_id)
    return SessionRow(
        id=stamp.session_id,
        status=session_status(history),
        health=session.health.state,
        goal=history.observations.get("goal", ""),
        workflow_id=run.workflow_id,
        run_id=run_id,
        run_count=len(history.runs),
        pending_step=pending_step(run.tip),
        last_activity=history.last_at,
        imported_from=imported_from(history),
    )


OPERATION = Operation(
    name="session.list",
    effect="read",
    summary="List the stored sessions, last activity first.",
    input=ListSessions,
    output=SessionList,
    item=SessionRow,
    perform=list_sessions,
    shape=Shape(
        levels={"minimal": ("id", "status"), "standard": None, "full": None},
        id_field="id",
        select="items",
        untrusted=("goal",),
    ),
    default_sort="last activity (newest first), id",
    errors=("VALIDATION_ERROR", "INVALID_TOKEN", "TOKEN_EXPIRED", "TOKEN_SCOPE_MISMATCH"),
)
