"""A genuine token in the wrong argument, or a misspelt workflow id: the refusal offers the corrected call.

The call is offered, never made: reading and advancing differ, so the agent decides. A caller who asked to
read is never offered a call that advances: copied unchanged, it would finish a step without notes.
"""

from __future__ import annotations

import msgspec

from handrail.contract.catalogue import TOKEN_SCOPE_MISMATCH, WORKFLOW_NOT_FOUND
from handrail.contract.outcome import Failure, Fault, Json, NextCall
from handrail.contract.tokens.workflow import LAYOUTS, clean
from handrail.runtime.operation import OFFERED_CALL_BYTES

_TOKEN_FIELDS = ("ackToken", "stateToken", "checkpointToken")
_FIELD_BY_PREFIX = {
    "ak": "ackToken",
    "ch": "ackToken",
    "ck": "checkpointToken",
    "st": "stateToken",
    "wk": "stateToken",
}
WORKED_THROUGH = frozenset({"run.continue", "run.checkpoint", "check.run"})
"""What a work token does, where a stateToken stands; nothing else takes one."""
MAY_DO = (
    "A token of work that was handed out reads its step, reports it, saves progress in it and runs checks "
    "for it (run continue, run checkpoint, check run); everything else is for whoever handed it out."
)
_REPORTED = {"output", "context"}
_AROUND = " \t\r\n\"'`<>[](){}"


def correct_call(failure: Failure, operation: str, params: dict[str, Json]) -> Failure:
    """Add the corrected call to a failure where the mistake has only one possible correction."""
    near = failure.details.get("did_you_mean")
    if failure.kind is WORKFLOW_NOT_FOUND and near and len(near) == 1 and "workflowId" in params:
        call = NextCall(operation=operation, params=params | {"workflowId": near[0]})
        return offer_call(failure, call)
    return _with_token_moved(failure, operation, params)


def refuse_work_token(operation: str, params: dict[str, Json]) -> None:
    """Raises Fault TOKEN_SCOPE_MISMATCH where a work token is sent to an operation that it does not open."""
    layout = LAYOUTS["work"]
    for name, value in params.items():
        is_token = isinstance(value, str) and len(value) <= 2 * layout.length
        text = clean(value) if is_token else ""
        if text.startswith(layout.prefix) and len(text) == layout.length and operation not in WORKED_THROUGH:
            details = {"token_kind": "work", "found": f"a work token as {name}"}
            message = f"A work token was sent as {name}; nothing was done."
            raise Fault(TOKEN_SCOPE_MISMATCH, message, details=details, hint=MAY_DO)


def offer_call(failure: Failure, call: NextCall) -> Failure:
    """The failure with this call to copy, unless it is too long to send back."""
    is_short = len(msgspec.json.encode(call.params)) <= OFFERED_CALL_BYTES
    return msgspec.structs.replace(failure, next_call=call) if is_short else failure


def _with_token_moved(failure: Failure, operation: str, params: dict[str, Json]) -> Failure:
    if failure.kind is not TOKEN_SCOPE_MISMATCH or failure.next_call is not None:
        return failure
    if failure.hint == MAY_DO:
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
