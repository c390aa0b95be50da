"""What the rules promise of servers that stay answerable (hardening)."""

from __future__ import annotations

from tests.journeys.promises.promise import read_table

PROMISES = read_table(
    """
    H11
      door.same-bytes: The stdio door answers the same conversations with the same bytes as the protocol
          library.
      door.light: The stdio door starts without the protocol library, pydantic or an event loop.
      door.ping-while-hanging: A ping is answered while as many calls hang as are worked on at once.
      door.deadline: A call beyond its time is told that its outcome is unknown and to repeat it, once.
      door.cancel: A cancelled call gets no answer, changes nothing more, and gives lock and thread back.
      door.question-keeps-no-thread: A call that waits for a person keeps no worker.
      door.last-answers: Every request is answered before the server ends, however much is sent at once.
      door.closed-stdout: A client that no longer listens ends the server, though its other end stays open.
      door.bounded-lines: A line over the limit is passed over while it is read, refused, and followed by
          the next one.
      door.every-id: Every id that JSON-RPC allows comes back as it was written; null is refused, as MCP
          says.
      door.hostile-lines: A line that is no message is refused, by its id where one can be read, and ends
          nothing.
      door.lists: A list of messages is answered by a list in the revision that has them, and refused in
          others.
      door.memory: Memory that a burst took is given back once every call of it is answered.
      door.steady-advance: An advance costs no more late in a long run of a long workflow, and looks up each
          thing once.
    """
)
