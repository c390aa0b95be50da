"""`session.events` and `session.timeline`: the events of one session as they are stored, and its moments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta

from handrail.contract.catalogue import E_USAGE
from handrail.contract.disclosure.fields import Shape
from handrail.contract.ids import RunId, SessionId
from handrail.contract.outcome import Answer, Fault, Success, make_from
from handrail.contract.parameters import Cursor, MintedId
from handrail.engine.events import EVENT_KINDS, count_known
from handrail.engine.history import Recorded
from handrail.engine.messages import explain_to_person
from handrail.engine.navigate import leaves_of
from handrail.operations.finding import find_records, find_session
from handrail.ports.log import Health, Loaded
from handrail.projections.timeline import EventRow, TimelineEntry, event_rows, timeline
from handrail.runtime.damaged_sessions import describe_damage
from handrail.runtime.operation import Input, Maybe, Operation, StreamItem
from handrail.runtime.paging import MOST_ITEMS, page_of
from handrail.runtime.runtime import ReadPorts
from handrail.runtime.sessions import load_pinned_workflow
from handrail.workflows.compiled import Leaf

MOST_INDEX = 10**15
_POLL_MS = 200

EventKind = Literal[EVENT_KINDS]  # type: ignore[valid-type] # the closed set has one home, the events


class ListEvents(Input, frozen=True, kw_only=True):
    """Which events of which session."""

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
    """Beside the items: how far the session is proven. Events beyond that do not exist for anyone."""

    session_id: str
    event_count: int
    health: str
    banner: str = ""
    """What a reader of a damaged session must know, and what helps; empty when it is sound."""


def list_events(rt: ReadPorts, request: ListEvents) -> Success:
    """One page, oldest first; readable also when the session cannot be continued."""
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
    page = page_of(rt, EVENTS, request, rows, _sort_key, lambda row: row)
    about = _about(SessionId(request.session_id), loaded, len(loaded.records))
    return Success(data=msgspec.to_builtins(about), page=page)


def stream_events(rt: ReadPorts, request: ListEvents) -> Iterator[StreamItem | Success]:
    """Every event after the index, one by one; followed, until the caller's time is over or it goes away.

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
        # A session that is deleted meanwhile has no more events; the caller learns of it by name.
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


EVENTS = Operation(
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


# What happened, the newest first, each moment in the lane of its run


_FAR = 10**15
"""Larger than any event index, so that the newest moment sorts first."""


class ShowTimeline(Input, frozen=True, kw_only=True):
    """Which part of which session."""

    session_id: Annotated[MintedId, Meta(description="Session id.", min_length=1, max_length=128)]
    before: Maybe[Annotated[int, Meta(description="Only before this event index.", ge=0)]] = UNSET
    limit: Maybe[Annotated[int, Meta(description="Items per page.", ge=1, le=MOST_ITEMS)]] = UNSET
    cursor: Maybe[Cursor] = UNSET


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


def show_timeline(rt: ReadPorts, request: ShowTimeline) -> Success:
    """One page of what happened, ordered by the log and never by clock.

    Raises Fault SESSION_NOT_FOUND.
    """
    session = find_session(rt, request.session_id)
    history = session.history
    workflows = {
        run_id: load_pinned_workflow(rt.log, run.workflow_hash) for run_id, run in history.runs.items()
    }
    leaves = {run_id: leaves_of(workflow) for run_id, workflow in workflows.items()}
    names = {run_id: workflow.name for run_id, workflow in workflows.items()}
    answers = {str(answer.to_node_id): answer for answer in history.advances.values()}
    every = _with_last(timeline(history, history.head))
    if request.before is not UNSET:
        end = request.before
        every = [one for one in every if one[0].index < end]

    def row(one: tuple[TimelineEntry, str]) -> MomentRow:
        run_id = RunId(one[0].lane)
        return _moment(leaves.get(run_id, {}), names.get(run_id, ""), answers, *one)

    page = page_of(rt, TIMELINE, request, reversed(every), _order, row)
    oldest = page.items[-1]["index"] if page.items else 0
    about = Timeline(
        session_id=history.session_id,
        health=session.health.state,
        banner=session.banner,
        earlier=sum(entry.index < oldest for entry, _ in every),
    )
    return Success(data=msgspec.to_builtins(about), page=page)


def _order(one: tuple[TimelineEntry, str]) -> tuple[str, ...]:
    return (f"{_FAR - one[0].index:016d}",)


def _with_last(every: Sequence[TimelineEntry]) -> list[tuple[TimelineEntry, str]]:
    """Each entry with the time of the one before it in its lane; empty for the first."""
    last: dict[str, str] = {}
    found = []
    for entry in every:
        found.append((entry, last.get(entry.lane, "")))
        last[entry.lane] = entry.at
    return found


def _seconds_between(before: str, at: str) -> int | None:
    """None for the first of a lane, and where a bundle brought a time that no calendar has."""
    try:
        took = datetime.fromisoformat(at) - datetime.fromisoformat(before)
    except ValueError:
        return None
    return max(0, int(took.total_seconds()))


def _moment(
    leaves: Mapping[str, Leaf],
    workflow_name: str,
    answers: Mapping[str, Recorded],
    entry: TimelineEntry,
    before: str,
) -> MomentRow:
    title = _title(leaves, entry)
    blocked = answers[entry.node_id].blocked if entry.node_id in answers and not entry.words else None
    why = [] if blocked is None else [explain_to_person(one, (), title).why for one in blocked.blockers[:1]]
    return make_from(
        MomentRow,
        entry,
        seconds=_seconds_between(before, entry.at),
        workflow_name=workflow_name,
        said=entry.words or "".join(why),
        title=title,
    )


def _title(leaves: Mapping[str, Leaf], entry: TimelineEntry) -> str:
    """The title of the step that the entry names."""
    if not entry.step_id:
        return ""
    plain = entry.step_id.rpartition("::")[2]
    return leaves[plain].title if plain in leaves else plain


TIMELINE = Operation(
    name="session.timeline",
    effect="read",
    summary="Show what happened in one session, the newest first.",
    input=ShowTimeline,
    output=Timeline,
    item=MomentRow,
    perform=show_timeline,
    shape=Shape(
        levels={"minimal": ("index", "what", "node_id")},
        id_field="index",
        select="items",
        untrusted=("workflow_name", "title", "said"),
    ),
    default_sort="index, the newest first",
    errors=("SESSION_NOT_FOUND", "STORE_CORRUPT", "STORE_UNSUPPORTED_VERSION"),
)
