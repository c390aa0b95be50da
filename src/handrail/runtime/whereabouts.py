"""From a token of an earlier step, or of other work, back to the place where the work goes on."""

from __future__ import annotations

from msgspec.structs import replace

from handrail.contract.ids import NodeId
from handrail.engine.history import History
from handrail.engine.reply import CurrentPlace, Recap, ReplyWarning, ToolCall
from handrail.ports import Keys
from handrail.projections.whereabouts import Whereabouts, moved_on_from
from handrail.runtime.handles import state_token
from handrail.workflows.compiled import CompiledWorkflow


def with_current_place(
    recap: Recap, keys: Keys, history: History, workflow: CompiledWorkflow, node_id: NodeId
) -> Recap:
    """The recap with the place where the run stands, if it has moved on from the node."""
    return replace(recap, current=_place(keys, history, workflow, node_id))


def with_place_left(
    recap: Recap, keys: Keys, before: History, workflow: CompiledWorkflow, node_id: NodeId
) -> Recap:
    """The recap of a fork from the node with the place that the run left; `before` is the log up to then."""
    return replace(recap, stood_at=_place(keys, before, workflow, node_id))


def _place(keys: Keys, history: History, workflow: CompiledWorkflow, node_id: NodeId) -> CurrentPlace | None:
    found = moved_on_from(history, workflow, node_id)
    if found is None:
        return None
    return CurrentPlace(
        node_id=found.tip.node_id,
        status=found.status,
        pending_step_id=found.pending_step_id,
        title=found.title,
        done_since=list(found.done_since),
        done_since_omitted=found.omitted,
        next_call=_call_to(keys, history, found),
    )


def input_mismatch(
    keys: Keys, history: History, workflow: CompiledWorkflow, answered_at: NodeId
) -> ReplyWarning:
    """Other content with a used token. It tells what happened since, so that one call finds the way back.

    Only here: a replay with the same content must stay, byte for byte, the reply that was recorded.
    """
    found = moved_on_from(history, workflow, answered_at)
    message = (
        "This token was answered before with other content. You see the recorded reply; nothing that "
        "this call sent was stored: no notes, no artifacts, no context. "
    )
    if found is None:
        message += (
            "To record different work for the same step, call continue_workflow with the stateToken of that "
            "step alone and use the fresh ackToken: it forks."
        )
        return ReplyWarning(code="REPLAY_INPUT_MISMATCH", message=message)
    message += (
        f"{_since(found)} To go on from there, make the call in this warning's nextCall; to record different "
        "work for the old step, read it with its own stateToken and use the fresh ackToken: it forks."
    )
    return ReplyWarning(
        code="REPLAY_INPUT_MISMATCH", message=message, next_call=_call_to(keys, history, found)
    )


def start_mismatch(
    keys: Keys, history: History, workflow: CompiledWorkflow, answered_at: NodeId
) -> ReplyWarning:
    """The same for a used request id, which is the caller's own: another run needs only another one."""
    found = moved_on_from(history, workflow, answered_at)
    message = (
        "This requestId began a run with other content. You see how that run began; nothing that this call "
        "sent was stored. For another run, call again with another requestId."
    )
    if found is None:
        return ReplyWarning(code="REPLAY_INPUT_MISMATCH", message=message)
    message += f" {_since(found)} To go on from there, make the call in this warning's nextCall."
    return ReplyWarning(
        code="REPLAY_INPUT_MISMATCH", message=message, next_call=_call_to(keys, history, found)
    )


def _since(found: Whereabouts) -> str:
    count = len(found.done_since) + found.omitted
    earlier = f"{found.omitted} earlier, " if found.omitted else ""
    steps = f"{count} step{'' if count == 1 else 's'}"
    pending = found.pending_step_id
    now = f"now pending: {found.title} ({pending})" if pending else "it is finished"
    return f"Since that reply the run went on by {steps} ({earlier}{', '.join(found.done_since)}); {now}."


def _call_to(keys: Keys, history: History, found: Whereabouts) -> ToolCall:
    token = state_token(keys, history.session_id, found.tip)
    return ToolCall(tool="continue_workflow", params={"stateToken": token})
