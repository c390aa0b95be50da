"""`code.workflow`: run a workflow file step by step, with a token for each way on (CONT 6.3).

The run is an ordinary one: the same engine and log, in the list of sessions, and every other command can
continue with it. A resume token holds the token of the pending step, so that a repeat answers the same again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import (
    E_CONFIRMATION_REQUIRED,
    E_USAGE,
    INVALID_TOKEN,
    TOKEN_EXPIRED,
)
from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Answer, Fault, Json, Success, make_from
from handrail.contract.parameters import NamedId, ProjectPath, RequestKey, TokenText
from handrail.contract.tokens.continuation import NextAction, read_unproven
from handrail.contract.tokens.reading import ANY_KIND, read_token
from handrail.contract.tokens.workflow import WORKFLOW, unwrap
from handrail.engine.history import History, Node, context_at
from handrail.engine.judge.actions import find_preview_node
from handrail.engine.messages import spell_purpose
from handrail.engine.navigate import leaves_of, own_action_at
from handrail.engine.standing import standing_at
from handrail.operations.handles import (
    mint_fresh_tokens,
    mint_state_token_for,
    node_of,
    read_state,
    session_of,
)
from handrail.operations.report import Output
from handrail.operations.runs.continue_run import ContinueRun, advance, continue_run
from handrail.operations.runs.start_run import Given, StartRun, begin_run
from handrail.operations.workflows.examine_workflows import WorkflowText, load_given
from handrail.runtime.operation import REQUEST_ID_PATTERN, Input, Operation
from handrail.runtime.runtime import ReadPorts, WritePorts, project_of
from handrail.runtime.sessions import load_pinned_workflow
from handrail.workflows.compiled import Action, CompiledWorkflow
from handrail.workflows.limits import MOST_ACTIONS
from handrail_code.operations.code_answers import OfferedAction
from handrail_code.operations.continuing import Resumed, TokenDesk, require_fix

COMMAND = "workflow"
"""How CONT 2.2 calls the tool in a token."""
_MOST_SHOWN_BYTES = 16_000
"""Of the result of the last action that an answer shows; the run keeps the whole."""
_HIDDEN = frozenset({"planned"})
"""Of a saved result: what only the next action needs."""
_SHOW = NextAction(id="show", label="Show this step again")
_FORK = NextAction(id="fork", label="Store what you sent, on a branch of its own")
_STALE = "The files changed since the preview: send the reissue_token to make it again, then decide again."
_AGAIN = "List the runs with: handrail session list. Or begin again with js-tools --workflow FILE."

Status: TypeAlias = Literal["success", "blocked"]


class RunCodeWorkflow(Input, frozen=True, kw_only=True):
    """A file to begin with, or a token to continue with."""

    workflow_resume: Annotated[TokenText, Meta(description="A token of an earlier answer.")] | UnsetType = (
        UNSET
    )
    workflow_id: Annotated[NamedId, Meta(description="Id of a workflow.", max_length=128)] | UnsetType = UNSET
    document: Annotated[WorkflowText, Meta(description="A file instead of an id.")] | UnsetType = UNSET
    checkpoint_mode: Annotated[bool, Meta(description="Stop after each step.")] | UnsetType = UNSET
    context: Annotated[dict[str, Any], Meta(description="Facts the steps need.")] | UnsetType = UNSET
    notes: Annotated[str, Meta(description="What was done, where a step asks for it.")] | UnsetType = UNSET
    fix: Annotated[bool, Meta(description="Write files; needs the token of that step.")] | UnsetType = UNSET
    refresh: Annotated[bool, Meta(description="Renew an expired token.")] | UnsetType = UNSET
    request_id: (
        Annotated[
            RequestKey,
            Meta(description="Your key; a repeat returns the same run.", pattern=REQUEST_ID_PATTERN),
        ]
        | UnsetType
    ) = UNSET
    project: ProjectPath | UnsetType = UNSET


class RanStep(Answer, frozen=True, kw_only=True):
    """An action that this call ran."""

    step: str
    operation: str
    result: str
    """What came of it, in a line."""


class WorkflowAnswer(Answer, frozen=True, kw_only=True):
    """Where the run stands."""

    status: Status
    current_step: str | None
    """None: the run is complete."""
    awaiting_input: bool
    """Whether somebody has to decide or to do something; a run that only stopped continues with its token."""
    title: str
    prompt: str
    ran: list[RanStep]
    result: Json
    """Of the last one; null where it is too long."""
    blockers: list[dict[str, Json]]
    """Why the pending step was not carried out."""
    recovery: dict[str, str]
    """Where a preview is to be made again: how."""
    skipped: list[dict[str, Json]]
    """Steps that did not run, and why."""
    warnings: list[dict[str, Json]]
    closing: str
    workflow_id: str
    session_id: str
    run_id: str
    state_token: str
    """For `handrail run continue --state`."""
    continuation_tokens: dict[str, str]
    next_actions: list[OfferedAction]


class _Way(msgspec.Struct, frozen=True, kw_only=True):
    """One way on: what it is, and the token of the run that it stands for."""

    action: NextAction
    token: str
    actions: int
    """How many actions it runs beside the pending step: in checkpoint mode each call runs one."""


def run_workflow(rt: WritePorts, request: RunCodeWorkflow) -> Success:
    """Begin a run or continue with one, and say where it stands.

    Raises Fault E_USAGE, E_CONFIRMATION_REQUIRED, WORKFLOW_INVALID, WORKFLOW_NOT_FOUND, VALIDATION_ERROR, and
    what a token that is not accepted raises.
    """
    is_begun = request.workflow_id is not UNSET or request.document is not UNSET
    if is_begun == (request.workflow_resume is not UNSET):
        raise _refuse_use("Name a file to begin with, or a token to continue with.", "--workflow FILE")
    if request.workflow_resume is not UNSET:
        return _resume(rt, request, request.workflow_resume)
    if request.fix is True:
        raise _refuse_use("--fix goes with the token of a step that writes.", "--workflow-resume TOKEN --fix")
    return _begin(rt, request)


def _begin(rt: WritePorts, request: RunCodeWorkflow) -> Success:
    project = project_of(rt, request.project)
    given: Given | None = None
    workflow_id = "" if request.workflow_id is UNSET else request.workflow_id
    if request.document is not UNSET:
        entry, pinned = load_given(rt, request.document, project)
        given, workflow_id = Given(entry=entry, pinned=pinned), pinned.workflow.id
    start = StartRun(
        workflow_id=workflow_id,
        context=request.context,
        request_id=request.request_id,
        project=request.project,
    )
    is_stepwise = request.checkpoint_mode is True
    reply = begin_run(rt, start, given, 1 if is_stepwise else MOST_ACTIONS)
    desk = TokenDesk(rt, project, COMMAND)
    return _Answering(rt, desk, None, is_stepwise=is_stepwise).answer(reply)


def _resume(rt: WritePorts, request: RunCodeWorkflow, token: str) -> Success:
    project = project_of(rt, request.project)
    desk = TokenDesk(rt, project, COMMAND)
    try:
        resumed = desk.resume(token, {}, is_refetch=False, is_refresh=request.refresh is True)
    except Fault as fault:
        raise _add_recovery(rt, desk, token, fault) from None
    require_fix(resumed, is_fix=request.fix is True)
    held = resumed.parameters
    call = ContinueRun(
        context=request.context,
        output=UNSET if request.notes is UNSET else Output(notes_markdown=request.notes),
        project=request.project,
    )
    if resumed.action_name == "show":
        reply = continue_run(rt, msgspec.structs.replace(call, state_token=held["token"]))
    else:
        call = msgspec.structs.replace(call, ack_token=held["token"])
        reply = advance(rt, call, held["token"], held["actions"])
    assert isinstance(reply, Success), "only a dry run answers with a verdict"
    return _Answering(rt, desk, resumed, is_stepwise=held["actions"] != MOST_ACTIONS).answer(reply)


class _Answering:
    """From the reply of a run to the document of CONT."""

    def __init__(self, rt: ReadPorts, desk: TokenDesk, resumed: Resumed | None, *, is_stepwise: bool) -> None:
        self._rt = rt
        self._desk = desk
        self._resumed = resumed
        self._is_stepwise = is_stepwise

    def answer(self, success: Success) -> Success:
        assert isinstance(success.data, dict), "a run answers with an object"
        reply: dict[str, Any] = success.data
        claims = read_state(self._rt.keys, reply["stateToken"]).claims
        history = session_of(self._rt.log, claims).history
        node = node_of(history, claims)
        workflow = load_pinned_workflow(self._rt.log, history.runs[node.run_id].workflow_hash)
        pending = reply["pending"]
        ways = self._list_ways(reply, history, workflow, node)
        tokens = self._mint(ways, "" if pending is None else pending["stepId"])
        action = own_action_at(workflow, node.state)
        is_paused = action is not None and not action.is_guarded and reply["kind"] == "ok"
        document = WorkflowAnswer(
            status="blocked" if reply["kind"] == "blocked" else "success",
            current_step=None if pending is None else pending["stepId"],
            awaiting_input=pending is not None and not is_paused,
            title="" if pending is None else pending["title"],
            prompt="" if pending is None else pending.get("prompt", ""),
            ran=[
                RanStep(step=one["stepId"], operation=one["operation"], result=one["result"])
                for one in reply.get("ran", ())
            ],
            result=_last_result(reply, history, workflow, node),
            blockers=reply.get("blockers", []),
            recovery={"suggestion": _STALE, "reissue_token": tokens["again"]} if "again" in tokens else {},
            skipped=reply.get("skipped", []),
            warnings=[_make_warning(one) for one in reply.get("warnings", ())],
            closing=reply.get("closing", ""),
            workflow_id=history.runs[node.run_id].workflow_id,
            session_id=history.session_id,
            run_id=node.run_id,
            state_token=reply["stateToken"],
            continuation_tokens=tokens,
            next_actions=[make_from(OfferedAction, way.action) for way in ways],
        )
        return Success(data=msgspec.to_builtins(document), ledger=success.ledger)

    def _list_ways(
        self, reply: dict[str, Any], history: History, workflow: CompiledWorkflow, node: Node
    ) -> list[_Way]:
        pending = reply["pending"]
        action = own_action_at(workflow, node.state)
        beside = MOST_ACTIONS if not self._is_stepwise else 1 if action is None else 0
        ways = [
            _Way(action=_FORK, token=call["params"]["ackToken"], actions=beside)
            for one in reply.get("warnings", ())
            if (call := one.get("nextCall")) and "ackToken" in call["params"]
        ]
        if pending is None:
            return ways
        ways += [
            _Way(
                action=NextAction(id=f"choice:{one['id']}", label=one["label"]),
                token=one["token"],
                actions=beside,
            )
            for one in pending.get("choices", ())
            if one.get("token")
        ]
        token = reply.get("ackToken", "") or reply.get("retryAckToken", "")
        if token:
            is_guarded = action is not None and action.is_guarded
            name = "retry" if reply["kind"] == "blocked" else "apply" if is_guarded else "continue"
            label = "Write the files; add --fix" if is_guarded else "Go on"
            doing = NextAction(id=name, label=label, guard=is_guarded)
            ways.append(_Way(action=doing, token=token, actions=beside))
        if reply["kind"] == "blocked":
            ways += self._list_ways_back(history, workflow, node, beside)
        return [*ways, _Way(action=_SHOW, token=reply["stateToken"], actions=beside)]

    def _list_ways_back(
        self, history: History, workflow: CompiledWorkflow, node: Node, actions: int
    ) -> list[_Way]:
        """Where a plan no longer fits the files: the preview can be made again, on a branch of its own."""
        earlier = find_preview_node(history, workflow, node)
        if earlier is None:
            return []
        standing = standing_at(history, workflow, earlier, "rehydrate")
        keys, randomness = self._rt.keys, self._rt.randomness
        fresh = mint_fresh_tokens(keys, randomness, history.session_id, standing)
        again = NextAction(id="again", label="Make the preview again")
        return [_Way(action=again, token=fresh.ack, actions=actions)]

    def _mint(self, ways: list[_Way], step: str) -> dict[str, str]:
        tokens: dict[str, str] = {}
        for way in ways:
            parameters: dict[str, Json] = {"token": way.token, "actions": way.actions}
            tokens[way.action.id] = self._desk.mint(step, parameters, "", way.action, self._resumed)
        return tokens


def _make_warning(warning: dict[str, Any]) -> dict[str, Json]:
    """Without the call that an agent at the MCP server would make: here it has a token."""
    shown = {name: value for name, value in warning.items() if name not in ("nextCall", "purpose")}
    aim = spell_purpose(warning)
    if aim:
        way = "fork" if "ackToken" in warning["nextCall"]["params"] else "again"
        shown["message"] = f"{warning['message']} {aim}, send the token {way}."
    return shown


def _last_result(reply: Mapping[str, Any], history: History, workflow: CompiledWorkflow, node: Node) -> Json:
    """What the last action of this call saved, without what only the next one needs."""
    ran = reply.get("ran", ())
    last = leaves_of(workflow).get(ran[-1]["stepId"].rpartition("::")[2]) if ran else None
    saved = context_at(history, node.node_id).get(last.save_as) if isinstance(last, Action) else None
    if not isinstance(saved, dict):
        return None
    shown = {name: value for name, value in saved.items() if name not in _HIDDEN}
    return shown if len(msgspec.json.encode(shown)) <= _MOST_SHOWN_BYTES else None


def _add_recovery(rt: ReadPorts, desk: TokenDesk, token: str, fault: Fault) -> Fault:
    """A refused token with what to do about it here: the step can be shown again, or the run be found."""
    if fault.kind not in (INVALID_TOKEN, TOKEN_EXPIRED):
        return fault
    recovery = {**fault.details["recovery"], "suggestion": _AGAIN}
    if fault.kind is TOKEN_EXPIRED:  # so its signature was valid
        recovery["suggestion"] = f"Send the refresh_token: js-tools --workflow-resume REFRESH_TOKEN. {_AGAIN}"
        if not recovery["can_refresh"]:
            recovery["refresh_token"] = _mint_show(rt, desk, token)
    details = {**fault.details, "recovery": recovery}
    return Fault(fault.kind, fault.message, details=details, hint=recovery["suggestion"])


def _mint_show(rt: ReadPorts, desk: TokenDesk, token: str) -> str:
    """A token that shows the step of an expired one, which may not be renewed because it writes."""
    held = read_unproven(unwrap(token))
    assert held is not None, "it was read a moment ago"
    claims = read_token(rt.keys.verifying_keys(WORKFLOW), held.parameters["token"], ANY_KIND).claims
    parameters = {**held.parameters, "token": mint_state_token_for(rt.keys, claims)}
    return desk.mint(held.action, parameters, "", _SHOW, None)


def _refuse_use(message: str, usage: str) -> Fault:
    return Fault(E_USAGE, message, details={"usage": usage}, hint=f"Call js-tools {usage} instead.")


OPERATION = Operation(
    name="code.workflow",
    effect="ack",
    where="client",
    summary="Run a workflow file whose actions are code tools, up to each decision.",
    input=RunCodeWorkflow,
    output=WorkflowAnswer,
    perform=run_workflow,
    shape=Shape(
        levels={
            "minimal": (
                *("status", "current_step", "awaiting_input", "prompt", "blockers", "recovery"),
                *("warnings", "session_id", "continuation_tokens"),
            ),
            "standard": None,
            "full": None,
        },
        select="top",
        untrusted=("result",),
    ),
    errors=(
        "WORKFLOW_NOT_FOUND",
        "WORKFLOW_INVALID",
        "WORKFLOW_ID_RESERVED",
        "CONTEXT_BUDGET_EXCEEDED",
        "WORK_LIMIT_EXCEEDED",
        E_CONFIRMATION_REQUIRED.code,
        "INVALID_TOKEN",
        "TOKEN_EXPIRED",
        "ACTION_NOT_ALLOWED",
        "KEYRING_INVALID",
        "TOKEN_UNKNOWN_NODE",
        "TOKEN_SESSION_LOCKED",
        "SESSION_LOCKED",
        "SESSION_NOT_HEALTHY",
        "STORE_HISTORY_LOST",
        "STORE_CORRUPT",
        "STORE_UNSUPPORTED_VERSION",
    ),
)
