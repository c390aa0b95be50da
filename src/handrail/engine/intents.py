"""What an agent should do next in every situation a reply can tell of: one table. Pure.

`nextIntent` says what to do next, not what just happened (mcp-and-http 1.2).
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

ReplyKind: TypeAlias = Literal["ok", "blocked"]
NextIntent: TypeAlias = Literal[
    "perform_pending_then_continue", "await_user_confirmation", "rehydrate_only", "complete"
]
CallForm: TypeAlias = Literal["ack", "retry", "read", "per_option", "none"]
"""Which call comes next: with the ackToken, the retryAckToken, the stateToken, one per option, or none."""
Situation: TypeAlias = Literal[
    "finished",
    "unhealthy",
    "step",
    "confirmation",
    "choice",
    "user_choice",
    "blocked_by_agent",
    "blocked_by_user",
    "blocked_for_good",
]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """What a reply says in one situation."""

    kind: ReplyKind
    intent: NextIntent
    call: CallForm


INTENTS: dict[Situation, Row] = {
    "finished": Row(kind="ok", intent="complete", call="none"),
    "unhealthy": Row(kind="ok", intent="rehydrate_only", call="none"),
    "step": Row(kind="ok", intent="perform_pending_then_continue", call="ack"),
    "confirmation": Row(kind="ok", intent="await_user_confirmation", call="ack"),
    "choice": Row(kind="ok", intent="perform_pending_then_continue", call="per_option"),
    "user_choice": Row(kind="ok", intent="await_user_confirmation", call="per_option"),
    "blocked_by_agent": Row(kind="blocked", intent="perform_pending_then_continue", call="retry"),
    "blocked_by_user": Row(kind="blocked", intent="await_user_confirmation", call="retry"),
    "blocked_for_good": Row(kind="blocked", intent="rehydrate_only", call="read"),
}
