"""Serves the product and the suite's fixtures over HTTP on a free loopback port, and says which on stdout.

The product is the app that `handrail serve` runs, served in the same way; the fixtures stand beside it. Most
parties take no token on their command lines, so it is added to what they send to `/mcp`; whatever else they
send is judged by the guard as it is. Run as `python -m tests.referees.http_server`; ends when stdin closes.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from contextlib import AsyncExitStack

from handrail.surfaces.http.app import App, Parts
from handrail.surfaces.http.exchange import Receive, Scope, Send
from handrail.surfaces.http.guard import loopback_identity
from handrail.surfaces.http.limits import Load
from handrail.surfaces.http.serving import ServedApp, address_of, bind, serve
from handrail.surfaces.mcp.over_http import HttpApp, build_server, loopback_authorities
from handrail.wiring import build_runtime
from tests.referees.fixture_server import build_fixture_server

TAP = os.environ.get("HANDRAIL_REFEREE_TAP", "")
"""A file that keeps every request with its answer; empty keeps nothing."""
TOKEN = "0123456789abcdef" * 4


class Tapped:
    """An app whose requests and answers are written down, one line each."""

    def __init__(self, app: ServedApp, path: str) -> None:
        self._app = app
        self._path = path

    @property
    def load(self) -> Load:
        return self._app.load

    def drain(self) -> None:
        self._app.drain()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        sent, heard = bytearray(), bytearray()
        statuses: list[int] = []

        async def receive_and_keep() -> dict[str, object]:
            message = await receive()
            sent.extend(message.get("body", b""))
            return dict(message)

        async def send_and_keep(message: Scope) -> None:
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


class Judged:
    """The product, and the suite's fixtures on both kinds of door."""

    def __init__(self, port: int) -> None:
        runtime = build_runtime(os.environ)
        authorities = loopback_authorities(port)
        self._mcp = HttpApp(build_server(runtime), authorities)
        self._product = App(Parts(runtime=runtime, identity=loopback_identity(port, TOKEN), mcp=self._mcp))
        self._fixtures = {
            "/fixture": HttpApp(build_fixture_server(runtime), authorities),
            "/streaming": HttpApp(build_fixture_server(runtime), authorities, answers="stream"),
        }

    @property
    def load(self) -> Load:
        return self._product.load

    def drain(self) -> None:
        self._product.drain()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live_through(receive, send)
        elif scope["path"] in self._fixtures:
            await self._fixtures[scope["path"]](scope, receive, send)
        else:
            await self._product(_with_token(scope), receive, send)

    async def _live_through(self, receive: Receive, send: Send) -> None:
        await receive()
        async with AsyncExitStack() as stack:
            for door in (self._mcp, *self._fixtures.values()):
                await stack.enter_async_context(door.running())
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})


def _with_token(scope: Scope) -> Scope:
    names = {name for name, _ in scope["headers"]}
    if scope["path"] != "/mcp" or b"authorization" in names:
        return scope
    return {**scope, "headers": [*scope["headers"], (b"authorization", b"Bearer " + TOKEN.encode())]}


def main() -> None:
    bound = bind("127.0.0.1", 0)
    _, port = address_of(bound)
    judged = Judged(port)

    def stop_with_stdin() -> None:
        sys.stdin.buffer.read()
        os.kill(os.getpid(), signal.SIGTERM)

    def tell_port() -> None:
        threading.Thread(target=stop_with_stdin, daemon=True).start()
        sys.stdout.write(f"{port}\n")
        sys.stdout.flush()

    status = serve(Tapped(judged, TAP) if TAP else judged, bound, tell_port)
    sys.stdout.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
