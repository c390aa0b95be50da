"""`run.close`: mark a run as no longer needed; it leaves resume and hooks, and continuing reopens it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import UNSET, Meta

from handrail.contract.catalogue import (
    CONTEXT_MISSING,
    SESSION_NOT_FOUND,
    VALIDATION_ERROR,
)
from handrail.contract.disclosure.fields import Shape
from handrail.contract.ids import RunId, is_run_id, is_session_id
from handrail.contract.outcome import Answer, Fault, NextCall, refuse_argument
from handrail.contract.parameters import MintedId, RequestKey, TokenText
from handrail.contract.reused_request import refuse_reused_request
from handrail.contract.tokens.reading import ANY_KIND, read_token
from handrail.contract.tokens.workflow import WORKFLOW
from handrail.contract.wording import quote
from handrail.engine.events import CloseReason
from handrail.engine.history import Closing, History, closing_of, is_session_point, not_run_at
from handrail.engine.plans import plan_closing
from handrail.engine.progress import describe_not_run
from handrail.engine.tips import find_tip
from handrail.operations.finding import find_run
from handrail.operations.handles import node_of, session_of
from handrail.operations.stored_sessions import find_sessions_with_run
from handrail.projections.overview import UNDER_WAY, Graphs, choose_run
from handrail.projections.run_graph import run_graph, run_graphs
from handrail.runtime.operation import REQUEST_ID_PATTERN, Input, Maybe, Operation
from handrail.runtime.refused_calls import refuse_handed_out
from handrail.runtime.runtime import ReadPorts, WritePorts
from handrail.runtime.sessions import PlanWith, Session, decide_and_commit

LONGEST_NOTE = 500
MOST_HOLDERS = 5
"""Most sessions with the same run that a refusal names."""
MOST_OPEN = 5
"""Most open runs of a session that an answer names; the newest."""
_FINISHED = ("complete", "complete_with_gaps")


class CloseRun(Input, frozen=True, kw_only=True):
    """The run to close, and the reason."""

    run: Maybe[
        Annotated[
            MintedId,
            Meta(
                description="Run id, any token of the run, or a session's id or token for its only open run.",
                min_length=1,
                max_length=200,
            ),
        ]
    ] = UNSET
    state_token: Maybe[Annotated[TokenText, Meta(description="The same, as a stateToken.")]] = UNSET
    reason: Annotated[CloseReason, Meta(description="Why nobody will continue it.")]
    note: Maybe[
        Annotated[str, Meta(description="What a reader should know, in a sentence.", max_length=LONGEST_NOTE)]
    ] = UNSET
    request_id: Maybe[
        Annotated[
            RequestKey,
            Meta(
                description="Your key; a repeat does not close a run that was reopened since.",
                pattern=REQUEST_ID_PATTERN,
            ),
        ]
    ] = UNSET


class ClosedRun(Answer, frozen=True, kw_only=True):
    """The recorded closing; `is_new` is false if it was recorded before this call."""

    session_id: str
    run_id: str
    status: str
    reason: str
    note: str
    closed_at: str
    is_new: bool
    still_open: list[str]
    """The newest other open runs of the session."""
    still_open_omitted: int


def close_run(rt: WritePorts, request: CloseRun) -> ClosedRun:
    """Record the closing once. A closed run, or a known request id, gets what was recorded."""
    session, run_id, by_token = _find_named(rt, request)
    is_new = False
    if _find_recorded(session.history, run_id, request) is None:  # a repeat needs no lock
        session, is_new = decide_and_commit(
            rt, session, lambda now: _decide(now.history, run_id, request), by_token=by_token
        )
    recorded = _find_recorded(session.history, run_id, request)
    assert recorded is not None, "it was recorded by now"
    return _describe(session.history, run_id, recorded, is_new=is_new)


def _find_named(rt: ReadPorts, request: CloseRun) -> tuple[Session, RunId, bool]:
    """Return the run that is meant, and whether a token named it.

    Raise Fault CONTEXT_MISSING, SESSION_NOT_FOUND, VALIDATION_ERROR, and what reading a token raises.
    """
    given = [text for text in (request.run, request.state_token) if text is not UNSET]
    if len(given) != 1:
        raise Fault(
            CONTEXT_MISSING if not given else VALIDATION_ERROR,
            "Name the run once: by its id, its session's id, or one of its tokens.",
            details={"missing": ["run"]} if not given else {"problems": [_TWICE]},
            next_call=NextCall(operation="session.list", params={}),
        )
    (text,) = given
    if is_run_id(text):
        _require_one_holder(rt, text)
        found = find_run(rt, text)
        return found.session, found.run.run_id, False
    if is_session_id(text):
        session = find_run(rt, text).session
        return session, _of_session(session.history, request), False
    claims = read_token(rt.keys.verifying_keys(WORKFLOW), text, ANY_KIND).claims
    session = session_of(rt.log, claims)
    if not is_session_point(session.history, claims.node_tag):
        run_id = node_of(session.history, claims).run_id
        refuse_handed_out(session.history.runs[run_id])
        return session, run_id, True
    return session, _of_session(session.history, request), True


def _of_session(history: History, request: CloseRun) -> RunId:
    """Return the run that a call means if it names only the session; a repeat means the same run.

    It is the run that the same call closed before, else the only open one, else the one that was closed
    last.
    """
    graphs = run_graphs(history)
    still_open = _list_open(graphs)
    answered = _find_answered(history, graphs, still_open, request)
    if answered is not None:
        return answered
    if len(still_open) > 1:
        raise _refuse_several(history.session_id, still_open)
    closed = [run_id for run_id, graph in graphs.items() if graph.status == "closed"]
    closed.sort(key=lambda run_id: history.closings[run_id][-1].index)
    for run_id in (*still_open, *closed[-1:], choose_run(history, graphs)):
        if run_id is not None:
            return run_id
    raise Fault(
        SESSION_NOT_FOUND,
        f"Session {history.session_id} has no run to close.",
        details={"session_id": history.session_id},
        next_call=NextCall(operation="session.list", params={}),
    )


def _find_answered(
    history: History, graphs: Graphs, still_open: Sequence[RunId], request: CloseRun
) -> RunId | None:
    """Return the run that the same call closed last: under its request id, or with the same words.

    With the same words only if no other run was open then: otherwise this call would have been refused.
    """
    sent = (request.reason, (request.note or "").strip(), request.request_id or "")
    found = [
        (held.index, run_id)
        for run_id, closings in history.closings.items()
        for held in closings
        if (held.request_id and held.request_id == sent[2])
        or (
            graphs[run_id].status == "closed"
            and (held.reason, held.note, held.request_id) == sent
            and not any(_was_open(history, other, held) for other in still_open)
        )
    ]
    return max(found)[1] if found else None


def _was_open(history: History, run_id: RunId, closing: Closing) -> bool:
    """Whether a run that is open now was open at a closing; one that was closed before
    has been reopened since.
    """
    began = history.runs[run_id].index
    earlier = (held for held in history.closings.get(run_id, ()) if held.index < closing.index)
    return began < closing.index and not any(earlier)


def _list_open(graphs: Graphs) -> list[RunId]:
    return [run_id for run_id, graph in graphs.items() if graph.status in UNDER_WAY]


def _refuse_several(session_id: str, still_open: Sequence[RunId]) -> Fault:
    shown = list(reversed(still_open))[:MOST_OPEN]
    more = f" and {len(still_open) - len(shown)} more" if len(still_open) > len(shown) else ""
    named = f"{', '.join(shown)}{more}"
    return refuse_argument(
        f"Session {session_id} has {len(still_open)} open runs: {named}; nothing was closed. Name the run by "
        "its id or one of its tokens.",
        "run",
        "is a session with several open runs",
        named,
        did_you_mean=shown,
        next_call=NextCall(operation="session.resume", params={"query": session_id}),
    )


def _require_one_holder(rt: ReadPorts, run_id: str) -> None:
    """Refuse a run id that several sessions have: a copy of a session has the runs of its source."""
    holders = find_sessions_with_run(rt, run_id)
    if len(holders) < 2:
        return
    named = ", ".join(holders[:MOST_HOLDERS])
    raise refuse_argument(
        f"The run {quote(run_id)} is in {len(holders)} sessions: {named}; nothing was closed. Name the "
        "session, or the run by one of its tokens.",
        "run",
        "is in several sessions",
        named,
        did_you_mean=holders[:MOST_HOLDERS],
        next_call=NextCall(operation="session.resume", params={"query": holders[0]}),
    )


_TWICE = {"param": "run", "problem": "is given twice", "expected": "run or stateToken"}


def _find_recorded(history: History, run_id: RunId, request: CloseRun) -> Closing | None:
    """Return the recorded closing that answers this call; None if there is none."""
    for held in history.closings.get(run_id, ()):
        if held.request_id and (held.request_id, held.reason, held.note) == _sent(request):
            return held
    _require_unused(history, request)
    return closing_of(history, run_id)


def _sent(request: CloseRun) -> tuple[str, CloseReason, str]:
    return request.request_id or "", request.reason, (request.note or "").strip()


def _require_unused(history: History, request: CloseRun) -> None:
    """Raise Fault E_CONFLICT if the request id closed another run, or this one with other words."""
    for closed_id, closings in history.closings.items():
        for held in closings:
            if held.request_id and held.request_id == request.request_id:
                raise refuse_reused_request(
                    held.request_id,
                    "closing",
                    session_id=history.session_id,
                    run_id=closed_id,
                    status=run_graph(history, closed_id).status,
                    next_call=NextCall(operation="session.show", params={"sessionId": history.session_id}),
                )


def _decide(history: History, run_id: RunId, request: CloseRun) -> PlanWith | None:
    if _find_recorded(history, run_id, request) is not None:
        return None
    _require_open(history, run_id)
    tip = find_tip(history, run_id)
    plan = plan_closing(history, tip, request.reason, (request.note or "").strip(), request.request_id or "")
    return lambda _: plan


def _require_open(history: History, run_id: RunId) -> None:
    status = run_graph(history, run_id).status
    if status not in _FINISHED:
        return
    text = describe_not_run(not_run_at(history, find_tip(history, run_id).node_id))
    passed = f" ({text})" if text else ""
    raise refuse_argument(
        f"Run {quote(run_id)} is {status}: no step is left{passed}, so there is nothing to close.",
        "run",
        f"is {status}",
        "an unfinished run",
        next_call=NextCall(operation="session.show", params={"sessionId": history.session_id}),
    )


def _describe(history: History, run_id: RunId, closing: Closing, *, is_new: bool) -> ClosedRun:
    graphs = run_graphs(history)
    others = [held for held in reversed(_list_open(graphs)) if held != run_id]
    return ClosedRun(
        session_id=history.session_id,
        run_id=run_id,
        status=graphs[run_id].status,
        reason=closing.reason,
        note=closing.note,
        closed_at=closing.at,
        is_new=is_new,
        still_open=list(others[:MOST_OPEN]),
        still_open_omitted=max(0, len(others) - MOST_OPEN),
    )


OPERATION = Operation(
    name="run.close",
    effect="record",
    summary="Close a run that nobody will continue; continuing it reopens it.",
    input=CloseRun,
    output=ClosedRun,
    perform=close_run,
    shape=Shape(levels={"minimal": ("run_id", "status", "is_new")}, id_field="run_id", untrusted=("note",)),
    errors=("CONTEXT_MISSING", "SESSION_NOT_FOUND", "SESSION_LOCKED"),
)
