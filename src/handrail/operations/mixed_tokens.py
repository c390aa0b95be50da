"""Refuses calls whose tokens come from different replies.

The refusal names the work that each token belongs to: an agent with several runs decides which one it meant.
If a person chose an option, it counts for a token of the reply before they were asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from handrail.contract.catalogue import TOKEN_SCOPE_MISMATCH
from handrail.contract.ids import RunId, attempt_for_new
from handrail.contract.outcome import Fault, Json, NextCall
from handrail.contract.tokens.workflow import (
    WORKFLOW,
    AckClaims,
    CheckpointClaims,
    ChoiceClaims,
    Claims,
    StateClaims,
    WorkClaims,
    choice_attempt,
    mint,
)
from handrail.contract.wording import quote
from handrail.engine.ask import weigh_answers
from handrail.engine.history import node_at, steps_after
from handrail.operations.handles import (
    Answer,
    AttemptClaims,
    Handle,
    mint_state_token_for,
    node_of,
    session_of,
)
from handrail.ports.log import EventReader
from handrail.ports.process import Keys
from handrail.projections.run_graph import title_at
from handrail.runtime.operation import OFFERED_CALL_BYTES, Input
from handrail.runtime.sessions import load_pinned_workflow, read_session

if TYPE_CHECKING:
    from handrail.engine.facts import WorkDone
    from handrail.runtime.runtime import WritePorts


def require_one_reply(
    reader: EventReader,
    keys: Keys,
    handle: Handle[AckClaims | ChoiceClaims] | Handle[CheckpointClaims],
    operation: str,
    request: Input,
) -> None:
    """Raise Fault TOKEN_SCOPE_MISMATCH unless the tokens of a call come from one reply."""
    acting = handle.claims
    for state in handle.beside:
        if isinstance(state, WorkClaims):
            _require_child(reader, keys, acting, state)
        elif (state.session_id, state.node_tag) != (acting.session_id, acting.node_tag):
            raise _refuse(reader, keys, acting, state, operation, request)


def _require_child(reader: EventReader, keys: Keys, acting: AttemptClaims, work: WorkClaims) -> None:
    """Raise Fault TOKEN_SCOPE_MISMATCH unless a token belongs to the run that was delegated."""
    if acting.session_id == work.session_id:
        history = session_of(reader, work).history
        if node_of(history, acting).run_id == node_of(history, work).run_id:
            return
    message = "The tokens of this call are of different runs; nothing was done."
    hint = "Send the work token alone as stateToken to read its step, and the ackToken of that reply."
    call = NextCall(operation="run.continue", params={"stateToken": mint(keys.signing_key(WORKFLOW), work)})
    raise Fault(TOKEN_SCOPE_MISMATCH, message, hint=hint, next_call=call)


class _TokenPlace(msgspec.Struct, frozen=True, kw_only=True):
    """What a token belongs to, in words; without a run it is unknown here, or names the session itself."""

    words: str
    run_id: RunId | None = None
    is_finished: bool = False
    """Whether another step followed."""


def _refuse(
    reader: EventReader,
    keys: Keys,
    acting: AttemptClaims,
    state: StateClaims,
    operation: str,
    request: Input,
) -> Fault:
    field = "checkpointToken" if isinstance(acting, CheckpointClaims) else "ackToken"
    ours, theirs = _find(reader, acting), _find(reader, state)
    params: dict[str, Json] = msgspec.to_builtins(request)
    alone = {name: value for name, value in params.items() if name != "stateToken"}
    if len(msgspec.json.encode(alone)) > OFFERED_CALL_BYTES:
        alone = {field: params[field]}
    call = NextCall(operation=operation, params=alone)
    hint = f"The {field} alone is enough: make the call offered here, which leaves out the stateToken."
    if ours.run_id is None or ours.run_id != theirs.run_id:
        call = _call_to_read(keys, acting)
        hint = (
            f"Decide which work you report. If it is that of the {field}, send that token alone; the call "
            "offered here shows its step. Otherwise take both tokens from the newest reply of the other run."
        )
    elif ours.is_finished:
        call = _call_to_read(keys, state)
        hint = f"The step of the {field} was finished before; the call offered here reads the other."
    message = (
        "The two tokens are of different replies, so nothing was done. "
        f"The {field} belongs to {ours.words}; the stateToken belongs to {theirs.words}."
    )
    return Fault(
        TOKEN_SCOPE_MISMATCH,
        message,
        details={"session_id": acting.session_id},
        hint=hint,
        next_call=call,
    )


def _call_to_read(keys: Keys, claims: Claims) -> NextCall:
    return NextCall(operation="run.continue", params={"stateToken": mint_state_token_for(keys, claims)})


def _find(reader: EventReader, claims: Claims) -> _TokenPlace:
    try:
        session = read_session(reader, claims.session_id)
    except Fault:
        session = None  # an unreadable session cannot be named; the call is refused either way
    node = None if session is None else node_at(session.history, claims.node_tag)
    if session is None or node is None:
        return _TokenPlace(words=f"session {claims.session_id}")
    run = session.history.runs[node.run_id]
    title = title_at(load_pinned_workflow(reader, run.workflow_hash), node)
    step = f"step {quote(title)}" if title else "the end"
    goal = f", goal {quote(run.seen['goal'])}" if run.seen.get("goal") else ""
    return _TokenPlace(
        words=f"{step} of {run.workflow_id}{goal} (run {run.run_id}, session {claims.session_id})",
        run_id=run.run_id,
        is_finished=bool(steps_after(session.history, node.node_id)),
    )


def find_moved_question(
    rt: WritePorts, claims: AckClaims | ChoiceClaims, answer: Answer, work: WorkDone
) -> ChoiceClaims | None:
    """Return the same option after a person was asked and chose one, for a token from before that.

    Only if the recorded attempt was another: a repeat of it gets its own reply.
    """
    if not isinstance(claims, ChoiceClaims):
        return None
    recorded, history = answer.recorded, answer.session.history
    is_repeat = answer.prepared is not None or recorded.input_digest == work.input_digest
    if is_repeat or recorded.blocked is None:
        return None
    node = history.nodes[recorded.to_node_id]
    workflow = load_pinned_workflow(rt.log, history.runs[node.run_id].workflow_hash)
    if not weigh_answers(history, workflow, node, "choose").option_id:
        return None
    attempt = choice_attempt(attempt_for_new(node.node_id))
    return replace(claims, node_tag=node.tag, attempt_id=attempt)
