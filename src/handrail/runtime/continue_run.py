"""`run.continue`: advance with an ack, replay a known one, or rehydrate without one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import CONTEXT_MISSING, E_USAGE, VALIDATION_ERROR
from handrail.contract.outcome import Fault, NextCall, Success
from handrail.contract.tokens.workflow import ChoiceClaims, StateClaims
from handrail.engine.decide import decide_advance
from handrail.engine.events import PlannedEvent
from handrail.engine.history import History, Node, is_session_point
from handrail.engine.reply import Reply, reply_at
from handrail.engine.standing import standing_at
from handrail.projections.recap import recap_at
from handrail.runtime.attempts import answer_attempt
from handrail.runtime.foretold import AckVerdict, foretold
from handrail.runtime.handles import Handle, fresh_tokens, node_of, read_ack, read_state, session_of
from handrail.runtime.observations import observed_here
from handrail.runtime.operation import OFFERED_CALL_BYTES, Input, Operation
from handrail.runtime.replies import RUN_SHAPE, current_ledger, pinned_workflow, reply_to_answer, success_of
from handrail.runtime.runtime import Reading, Runtime
from handrail.runtime.session_replies import reread_reply
from handrail.runtime.sessions import Session
from handrail.runtime.source_drift import source_warnings
from handrail.runtime.token_pairs import require_one_reply
from handrail.runtime.whereabouts import with_current_place
from handrail.runtime.work import Output, blobs_of, check_change, whole_kept_notes, work_done


class ContinueRun(Input, frozen=True, kw_only=True):
    """With `ackToken` the pending step is done; with `stateToken` alone nothing changes."""

    ack_token: Annotated[str, Meta(description="Of the newest reply; or a choice's token.")] | UnsetType = (
        UNSET
    )
    state_token: (
        Annotated[
            str,
            Meta(description="Alone: read the step again, with a recap."),
        ]
        | UnsetType
    ) = UNSET
    context: Annotated[dict[str, Any], Meta(description="Facts to set; null deletes.")] | UnsetType = UNSET
    output: Output | UnsetType = UNSET
    project: Annotated[str, Meta(description="Project directory.")] | UnsetType = UNSET
    dry_run: (
        Annotated[bool, Meta(description="Only say whether it would be accepted, and why not.")] | UnsetType
    ) = UNSET


def continue_run(rt: Runtime, request: ContinueRun) -> Success | AckVerdict:
    """Advance, replay or rehydrate; or say what an ack would do."""
    if request.ack_token is not UNSET:
        return advance(rt, request, request.ack_token)
    if request.dry_run is True:
        raise Fault(
            E_USAGE,
            "A dry run needs the ackToken that it is about; without one the call only reads.",
            details={"usage": "run continue --ack TOKEN --dry-run"},
        )
    return rehydrate(rt.reading(), request)


def rehydrate(reading: Reading, request: ContinueRun) -> Success:
    """The pending step again, a recap and a fresh ack. Cannot write: it is given nothing that could."""
    if request.state_token is UNSET:
        raise Fault(
            CONTEXT_MISSING,
            "continue needs an ackToken, or a stateToken alone to read the pending step again.",
            details={"missing": ["ackToken", "stateToken"]},
            next_call=NextCall(operation="session.resume", params={}),
        )
    handle = read_state(reading.keys, request.state_token)
    session = session_of(reading.reader, handle.claims)
    history = session.history
    if is_session_point(history, handle.claims.node_tag):
        return _reread_session(reading, request, history, handle)
    node = node_of(history, handle.claims)
    workflow = pinned_workflow(reading.reader, history.runs[node.run_id].workflow_hash)
    standing = standing_at(history, workflow, node, "rehydrate")
    tokens = fresh_tokens(reading.keys, reading.randomness, history.session_id, node, standing.leaf)
    if request.output is not UNSET or request.context is not UNSET:
        raise _nothing_stored(request, tokens.ack)
    reply = reply_at(
        standing,
        history.session_id,
        tokens,
        recap=with_current_place(
            recap_at(history, workflow, node.node_id), reading.keys, history, workflow, node.node_id
        ),
        warnings=(
            *handle.warnings,
            *source_warnings(reading.library, reading.workspace, request.project, standing.run),
        ),
        is_healthy=session.health.state == "healthy",
    )
    return success_of(reply, current_ledger(history, node.run_id))


def advance(rt: Runtime, request: ContinueRun, ack_token: str) -> Success | AckVerdict:
    """Acknowledge the pending step once; the same ack again gets the recorded reply."""
    handle = read_ack(rt.keys, ack_token, request.state_token)
    require_one_reply(rt.log, rt.keys, handle, "run.continue", request)
    claims = handle.claims
    option = claims.option if isinstance(claims, ChoiceClaims) else None
    work = work_done(request.output, request.context, option)

    def decide(session: Session, node: Node, salt: int) -> Sequence[PlannedEvent]:
        workflow = pinned_workflow(rt.log, session.history.runs[node.run_id].workflow_hash)
        check_change(workflow, work.context)
        return decide_advance(
            session.history,
            workflow,
            node,
            claims.attempt_id,
            work,
            salt,
            seen=observed_here(rt, request.project),
            kept_notes=whole_kept_notes(rt.log, session.history, node),
        )

    if request.dry_run is True:
        return foretold(rt, claims, "advance", decide)
    session, recorded = answer_attempt(rt, claims, "advance", decide, blobs_of(work))
    return reply_to_answer(rt.log, rt.keys, session, recorded, work.input_digest, warnings=handle.warnings)


def _reread_session(
    reading: Reading, request: ContinueRun, history: History, handle: Handle[StateClaims]
) -> Success:
    """The token names the session itself: its notes, its runs and a fresh token to keep more."""
    if request.output is not UNSET or request.context is not UNSET:
        raise Fault(
            VALIDATION_ERROR,
            "This token names a session without a run, where no step is pending: nothing was stored.",
            details={"problems": [{"param": "ackToken", "problem": "missing"}]},
            hint="Read the session with next_call; its checkpointToken keeps notes, a start begins a run.",
            next_call=NextCall(operation="run.continue", params={"stateToken": request.state_token}),
        )
    tag = handle.claims.node_tag
    return reread_reply(reading.keys, reading.randomness, history, tag, handle.warnings)


def _nothing_stored(request: ContinueRun, fresh_ack: str) -> Fault:
    """output or context without an ack: reading and advancing differ, so it is never guessed."""
    given = msgspec.to_builtins(request)
    sent = [name for name in ("output", "context") if name in given]
    details = {"problems": [{"param": "ackToken", "problem": "missing"}], "not_stored": sent}
    message = f"{' and '.join(sent)} came without an ackToken: nothing was stored."
    if not fresh_ack:
        hint = (
            "If a choice is pending, answer with the token of an option; "
            "if the run is complete, start a new one for new work."
        )
        return Fault(VALIDATION_ERROR, message, details=details, hint=hint)
    params = {"ackToken": fresh_ack} | {name: given[name] for name in sent}
    if len(msgspec.json.encode(params)) > OFFERED_CALL_BYTES:
        return Fault(
            VALIDATION_ERROR,
            message,
            details=details,
            hint="Read the pending step again with next_call, then send the same content with its ackToken.",
            next_call=NextCall(operation="run.continue", params={"stateToken": given["stateToken"]}),
        )
    return Fault(
        VALIDATION_ERROR,
        message,
        details=details,
        hint="Make the call in next_call if the pending step is done; it stores what you sent.",
        next_call=NextCall(operation="run.continue", params=params),
    )


OPERATION = Operation(
    name="run.continue",
    effect="ack",
    summary="Acknowledge the pending step and get the next one, or read the pending step again.",
    input=ContinueRun,
    output=Reply,
    perform=continue_run,
    shape=RUN_SHAPE,
    reads_without="ackToken",
    tool="continue_workflow",
    tool_description=(
        "Report the pending step as done and get the next one. Repeating a call is safe: it returns the "
        "recorded reply. With stateToken alone it shows the step again and changes nothing."
    ),
    tool_fields=("ackToken", "stateToken", "context", "output", "project"),
    errors=(
        "CONTEXT_MISSING",
        "VALIDATION_ERROR",
        "CONTEXT_BUDGET_EXCEEDED",
        "TOKEN_INVALID_FORMAT",
        "TOKEN_UNSUPPORTED_VERSION",
        "TOKEN_BAD_SIGNATURE",
        "TOKEN_SCOPE_MISMATCH",
        "TOKEN_UNKNOWN_NODE",
        "TOKEN_SESSION_LOCKED",
        "SESSION_NOT_HEALTHY",
        "STORE_HISTORY_LOST",
    ),
)
