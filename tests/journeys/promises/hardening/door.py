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
    Promise(
        "door.ping-while-hanging",
        source="H11",
        says="A ping is answered while as many calls hang as are worked on at once.",
    ),
    Promise(
        "door.deadline",
        source="H11",
        says="A call beyond its time is told that its outcome is unknown and to repeat it, once.",
    ),
    Promise(
        "door.cancel",
        source="H11",
        says="A cancelled call gets no answer, changes nothing more, and gives lock and thread back.",
    ),
    Promise(
        "door.question-keeps-no-thread",
        source="H11",
        says="A call that waits for a person keeps no worker.",
    ),
    Promise(
        "door.last-answers",
        source="H11",
        says="Every request is answered before the server ends, however much is sent at once.",
    ),
    Promise(
        "door.closed-stdout",
        source="H11",
        says="A client that no longer listens ends the server, though its other end stays open.",
    ),
    Promise(
        "door.bounded-lines",
        source="H11",
        says="A line over the limit is passed over while it is read, refused, and followed by the next one.",
    ),
    Promise(
        "door.every-id",
        source="H11",
        says="Every id that JSON-RPC allows comes back as it was written; null is refused, as MCP says.",
    ),
    Promise(
        "door.hostile-lines",
        source="H11",
        says="A line that is no message is refused, by its id where one can be read, and ends nothing.",
    ),
    Promise(
        "door.lists",
        source="H11",
        says="A list of messages is answered by a list in the revision that has them, and refused in others.",
    ),
    Promise(
        "door.memory",
        source="H11",
        says="Memory that a burst took is given back once every call of it is answered.",
    ),
    Promise(
        "door.steady-advance",
        source="H11",
        says="An advance costs no more late in a long run of a long workflow, and looks up each thing once.",
    ),
)
