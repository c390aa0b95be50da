"""Which run in progress, and which pending step, a call from outside a run means.

A check, a hook, a look at the code and a person's confirmation come from outside. A run that waits for its
child runs is not in progress: such a call means one of them. It is named by its work token, else by
HANDRAIL_WORK, else by the directory, if only one is open there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec
from msgspec import UNSET, UnsetType

from handrail.contract.catalogue import CONTEXT_MISSING
from handrail.contract.ids import RunId
from handrail.contract.outcome import Fault, NextCall, refuse_argument
from handrail.contract.wording import quote
from handrail.engine.ask import find_ask
from handrail.engine.children.joins import UNDONE, find_join, is_set_aside
from handrail.engine.facts import encode_project, run_place
from handrail.engine.history import Node, Run
from handrail.engine.messages import RUN_CONFIRM
from handrail.engine.navigate import Running
from handrail.engine.tips import find_tip
from handrail.operations.finding import find_session
from handrail.operations.handles import node_of, read_state, session_of
from handrail.operations.sessions.resume_session import find_work_in_progress
from handrail.projections.overview import choose_run
from handrail.runtime.runtime import ReadPorts
from handrail.runtime.sessions import Session, load_pinned_workflow, require_healthy


class PendingStep(msgspec.Struct, frozen=True, kw_only=True):
    """A run and its pending step."""

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
    """Return the step that a token, a session, a run of one, or the only run in progress in a project means.

    `is_asked`: a person answers it, so of several runs those that wait for a person are named first.
    `again`: the same call for a session, which a refusal offers with the session that changed last.

    Raise Fault CONTEXT_MISSING, VALIDATION_ERROR, SESSION_NOT_FOUND, and what reading a token raises.
    """
    if state_token is not UNSET and session_id is not UNSET:
        raise refuse_argument("Name the run once.", "session", "is given beside a stateToken", "one of them")
    if run is not UNSET and session_id is UNSET:
        message = "A run is named with its session."
        raise refuse_argument(message, "run", "is given without its session", "session and run")
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
        require_healthy(session)  # the unreadable part may have the run
        raise _no_run(f"Session {session.history.session_id} has no run.", [])
    return _target(session, find_tip(session.history, run_id))


def _find_below(rt: ReadPorts, session: Session, run_id: RunId) -> RunId:
    """Return the run, or the child run that is meant if it waits: that of HANDRAIL_WORK, or the only open
    one.

    Raise Fault CONTEXT_MISSING if there are several.
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
        f"{count} pieces of work that {session_id} delegated are open, and any of them may be meant. "
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
    session_id = session.history.session_id
    message = f"Session {session_id} has no run {quote(asked)}."
    call = NextCall(operation="session.show", params={"sessionId": session_id})
    raise refuse_argument(message, "run", "is not in this session", "one of its runs", next_call=call)


def _target(session: Session, node: Node) -> PendingStep:
    if not isinstance(node.state, Running):
        message = "Every step of this run is done, so no step is pending."
        call = NextCall(operation="session.show", params={"sessionId": session.history.session_id})
        raise refuse_argument(message, "session", "is complete", "an open run", next_call=call)
    return PendingStep(session=session, run=session.history.runs[node.run_id], node=node)


def _find_only_run(
    rt: ReadPorts, project: str, again: Callable[[str], NextCall] | None, *, is_asked: bool
) -> tuple[Session, RunId]:
    found = find_open_work(rt, project)
    work = found.runs
    if len(work) != 1:
        where = "this project" if found.is_here else "other checkouts of this project"
        text = f"{len(work)} runs are in progress in {where}." if work else "No run is in progress here."
        named = list(dict.fromkeys(str(one.session.history.session_id) for one in work))
        waiting = [one for one in named if _waits_for_person(rt, one)] if is_asked else []
        if len(named) == 1 and not is_asked:
            raise _several_handed_out(len(work), named[0])
        refused = _no_run(text, named, waiting)
        if again is not None and named and found.is_here:
            refused.next_call = again(named[0])
            refused.hint = f"Say which one it is for; {named[0]} moved last: --session {named[0]}"
        if not found.is_here:
            refused.next_call = NextCall(operation="session.resume", params={})
        raise refused
    return work[0].session, work[0].run_id


def _waits_for_person(rt: ReadPorts, session_id: str) -> bool:
    history = find_session(rt, session_id).history
    run_id = choose_run(history)
    if run_id is None:
        return False
    workflow = load_pinned_workflow(rt.log, history.runs[run_id].workflow_hash)
    return find_ask(history, workflow, find_tip(history, run_id)) is not None


