"""What the demo and the agent process say to each other: one JSON line each way."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

Moment: TypeAlias = Literal["at_once", "when_written", "when_attested"]
"""When the agent kills the call it has just started.

`when_written`: its events have reached the disk; `when_attested`: so has the record that makes them count.
"""

FROM_MEMORY = {
    "@ack": "ackToken",
    "@retry": "retryAckToken",
    "@state": "stateToken",
    "@session": "sessionId",
}
"""Words of an order that the agent replaces by what it remembers; a new agent remembers nothing."""


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """One call to make, without the tool's name."""

    arguments: list[str]
    kill: Moment | None = None


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """How the call went. A killed one has no `out`: whatever it answered, nobody read it."""

    arguments: list[str]
    """As they were sent, tokens filled in."""
    status: int
    out: str
    is_killed: bool
    duration_ms: int


def encode_line(message: Order | Report) -> bytes:
    return msgspec.json.encode(message) + b"\n"
