"""`session events`: the events of one session as they are stored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta

from handrail.contract.catalogue import E_USAGE
from handrail.contract.disclosure.fields import Shape
from handrail.contract.ids import SessionId
from handrail.contract.outcome import Answer, Fault, Success
from handrail.contract.parameters import Cursor, MintedId
from handrail.engine.events import EVENT_KINDS, count_known
from handrail.operations.finding import find_records
from handrail.ports.log import Health, Loaded
from handrail.runtime.damaged_sessions import describe_damage
from handrail.runtime.operation import Input, Maybe, Operation, StreamItem
from handrail.runtime.paging import MOST_ITEMS, page_of
from handrail.runtime.runtime import ReadPorts
from handrail.views.events import EventRow, event_rows

MOST_INDEX = 10**15
_POLL_MS = 200

EventKind = Literal[EVENT_KINDS]  # type: ignore[valid-type] # the closed set has one home, the events


class ListEvents(Input, frozen=True, kw_only=True):
    """The session, and which of its events."""

    session_id: Annotated[MintedId, Meta(description="Session id.", min_length=1, max_length=128)]
    after: Maybe[Annotated[int, Meta(description="Only events after this index.", ge=-1, le=MOST_INDEX)]] = (
        UNSET
    )
    kinds: Maybe[
        Annotated[list[EventKind], Meta(description="Only these kinds.", max_length=len(EVENT_KINDS))]
    ] = UNSET
    limit: Maybe[Annotated[int, Meta(description="Items per page.", ge=1, le=MOST_ITEMS)]] = UNSET
    cursor: Maybe[Cursor] = UNSET
    follow: Maybe[Annotated[bool, Meta(description="Of a stream: continue with events as they arrive.")]] = (
        UNSET
    )


class EventList(Answer, frozen=True, kw_only=True):
    """Facts about the list: how far the session is proven. Events beyond that are never shown."""

    session_id: str
    event_count: int
    health: str
    banner: str = ""
    """The warning for a reader of a damaged session, with a remedy; empty if it is sound."""


def list_events(rt: ReadPorts, request: ListEvents) -> Success:
    """Return one page, oldest first, even if the session cannot be continued."""
    if request.follow is True:
        raise Fault(
            E_USAGE,
            "Events that are still to come are followed in a stream only.",
            details={"usage": "session events ID --stream --follow"},
        )
    loaded = find_records(rt, request.session_id)
    rows = event_rows(
        SessionId(request.session_id),
        loaded.records,
        after=-1 if request.after is UNSET else request.after,
        kinds=() if request.kinds is UNSET else request.kinds,
    )
    page = page_of(rt, OPERATION, request, rows, _sort_key, lambda row: row)
    about = _about(SessionId(request.session_id), loaded, len(loaded.records))
    return Success(data=msgspec.to_builtins(about), page=page)


def stream_events(rt: ReadPorts, request: ListEvents) -> Iterator[StreamItem | Success]:
    """Yield every event after the index; in follow mode, until the caller's time is over or it disconnects.

    Pages have no meaning here, so `limit` and `cursor` are refused.
    """
    paging = [name for name in ("limit", "cursor") if getattr(request, name) is not UNSET]
    if paging:
        raise Fault(
            E_USAGE,
            f"A stream has no pages: leave out {' and '.join(paging)}.",
            details={"usage": "session events ID --stream --after INDEX"},
        )
    loaded = find_records(rt, request.session_id)
    session_id = SessionId(request.session_id)
    kinds = () if request.kinds is UNSET else request.kinds
    after = -1 if request.after is UNSET else request.after
    while True:
        for row in event_rows(session_id, loaded.records, after=after, kinds=kinds):
            yield StreamItem(data=msgspec.to_builtins(row))
        after = max(after, loaded.head - 1)
        if request.follow is not True:
            break
        rt.interruptions.pause(_POLL_MS)
        # A session that is deleted meanwhile has no more events; the caller gets the fault that names it.
        loaded = rt.log.load_since(session_id, after + 1) or find_records(rt, request.session_id)
    yield Success(data=msgspec.to_builtins(_about(session_id, loaded, loaded.head)))


def _about(session_id: SessionId, loaded: Loaded, event_count: int) -> EventList:
    known = count_known(record.body for record in loaded.records)
    health, readable = loaded.health, event_count
    if known < len(loaded.records):
        readable -= len(loaded.records) - known
        health = Health(state="unknown_version", reason="unsupported_version")
    banner = describe_damage(session_id, health, readable)
    return EventList(session_id=session_id, event_count=event_count, health=health.state, banner=banner)


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
    stream=stream_events,
    shape=Shape(
        levels={"minimal": ("eventId", "eventIndex", "kind")},
        id_field="eventId",
        select="items",
        untrusted=("data",),
    ),
    default_sort="eventIndex, eventId",
    errors=("SESSION_NOT_FOUND",),
)
