"""The MCP server as an ASGI app for streamable HTTP: stateless in both eras, Host and Origin checked by us.

A file of its own, because the HTTP half of the protocol library costs as much again as the rest, and a client
on stdin and stdout must not pay for it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal, TypeAlias

import msgspec
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from handrail.contract.catalogue import HOST_REFUSED, METHOD_NOT_ALLOWED, ORIGIN_REFUSED
from handrail.contract.outcome import Failure
from handrail.contract.problem import MEDIA_TYPE, to_problem
from handrail.surfaces.mcp.limits import MAX_BYTES

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
"""The three of every ASGI app; a web framework is not needed for them."""

Answers: TypeAlias = Literal["json", "stream"]
"""`stream` is for a server whose calls report on the way; ours answer once, so `json` is enough."""

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def loopback_authorities(port: int) -> tuple[str, ...]:
    """Every way in which a client on this machine may spell the address of a server on this port."""
    return tuple(f"{host}:{port}" for host in LOOPBACK)


class HttpDoor:
    """One MCP server behind HTTP. Mount it at a path, and keep `running()` entered while it is mounted."""

    def __init__(
        self,
        server: Server[Any],
        authorities: Sequence[str],
        *,
        scheme: str = "http",
        answers: Answers = "json",
    ) -> None:
        self._hosts = frozenset(authority.encode("ascii") for authority in authorities)
        self._origins = frozenset(f"{scheme}://{authority}".encode("ascii") for authority in authorities)
        # Exact lists here as well: the library's own default takes any port, and so any local page.
        exact = TransportSecuritySettings(
            allowed_hosts=list(authorities), allowed_origins=[f"{scheme}://{each}" for each in authorities]
        )
        self._manager = StreamableHTTPSessionManager(
            server,
            json_response=answers == "json",
            stateless=True,
            security_settings=exact,
            max_request_body_size=MAX_BYTES,
        )

    def running(self) -> AbstractAsyncContextManager[None]:
        """A mounted app gets no start of its own, so whoever mounts it enters this around its own life."""
        return self._manager.run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return  # no WebSocket; the server closes what is left unanswered
        refusal = self._refusal(scope)
        if refusal is not None:
            await _answer_refused(send, refusal)
            return
        await self._manager.handle_request(scope, receive, send)

    def _refusal(self, scope: Scope) -> Failure | None:
        """Plain membership in a set: nothing is parsed, so nothing can be parsed differently elsewhere."""
        hosts = _values(scope, b"host")
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return Failure(kind=HOST_REFUSED, message="This server does not answer under that Host.")
        origins = _values(scope, b"origin")
        if len(origins) > 1 or not self._origins.issuperset(origins):
            return Failure(kind=ORIGIN_REFUSED, message="This server does not answer pages of that origin.")
        if scope["method"] != "POST":
            # The library would hold a GET open for ever, waiting for news that a stateless server never has.
            message = "MCP requests are sent with POST; there is no stream to open and no session to end."
            return Failure(kind=METHOD_NOT_ALLOWED, message=message, details={"allow": ["POST"]})
        return None


def _values(scope: Scope, name: bytes) -> list[bytes]:
    """Every occurrence of a header; a lookup by name would hide all but one."""
    return [value for key, value in scope["headers"] if key == name]


async def _answer_refused(send: Send, refusal: Failure) -> None:
    problem = to_problem(refusal, "")
    del problem["instance"]  # a refused request was given no id
    body = msgspec.json.encode(problem)
    headers = [
        (b"content-type", MEDIA_TYPE.encode("ascii")),
        (b"content-length", str(len(body)).encode("ascii")),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
    ]
    if refusal.kind is METHOD_NOT_ALLOWED:
        headers.append((b"allow", b"POST"))
    await send({"type": "http.response.start", "status": refusal.kind.http_status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
