"""`session.timeline`: what happened in one session, in the order of its log, with a lane per run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from handrail.contract.disclosure.fields import Shape
from handrail.contract.ids import RunId
from handrail.contract.outcome import Answer
from handrail.engine.navigate import leaves_of
from handrail.operations.finding import find_session
from handrail.operations.replies import load_pinned_workflow
from handrail.projections.overview import session_title
from handrail.projections.run_graph import run_graphs
from handrail.projections.timeline import SESSION_LANE, TimelineEntry, timeline
from handrail.runtime.operation import Input, Operation
from handrail.runtime.runtime import Runtime
from handrail.workflows.compiled import Leaf

MOST_ENTRIES = 1_000
DEFAULT_ENTRIES = 200


class ShowTimeline(Input, frozen=True, kw_only=True):
    """Which part of which session."""

    session_id: Annotated[str, Meta(description="Session id.", min_length=1, max_length=128)]
    before: Annotated[int, Meta(description="Only before this event index.", ge=0)] | UnsetType = UNSET
    limit: Annotated[int, Meta(description="The newest so many.", ge=1, le=MOST_ENTRIES)] | UnsetType = UNSET


class LaneRow(Answer, frozen=True, kw_only=True):
    """One lane: a run, or the session itself."""

    id: str
    workflow_id: str
    workflow_name: str
    status: str


class MomentRow(Answer, frozen=True, kw_only=True):
    """One thing that happened."""

    index: int
    at: str
    seconds: int | None
    """Since the moment before it in its lane; null for the first."""
    lane: str
    what: str
    said: str
    """What a person did who answered: chose an option, gave a value, confirmed."""
    node_id: str
    step_id: str
    title: str


class ShownTimeline(Answer, frozen=True, kw_only=True):
    """The newest moments, oldest first."""

    session_id: str
    goal: str
    health: str
    banner: str
    """What a reader of a damaged session must know; empty when it is sound."""
    lanes: list[LaneRow]
    moments: list[MomentRow]
    earlier: int
    """How many came before these."""


def show_timeline(rt: Runtime, request: ShowTimeline) -> ShownTimeline:
    """What happened, ordered by the log and never by clock.

    Raises Fault SESSION_NOT_FOUND.
    """
    session = find_session(rt, request.session_id)
    history = session.history
    graphs = run_graphs(history)
    workflows = {
        run_id: load_pinned_workflow(rt.log, history.runs[run_id].workflow_hash) for run_id in graphs
    }
    every = timeline(history, history.head)
    if request.before is not UNSET:
        end = request.before
        every = tuple(entry for entry in every if entry.index < end)
    limit = DEFAULT_ENTRIES if request.limit is UNSET else request.limit
    shown = every[-limit:]
    leaves = {run_id: leaves_of(workflow) for run_id, workflow in workflows.items()}
    own = LaneRow(id=SESSION_LANE, workflow_id="", workflow_name="The session itself", status="")
    return ShownTimeline(
        session_id=history.session_id,
        goal=session_title(history),
        health=session.health.state,
        banner=session.banner,
        lanes=[
            own,
            *(
                LaneRow(
                    id=run_id,
                    workflow_id=history.runs[run_id].workflow_id,
                    workflow_name=workflows[run_id].name,
                    status=graph.status,
                )
                for run_id, graph in graphs.items()
            ),
        ],
        moments=[
            _moment(leaves.get(RunId(entry.lane), {}), entry, before)
            for entry, before in _with_last(every)[len(every) - len(shown) :]
        ],
        earlier=len(every) - len(shown),
    )


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


def _moment(leaves: Mapping[str, Leaf], entry: TimelineEntry, before: str) -> MomentRow:
    return MomentRow(
        index=entry.index,
        at=entry.at,
        seconds=_seconds_between(before, entry.at),
        lane=entry.lane,
        what=entry.what,
        said=entry.said,
        node_id=entry.node_id,
        step_id=entry.step_id,
        title=_title(leaves, entry),
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
    summary="Show what happened in one session, oldest first, with a lane per run.",
    input=ShowTimeline,
    output=ShownTimeline,
    perform=show_timeline,
    shape=Shape(
        levels={"minimal": ("session_id", "health", "earlier"), "standard": None, "full": None},
        id_field="session_id",
        select="top",
        drop_order=("moments",),
        windows=("moments", "lanes"),
        untrusted=("goal", "lanes.workflow_name", "moments.title"),
    ),
    errors=("SESSION_NOT_FOUND", "STORE_CORRUPT", "STORE_UNSUPPORTED_VERSION"),
)
