"""`session inbox --gaps`: open and resolved gaps in the sessions of a project."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, get_args

import msgspec
from msgspec import UNSET, Meta

from handrail.contract.disclosure.fields import Shape
from handrail.contract.ids import SessionId
from handrail.contract.outcome import Success, make_from
from handrail.contract.parameters import Cursor, MintedId, NamedId
from handrail.engine.events import GapRecorded, GapSeverity
from handrail.engine.history import attached_to, list_tellers
from handrail.engine.messages import explain_gap
from handrail.engine.tips import open_gaps
from handrail.operations.finding import read_or_pass_over
from handrail.operations.stored_sessions import (
    READ_TO_PROVEN,
    Sessions,
    ask_sessions,
    describe_unsound,
    facet,
    sort_latest,
)
from handrail.ports.log import SessionStamp
from handrail.projections.evidence import describe_resolver
from handrail.projections.overview import session_project, session_title
from handrail.projections.run_graph import completed_step, run_graphs
from handrail.runtime.operation import Input, Maybe, Operation
from handrail.runtime.paging import MOST_ITEMS, page_of
from handrail.runtime.runtime import ReadPorts
from handrail.runtime.sessions import Session, load_pinned_workflow
from handrail.views.gaps import GapCounts, GapItem, GapList, GapState

_WORST_FIRST: tuple[GapSeverity, ...] = ("critical", "warning", "info")
_NOT_DAMAGED = ("healthy", "missing")
"""Health of sessions that are not reported as damaged; `missing` ones were deleted
while the list was made.
"""


class ListGaps(Input, frozen=True, kw_only=True):
    """The filters of a list of gaps."""

    only: Maybe[Annotated[GapState, Meta(description="Only these; default all.")]] = UNSET
    severity: Maybe[Annotated[GapSeverity, Meta(description="Only of this severity.")]] = UNSET
    workflow: Maybe[
        Annotated[NamedId, Meta(description="Only of runs of this workflow.", max_length=128)]
    ] = UNSET
    session: Maybe[Annotated[MintedId, Meta(description="Only of this session.", max_length=128)]] = UNSET
    limit: Maybe[Annotated[int, Meta(description="Items per page.", ge=1, le=MOST_ITEMS)]] = UNSET
    cursor: Maybe[Cursor] = UNSET


def list_gaps(rt: ReadPorts, request: ListGaps) -> Success:
    """Return one page, open gaps first, the worst first, then by the last activity of the session."""
    found, unsound = ask_sessions(rt, lambda sessions: _find_gaps(rt, request, sessions))
    counts = GapCounts(
        open=_count(found, "open"),
        resolved=_count(found, "resolved"),
        noted=_count(found, "noted"),
        critical=sum(item.state == "open" and item.severity == "critical" for _, item in found),
    )
    wanted = [one for one in found if request.only in (UNSET, one[1].state)]
    page = page_of(rt, OPERATION, request, sorted(wanted, key=_sort_gap), _sort_gap, lambda one: one[1])
    searched = "all sessions of this store" if request.session is UNSET else "one session of this store"
    listed = GapList(scope=searched + describe_unsound(unsound, READ_TO_PROVEN), counts=counts)
    return Success(data=msgspec.to_builtins(listed), page=page)


def _count(found: Sequence[tuple[str, GapItem]], state: GapState) -> int:
    return sum(item.state == state for _, item in found)


def _sort_gap(one: tuple[str, GapItem]) -> tuple[str, ...]:
    activity, item = one
    state, severity = get_args(GapState).index(item.state), _WORST_FIRST.index(item.severity)
    return (str(state), str(severity), activity, item.session_id, item.run_id, item.id)


def _find_gaps(
    rt: ReadPorts, request: ListGaps, sessions: Sessions
) -> tuple[list[tuple[str, GapItem]], dict[SessionId, str]]:
    """Return every gap that passes the filters, with the place of its session in the order.

    Also return the sessions that cannot be read whole, with their health.
    """
    having = sessions.find([(facet("gap_count"),)])
    asked = [stamp for stamp in having if request.session in (UNSET, stamp.session_id)]
    health = {stamp.session_id: sessions.facts(stamp.session_id).health for stamp in asked}
    found = [
        (sort_latest(order), item)
        for order, session in _with_gaps(rt, sessions, asked)
        for item in _items(rt, session)
        if request.severity in (UNSET, item.severity) and request.workflow in (UNSET, item.workflow_id)
    ]
    return found, {session_id: state for session_id, state in health.items() if state not in _NOT_DAMAGED}


def _with_gaps(
    rt: ReadPorts, sessions: Sessions, asked: Sequence[SessionStamp]
) -> Iterator[tuple[int, Session]]:
    """Yield only sessions that have gaps; a session that cannot be read does not stop the others."""
    for stamp in asked:
        if not sessions.facts(stamp.session_id).gap_count:
            continue
        rt.interruptions.end_here()
        session = read_or_pass_over(rt.log, stamp.session_id)
        if session is not None:
            yield stamp.order, session


def _items(rt: ReadPorts, session: Session) -> Iterator[GapItem]:
    history = session.history
    graphs = run_graphs(history)
    project = session_project(history, graphs)
    for run_id, graph in graphs.items():
        run = history.runs[run_id]
        tellers = list_tellers(history, graph.preferred_tip)
        placed = [(node, gap) for node in tellers for gap in attached_to(history, node.node_id).gaps]
        resolved = {gap.resolves_gap_id: _describe_resolved(gap) for _, gap in placed if gap.resolves_gap_id}
        still_open = {gap.gap_id for gap in open_gaps(history, graph.preferred_tip)}
        # A gap is shown together with the record that resolves it.
        shown = [(node, gap) for node, gap in placed if not gap.resolves_gap_id]
        name = load_pinned_workflow(rt.log, run.workflow_hash).name if shown else ""
        for node, gap in shown:
            state: GapState = "open" if gap.gap_id in still_open else "resolved"
            yield make_from(
                GapItem,
                node,
                gap,
                id=gap.gap_id,
                state="noted" if gap.severity == "info" else state,
                summary=explain_gap(gap),
                resolved_by=resolved.get(gap.gap_id, ""),
                session_id=history.session_id,
                step_id=completed_step(history, node),
                workflow_id=run.workflow_id,
                workflow_name=name,
                project=project,
                goal=session_title(history),
                health=session.health.state,
            )


def _describe_resolved(gap: GapRecorded) -> str:
    """Return the words of the report that resolved the gap, or those and the name of the person who did."""
    is_persons = gap.reason == "settled_by_person"
    return f"{gap.summary} (by {describe_resolver(gap)})" if is_persons else gap.summary


OPERATION = Operation(
    name="session.gaps",
    effect="read",
    summary="List what is missing in all sessions, the worst first, and what was resolved since.",
    input=ListGaps,
    output=GapList,
    item=GapItem,
    perform=list_gaps,
    shape=Shape(
        levels={"minimal": ("id", "state", "severity", "session_id")},
        id_field="id",
        select="items",
        untrusted=("summary", "resolved_by", "workflow_name", "project", "goal"),
    ),
    default_sort="state (open first), severity (critical first), last activity of the session, id",
)
