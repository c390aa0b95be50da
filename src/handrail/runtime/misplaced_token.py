"""A genuine token in the wrong argument, or a name just beside the right one: the refusal gets the caller's
own call, corrected.

The call is offered, never made: reading and advancing differ, so the agent decides. And no call that
advances is offered to a caller who asked to read: copied as it stands, it would finish a step without notes.
"""

from __future__ import annotations

import msgspec
from msgspec import UNSET

from handrail.contract.catalogue import TOKEN_SCOPE_MISMATCH, WORKFLOW_NOT_FOUND
from handrail.contract.outcome import Failure, Fault, Json, NextCall
from handrail.runtime.operation import OFFERED_CALL_BYTES
from handrail.runtime.runtime import Runtime

_TOKEN_FIELDS = ("ackToken", "stateToken", "checkpointToken")
_FIELD_BY_PREFIX = {"ak": "ackToken", "ch": "ackToken", "st": "stateToken", "ck": "checkpointToken"}
_REPORTED = {"output", "context"}
_AROUND = " \t\r\n\"'`<>[](){}"


def with_call_corrected(failure: Failure, operation: str, params: dict[str, Json]) -> Failure:
    """The failure with a call to copy, where what is wrong with the caller's own can only mean one thing."""
    near = failure.details.get("did_you_mean")
    if failure.kind is WORKFLOW_NOT_FOUND and near and len(near) == 1 and "workflowId" in params:
        call = NextCall(operation=operation, params=params | {"workflowId": near[0]})
        return _offering(failure, call)
    return _with_token_moved(failure, operation, params)


def with_known_workflow(rt: Runtime, failure: Failure) -> Failure:
    """A refusal that offers the caller's call with its arguments repaired: the workflow it names exists too.

    Where nobody can tell which workflow is meant, that is one more problem, and no call is offered.
    """
    call = failure.next_call
    if call is None or not isinstance(call.params.get("workflowId"), str):
        return failure
    from handrail.runtime.workflow_catalog import (  # noqa: PLC0415 - only a refusal reads workflow files here
        catalog_of,
        find_workflow,
        project_or_root,
    )

    asked: str = call.params["workflowId"]
    named = call.params.get("project")
    try:
        project, _ = project_or_root(rt, named if isinstance(named, str) else UNSET)
        find_workflow(catalog_of(rt, project), asked)
    except Fault as fault:
        if fault.kind is not WORKFLOW_NOT_FOUND:
            return failure
        near = fault.details["did_you_mean"]
        problem = {
            "param": "workflowId",
            "problem": fault.message,
            "fix": f"use {' or '.join(near)}" if near else "list_workflows has the ids",
        }
        told = failure.details | {"problems": [*failure.details.get("problems", []), problem]}
        refused = msgspec.structs.replace(
            failure, message=f"{failure.message} {fault.message}", details=told, next_call=None
        )
        if len(near) != 1:
            return msgspec.structs.replace(refused, hint="Correct what the problems name.")
        return _offering(
            refused, NextCall(operation=call.operation, params=call.params | {"workflowId": near[0]})
        )
    return failure


def _offering(failure: Failure, call: NextCall) -> Failure:
    is_short = len(msgspec.json.encode(call.params)) <= OFFERED_CALL_BYTES
    return msgspec.structs.replace(failure, next_call=call) if is_short else failure


def _with_token_moved(failure: Failure, operation: str, params: dict[str, Json]) -> Failure:
    if failure.kind is not TOKEN_SCOPE_MISMATCH or failure.next_call is not None:
        return failure
    call = _corrected(operation, params)
    if call is None or len(msgspec.json.encode(call.params)) > OFFERED_CALL_BYTES:
        call = _way_back(failure)
    return failure if call is None else msgspec.structs.replace(failure, next_call=call)


def _corrected(operation: str, params: dict[str, Json]) -> NextCall | None:
    tokens = {}
    is_answer = False
    for name in _TOKEN_FIELDS:
        prefix = str(params.get(name, "")).strip(_AROUND).lower()[:2]
        if prefix in _FIELD_BY_PREFIX:
            tokens[_FIELD_BY_PREFIX[prefix]] = params[name]
            is_answer = is_answer or prefix == "ch"  # the token of an option says what is wanted
    rest = {name: value for name, value in params.items() if name not in _TOKEN_FIELDS}
    if operation == "run.continue" and "ackToken" in tokens:
        if not ("ackToken" in params or is_answer or rest.keys() & _REPORTED):
            return None
        tokens.pop("checkpointToken", None)
        return NextCall(operation="run.continue", params={**tokens, **rest})
    if "checkpointToken" in tokens and "output" in rest and "context" not in rest:
        tokens.pop("ackToken", None)
        return NextCall(operation="run.checkpoint", params={**tokens, **rest})
    if "stateToken" in tokens:  # reads the pending step again, which brings the token that is missing
        return NextCall(operation="run.continue", params={"stateToken": tokens["stateToken"]})
    return None


def _way_back(failure: Failure) -> NextCall | None:
    """Finding the session of the token only reads; its answer has the stateToken that the caller lacked."""
    session_id = failure.details.get("session_id")
    return None if session_id is None else NextCall(operation="session.resume", params={"query": session_id})
