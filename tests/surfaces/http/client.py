"""The app spoken to without a socket: one request in, the whole answer out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any, TypeAlias

import msgspec

from handrail.runtime.runtime import Runtime
from handrail_serve.app import App, Parts
from handrail_serve.guard import loopback_identity
from handrail_serve.limits import Bounds
from handrail_serve.mcp_over_http import HttpAnswer

PORT = 7245
HOST = f"127.0.0.1:{PORT}"
TOKEN = "0123456789abcdef" * 4
CONSOLE_TOKEN = "00ff" * 16
"""What only a page of the Console is given."""
BEARER = ("authorization", f"Bearer {TOKEN}")
JSON = ("content-type", "application/json")
LAFS = ("accept", "application/vnd.lafs.envelope+json")
Headers: TypeAlias = list[tuple[str, str]]


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """One whole response."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def document(self) -> Any:
        return json.loads(self.body)

    def header(self, name: str) -> str | None:
        found = [value for key, value in self.headers if key == name]
        assert len(found) <= 1, f"{name} comes twice"
        return found[0] if found else None


def echo_mcp(_: object, __: bytes, ___: Runtime) -> HttpAnswer:
    """In place of the MCP server: answers every request it gets, so that a refusal is never its own."""
    return HttpAnswer(status=200, body=b"{}")


def make_app(runtime: Runtime, bounds: Bounds | None = None, **more: Any) -> App:
    return App(
        Parts(
            runtime=runtime,
            identity=loopback_identity(PORT, TOKEN, CONSOLE_TOKEN),
            answer_mcp=echo_mcp,
            bounds=bounds or Bounds(),
            **more,
        )
    )


async def asked(
    app: App,
    method: str,
    target: str,
    headers: Headers,
    body: bytes = b"",
    *,
    leaves: bool = False,
    client: str = "",
) -> Answered:
    """What the app answers to exactly these headers; a client that leaves does so after its request."""
    path, _, query = target.partition("?")
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers],
        "client": (client, 1) if client else None,
    }
    inbox = [{"type": "http.request", "body": body, "more_body": False}]
    sent: list[Any] = []

    async def receive() -> Any:
        if inbox:
            return inbox.pop(0)
        return {"type": "http.disconnect"} if leaves else await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    start = sent[0]
    return Answered(
        status=start["status"],
        headers=tuple((name.decode(), value.decode()) for name, value in start["headers"]),
        body=b"".join(message.get("body", b"") for message in sent[1:]),
    )


def ask(
    app: App, method: str, target: str, *extra: tuple[str, str], body: Any = None, token: str = TOKEN
) -> Answered:
    """The answer to an honest request: right Host, the token, and JSON where there is a body."""
    return asyncio.run(asked(app, method, target, *write_call(token, extra, body)))


def write_call(token: str, extra: Sequence[tuple[str, str]], body: Any) -> tuple[Headers, bytes]:
    headers: Headers = [("host", HOST), *extra]
    if token:
        headers.append(("authorization", f"Bearer {token}"))
    if body is None:
        return headers, b""
    return [*headers, JSON], body if isinstance(body, bytes) else json.dumps(body).encode()
