"""Serves the product and the suite's fixtures over HTTP on a free loopback port, and says which on stdout.

Run as `python -m tests.referees.http_server`; ends when stdin closes.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from handrail.surfaces.mcp.over_http import HttpApp, build_server, loopback_authorities
from handrail.wiring import build_runtime
from tests.referees.fixture_server import build_fixture_server

TAP = os.environ.get("HANDRAIL_REFEREE_TAP", "")
"""A file that keeps every request with its answer; empty keeps nothing."""


class Tapped:
    """An app whose requests and answers are written down, one line each."""

    def __init__(self, app: ASGIApp, path: str) -> None:
        self._app = app
        self._path = path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        sent, heard = bytearray(), bytearray()
        statuses: list[int] = []

        async def receive_and_keep() -> Message:
            message = await receive()
            sent.extend(message.get("body", b""))
            return message

        async def send_and_keep(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
            heard.extend(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive_and_keep, send_and_keep)
        finally:
            entry = {
                "status": statuses[0] if statuses else 599,
                "sent": sent.decode("utf-8", "replace"),
                "heard": heard.decode("utf-8", "replace"),
            }
            with open(self._path, "a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")


def build_app(port: int) -> Starlette:
    """`/mcp` is the product; `/fixture` and `/streaming` are the suite's fixtures on both kinds of door."""
    runtime = build_runtime(os.environ)
    authorities = loopback_authorities(port)
    doors = {
        "/mcp": HttpApp(build_server(runtime), authorities),
        "/fixture": HttpApp(build_fixture_server(runtime), authorities),
        "/streaming": HttpApp(build_fixture_server(runtime), authorities, answers="stream"),
    }

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for door in doors.values():
                await stack.enter_async_context(door.running())
            yield

    return Starlette(routes=[Route(path, door) for path, door in doors.items()], lifespan=lifespan)


def main() -> None:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.bind(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    app: ASGIApp = build_app(port)
    server = uvicorn.Server(
        uvicorn.Config(
            Tapped(app, TAP) if TAP else app,
            log_level="warning",
            lifespan="on",
            timeout_graceful_shutdown=1,
            ws="none",
        )
    )

    def stop_with_stdin() -> None:
        sys.stdin.buffer.read()
        server.should_exit = True

    threading.Thread(target=stop_with_stdin, daemon=True).start()
    listening.listen(64)
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    server.run(sockets=[listening])


if __name__ == "__main__":
    main()
