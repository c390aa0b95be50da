"""`session show --timeline`: the moments of a session in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta

from handrail.contract.disclosure.fields import Shape
from handrail.contract.ids import NodeId, RunId
from handrail.contract.outcome import Success
from handrail.contract.parameters import Cursor, MintedId
from handrail.engine.messages import explain_to_person
from handrail.engine.navigate import leaves_of
from handrail.operations.durations import find_seconds
from handrail.operations.finding import find_session
from handrail.runtime.operation import Input, Maybe, Operation
from handrail.runtime.paging import MOST_ITEMS, page_of
from handrail.runtime.runtime import ReadPorts
from handrail.runtime.sessions import load_pinned_workflow
from handrail.views.timelines import MomentRow, Timeline, list_moments
from handrail.workflows.compiled import CompiledWorkflow

_FAR = 10**15
"""Larger than any event index, so that the newest moment sorts first."""


class ShowTimeline(Input, frozen=True, kw_only=True):
    """The session, and the part of its timeline."""

    session_id: Annotated[MintedId, Meta(description="Session id.", min_length=1, max_length=128)]
    before: Maybe[Annotated[int, Meta(description="Only before this event index.", ge=0)]] = UNSET
    limit: Maybe[Annotated[int, Meta(description="Items per page.", ge=1, le=MOST_ITEMS)]] = UNSET
    cursor: Maybe[Cursor] = UNSET


def show_timeline(rt: ReadPorts, request: ShowTimeline) -> Success:
    """Return one page of what happened, ordered by the log and never by clock.

    Raise Fault SESSION_NOT_FOUND.
    """
    session = find_session(rt, request.session_id)
    history = session.history
    workflows = {
        run_id: load_pinned_workflow(rt.log, run.workflow_hash) for run_id, run in history.runs.items()
    }
    blocked = {one.to_node_id: one.blocked for one in history.advances.values() if one.blocked}
    every = list_moments(history)
    before = _list_before(every)
    if request.before is not UNSET:
        end = request.before
        every = [one for one in every if one.index < end]

    def complete(one: MomentRow) -> MomentRow:
        workflow = workflows.get(RunId(one.lane))
        title = _find_title(workflow, one.step_id)
        refused = blocked.get(NodeId(one.node_id)) if not one.summary else None
        why = [] if refused is None else [explain_to_person(refused.blockers[0], (), title).why]
        return msgspec.structs.replace(
            one,
            seconds=find_seconds(before.get(one.index, ""), one.at),
            workflow_name="" if workflow is None else workflow.name,
            summary=one.summary or "".join(why),
            title=title,
        )

    page = page_of(rt, OPERATION, request, reversed(every), _order, complete)
    oldest = page.items[-1]["index"] if page.items else 0
    about = Timeline(
        session_id=history.session_id,
        health=session.health.state,
        banner=session.banner,
        earlier=sum(one.index < oldest for one in every),
    )
    return Success(data=msgspec.to_builtins(about), page=page)


def _order(one: MomentRow) -> tuple[str, ...]:
    return (f"{_FAR - one.index:016d}",)


def _list_before(every: Sequence[MomentRow]) -> dict[int, str]:
    """Return the time of the previous moment in the same lane, by the index of each moment."""
    last: dict[str, str] = {}
    found = {}
    for one in every:
        found[one.index] = last.get(one.lane, "")
        last[one.lane] = one.at
    return found


def _find_title(workflow: CompiledWorkflow | None, step_id: str) -> str:
    """Return the title of the step that a moment names."""
    plain = step_id.rpartition("::")[2]
    leaf = None if workflow is None else leaves_of(workflow).get(plain)
    return plain if leaf is None else leaf.title


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
        untrusted=("workflow_name", "title", "summary", "note"),
    ),
    default_sort="index, the newest first",
    errors=("SESSION_NOT_FOUND", "STORE_CORRUPT", "STORE_UNSUPPORTED_VERSION"),
)
