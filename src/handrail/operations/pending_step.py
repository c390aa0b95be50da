"""The pending step that a call from outside the run is about: a check, or a person's confirmation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from msgspec import UNSET, UnsetType

from handrail.contract.catalogue import CONTEXT_MISSING, VALIDATION_ERROR
from handrail.contract.ids import RunId
from handrail.contract.outcome import Fault, NextCall
from handrail.contract.wording import quote
from handrail.engine.ask import find_ask
from handrail.engine.history import Node, Run
from handrail.engine.messages import RUN_CONFIRM
from handrail.engine.navigate import Running
from handrail.operations.finding import find_session
from handrail.operations.handles import node_of, read_state, session_of
from handrail.operations.replies import load_pinned_workflow
from handrail.operations.sessions.open_work import OpenRun, find_open_work, list_open_below, open_by_token
from handrail.projections.overview import choose_run
from handrail.projections.run_graph import preferred_tip
from handrail.runtime.runtime import ReadPorts
from handrail.runtime.sessions import Session


class PendingStep(msgspec.Struct, frozen=True, kw_only=True):
    """The run, and the step of it that is pending."""

    session: Session
    run: Run
    node: Node
    by_token: bool = False


def find_pending_step(
    rt: ReadPorts,
    state_token: str | UnsetType,
    session_id: str | UnsetType,
    project: str,
    run: str | UnsetType = UNSET,
    *,
    is_asked: bool = False,
    again: Callable[[str], NextCall] | None = None,
) -> PendingStep:
    """The step that a token, a session, a run of one, or the only run in progress in a project means.

    `is_asked`: a person answers it, so of several runs those that wait for one are named first.
    `again`: the same call for a session, which a refusal offers with the one that moved last.

    Raises Fault CONTEXT_MISSING, VALIDATION_ERROR, SESSION_NOT_FOUND, and what reading a token raises.
    """
    if state_token is not UNSET and session_id is not UNSET:
        problem = {"param": "session", "problem": "is given beside a stateToken", "expected": "one of them"}
        raise Fault(VALIDATION_ERROR, "Name the run once.", details={"problems": [problem]})
    if run is not UNSET and session_id is UNSET:
        problem = {"param": "run", "problem": "is given without its session", "expected": "session and run"}
        raise Fault(VALIDATION_ERROR, "A run is named with its session.", details={"problems": [problem]})
    if state_token is not UNSET:
        claims = read_state(rt.keys, state_token).claims
        session = session_of(rt.log, claims)
        node = node_of(session.history, claims)
        return msgspec.structs.replace(_target(session, node), by_token=True)
    if session_id is not UNSET:
        session = find_session(rt, session_id)
        run_id = choose_run(session.history) if run is UNSET else _run_of(session, run)
        if run is UNSET and not is_asked and run_id is not None:
            run_id = _find_below(rt, session, run_id)
    else:
        session, run_id = _find_only_run(rt, project, again, is_asked=is_asked)
    if run_id is None:
        raise _no_run(f"Session {session.history.session_id} has no run.", [])
    return _target(session, preferred_tip(session.history, run_id))


def _find_below(rt: ReadPorts, session: Session, run_id: RunId) -> RunId:
    """The run itself or, where it waits for what it handed out, the piece of HANDRAIL_WORK or the only one.

    Raises Fault CONTEXT_MISSING where several are.
    """
    below = list(list_open_below(rt, OpenRun(session=session, run_id=run_id)))
    token = rt.workspace.work_token() if below else ""
    named = open_by_token(rt, token) if token else None
    if named is not None and named.session.history.session_id == session.history.session_id:
        return named.run_id
    if len(below) > 1:
        raise _several_handed_out(len(below), str(session.history.session_id))
    return below[0].run_id if below else run_id


def _several_handed_out(count: int, session_id: str) -> Fault:
    return Fault(
        CONTEXT_MISSING,
        f"{count} pieces of work that {session_id} handed out are open, and any of them may be meant. "
        "Nothing was done.",
        details={"missing": ["stateToken"]},
        hint="Name one by its work token: --state WORK_TOKEN, or HANDRAIL_WORK. The call offered here lists "
        "them.",
        next_call=NextCall(operation="session.resume", params={"query": session_id}),
    )


def _run_of(session: Session, asked: str) -> RunId:
    run_id = RunId(asked)
    if run_id in session.history.runs:
        return run_id
    problem = {"param": "run", "problem": "is not in this session", "expected": "one of its runs"}
    raise Fault(
        VALIDATION_ERROR,
        f"Session {session.history.session_id} has no run {quote(asked)}.",
        details={"problems": [problem]},
        next_call=NextCall(operation="session.show", params={"sessionId": session.history.session_id}),
    )


def _target(session: Session, node: Node) -> PendingStep:
    if not isinstance(node.state, Running):
        raise Fault(
            VALIDATION_ERROR,
            "Every step of this run is done, so no step is pending.",
            details={"problems": [{"param": "session", "problem": "is complete", "expected": "an open run"}]},
            next_call=NextCall(operation="session.show", params={"sessionId": session.history.session_id}),
        )
    return PendingStep(session=session, run=session.history.runs[node.run_id], node=node)


def _find_only_run(
    rt: ReadPorts, project: str, again: Callable[[str], NextCall] | None, *, is_asked: bool
) -> tuple[Session, RunId]:
    work = find_open_work(rt, project).runs
    if len(work) != 1:
        told = f"{len(work)} runs are in progress in this project." if work else "No run is in progress here."
        named = list(dict.fromkeys(str(one.session.history.session_id) for one in work))
        waiting = [one for one in named if _waits_for_person(rt, one)] if is_asked else []
        if len(named) == 1 and not is_asked:
            raise _several_handed_out(len(work), named[0])
        refused = _no_run(told, named, waiting)
        if again is not None and named:
            refused.next_call = again(named[0])
            refused.hint = f"Say which one it is for; {named[0]} moved last: --session {named[0]}"
        raise refused
    return work[0].session, work[0].run_id


def _waits_for_person(rt: ReadPorts, session_id: str) -> bool:
    history = find_session(rt, session_id).history
    run_id = choose_run(history)
    if run_id is None:
        return False
    workflow = load_pinned_workflow(rt.log, history.runs[run_id].workflow_hash)
    return find_ask(history, workflow, preferred_tip(history, run_id)) is not None


def _no_run(told: str, sessions: list[str], waiting: Sequence[str] = ()) -> Fault:
    others = [one for one in sessions if one not in waiting]
    named = f" Waiting for a person: {', '.join(waiting)}." if waiting else ""
    named += f" {'Others' if waiting else 'Sessions'}: {', '.join(others)}." if others else ""
    if waiting:
        return Fault(
            CONTEXT_MISSING,
            f"{told}{named} Nothing was done.",
            details={"missing": ["session"]},
            hint=f"Say which one you answer: {RUN_CONFIRM} --session {waiting[0]}",
            next_call=NextCall(operation="run.confirm", params={"session": waiting[0]}),
        )
    return Fault(
        CONTEXT_MISSING,
        f"{told}{named} Nothing was done.",
        details={"missing": ["session"]},
        hint="Say which run it is for: --session SESSION_ID, or --state STATE_TOKEN of its newest reply.",
        next_call=NextCall(operation="session.resume", params={"query": sessions[0]} if sessions else {}),
    )
