"""Which run a call from outside is about.

A run that waits for its children is not in progress: a check, a hook and a look at the code are about one of
them. It is named by its work token, else by HANDRAIL_WORK, else by the directory, if only one is open there.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from handrail.contract.ids import RunId
from handrail.contract.outcome import Fault
from handrail.engine.children.joins import UNDONE, find_join, is_set_aside
from handrail.engine.facts import encode_project
from handrail.operations.finding import find_session
from handrail.operations.handles import node_of, read_state, session_of
from handrail.operations.replies import load_pinned_workflow
from handrail.operations.sessions.resume_session import find_work_in_progress
from handrail.projections.run_graph import preferred_tip
from handrail.runtime.runtime import ReadPorts
from handrail.runtime.sessions import Session


class OpenRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run in progress, in its session."""

    session: Session
    run_id: RunId


class OpenWork(msgspec.Struct, frozen=True, kw_only=True):
    """What is in progress in a directory."""

    runs: tuple[OpenRun, ...]
    waiting: tuple[OpenRun, ...] = ()
    """Runs that wait for children."""


def find_open_work(rt: ReadPorts, project: str) -> OpenWork:
    """The runs in progress where the caller stands; one that waits stands for its children there.

    Raises Fault when HANDRAIL_WORK holds something else than a token of this store.
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
            # Where a child works is open until its first call that writes, so it may be meant anywhere.
            if is_here or not run.has_own_project:
                runs.append(one)
    return OpenWork(runs=tuple(runs), waiting=tuple(waiting))


def open_by_token(rt: ReadPorts, token: str) -> OpenRun:
    """The run of a state token or a work token."""
    claims = read_state(rt.keys, token).claims
    session = session_of(rt.log, claims)
    return OpenRun(session=session, run_id=node_of(session.history, claims).run_id)


def _list_candidates(rt: ReadPorts, project: str) -> Iterator[OpenRun]:
    """Of this directory, and of the main one where this is another worktree of its repository."""
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
    """The children that a waiting run waits for, and instead of one that waits itself, those below it."""
    history = found.session.history
    node = preferred_tip(history, found.run_id)
    workflow = load_pinned_workflow(rt.log, history.runs[found.run_id].workflow_hash)
    join = find_join(history, workflow, node)
    if join is None or join.is_met:
        return
    for child in join.children:
        if child.status in UNDONE and not is_set_aside(history, child.run):
            one = OpenRun(session=found.session, run_id=child.run.run_id)
            below = list(list_open_below(rt, one))
            yield from below or [one]
