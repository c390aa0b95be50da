"""`session note`: notes in a new session, or in one named by its id."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail.contract.disclosure.fields import Shape
from handrail.contract.ids import AttemptId, attempt_for_new, session_id_of, session_output_id
from handrail.contract.json.canonical import digest
from handrail.contract.outcome import NextCall, Success, refuse_argument
from handrail.contract.parameters import MintedId, ProjectPath, RequestKey
from handrail.contract.reused_request import refuse_reused_request
from handrail.contract.tokens.confirm import refusal
from handrail.contract.tokens.workflow import WORKFLOW, CheckpointClaims, mint
from handrail.engine.facts import encode_project
from handrail.engine.history import History
from handrail.engine.plans import plan_session
from handrail.engine.reply import Reply
from handrail.operations.checkpoints import CheckpointRun, SessionReply, checkpoint_run, reply_to_opening
from handrail.operations.finding import find_requested, find_session
from handrail.operations.report import Goal, Output, check_goal_size, read_report
from handrail.projections.overview import latest_run
from handrail.projections.run_graph import run_graph
from handrail.runtime.operation import REQUEST_ID_PATTERN, Maybe, Operation
from handrail.runtime.runtime import ReadPorts, WritePorts, project_of
from handrail.runtime.sessions import PlanWith, Session, decide_and_commit, empty_session
from handrail.runtime.write_permission import Change, DryRun, GatedInput, Plan, preview_or_write


class StartSession(GatedInput, frozen=True, kw_only=True):
    """The purpose of the work, and what is known so far."""

    goal: Maybe[Goal] = UNSET
    session: Maybe[
        Annotated[MintedId, Meta(description="A session that is there already; else one is begun.")]
    ] = UNSET
    notes: Maybe[Annotated[str, Meta(description="What to keep; Markdown up to 64 KB.")]] = UNSET
    request_id: Maybe[
        Annotated[
            RequestKey,
            Meta(description="Your key; a repeat returns the same session.", pattern=REQUEST_ID_PATTERN),
        ]
    ] = UNSET
    project: Maybe[ProjectPath] = UNSET


def start_session(rt: WritePorts, request: StartSession) -> Success | DryRun:
    """Begin a session once per request id, or after a preview; the same id again gets the recorded reply."""
    project = project_of(rt, request.project)
    _require_notes(request)
    if request.dry_run is not True and request.confirm is UNSET:
        return _session_of(rt, request, _named(rt, request), project)
    return preview_or_write(
        rt,
        OPERATION,
        request,
        workspace=project,
        resolve=lambda: _preview(rt, request),
        write=lambda session: _session_of(rt, request, session, project, is_checked=True),
    )


def _require_notes(request: StartSession) -> None:
    """Require notes for an existing session; its goal was set when it began."""
    if request.session is UNSET or (request.notes is not UNSET and request.goal is UNSET):
        return
    param = "notes" if request.notes is UNSET else "goal"
    problem = "is missing" if request.notes is UNSET else "belongs to a new session"
    raise refuse_argument(f"{param}: {problem}; nothing was stored.", param, problem, "session and notes")


def _session_of(
    rt: WritePorts, request: StartSession, session: Session, project: str, *, is_checked: bool = False
) -> Success:
    """Begin the session, unless it exists, and keep the notes.

    A session that a preview found absent must still be absent.
    """
    if request.session is not UNSET:
        return _keep(rt, request, session)
    goal = check_goal_size(request.goal)
    input_digest = digest({"goal": goal})
    rt.keys.signing_key(WORKFLOW)  # fails here without a key, before anything is begun
    if session.history.head == 0:
        session = _begin(rt, session, goal, input_digest, project, is_checked=is_checked)
        _require_same_content(rt, request, session)  # another call may have been first
    if request.notes is not UNSET:
        return _keep(rt, request, session)
    return reply_to_opening(rt.keys, session, (), project)


def _keep(rt: WritePorts, request: StartSession, session: Session) -> Success:
    notes = "" if request.notes is UNSET else request.notes
    key = rt.randomness.bytes(8).hex() if request.request_id is UNSET else request.request_id
    kept = _keep_notes(rt, session, notes, key, request.project)
    _require_same_content(rt, request, find_session(rt, session.history.session_id))
    return kept


def _require_same_content(rt: ReadPorts, request: StartSession, session: Session) -> None:
    """Raise Fault E_CONFLICT if the request id began a session with another goal, or kept other notes."""
    history, opening = session.history, session.history.opening
    if request.request_id is UNSET or history.head == 0:
        return
    is_same = True
    if request.session is UNSET:
        assert opening is not None, "a session that has events was begun"
        is_same = opening.input_digest == digest({"goal": check_goal_size(request.goal)})
    noted = _find_noted(history, _attempt_for(history, request.request_id))
    if noted is not None and request.notes is not UNSET:
        work = read_report(Output(notes_markdown=request.notes), UNSET, rt.secrets)
        is_same = is_same and noted.input_digest == work.input_digest
    if not is_same:
        raise refuse_reused_request(
            request.request_id,
            "session" if request.session is UNSET else "note",
            session_id=history.session_id,
            next_call=NextCall(operation="session.show", params={"sessionId": history.session_id}),
        )


def _named(rt: ReadPorts, request: StartSession) -> Session:
    """Return the session that the call means. Raise Fault E_CONFLICT if its request id had other content."""
    session = _find_named(rt, request)
    _require_same_content(rt, request, session)
    return session


def _find_named(rt: ReadPorts, request: StartSession) -> Session:
    if request.session is not UNSET:
        return find_session(rt, request.session)
    if request.request_id is UNSET:
        return empty_session(session_id_of(rt.randomness.bytes(8)))
    # No request id contains a space, so this key never equals that of a `run.start`.
    return find_requested(rt, f"session start {request.request_id}", project_of(rt, request.project))


def _begin(
    rt: WritePorts, session: Session, goal: str, input_digest: str, project: str, *, is_checked: bool
) -> Session:
    session_id = session.history.session_id
    seen = rt.workspace.observations(project)
    plan = plan_session(
        session_id, goal, input_digest, seen, encode_project(project, rt.workspace.identity(project))
    )

    def decide(now: Session) -> PlanWith | None:
        if now.history.head and is_checked:
            raise refusal("target_changed")
        return None if now.history.head else lambda _: plan

    return decide_and_commit(rt, session, decide, by_token=False)[0]


def _preview(rt: ReadPorts, request: StartSession) -> Plan[Session]:
    session = _named(rt, request)
    is_new = session.history.head == 0
    is_unnamed = request.request_id is UNSET and request.session is UNSET
    session_id = "new" if is_unnamed else session.history.session_id
    noted: Literal["update", "none"] = "none" if request.notes is UNSET else "update"
    return Plan(
        action="start a session" if is_new else "keep notes",
        changes=(Change(action="create" if is_new else noted, resource="session", id=session_id),),
        targets=(session_id,),
        versions={"session": str(session.history.head)},
        blast_radius="One session is added to the store; nothing that exists is changed."
        if is_new
        else "Notes are added to the session; nothing that exists is changed.",
        found=session,
    )


def _keep_notes(rt: WritePorts, session: Session, notes: str, key: str, project: str | UnsetType) -> Success:
    """Add a checkpoint, once for each key: the same key again gets the recorded reply.

    Raise what a checkpoint raises.
    """
    history = session.history
    attempt = _attempt_for(history, key)
    claims = CheckpointClaims(
        session_id=history.session_id, node_tag=_find_place(history, attempt), attempt_id=attempt
    )
    token = mint(rt.keys.signing_key(WORKFLOW), claims)
    kept = checkpoint_run(
        rt, CheckpointRun(checkpoint_token=token, output=Output(notes_markdown=notes), project=project)
    )
    assert isinstance(kept, Success), "nobody asked for a dry run"
    return kept


def _attempt_for(history: History, key: str) -> AttemptId:
    return attempt_for_new(f"{history.session_id} note {key}")


class _Noted(msgspec.Struct, frozen=True, kw_only=True):
    """Notes kept under a key: where they were kept, and the digest of what was sent."""

    place: str
    input_digest: str


def _find_noted(history: History, attempt: AttemptId) -> _Noted | None:
    for (node_id, used), recorded in history.checkpoints.items():
        if used == attempt:
            return _Noted(place=history.nodes[node_id].tag, input_digest=recorded.input_digest)
    if history.opening is None:
        return None
    place = history.opening.tag
    noted = history.session_notes.get(session_output_id(history.session_id, place, attempt))
    return None if noted is None else _Noted(place=place, input_digest=noted.input_digest)


def _find_place(history: History, attempt: AttemptId) -> str:
    """Return the node where the key was used before, else the tip.

    A repeat needs the earlier node, because its own checkpoint moved the tip.
    """
    noted = _find_noted(history, attempt)
    if noted is not None:
        return noted.place
    run_id = latest_run(history)
    if run_id is not None:
        return history.nodes[run_graph(history, run_id).preferred_tip].tag
    assert history.opening is not None, "a session without a run was begun"
    return history.opening.tag


OPERATION = Operation(
    name="session.start",
    effect="create",
    summary="Keep notes: in a session by its id, or in a new one without a run.",
    input=StartSession,
    output=SessionReply,
    variants=(Reply,),
    perform=start_session,
    shape=Shape(
        levels={"minimal": ("kind", "sessionToken", "nextCall", "warnings")},
        untrusted=("session.goal",),
    ),
    tool="start_session",
    tool_description=(
        "Begin a session without a workflow, for notes by checkpoint_workflow. Pass its "
        "sessionToken as session to start_workflow."
    ),
    tool_fields=("goal", "requestId", "project"),
    errors=("SESSION_NOT_FOUND", "SESSION_LOCKED", "SESSION_NOT_HEALTHY"),
)
