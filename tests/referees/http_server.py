"""Serves the product and the suite's fixtures over HTTP on a free loopback port, and says which on stdout.

The product is the app that `handrail serve` runs, served in the same way; the fixtures stand beside it. Most
parties take no token on their command lines, so it is added to what they send to MCP; whatever else they send
is judged by the guard as it is. Run as `python -m tests.referees.http_server`; ends when stdin closes.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading

import msgspec

from handrail.surfaces.mcp.adapter import Adapter
from handrail.wiring import build_runtime
from handrail_serve.app import App, Parts
from handrail_serve.exchange import Receive, Scope, Send
from handrail_serve.guard import loopback_identity
from handrail_serve.limits import Load
from handrail_serve.mcp_over_http import McpOverHttp
from handrail_serve.serving import ServedApp, address_of, bind, serve
from tests.referees.fixture_server import FixtureOverHttp

TAP = os.environ.get("HANDRAIL_REFEREE_TAP", "")
"""A file that keeps every request with its answer; empty keeps nothing."""
FIXTURE = "/fixture"
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

    def cut_off(self) -> None:
        self._app.cut_off()

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
    """The product, and beside it the same with the suite's fixtures behind its door."""

    def __init__(self, port: int) -> None:
        runtime = msgspec.structs.replace(build_runtime(os.environ), trees_due=[])
        identity = loopback_identity(port, TOKEN)
        answers = {"/mcp": McpOverHttp(Adapter(runtime)).answer, FIXTURE: FixtureOverHttp(runtime).answer}
        self._apps = {
            path: App(Parts(runtime=runtime, identity=identity, answer_mcp=answer))
            for path, answer in answers.items()
        }

    @property
    def load(self) -> Load:
        return self._apps["/mcp"].load

    def drain(self) -> None:
        for app in self._apps.values():
            app.drain()

    def cut_off(self) -> None:
        for app in self._apps.values():
            app.cut_off()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_fixture = scope["type"] == "http" and scope["path"] == FIXTURE
        addressed = {**scope, "path": "/mcp", "raw_path": b"/mcp"} if is_fixture else scope
        await self._apps[FIXTURE if is_fixture else "/mcp"](_with_token(addressed), receive, send)


def _with_token(scope: Scope) -> Scope:
    if scope["type"] != "http" or scope["path"] != "/mcp":
        return scope
    if b"authorization" in {name for name, _ in scope["headers"]}:
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
