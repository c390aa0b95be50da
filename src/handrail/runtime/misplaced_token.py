"""A genuine token in the wrong argument, or a misspelt workflow id: the refusal offers the corrected call.

The call is offered, never made: reading and advancing differ, so the agent decides. A caller who asked to
read is never offered a call that advances: copied unchanged, it would finish a step without notes.
"""

from __future__ import annotations

import msgspec

from handrail.contract.catalogue import TOKEN_SCOPE_MISMATCH, WORKFLOW_NOT_FOUND
from handrail.contract.outcome import Failure, Fault, Json, NextCall
from handrail.contract.tokens.reading import ANY_KIND, read_token
from handrail.contract.tokens.workflow import (
    LAYOUT_BY_PREFIX,
    LAYOUTS,
    PREFIX_LENGTH,
    WORKFLOW,
    TokenKind,
    clean,
)
from handrail.engine.history import Run, node_at
from handrail.runtime.operation import OFFERED_CALL_BYTES
from handrail.runtime.runtime import ReadPorts
from handrail.runtime.sessions import read_session

_TOKEN_FIELDS = ("ackToken", "stateToken", "checkpointToken")
_FIELD_BY_PREFIX = {
    "ak": "ackToken",
    "ch": "ackToken",
    "ck": "checkpointToken",
    "st": "stateToken",
    "wk": "stateToken",
}
MAY_DO = (
    "A token of work that was handed out reads its step, reports it, saves progress in it, runs checks for "
    "it and shows its changes (run continue, run checkpoint, check run, code status); everything else is for "
    "whoever handed it out."
)
_REPORTED = {"output", "context"}
_LONGEST_TOKEN = 2 * max(layout.length for layout in LAYOUTS.values())
"""With whatever a client put between its characters."""
_AROUND = " \t\r\n\"'`<>[](){}"


def correct_call(failure: Failure, operation: str, params: dict[str, Json]) -> Failure:
    """Add the corrected call to a failure where the mistake has only one possible correction."""
    near = failure.details.get("did_you_mean")
    if failure.kind is WORKFLOW_NOT_FOUND and near and len(near) == 1 and "workflowId" in params:
        call = NextCall(operation=operation, params=params | {"workflowId": near[0]})
        hint = f"Use {near[0]}, or list the workflows to see which exist."
        return offer_call(msgspec.structs.replace(failure, hint=hint), call)
    return _with_token_moved(failure, operation, params)


def refuse_misplaced_work(rt: ReadPorts, params: dict[str, Json]) -> None:
    """Raises Fault TOKEN_SCOPE_MISMATCH where a token of a child is sent to what it does not open."""
    for name, value in params.items():
        for one in value if isinstance(value, list) else [value]:
            kind = _find_kind(one)
            if kind == "work":
                details = {"token_kind": "work", "found": f"a work token as {name}"}
                message = f"A work token was sent as {name}; nothing was done."
                raise Fault(TOKEN_SCOPE_MISMATCH, message, details=details, hint=MAY_DO)
            run = None if kind is None else _find_run(rt, str(one))
            if run is not None:
                refuse_handed_out(run)


def refuse_handed_out(run: Run) -> None:
    """Raises Fault TOKEN_SCOPE_MISMATCH where a token of a run that was handed out asks for more."""
    if run.parent is None:
        return
    message = f"This token is of the work {run.parent.child_id}, which was handed out; nothing was done."
    raise Fault(TOKEN_SCOPE_MISMATCH, message, details={"run_id": run.run_id}, hint=MAY_DO)


def _find_kind(value: Json) -> TokenKind | None:
    """Which token an argument looks like, as a whole."""
    text = clean(value) if isinstance(value, str) and len(value) <= _LONGEST_TOKEN else ""
    layout = LAYOUT_BY_PREFIX.get(text[:PREFIX_LENGTH])
    return layout.kind if layout is not None and len(text) == layout.length else None


def _find_run(rt: ReadPorts, text: str) -> Run | None:
    """The run that a token is of; None: it is none of this store, which the operation says better."""
    try:
        claims = read_token(rt.keys.verifying_keys(WORKFLOW), text, ANY_KIND).claims
        session = read_session(rt.log, claims.session_id)
    except Fault:
        return None
    node = None if session is None else node_at(session.history, claims.node_tag)
    return None if session is None or node is None else session.history.runs[node.run_id]


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