def _no_run(text: str, sessions: list[str], waiting: Sequence[str] = ()) -> Fault:
    others = [one for one in sessions if one not in waiting]
    named = f" Waiting for a person: {', '.join(waiting)}." if waiting else ""
    named += f" {'Others' if waiting else 'Sessions'}: {', '.join(others)}." if others else ""
    hint = "Say which run it is for: --session SESSION_ID, or --state STATE_TOKEN of its newest reply."
    call = NextCall(operation="session.resume", params={"query": sessions[0]} if sessions else {})
    if waiting:
        hint = f"Say which one you answer: {RUN_CONFIRM} --session {waiting[0]}"
        call = NextCall(operation="run.answer", params={"session": waiting[0]})
    details = {"missing": ["session"]}
    return Fault(
        CONTEXT_MISSING, f"{text}{named} Nothing was done.", details=details, hint=hint, next_call=call
    )


# Which run a call from outside means


class OpenRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run in progress, in its session."""

    session: Session
    run_id: RunId


class OpenWork(msgspec.Struct, frozen=True, kw_only=True):
    """The work in progress in a directory."""

    runs: tuple[OpenRun, ...]
    is_here: bool = True
    """Whether the runs belong to the caller's own directory.

    Otherwise they belong to another worktree or clone of its project.
    """
    waiting: tuple[OpenRun, ...] = ()
    """Runs that wait for child runs."""


def find_open_work(rt: ReadPorts, project: str) -> OpenWork:
    """Return the runs in progress in the caller's directory; of a waiting run, its child runs there.

    Raise Fault if HANDRAIL_WORK is not a token of this store.
    """
    named = rt.workspace.work_token()
    if named:
        try:
            return OpenWork(runs=(open_by_token(rt, named),))
        except Fault as fault:
            fault.message = f"In HANDRAIL_WORK: {fault.message}"
            raise
    runs: list[OpenRun] = []
    waiting: list[OpenRun] = []
    for found in _list_candidates(rt, project):
        history = found.session.history
        below = list(list_open_below(rt, found))
        if not below:
            runs.append(found)
            continue
        waiting.append(found)
        here = encode_project(project).directory
        for one in below:
            run = history.runs[one.run_id]
            is_here = run.project is not None and run.project.directory == here
            # Until its first call that writes, a child run has no fixed directory and may be meant anywhere.
            if is_here or not run.has_own_project:
                runs.append(one)
    elsewhere = [one for one in runs if _is_elsewhere(one, project)]
    is_here = len(elsewhere) < len(runs)
    mine = [one for one in runs if one not in elsewhere] if is_here else runs
    return OpenWork(runs=tuple(mine), is_here=is_here, waiting=tuple(waiting))


def _is_elsewhere(open_run: OpenRun, project: str) -> bool:
    """Whether a run is known to work in another directory than this one."""
    run = open_run.session.history.runs[open_run.run_id]
    is_placed = run.project is not None and (run.parent is None or run.has_own_project)
    return is_placed and run_place(run).directory not in ("", encode_project(project).directory)


def open_by_token(rt: ReadPorts, token: str) -> OpenRun:
    """Return the run of a state token or a work token."""
    claims = read_state(rt.keys, token).claims
    session = session_of(rt.log, claims)
    return OpenRun(session=session, run_id=node_of(session.history, claims).run_id)


def _list_candidates(rt: ReadPorts, project: str) -> Iterator[OpenRun]:
    """Yield the runs of this directory, and of the main checkout if this is another worktree of its
    repository.
    """
    main = rt.workspace.main_checkout(project)
    listed: set[str] = set()  # a worktree and its main checkout are one project, and list the same runs
    for place in dict.fromkeys((project, main or project)):
        for candidate in find_work_in_progress(rt, place).candidates:
            if candidate.run_id in listed:
                continue
            listed.add(candidate.run_id)
            session = find_session(rt, candidate.session_id)
            found = OpenRun(session=session, run_id=RunId(candidate.run_id))
            if place == project or any(True for _ in list_open_below(rt, found)):
                yield found


def list_open_below(rt: ReadPorts, found: OpenRun) -> Iterator[OpenRun]:
    """Yield the child runs that a waiting run waits for; of a child that waits itself, those below it."""
    history = found.session.history
    node = find_tip(history, found.run_id)
    workflow = load_pinned_workflow(rt.log, history.runs[found.run_id].workflow_hash)
    join = find_join(history, workflow, node)
    if join is None or join.is_met:
        return
    for child in join.children:
        if child.status in UNDONE and not is_set_aside(history, child.run):
            one = OpenRun(session=found.session, run_id=child.run.run_id)
            below = list(list_open_below(rt, one))
            yield from below or [one]
