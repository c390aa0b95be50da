"""Our stdio door between two pipes in this process, talked to line by line."""

from __future__ import annotations

import json
import os
import select
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from handrail.runtime.runtime import Due
from handrail.surfaces.mcp.adapter import Adapter
from handrail.surfaces.mcp.calls_in_progress import LIMITS, Limits, ServerParts
from handrail.surfaces.mcp.stdio import serve

BOUND_SECONDS = 120
TakeTree: TypeAlias = Callable[[Due], None]


class Client:
    """The other ends of the pipes."""

    def __init__(self, adapter: Adapter, limits: Limits, take_tree: TakeTree | None = None) -> None:
        incoming, self._writing = os.pipe()
        self._reading, outgoing = os.pipe()
        self.trouble: OSError | None = None
        self._rest = b""
        self.tidied = threading.Event()

        door = ServerParts(
            offer=lambda: adapter,
            give_back_memory=self._note_tidying,
            tool_set=adapter.tool_set,
            take_tree=take_tree,
        )

        def work() -> None:
            try:
                self.trouble = serve(adapter.runtime, door, incoming, outgoing, limits)
            finally:
                os.close(incoming)
                os.close(outgoing)

        self._server = threading.Thread(target=work, daemon=True)
        self._server.start()

    def _note_tidying(self) -> None:
        self.tidied.set()

    def send(self, *messages: dict[str, Any] | bytes) -> None:
        """Lines, each whole; bytes go as they are."""
        for message in messages:
            line = message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
            rest = memoryview(line)
            while rest:
                rest = rest[os.write(self._writing, rest) :]

    def line(self) -> bytes:
        """The next line; fails when none comes."""
        line = self.line_or_end()
        assert line, "the server has closed its end"
        return line

    def line_or_end(self) -> bytes:
        """The same; empty once the server has closed its end."""
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self._reading], [], [], BOUND_SECONDS)
            assert ready, "the server says nothing"
            chunk = os.read(self._reading, 1 << 20)
            if not chunk:
                return b""
            self._rest += chunk
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def heard(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self.line())
        return message

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        self.send(message)
        return self.heard()

    def hang_up(self) -> None:
        """Close the end that the server reads from."""
        descriptor, self._writing = self._writing, -1
        if descriptor >= 0:
            os.close(descriptor)

    def stop_listening(self) -> None:
        descriptor, self._reading = self._reading, -1
        if descriptor >= 0:
            os.close(descriptor)

    def rest(self) -> bytes:
        """Everything until the server closes its end."""
        parts = [self._rest]
        while True:
            ready, _, _ = select.select([self._reading], [], [], BOUND_SECONDS)
            assert ready, "the server does not end"
            chunk = os.read(self._reading, 1 << 20)
            if not chunk:
                return b"".join(parts)
            parts.append(chunk)

    def is_serving(self) -> bool:
        return self._server.is_alive()

    def ended(self) -> bool:
        """Whether the server has ended within the bound."""
        self._server.join(BOUND_SECONDS)
        return not self._server.is_alive()


@contextmanager
def connected(
    adapter: Adapter, limits: Limits = LIMITS, take_tree: TakeTree | None = None
) -> Iterator[Client]:
    client = Client(adapter, limits, take_tree)
    try:
        yield client
    finally:
        client.hang_up()
        client.stop_listening()
        assert client.ended(), "the server outlives its client"


def piped(sent: bytes, adapter: Adapter, limits: Limits = LIMITS) -> bytes:
    """Everything that is written until the server has ended."""
    with connected(adapter, limits) as client:

        def write() -> None:
            client.send(sent)
            client.hang_up()

        writer = threading.Thread(target=write, daemon=True)
        writer.start()
        heard = client.rest()
        writer.join(BOUND_SECONDS)
        return heard
