"""What the rules promise of servers that stay answerable (hardening)."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

PROMISES: tuple[Promise, ...] = (
    Promise(
        "door.same-bytes",
        source="H11",
        says="The stdio door answers the same conversations with the same bytes as the protocol library.",
    ),
    Promise(
        "door.light",
        source="H11",
        says="The stdio door starts without the protocol library, pydantic or an event loop.",
    ),
)
