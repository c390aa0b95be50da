"""A call whose tokens come from two replies: a refusal names the work that each token belongs to.

It guesses nothing: an agent with several runs decides which one it meant.
"""

from __future__ import annotations

import msgspec

from handrail.contract.catalogue import TOKEN_SCOPE_MISMATCH
from handrail.contract.ids import RunId
from handrail.contract.outcome import Fault, Json, NextCall
from handrail.contract.tokens.workflow import (
    WORKFLOW,
    AckClaims,
    CheckpointClaims,
    ChoiceClaims,
    Claims,
    StateClaims,
    WorkClaims,
    mint,
)
from handrail.contract.wording import quote, shorten
from handrail.engine.history import History, Node, node_at, steps_after
from handrail.operations.handles import AttemptClaims, Handle, mint_state_token_for, node_of, session_of
from handrail.operations.replies import load_pinned_workflow
from handrail.ports.log import EventReader
from handrail.ports.process import Keys
from handrail.projections.run_graph import title_at
from handrail.runtime.operation import OFFERED_CALL_BYTES, Input
from handrail.runtime.sessions import read_session


def require_one_reply(
    reader: EventReader,
    keys: Keys,
    handle: Handle[AckClaims | ChoiceClaims] | Handle[CheckpointClaims],
    operation: str,
    request: Input,
) -> None:
    """Raises Fault TOKEN_SCOPE_MISMATCH unless the tokens of a call come from one reply."""
    acting = handle.claims
    for state in handle.beside:
        if isinstance(state, WorkClaims):
            _require_child(reader, keys, acting, state)
        elif (state.session_id, state.node_tag) != (acting.session_id, acting.node_tag):
            raise refuse_mixed_tokens(reader, keys, acting, state, operation, request)


def _require_child(reader: EventReader, keys: Keys, acting: AttemptClaims, work: WorkClaims) -> None:
    """Raises Fault TOKEN_SCOPE_MISMATCH unless a token is of the run that was handed out."""
    if acting.session_id == work.session_id:
        history = session_of(reader, work).history
        if node_of(history, acting).run_id == node_of(history, work).run_id:
            return
    message = "The tokens of this call are of different runs; nothing was done."
    hint = "Send the work token alone as stateToken to read its step, and the ackToken of that reply."
    call = NextCall(operation="run.continue", params={"stateToken": mint(keys.signing_key(WORKFLOW), work)})
    raise Fault(TOKEN_SCOPE_MISMATCH, message, hint=hint, next_call=call)


class _Place(msgspec.Struct, frozen=True, kw_only=True):
    """The work a token belongs to; without a node it is unknown here, or the session itself."""

    field: str
    claims: Claims
    history: History | None = None
    node: Node | None = None
    title: str = ""

    @property
    def run_id(self) -> RunId | None:
        return None if self.node is None else self.node.run_id


def refuse_mixed_tokens(
    reader: EventReader,
    keys: Keys,
    acting: AttemptClaims,
    state: StateClaims,
    operation: str,
    request: Input,
) -> Fault:
    field = "checkpointToken" if isinstance(acting, CheckpointClaims) else "ackToken"
    ours, theirs = _owner(reader, field, acting), _owner(reader, "stateToken", state)
    is_one_run = ours.run_id is not None and ours.run_id == theirs.run_id
    message = (
        f"The two tokens belong to different {_apart(ours, theirs)}, so nothing was done. "
        f"The {field} belongs to {_describe(ours)}; the stateToken belongs to {_describe(theirs)}."
    )
    next_call, hint = (
        _within_one_run(keys, ours, theirs, operation, msgspec.to_builtins(request))
        if is_one_run
        else _between_runs(keys, ours)
    )
    return Fault(
        TOKEN_SCOPE_MISMATCH,
        message,
        details={"session_id": acting.session_id, "belong_to": [_row(ours), _row(theirs)]},
        hint=hint,
        next_call=next_call,
    )


def _within_one_run(
    keys: Keys, ours: _Place, theirs: _Place, operation: str, params: dict[str, Json]
) -> tuple[NextCall, str]:
    """An older stateToken beside a current ack is only superfluous; an ack that was overtaken is too old."""
    assert ours.history is not None, "a run was found in its session"
    assert ours.node is not None, "a run was found by its node"
    alone = {name: value for name, value in params.items() if name != "stateToken"}
    if steps_after(ours.history, ours.node.node_id):
        call = NextCall(
            operation="run.continue", params={"stateToken": mint_state_token_for(keys, theirs.claims)}
        )
        return (
            call,
            f"The step of the {ours.field} was finished before; the call offered here reads the other.",
        )
    if len(msgspec.json.encode(alone)) > OFFERED_CALL_BYTES:
        alone = {ours.field: params[ours.field]}
    hint = f"The {ours.field} alone is enough: make the call offered here, which leaves out the stateToken."
    return NextCall(operation=operation, params=alone), hint


def _between_runs(keys: Keys, ours: _Place) -> tuple[NextCall, str]:
    call = NextCall(operation="run.continue", params={"stateToken": mint_state_token_for(keys, ours.claims)})
    hint = (
        f"Decide which work you report. If it is that of the {ours.field}, send that token alone; the call "
        "offered here shows its step. Otherwise take both tokens from the newest reply of the other run."
    )
    return call, hint


def _owner(reader: EventReader, field: str, claims: Claims) -> _Place:
    try:
        session = read_session(reader, claims.session_id)
    except Fault:
        session = None  # what cannot be read cannot be named; the call is refused either way
    history = None if session is None else session.history
    node = None if history is None else node_at(history, claims.node_tag)
    if history is None or node is None:
        return _Place(field=field, claims=claims, history=history)
    workflow = load_pinned_workflow(reader, history.runs[node.run_id].workflow_hash)
    return _Place(field=field, claims=claims, history=history, node=node, title=title_at(workflow, node))


def _apart(ours: _Place, theirs: _Place) -> str:
    if ours.claims.session_id != theirs.claims.session_id:
        return "sessions"
    return "steps" if ours.run_id == theirs.run_id else "runs"


def _describe(owner: _Place) -> str:
    if owner.history is None or owner.node is None:
        return f"session {owner.claims.session_id}"
    run = owner.history.runs[owner.node.run_id]
    step = f"step {quote(owner.title)}" if owner.title else "the end"
    goal = f", goal {quote(run.seen['goal'])}" if run.seen.get("goal") else ""
    return f"{step} of {run.workflow_id}{goal} (run {run.run_id}, session {owner.claims.session_id})"


def _row(owner: _Place) -> dict[str, Json]:
    row: dict[str, Json] = {"argument": owner.field, "session_id": owner.claims.session_id}
    if owner.history is not None and owner.node is not None:
        run = owner.history.runs[owner.node.run_id]
        row |= {
            "run_id": run.run_id,
            "workflow_id": run.workflow_id,
            "goal": shorten(run.seen.get("goal", "")),
            "step": shorten(owner.title),
        }
    return row
