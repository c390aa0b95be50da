"""`session.list`: every stored session, unreadable ones included."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Answer, Success
from handrail.operations.stored_sessions import Sessions, open_stored_sessions
from handrail.ports.log import SessionStamp
from handrail.ports.store import IndexTrouble
from handrail.projections.overview import SessionFacts
from handrail.runtime.operation import Input, Operation, ValueRule
from handrail.runtime.paging import MOST_ITEMS, page_of
from handrail.runtime.runtime import Runtime

_TIMES = "a UTC time such as 2026-11-15T09:30:00Z"
_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(\.\d{1,9})?Z", re.ASCII)
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)

_FAR = 10**24
"""Larger than any activity order, so that the latest session sorts first."""


class ListSessions(Input, frozen=True, kw_only=True):
    """Which sessions to list."""

    status: (
        Annotated[
            Literal[
                "in_progress",
                "blocked",
                "complete",
                "complete_with_gaps",
                "closed",
                "notes_only",
                "empty",
                "unreadable",
            ],
            Meta(description="Only this status."),
        ]
        | UnsetType
    ) = UNSET
    workflow: (
        Annotated[
            str,
            Meta(
                description="Only sessions whose unfinished, else latest, run is of this workflow.",
                max_length=128,
            ),
        ]
        | UnsetType
    ) = UNSET
    since: (
        Annotated[str, Meta(description=f"Last activity at or after {_TIMES}.", max_length=40)] | UnsetType
    ) = UNSET
    until: Annotated[str, Meta(description=f"Last activity before {_TIMES}.", max_length=40)] | UnsetType = (
        UNSET
    )
    query: (
        Annotated[
            str,
            Meta(
                description="Only where id, goal, project, workflow or its tags have all these words.",
                max_length=256,
            ),
        ]
        | UnsetType
    ) = UNSET
    limit: Annotated[int, Meta(description="Items per page.", ge=1, le=MOST_ITEMS)] | UnsetType = UNSET
    cursor: Annotated[str, Meta(description="next_cursor of the page before.")] | UnsetType = UNSET


class SessionRow(Answer, frozen=True, kw_only=True):
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


def list_sessions(rt: Runtime, request: ListSessions) -> Success:
    """One page, last activity first. Without a filter only the sessions of this page are looked at."""
    try:
        return _list(rt, request, with_index=True)
    except IndexTrouble:
        return _list(rt, request, with_index=False)


def _list(rt: Runtime, request: ListSessions, *, with_index: bool) -> Success:
    filters = (request.status, request.workflow, request.since, request.until, request.query)
    is_filtered = any(given is not UNSET for given in filters)
    with open_stored_sessions(rt, with_index=with_index) as sessions:
        chosen: Iterable[SessionStamp] = _matching(sessions, request) if is_filtered else sessions.stamps
        page = page_of(rt, OPERATION, request, chosen, _sort_key, lambda stamp: _row(sessions, stamp))
    return Success(data={"scope": "all sessions of this store"}, page=page)


def _matching(sessions: Sessions, request: ListSessions) -> Iterator[SessionStamp]:
    for stamp in sessions.stamps:
        if _is_wanted(stamp, sessions.facts(stamp.session_id), request):
            yield stamp


def _is_wanted(stamp: SessionStamp, facts: SessionFacts, request: ListSessions) -> bool:
    """A session whose time nobody can read passes the filters of time: it is never dropped for that."""
    if request.status is not UNSET and facts.status != request.status:
        return False
    if request.workflow is not UNSET and facts.workflow_id != request.workflow:
        return False
    at = facts.last_activity
    if at and request.since is not UNSET and _comparable(at) < _comparable(request.since):
        return False
    if at and request.until is not UNSET and _comparable(at) >= _comparable(request.until):
        return False
    words = "" if request.query is UNSET else request.query.casefold()
    parts = (stamp.session_id, facts.goal, facts.project, facts.workflow_id, *facts.tags)
    text = " ".join(parts).casefold()
    return all(word in text for word in words.split())


def _comparable(time: str) -> str:
    """Times in one form sort like their text; a fraction that is left out is zero."""
    whole, _, fraction = time.rstrip("Z").partition(".")
    return f"{whole}.{fraction:0<9}"


def _is_time(text: str) -> bool:
    shape = _TIME.fullmatch(text)
    if shape is None:
        return False
    year, month, day, hour, minute, second = (int(part) for part in shape.groups()[:6])
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    days = _DAYS[month - 1] + (month == 2 and is_leap) if 1 <= month <= 12 else 0
    return 1 <= day <= days and hour < 24 and minute < 60 and second < 60


def _sort_key(stamp: SessionStamp) -> tuple[str, ...]:
    return (f"{_FAR - stamp.order:025d}", stamp.session_id)


def _row(sessions: Sessions, stamp: SessionStamp) -> SessionRow:
    facts = sessions.facts(stamp.session_id)
    return SessionRow(
        id=stamp.session_id,
        status=facts.status,
        health=facts.health,
        goal=facts.goal,
        project=facts.project,
        workflow_id=facts.workflow_id,
        workflow_hash=facts.workflow_hash,
        run_id=facts.run_id,
        run_count=facts.run_count,
        pending_step=facts.pending_step,
        branch=facts.branches[-1] if facts.branches else "",
        last_activity=facts.last_activity,
        imported_from=facts.imported_from,
        open_gaps=facts.open_gap_count,
        critical_gaps=facts.critical_gap_count,
    )


_TIME_RULE = ValueRule(fits=_is_time, problem="is not a UTC time", expected=_TIMES)

OPERATION = Operation(
    name="session.list",
    effect="read",
    summary="List the stored sessions, last activity first.",
    input=ListSessions,
    output=SessionList,
    item=SessionRow,
    perform=list_sessions,
    shape=Shape(
        levels={"minimal": ("id", "status", "health"), "standard": None, "full": None},
        id_field="id",
        select="items",
        untrusted=("goal", "project", "branch"),
    ),
    value_rules={"since": _TIME_RULE, "until": _TIME_RULE},
    default_sort="last activity (newest first), id",
    errors=("VALIDATION_ERROR", "INVALID_TOKEN", "TOKEN_EXPIRED", "TOKEN_SCOPE_MISMATCH"),
)
