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

from handrail.contract.catalogue import STORE_HISTORY_LOST, Kind
from handrail.contract.ids import AttemptId
from handrail.engine.history import History, Node, Recorded, node_at

AttemptUse: TypeAlias = Literal["advance", "checkpoint"]


class Open(msgspec.Struct, frozen=True, kw_only=True):
    """The attempt has not been answered; it may act on this node."""

    node: Node
    attempt_id: AttemptId


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """The attempt was answered before; nothing is decided again."""

    recorded: Recorded


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """The log cannot honour the token."""

    kind: Kind


def gate(
    history: History, node_tag: str, attempt_id: AttemptId, use: AttemptUse
) -> Open | Answered | Refused:
    """Decide on one attempt of a token whose MAC has verified."""
    node = node_at(history, node_tag)
    if node is None:
        return Refused(kind=STORE_HISTORY_LOST)  # a token is minted after its commit, so the commit existed
    answered = history.advances if use == "advance" else history.checkpoints
    recorded = answered.get((node.node_id, attempt_id))
    if recorded is not None:
        return Answered(recorded=recorded)
    return Open(node=node, attempt_id=attempt_id)
