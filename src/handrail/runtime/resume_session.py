"""`session.resume`: from a new chat back to the work: candidates with the exact call that goes on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail.contract.ids import RunId, SessionId, is_run_id, is_session_id
from handrail.contract.outcome import Fault, Page, Success
from handrail.contract.payload import Payload
from handrail.contract.shape import Shape
from handrail.engine.history import History
from handrail.engine.navigate import leaf_at
from handrail.engine.reply import ToolCall
from handrail.engine.state import Running
from handrail.engine.work import excerpt
from handrail.projections.overview import imported_from, last_notes, latest_run, run_overview
from handrail.runtime.handles import state_token
from handrail.runtime.operation import Input, Operation
from handrail.runtime.replies import pinned_workflow
from handrail.runtime.runtime import Runtime
from handrail.runtime.sessions import read_session
from handrail.runtime.workflow_catalog import project_of

MOST_CANDIDATES = 5
SNIPPET_BYTES = 2_048


class ResumeSession(Input, frozen=True, kw_only=True):
    """What is known about the work to resume."""

    query: (
        Annotated[
            str,
            Meta(description="Session or run id.", max_length=200),
        ]
        | UnsetType
    ) = UNSET
    project: Annotated[str, Meta(description="Project directory.")] | UnsetType = UNSET


class Candidate(Payload, frozen=True, kw_only=True):
    """One run that can be resumed at its preferred tip."""

    session_id: str
    run_id: str
    goal: str
    workflow_id: str
    status: str
    pending_title: str
    why_matched: list[str]
    snippet: str
    imported_from: str = ""
    next_call: ToolCall


class Candidates(Payload, frozen=True, kw_only=True):
    """Beside the items, of which there are at most five, best first."""

    project: str
    scope: str


def resume_session(rt: Runtime, request: ResumeSession) -> Success:
    """Healthy sessions only, tips only: an exact id, or the latest ones."""
    project = project_of(rt, request.project)
    query = "" if request.query is UNSET else request.query.strip()
    items = []
    for candidate in _candidates(rt, query):
        items.append(msgspec.to_builtins(candidate))
        if len(items) == MOST_CANDIDATES:
            break
    scope = "session and run ids" if query else "the latest healthy sessions"
    return Success(
        data={"project": project, "scope": scope}, page=Page(items=tuple(items), limit=MOST_CANDIDATES)
    )


def _candidates(rt: Runtime, query: str) -> Iterator[Candidate]:
    if is_session_id(query):
        yield from _of_session(rt, SessionId(query), None, "session id")
        return
    for stamp in rt.log.list_sessions():
        if not query:
            yield from _of_session(rt, stamp.session_id, None, "recent activity")
        elif is_run_id(query):
            yield from _of_session(rt, stamp.session_id, RunId(query), "run id")


def _of_session(rt: Runtime, session_id: SessionId, run_id: RunId | None, why: str) -> Iterator[Candidate]:
    try:
        session = read_session(rt.log, session_id)
    except Fault:
        return  # a session that cannot be read cannot be resumed; `session list` shows it
    if session is None or session.health.state != "healthy":
        return
    history = session.history
    chosen = latest_run(history) if run_id is None else run_id
    if chosen is not None and chosen in history.runs:
        yield _candidate(rt, history, chosen, why)


def _candidate(rt: Runtime, history: History, run_id: RunId, why: str) -> Candidate:
    run = run_overview(history, run_id)
    workflow = pinned_workflow(rt.log, history.runs[run_id].workflow_hash)
    state = run.tip.state
    token = state_token(rt.keys, history.session_id, run.tip)
    return Candidate(
        session_id=history.session_id,
        run_id=run_id,
        goal=history.observations.get("goal", ""),
        workflow_id=run.workflow_id,
        status=run.status,
        pending_title=leaf_at(workflow, state).title if isinstance(state, Running) else "",
        why_matched=[why],
        imported_from=imported_from(history),
        snippet=excerpt(last_notes(history, run.tip.node_id), SNIPPET_BYTES),
        next_call=ToolCall(tool="continue_workflow", params={"stateToken": token}),
    )


OPERATION = Operation(
    name="session.resume",
    effect="read",
    summary="Find the work to go on with, and the exact call that goes on.",
    input=ResumeSession,
    output=Candidates,
    item=Candidate,
    perform=resume_session,
    shape=Shape(
        levels={"minimal": ("sessionId", "status", "nextCall"), "standard": None, "full": None},
        id_field="sessionId",
        select="items",
        untrusted=("goal", "snippet"),
    ),
    default_sort="last activity (newest first), id; at most 5, no paging",
    tool="resume_session",
    tool_description=(
        "Find a run again in a new chat: by session or run id, or the latest ones. Make a candidate's "
        "nextCall to go on. Changes nothing."
    ),
    tool_fields=("query", "project"),
    errors=("VALIDATION_ERROR",),
)
