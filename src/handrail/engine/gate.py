"""The gate: may this attempt act, did it already, or is it refused. Pure.

node in history | attempt answered | answer
----------------|------------------|--------------------------------------------
no              | -                | Refused: acknowledged history was lost
yes             | yes              | Answered: build the reply from the recorded fact
yes             | no               | Open: this attempt may act
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from handrail.contract.ids import AttemptId
from handrail.engine.history import History, Recorded, node_at

AttemptUse: TypeAlias = Literal["advance", "checkpoint"]


class Open(msgspec.Struct, frozen=True, kw_only=True):
    """The attempt has not been answered; it may act on this node."""


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """The attempt was answered before; nothing is decided again."""

    recorded: Recorded


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """The log lacks the node: a token is made after its commit, so acknowledged work was lost."""


def gate(
    history: History, node_tag: str, attempt_id: AttemptId, use: AttemptUse
) -> Open | Answered | Refused:
    """Return whether an attempt may act, was answered, or is refused. The MAC of its token has been
    verified.
    """
    node = node_at(history, node_tag)
    if node is None:
        return Refused()
    answered = history.advances if use == "advance" else history.checkpoints
    recorded = answered.get((node.node_id, attempt_id))
    if recorded is not None:
        return Answered(recorded=recorded)
    return Open()
