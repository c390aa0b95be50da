"""`run.start`: pin a workflow, begin a run, and give its first step."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import VALIDATION_ERROR
from handrail.contract.ids import (
    Autonomy,
    BlobRef,
    ObservationKey,
    PresetName,
    RiskPolicy,
    RunId,
    SessionId,
    blob_ref,
    is_session_id,
    run_id_for,
    session_id_of,
)
from handrail.contract.json.canonical import digest
from handrail.contract.outcome import Fault, Json, NextCall, Notice, Success
from handrail.contract.parameters import MintedId, NamedId, ProjectPath, RequestKey
from handrail.contract.reused_request import refuse_reused_request
from handrail.contract.tokens.confirm import refusal
from handrail.contract.tokens.reading import ANY_KIND, read_token
from handrail.contract.tokens.workflow import WORKFLOW
from handrail.contract.wording import shorten
from handrail.engine.decide import decide_start, list_unmet_lists
from handrail.engine.events import PreferencesDelta, RunStarted
from handrail.engine.facts import MOST_TAGS, change_at_start, encode_project, place_of
from handrail.engine.gathered import StartFacts
from handrail.engine.history import Recorded, node_at
from handrail.engine.judge.artifacts import check_start_context, correct_context
from handrail.engine.judge.report_frame import TO_FILL_IN
from handrail.engine.owners import (
    correct_names,
    describe_giver,
    fill_from_goal,
    find_refused_at_start,
    input_row,
)
from handrail.engine.reasons import InputProblem
from handrail.engine.reply import Reply, ReplyWarning
from handrail.operations.declared_checks import pin_checks
from handrail.operations.finding import REQUESTED, find_begun, find_requested, find_session
from handrail.operations.handles import mint_state_token, require_place
from handrail.operations.kept_trees import keep_first_trees, take_first_tree
from handrail.operations.replies import RUN_SHAPE, load_handed, reply_to_answer
from handrail.operations.report import Goal, check_context, check_filled_in, check_goal_size, read_preferences
from handrail.operations.runs.continue_run import run_following_actions
from handrail.operations.runs.start_warnings import (
    find_duplicate_start,
    is_first_here,
    list_recorded_warnings,
    warn_of_changed_base,
    warn_of_missing_look,
)
from handrail.operations.workflow_catalog import pin_workflow
from handrail.ports.log import Blob
from handrail.ports.trees import NO_GIT
from handrail.projections.run_graph import run_graph
from handrail.runtime.operation import REQUEST_ID_PATTERN, Input, Maybe, Operation
from handrail.runtime.refused_calls import refuse_handed_out
from handrail.runtime.runtime import ReadPorts, WritePorts, project_of
from handrail.runtime.sessions import (
    PlanWith,
    Session,
    decide_and_commit,
    empty_session,
    load_pinned_workflow,
    wait_for_writer,
)
from handrail.runtime.write_permission import GATE_FIELDS, Change, DryRun, GatedInput, Plan, preview_or_write
from handrail.workflows.catalog import CatalogEntry
from handrail.workflows.compiled import Pinned
from handrail.workflows.conditions import nest_values
from handrail.workflows.limits import MOST_ACTIONS


class AskedPreferences(Input, frozen=True, kw_only=True):
    """How much the agent may do on its own: only what the user asked for."""

    autonomy: Autonomy | UnsetType = UNSET
    risk_policy: RiskPolicy | UnsetType = UNSET


class StartRun(GatedInput, frozen=True, kw_only=True):
    """The workflow, its goal, and the given facts."""

    workflow_id: Annotated[NamedId, Meta(description="Id from list_workflows.", min_length=1, max_length=128)]
    goal: Maybe[Goal] = UNSET
    context: Maybe[Annotated[dict[str, Any], Meta(description="Facts the steps need.")]] = UNSET
    preferences: Maybe[Annotated[AskedPreferences, Meta(description="Only what the user asked for.")]] = UNSET
    preset: Maybe[Annotated[PresetName, Meta(description="Preferences by the name of a preset.")]] = UNSET
    request_id: Maybe[
        Annotated[
            RequestKey,
            Meta(
                description="Your key; a repeat returns the same run.",
                pattern=REQUEST_ID_PATTERN,
            ),
        ]
    ] = UNSET
    session: Maybe[Annotated[MintedId, Meta(description="Session id or token to join.")]] = UNSET
    project: Maybe[ProjectPath] = UNSET


def start_run(rt: WritePorts, request: StartRun) -> Success | DryRun:
    """Begin a run once per request id, or after a preview; the same id again gets the recorded reply."""
    if request.dry_run is not True and request.confirm is UNSET:
        return begin_run(rt, request)
    project = _find_project(rt, request)
    return preview_or_write(
        rt,
        OPERATION,
        request,
        workspace=project,
        resolve=lambda: _preview(rt, request, project),
        write=lambda found: _answer_start(rt, request, project, found, is_checked=True),
        wait=lambda: _wait(rt, request),
    )


def _foresee(rt: ReadPorts, request: StartRun) -> None:
    _preview(rt, request, _find_project(rt, request))


def _wait(rt: WritePorts, request: StartRun) -> None:
    """Do not wait: a new session has no other writer."""
    if request.session is not UNSET:
        wait_for_writer(rt, _existing(rt, request.session).history.session_id)


def begin_run(
    rt: WritePorts, request: StartRun, given: Given | None = None, actions: int = MOST_ACTIONS
) -> Success:
    """Begin a run of a workflow of the library, or of `given`; then run its first actions."""
    project = _find_project(rt, request)
    found = _find_start(rt, request, project, given)
    return _answer_start(rt, request, project, found, actions)


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """The workflow of a run, and its source."""

    entry: CatalogEntry
    pinned: Pinned


class _Found(msgspec.Struct, frozen=True, kw_only=True):
    """A start, with the workflow, or the run that an earlier call began."""

    asked: _Asked
    session: Session
    run_id: RunId
    source: Given | Recorded


def _find_start(rt: ReadPorts, request: StartRun, project: str, given: Given | None = None) -> _Found:
    asked = _asked(rt, request)
    session = _session(rt, request)
    run_id = run_id_for(session.history.session_id, asked.key)
    started = _started(session, run_id)
    if started is not None:
        _require_same_start(rt, request, session, started, asked, given)
    # A replay answers even if the workflow's file is gone by now.
    source = started or given or _find(rt, project, asked.workflow_id)
    return _Found(asked=asked, session=session, run_id=run_id, source=source)


def _require_same_start(
    rt: ReadPorts,
    request: StartRun,
    session: Session,
    started: Recorded,
    asked: _Asked,
    given: Given | None,
) -> None:
    """Raise Fault E_CONFLICT if the request id began a run with other content."""
    history = session.history
    run = history.runs[history.nodes[started.to_node_id].run_id]
    is_same_file = given is None or given.pinned.workflow_hash == run.workflow_hash
    if started.input_digest == asked.input_digest and is_same_file:
        return
    assert request.request_id is not UNSET, "without one the key is chance"
    graph = run_graph(history, run.run_id)
    token = mint_state_token(rt.keys, history.session_id, history.nodes[graph.preferred_tip])
    raise refuse_reused_request(
        request.request_id,
        "run",
        session_id=history.session_id,
        run_id=run.run_id,
        workflow_id=run.workflow_id,
        status=graph.status,
        next_call=NextCall(operation="run.continue", params={"stateToken": token}),
    )


def _answer_start(
    rt: WritePorts,
    request: StartRun,
    project: str,
    found: _Found,
    actions: int = MOST_ACTIONS,
    *,
    is_checked: bool = False,
) -> Success:
    """Begin the run, unless it exists; what a preview has checked must still be true."""
    asked, session, recorded = found.asked, found.session, found.source
    warnings: tuple[ReplyWarning, ...] = ()
    unseen = ""
    rt.keys.signing_key(WORKFLOW)  # fails here without a key, before anything is begun
    if isinstance(recorded, Given):
        seen = _seen(rt, asked, project)
        warnings = warn_of_changed_base(rt, recorded.pinned.workflow)
        if request.request_id is UNSET:  # with a request id, a repeat finds its own run
            warnings += find_duplicate_start(
                rt.log,
                rt.keys,
                session,
                asked.input_digest,
                place_of(project, seen, rt.workspace.identity(project)),
            )
        given = recorded
        session, recorded = _begin(rt, found, given, project, seen, is_checked=is_checked)
        _require_same_start(rt, request, session, recorded, asked, given)  # another call may have been first
        rt.places.keep(encode_project(project).directory, project)
        session, unseen = take_first_tree(rt, session, recorded.to_node_id, project)
        if session.history.runs[found.run_id].pins:
            keep_first_trees(rt, session, session.history.nodes[recorded.to_node_id], project)
    session = run_following_actions(rt, session, recorded, request.project, actions)
    run = session.history.runs[found.run_id]
    workflow = load_pinned_workflow(rt.log, run.workflow_hash)
    handed = load_handed(rt.log, session.history, run, workflow)
    reply = reply_to_answer(
        rt.log,
        rt.keys,
        session,
        recorded,
        asked.input_digest,
        warnings=(
            *warnings,
            *list_recorded_warnings(session.history, run, workflow, handed.values()),
            *warn_of_missing_look(rt, session.history, run, project, workflow),
        ),
        project=project,
        workflow=workflow,
        actions=actions,
    )
    message = f"{NO_GIT}: files are not kept." if unseen == NO_GIT else f"The first look failed: {unseen}."
    notice = Notice(type="tree_skipped", message=message[:1000], severity="info")
    return msgspec.structs.replace(reply, notices=(*reply.notices, notice)) if unseen else reply


def _preview(rt: ReadPorts, request: StartRun, project: str) -> Plan[_Found]:
    """Return what a start would make. Without a request id the names are only known afterwards."""
    found = _find_start(rt, request, project)
    asked, session, run_id = found.asked, found.session, found.run_id
    if isinstance(found.source, Recorded):
        changes: tuple[Change, ...] = (Change(action="none", resource="run", id=run_id),)
        version = session.history.runs[run_id].workflow_hash
    else:
        is_named = request.request_id is not UNSET
        pinned = found.source.pinned
        _check_inputs(pinned, asked)
        version = pinned.workflow_hash
        session_id = session.history.session_id if is_named or request.session is not UNSET else "new"
        is_new = session.history.head == 0
        begun = {"workflow_id": pinned.workflow.id, "workflow_hash": version}
        changes = (
            Change(action="create" if is_new else "update", resource="session", id=session_id),
            Change(action="create", resource="run", id=run_id if is_named else "new", after=begun),
        )
    return Plan(
        action="start a run",
        changes=changes,
        targets=(asked.workflow_id,),
        versions={asked.workflow_id: version, "session": str(session.history.head)},
        blast_radius="One run is added to the store; nothing that exists is changed.",
        found=found,
    )


def _find(rt: ReadPorts, project: str, workflow_id: str) -> Given:
    entry, pinned = pin_workflow(rt, project, workflow_id)
    return Given(entry=entry, pinned=pinned)


class _Asked(msgspec.Struct, frozen=True, kw_only=True):
    """The request in the form that decisions take."""

    key: str
    workflow_id: str
    goal: str
    context: dict[str, Any]
    preferences: PreferencesDelta
    input_digest: str
    sent: dict[str, Json]
    """The call as it came, to be offered again with its context corrected."""


def _asked(rt: ReadPorts, request: StartRun) -> _Asked:
    context = {} if request.context is UNSET else request.context
    check_context(context)
    check_filled_in("", [], context)
    goal = check_goal_size(request.goal)
    held = AskedPreferences() if request.preferences is UNSET else request.preferences
    wanted = read_preferences(request.preset, held.autonomy, held.risk_policy)
    sent: dict[str, Json] = {"workflowId": request.workflow_id, "goal": goal, "context": context}
    if request.preferences is not UNSET or request.preset is not UNSET:
        sent["preferences"] = msgspec.to_builtins(wanted)
    return _Asked(
        sent={name: value for name, value in msgspec.to_builtins(request).items() if name not in GATE_FIELDS},
        key=rt.randomness.bytes(16).hex() if request.request_id is UNSET else REQUESTED + request.request_id,
        workflow_id=request.workflow_id,
        goal=goal,
        context=context,
        preferences=wanted,
        input_digest=digest(sent),
    )


def _session(rt: ReadPorts, request: StartRun) -> Session:
    """Return the session that the run joins, or a new one, named by the request id or at random."""
    if request.session is not UNSET:
        return _existing(rt, request.session)
    if request.request_id is not UNSET:
        return _find_gone(rt, request) or find_requested(
            rt, request.request_id, project_of(rt, request.project)
        )
    return empty_session(session_id_of(rt.randomness.bytes(8)))


def _find_project(rt: ReadPorts, request: StartRun) -> str:
    """Return the project; if it is gone, only the repeat of a start that was made in it is answered."""
    gone = _find_gone(rt, request)
    return project_of(rt, request.project) if gone is None else str(request.project)


def _find_gone(rt: ReadPorts, request: StartRun) -> Session | None:
    if request.request_id is UNSET or request.project is UNSET:
        return None
    try:
        project_of(rt, request.project)
    except Fault:
        return find_begun(rt, request.request_id, request.project)
    return None


def _existing(rt: ReadPorts, asked: str) -> Session:
    is_id = is_session_id(asked)
    claims = None if is_id else read_token(rt.keys.verifying_keys(WORKFLOW), asked, ANY_KIND).claims
    session_id = SessionId(asked) if claims is None else claims.session_id
    session = find_session(rt, session_id)
    if claims is not None:
        require_place(session.history, claims)
        node = node_at(session.history, claims.node_tag)
        if node is not None:
            refuse_handed_out(session.history.runs[node.run_id])
    return session


def _begin(
    rt: WritePorts,
    found: _Found,
    given: Given,
    project: str,
    seen: dict[ObservationKey, str],
    *,
    is_checked: bool,
) -> tuple[Session, Recorded]:
    asked, session, run_id, pinned = found.asked, found.session, found.run_id, given.pinned
    _check_inputs(pinned, asked)
    settings = rt.settings.of(project)
    filled = fill_from_goal(pinned.workflow, asked.context, asked.goal)
    entry, own = given.entry, rt.settings.of()
    started = RunStarted(
        workflow_id=pinned.workflow.id,
        workflow_hash=pinned.workflow_hash,
        source_kind=entry.source_kind,
        source_ref=entry.source_ref,
        input_digest=asked.input_digest,
        source_digest=blob_ref(entry.content),
        is_first_here=is_first_here(rt.log, entry.source_kind, pinned.workflow_hash),
        tags=entry.tags[:MOST_TAGS],
        agent=shorten(rt.client),
        project=encode_project(project, rt.workspace.identity(project)),
        checks=pin_checks(settings, rt.secrets, rt.known_checks(), project),
        confirmations=settings.confirmations,
        confirmations_from=settings.confirmations_from,
    )
    facts = StartFacts(
        session_id=session.history.session_id,
        run_id=run_id,
        workflow=pinned.workflow,
        started=started,
        context=asked.context | filled,
        from_goal=tuple(filled),
        observations=seen,
        preferences=asked.preferences,
        defaults=PreferencesDelta(autonomy=own.autonomy, risk_policy=own.risk_policy),
        handed={one.workflow_hash: one.workflow for one in pinned.children},
    )
    _check_lists(facts, session, asked)
    blobs = [Blob(ref=BlobRef(one.workflow_hash), content=one.content) for one in (pinned, *pinned.children)]

    def decide(now: Session) -> PlanWith | None:
        if is_checked and now.history.head != found.session.history.head:
            raise refusal("target_changed")
        return None if _started(now, run_id) else partial(decide_start, now.history, facts)

    session, _ = decide_and_commit(rt, session, decide, blobs, by_token=False)
    recorded = _started(session, run_id)
    assert recorded is not None, "a committed start is in the history"
    return session, recorded


def _seen(rt: ReadPorts, asked: _Asked, project: str) -> dict[ObservationKey, str]:
    seen = rt.workspace.observations(project)
    return seen | {"goal": asked.goal} if asked.goal else seen


def _check_inputs(pinned: Pinned, asked: _Asked) -> None:
    """Check the declared inputs.

    Name every problem at once, with a start that would be accepted (DESIGN D12).

    Raise Fault VALIDATION_ERROR.
    """
    inputs = pinned.workflow.inputs
    filled = fill_from_goal(pinned.workflow, asked.context, asked.goal)
    meant = correct_names(pinned.workflow, asked.context) | filled
    problems = find_refused_at_start(pinned.workflow, asked.context) + check_start_context(inputs, meant)
    if problems:
        raise _misfit(asked, problems, correct_context(inputs, meant, {one.key for one in problems}))


def _check_lists(facts: StartFacts, session: Session, asked: _Asked) -> None:
    """Check lists that are read before the first step: only the start can give them;
    never-stop records a gap.

    Raise Fault VALIDATION_ERROR.
    """
    begun_with = change_at_start(session.history, facts.preferences, "", facts.defaults).effective
    if begun_with.autonomy == "full_auto_never_stop":
        return
    unmet = dict(list_unmet_lists(facts))
    problems = [
        InputProblem(key=name, problem=reason.message, expected=reason.fix)
        if reason.waits_for.state == "invalid"
        else InputProblem(
            key=name, problem="missing", expected=describe_giver(facts.workflow, name) or "a list"
        )
        for name, reason in unmet.items()
    ]
    if problems:
        raise _misfit(asked, problems, nest_values(asked.context | {name: [TO_FILL_IN] for name in unmet}))


def _misfit(asked: _Asked, problems: list[InputProblem], fixed: dict[str, Any]) -> Fault:
    params = asked.sent | {"context": fixed}
    first, more = problems[0], len(problems) - 1
    return Fault(
        VALIDATION_ERROR,
        f"The context does not fit the workflow's inputs: {first.key}: {first.problem.removesuffix('.')}"
        + (f" ({more} more)." if more else "."),
        details={"problems": [input_row(problem) for problem in problems]},
        hint=f"Start again as in the call offered here, with your own value for every {TO_FILL_IN} in it.",
        next_call=NextCall(operation="run.start", params=params),
    )


def _started(session: Session, run_id: RunId) -> Recorded | None:
    """Return the start as an answered attempt: its node is the run's first one."""
    run = session.history.runs.get(run_id)
    if run is None or run.first_node is None:
        return None
    return Recorded(to_node_id=run.first_node, input_digest=run.input_digest, index=run.index)


OPERATION = Operation(
    name="run.start",
    effect="create",
    where="both",
    summary="Start a workflow and get its first step.",
    input=StartRun,
    output=Reply,
    perform=start_run,
    foresee=_foresee,
    shape=RUN_SHAPE,
    tool="start_workflow",
    tool_description=(
        "Start a workflow; get its first step and tokens. Do what pending.prompt says, then make nextCall. "
        "Tokens live as long as the session."
    ),
    tool_fields=("workflowId", "goal", "context", "preferences", "requestId", "session", "project"),
    errors=(
        "WORKFLOW_NOT_FOUND",
        "WORKFLOW_INVALID",
        "WORKFLOW_ID_RESERVED",
        "CONTEXT_BUDGET_EXCEEDED",
        "WORK_LIMIT_EXCEEDED",
        "SESSION_NOT_FOUND",
        "SESSION_LOCKED",
        "SESSION_NOT_HEALTHY",
        "STORE_HISTORY_LOST",
        "STORE_CORRUPT",
        "STORE_UNSUPPORTED_VERSION",
    ),
)
