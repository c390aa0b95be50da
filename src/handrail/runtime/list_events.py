"""`session.events`: the events of one session as they are stored, a page at a time."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from handrail.contract.ids import SessionId
from handrail.contract.outcome import Success
from handrail.contract.payload import Answer
from handrail.contract.shape import Shape
from handrail.engine.events import EVENT_KINDS
from handrail.projections.event_rows import EventRow, event_rows
from handrail.runtime.find_session import find_records
from handrail.runtime.operation import Input, Operation
from handrail.runtime.paging import MOST_ITEMS, page_of
from handrail.runtime.runtime import Runtime

MOST_INDEX = 10**15

EventKind = Literal[EVENT_KINDS]  # type: ignore[valid-type] # the closed set has one home, the events


class ListEvents(Input, frozen=True, kw_only=True):
    """Which events of which session."""

    session_id: Annotated[str, Meta(description="Session id.", min_length=1, max_length=128)]
    after: (
        Annotated[int, Meta(description="Only events after this index.", ge=-1, le=MOST_INDEX)] | UnsetType
    ) = UNSET
    kinds: (
        Annotated[list[EventKind], Meta(description="Only these kinds.", max_length=len(EVENT_KINDS))]
        | UnsetType
    ) = UNSET
    limit: Annotated[int, Meta(description="Items per page.", ge=1, le=MOST_ITEMS)] | UnsetType = UNSET
    cursor: Annotated[str, Meta(description="next_cursor of the page before.")] | UnsetType = UNSET


class EventList(Answer, frozen=True, kw_only=True):
    """Beside the items: how far the session is proven. Events beyond that do not exist for anyone."""

    session_id: str
    event_count: int
    health: str


def list_events(rt: Runtime, request: ListEvents) -> Success:
    """One page, oldest first; readable also when the session cannot be continued."""
    loaded = find_records(rt, request.session_id)
    rows = event_rows(
        SessionId(request.session_id),
        loaded.records,
        after=-1 if request.after is UNSET else request.after,
        kinds=() if request.kinds is UNSET else request.kinds,
    )
    page = page_of(rt, OPERATION, request, rows, _sort_key, lambda row: row)
    told = EventList(
        session_id=request.session_id, event_count=len(loaded.records), health=loaded.health.state
    )
    return Success(
        data={"session_id": told.session_id, "event_count": told.event_count, "health": told.health},
        page=page,
    )


def _sort_key(row: EventRow) -> tuple[str, ...]:
    return (f"{row.event_index:016d}", row.event_id)


OPERATION = Operation(
    name="session.events",
    effect="read",
    summary="List the events of one session as they are stored, oldest first.",
    input=ListEvents,
    output=EventList,
    item=EventRow,
    perform=list_events,
    shape=Shape(
        levels={"minimal": ("eventId", "eventIndex", "kind"), "standard": None, "full": None},
        id_field="eventId",
        select="items",
        untrusted=("data",),
    ),
    default_sort="eventIndex, eventId",
    errors=(
        "VALIDATION_ERROR",
        "SESSION_NOT_FOUND",
        "INVALID_TOKEN",
        "TOKEN_EXPIRED",
        "TOKEN_SCOPE_MISMATCH",
    ),
)
