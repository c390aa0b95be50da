"""The reply of a run operation, from recorded facts alone. Pure.

A first call and a replay end in the same function, so they cannot drift apart.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, assert_never

import msgspec

from handrail.contract.payload import Payload
from handrail.engine.history import Node
from handrail.engine.state import Complete, Running, step_key
from handrail.workflows.compiled import CompiledWorkflow

NextIntent: TypeAlias = Literal[
    "perform_pending_then_continue", "await_user_confirmation", "rehydrate_only", "complete"
]
WarningCode: TypeAlias = Literal[
    "REPLAY_INPUT_MISMATCH", "TOKEN_REPAIRED", "INPUT_REPAIRED", "NOTES_TRUNCATED", "WORKFLOW_ID_LEGACY"
]


class Pending(Payload, frozen=True, kw_only=True):
    """The one step to do now."""

    step_id: str
    title: str
    prompt: str
    require_confirmation: bool


class ToolCall(Payload, frozen=True, kw_only=True):
    """The exact call to make next, by its MCP tool name."""

    tool: str
    params: dict[str, Any]


class ReplyWarning(Payload, frozen=True, kw_only=True):
    """Something the agent must know that is not an error."""

    code: WarningCode
    message: str
    corrected_token: str = ""


class SessionRef(Payload, frozen=True, kw_only=True):
    """Informational: correctness is driven by tokens."""

    session_id: str
    run_id: str


class Preferences(Payload, frozen=True, kw_only=True):
    """The preferences in force at the node."""

    autonomy: Literal["guided"]
    risk_policy: Literal["conservative"]


class RecapEntry(Payload, frozen=True, kw_only=True):
    """The notes that one step or checkpoint left behind."""

    node_id: str
    step_id: str
    title: str
    is_checkpoint: bool = False
    notes: str


class BranchSummary(Payload, frozen=True, kw_only=True):
    """One existing branch below a node that was already advanced."""

    node_id: str
    is_preferred: bool
    status: str
    pending_step_id: str | None
    notes: str = ""


class Recap(Payload, frozen=True, kw_only=True):
    """Entries oldest first. `children` and `downstream` stand only where the node has branches below it."""

    entries: list[RecapEntry]
    truncated: bool = False
    omitted: int = 0
    policy: str = ""
    children: list[BranchSummary] = []
    downstream: list[RecapEntry] = []


class Tokens(msgspec.Struct, frozen=True, kw_only=True):
    """Minted for one node; ack and checkpoint are empty where nothing is pending."""

    state: str
    ack: str = ""
    checkpoint: str = ""


class Reply(Payload, frozen=True, kw_only=True):
    """What start, continue and checkpoint answer, in this key order."""

    kind: Literal["ok"]
    pending: Pending | None
    is_complete: bool
    next_intent: NextIntent
    next_call: ToolCall | None
    warnings: list[ReplyWarning] = []
    recap: Recap | None = None
    session: SessionRef
    preferences: Preferences
    project: str = ""
    state_token: str
    ack_token: str = ""
    checkpoint_token: str = ""


def reply_at(
    node: Node,
    session_id: str,
    workflow: CompiledWorkflow,
    tokens: Tokens,
    *,
    recap: Recap | None = None,
    is_healthy: bool = True,
    warnings: tuple[ReplyWarning, ...] = (),
    project: str = "",
) -> Reply:
    """The reply that stands at a node."""
    pending = _pending(node, workflow)
    return Reply(
        kind="ok",
        pending=pending,
        is_complete=pending is None,
        next_intent=next_intent(pending, is_healthy),
        next_call=_next_call(pending, tokens, is_healthy),
        warnings=list(warnings),
        recap=recap,
        session=SessionRef(session_id=session_id, run_id=node.run_id),
        preferences=Preferences(autonomy="guided", risk_policy="conservative"),
        project=project,
        state_token=tokens.state,
        ack_token=tokens.ack,
        checkpoint_token=tokens.checkpoint,
    )


def next_intent(pending: Pending | None, is_healthy: bool) -> NextIntent:
    """What to do next, not what just happened."""
    if pending is None:
        return "complete"
    if not is_healthy:
        return "rehydrate_only"
    return "await_user_confirmation" if pending.require_confirmation else "perform_pending_then_continue"


def _next_call(pending: Pending | None, tokens: Tokens, is_healthy: bool) -> ToolCall | None:
    if pending is None:
        return None
    params = {"ackToken": tokens.ack} if is_healthy else {"stateToken": tokens.state}
    return ToolCall(tool="continue_workflow", params=params)


def _pending(node: Node, workflow: CompiledWorkflow) -> Pending | None:
    match node.state:
        case Complete():
            return None
        case Running(step_id=step_id) as state:
            step = next(step for step in workflow.steps if step.id == step_id)
            return Pending(
                step_id=step_key(state),
                title=step.title,
                prompt=step.prompt,
                require_confirmation=step.require_confirmation,
            )
        case never:
            assert_never(never)
