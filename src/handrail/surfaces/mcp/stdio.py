"""The MCP server on stdin and stdout: protocol alone on stdout, every request answered, then the end."""

from __future__ import annotations

import signal
import sys
from collections.abc import AsyncIterable
from typing import Any, Protocol

import anyio
import mcp_types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from handrail import __version__
from handrail.contract.catalogue import E_IO
from handrail.contract.outcome import Fault
from handrail.contract.shape import Level
from handrail.runtime.runtime import Runtime
from handrail.surfaces.mcp.server import Results, build_server

LAST_ANSWERS_SECONDS = 30
_CANCELLED = "notifications/cancelled"
_CLIENT_GONE = (BrokenPipeError, ConnectionResetError, anyio.BrokenResourceError, anyio.ClosedResourceError)


def serve_stdio(
    runtime: Runtime, *, results: Results = "both", mvi: Level = "standard", store: str = ""
) -> None:
    """Serve until the client closes stdin. `store` is only named in the first line on stderr."""
    # A blocked read of stdin cannot be cancelled, so a Python-level interrupt would hang until the next
    # line. Dying at once is safe: the log survives it, and every call may be repeated.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.stderr.write(_greeting(runtime, store))
    sys.stderr.flush()
    try:
        anyio.run(_serve, build_server(runtime, results=results, mvi=mvi))
    except ExceptionGroup as trouble:
        _, left = trouble.split(_CLIENT_GONE)
        if left is None:
            return  # nobody is left to tell
        _, defects = left.split(OSError)
        if defects is not None:
            raise
        sys.stderr.write("handrail mcp: stdout could not be written; free space there and start again.\n")
        raise SystemExit(E_IO.exit_status) from None


async def _serve(server: Server[Any]) -> None:
    async with stdio_server() as (incoming, outgoing):
        try:
            await serve_to_the_last_answer(server, incoming, outgoing)
        finally:
            # Inside, descriptor 1 is stderr. What a stray print left in Python's buffer must go there
            # now, or it would reach the client when the descriptor is given back.
            sys.stdout.flush()


class Outgoing(Protocol):
    """Where answers go; the transport brings its own kind of stream."""

    async def send(self, item: SessionMessage, /) -> None: ...
    async def aclose(self) -> None: ...


async def serve_to_the_last_answer(
    server: Server[Any], incoming: AsyncIterable[SessionMessage | Exception], outgoing: Outgoing
) -> None:
    """Run the server between two relays that know which requests are open.

    The library gives up calls under way when its input ends, so a client that closes early, or a shell
    that pipes requests in, would lose answers to work that was done. The input ends here after the last one.
    A question to the person that is still open then gets no answer, and its call is answered without one.
    """
    to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception]()
    to_client, from_server = anyio.create_memory_object_stream[SessionMessage]()
    unanswered, asked = _Unanswered(), _Unanswered()

    async def relay_requests() -> None:
        async with to_server:
            async for item in incoming:
                if isinstance(item, Exception):
                    await outgoing.send(_unreadable())
                    continue
                unanswered.note_request(item)
                asked.note_answer(item)
                await to_server.send(item)
            asked.end()
            for question in asked.left():
                await to_server.send(_nobody_answers(question))
            with anyio.move_on_after(LAST_ANSWERS_SECONDS):
                await unanswered.wait_for_none()

    async def relay_answers() -> None:
        async for message in from_server:
            asked.note_request(message)
            if asked.has_ended and isinstance(message.message, mcp_types.JSONRPCRequest):
                await to_server.send(_nobody_answers(message.message.id))
                continue
            await outgoing.send(message)
            unanswered.note_answer(message)
        await outgoing.aclose()

    async with to_server, from_client, to_client, from_server, anyio.create_task_group() as relays:
        relays.start_soon(relay_requests)
        relays.start_soon(relay_answers)
        await server.run(from_client, to_client, server.create_initialization_options())


class _Unanswered:
    """The requests of one side of a connection that have no answer yet."""

    def __init__(self) -> None:
        self._ids: set[str | int] = set()
        self._none_left = anyio.Event()
        self.has_ended = False
        """Whether the side that would answer has closed its end."""

    def end(self) -> None:
        self.has_ended = True

    def note_request(self, request: SessionMessage) -> None:
        message = request.message
        if isinstance(message, mcp_types.JSONRPCRequest):
            self._ids.add(message.id)
        elif isinstance(message, mcp_types.JSONRPCNotification) and message.method == _CANCELLED:
            self._remove((message.params or {}).get("requestId"))

    def note_answer(self, answer: SessionMessage) -> None:
        if isinstance(answer.message, mcp_types.JSONRPCResponse | mcp_types.JSONRPCError):
            self._remove(answer.message.id)

    def left(self) -> list[str | int]:
        return sorted(self._ids, key=str)

    async def wait_for_none(self) -> None:
        while self._ids:
            self._none_left = anyio.Event()
            await self._none_left.wait()

    def _remove(self, request_id: Any) -> None:
        if not isinstance(request_id, str | int):
            return  # a client may send anything here, also what a set cannot look up
        self._ids.discard(request_id)
        if not self._ids:
            self._none_left.set()


def _nobody_answers(question: str | int) -> SessionMessage:
    trouble = mcp_types.ErrorData(code=mcp_types.CONNECTION_CLOSED, message="The client has closed its end.")
    return SessionMessage(mcp_types.JSONRPCError(jsonrpc="2.0", id=question, error=trouble))


def _unreadable() -> SessionMessage:
    """The library passes over such a line in silence, which looks like a hanging server."""
    trouble = mcp_types.ErrorData(
        code=mcp_types.PARSE_ERROR,
        message="This line is not a JSON-RPC message, or is nested too deep. Send one message per line.",
    )
    return SessionMessage(mcp_types.JSONRPCError(jsonrpc="2.0", id=None, error=trouble))


def _greeting(runtime: Runtime, store: str) -> str:
    """The first line names what a person needs when something is odd; in a terminal, what this is."""
    try:
        project = runtime.workspace.project("")
    except Fault as fault:
        project = f"none ({fault.message})"
    eras = f"{MODERN_PROTOCOL_VERSIONS[-1]}, {HANDSHAKE_PROTOCOL_VERSIONS[-1]} and older"
    line = f"handrail {__version__} mcp: project {project}; store {store or 'default'}; protocol {eras}\n"
    if not sys.stdin.isatty():
        return line
    return (
        line + "This is a protocol server for an agent's client, not a prompt. "
        "Register it there (docs/how-to/connect-an-agent.md), or press Ctrl-D to leave.\n"
    )
