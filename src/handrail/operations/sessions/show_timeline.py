"""`session show --timeline`: the moments of a session in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta

from handrail.contract.disclosure.fields import Shape
from handrail.contract.ids import RunId
from handrail.contract.outcome import Success, make_from
from handrail.contract.parameters import Cursor, MintedId
from handrail.engine.history import Recorded
from handrail.engine.messages import explain_to_person
from handrail.engine.navigate import leaves_of
from handrail.operations.finding import find_session
from handrail.projections.timeline import TimelineEntry, timeline
from handrail.runtime.operation import Input, Maybe, Operation
from handrail.runtime.paging import MOST_ITEMS, page_of
from handrail.runtime.runtime import ReadPorts
from handrail.runtime.sessions import load_pinned_workflow
from handrail.views.timelines import MomentRow, Timeline
from handrail.workflows.compiled import Leaf

_FAR = 10**15
"""Larger than any event index, so that the newest moment sorts first."""


class ShowTimeline(Input, frozen=True, kw_only=True):
    """Which part of which session."""

    session_id: Annotated[MintedId, Meta(description="Session id.", min_length=1, max_length=128)]
    before: Maybe[Annotated[int, Meta(description="Only before this event index.", ge=0)]] = UNSET
    limit: Maybe[Annotated[int, Meta(description="Items per page.", ge=1, le=MOST_ITEMS)]] = UNSET
    cursor: Maybe[Cursor] = UNSET


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

    page = page_of(rt, OPERATION, request, reversed(every), _order, row)
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


OPERATION = Operation(
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
        untrusted=("workflow_name", "title", "said", "note"),
    ),
    default_sort="index, the newest first",
    errors=("SESSION_NOT_FOUND", "STORE_CORRUPT", "STORE_UNSUPPORTED_VERSION"),
)
