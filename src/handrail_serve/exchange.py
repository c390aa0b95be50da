"""One request and one response as values; reading a body within its limits, and sending an answer."""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, MutableMapping, Sequence
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any, TypeAlias
from urllib.parse import parse_qsl

import msgspec

from handrail.contract.catalogue import E_INTERRUPTED
from handrail.contract.deprecations import Deprecation
from handrail.contract.envelopes.cli import encode_document
from handrail.contract.envelopes.mcp_and_http import MEDIA_TYPE, retry_after_seconds, to_problem
from handrail.contract.outcome import Failure, Fault, refuse_argument
from handrail.runtime.runtime import Runtime
from handrail_serve.limits import MOST_BODY_BYTES, too_large

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
"""The three arguments of every ASGI app; they need no web framework."""

IS_LET_IN = "handrail.is_let_in"
"""Key in the scope of a request whose credential was valid, so its connection is not one of an unknown
caller.
"""
Headers: TypeAlias = tuple[tuple[bytes, bytes], ...]
JSON_TYPE = b"application/json"
HTML_TYPE = b"text/html; charset=utf-8"
MOST_PARAMETERS = 200
_NO_QUALITY = re.compile(rb"q\s*=\s*0(?:\.0{0,3})?")
"""How a caller says that it does not take a media type (RFC 9110, 12.4.2)."""
_SPOOLED_BYTES = 1024 * 1024
"""Bodies longer than this are stored in a file without a name, which no other user can open."""


class HttpRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request that the guard let in."""

    id: str
    method: str
    segments: tuple[str, ...]
    """The values of the open segments of the route, in order."""
    query: bytes
    headers: Headers
    receive: Receive
    runtime: Runtime
    """The runtime that answers the request; on a server with accounts, the runtime of the caller."""
    address: str = ""
    """The source of the request, as limits count it."""

    def header(self, name: bytes) -> bytes:
        return only_value(self.headers, name)


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """A status, headers, and a body as a whole or in parts."""

    status: int = 200
    headers: Headers = ()
    body: bytes | AsyncGenerator[bytes, None] = b""


def values_of(headers: Sequence[tuple[bytes, bytes]], name: bytes) -> list[bytes]:
    """Return every occurrence of a header; a lookup by name would hide all but one."""
    return [value for key, value in headers if key == name]


def only_value(headers: Sequence[tuple[bytes, bytes]], name: bytes) -> bytes:
    """Return the value of a header that may come once; empty if it is missing or comes twice."""
    found = values_of(headers, name)
    return found[0] if len(found) == 1 else b""


def read_accept(headers: Sequence[tuple[bytes, bytes]]) -> tuple[set[bytes], set[bytes]]:
    """Return the media types that a caller accepts, and those that it rejects."""
    taken: set[bytes] = set()
    refused: set[bytes] = set()
    for part in b",".join(values_of(headers, b"accept")).lower().split(b","):
        media, *more = (piece.strip() for piece in part.split(b";"))
        (refused if any(map(_NO_QUALITY.fullmatch, more)) else taken).add(media)
    return taken, refused


def parameters(query: bytes) -> list[tuple[str, str]]:
    """Return the names and values of the query.

    Raise Fault VALIDATION_ERROR if the query cannot be read.
    """
    try:
        return parse_qsl(
            query.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=bool(query),
            errors="strict",
            max_num_fields=MOST_PARAMETERS,
        )
    except ValueError:
        raise refuse_argument(
            "The part of the address after the question mark cannot be read.",
            "?",
            f"at most {MOST_PARAMETERS} name=value pairs",
        ) from None


async def read_body(request: HttpRequest, limit: int = MOST_BODY_BYTES) -> bytes:
    """Return the whole body. A long body is stored in a file until it is complete, so a slow sender uses no
    memory.

    Raise Fault REQUEST_TOO_LARGE, or E_INTERRUPTED if the client leaves before the end of the body.
    """
    declared = request.header(b"content-length")
    if declared.isdigit() and int(declared[:20]) > limit:
        raise _fault_of(too_large("body", int(declared[:20]), limit))
    size = 0
    with tempfile.SpooledTemporaryFile(max_size=_SPOOLED_BYTES) as kept:
        while True:
            message = await request.receive()
            if message["type"] != "http.request":
                raise Fault(
                    E_INTERRUPTED,
                    "The client closed the connection before the end of its request; nothing was done.",
                    details={"committed": False},
                )
            chunk = message.get("body", b"")
            size += len(chunk)
            if size > limit:
                raise _fault_of(too_large("body", size, limit))
            kept.write(chunk)
            if not message.get("more_body", False):
                kept.seek(0)
                return kept.read()


def _fault_of(failure: Failure) -> Fault:
    return Fault(failure.kind, failure.message, details=failure.details)


def problem(failure: Failure, request_id: str, headers: Headers = ()) -> Response:
    """Return the failure as problem details (RFC 9457), with the headers that its error code requires."""
    body = encode_document(to_problem(failure, request_id), compact=True)
    return Response(
        status=failure.kind.http_status,
        headers=((b"content-type", MEDIA_TYPE.encode()), *failure_headers(failure), *headers),
        body=body,
    )


def failure_headers(failure: Failure) -> Headers:
    """Return `Retry-After`, `Allow` and `WWW-Authenticate`, each if the failure calls for it."""
    headers: list[tuple[bytes, bytes]] = []
    wait = retry_after_seconds(failure)
    if wait is not None:
        headers.append((b"retry-after", str(wait).encode()))
    allowed = failure.details.get("allow")
    if isinstance(allowed, list):
        headers.append((b"allow", ", ".join(map(str, allowed)).encode()))
    if failure.kind.category == "AUTH":
        headers.append((b"www-authenticate", b'Bearer realm="handrail"'))
    return tuple(headers)


def deprecation_headers(used: Sequence[Deprecation]) -> Headers:
    """Return the headers `Deprecation` (RFC 9745) and `Sunset` (RFC 8594), each with the earliest day of
    everything deprecated that the request uses.
    """
    if not used:
        return ()
    since = min(entry.announced for entry in used)
    gone = _midnight(min(entry.remove_by for entry in used))
    return (deprecated_since(since), (b"sunset", format_datetime(gone, usegmt=True).encode()))


def deprecated_since(day: str) -> tuple[bytes, bytes]:
    """Return the value of the `Deprecation` header: the day in seconds since the epoch."""
    return b"deprecation", f"@{int(_midnight(day).timestamp())}".encode()


def _midnight(day: str) -> datetime:
    return datetime.fromisoformat(day).replace(tzinfo=UTC)


async def send_response(send: Send, response: Response, *, is_head: bool) -> None:
    """Send a whole answer; without its body if the request was HEAD."""
    assert isinstance(response.body, bytes), "a stream is sent by send_stream"
    await send({"type": "http.response.start", "status": response.status, "headers": [*response.headers]})
    await send({"type": "http.response.body", "body": b"" if is_head else response.body})


async def send_stream(
    receive: Receive, send: Send, response: Response, parts: AsyncGenerator[bytes, None]
) -> None:
    """Send the parts as they come, until there are no more or the client leaves."""

    async def send_parts() -> None:
        async for part in parts:
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def wait_until_gone() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    start = {"type": "http.response.start", "status": response.status, "headers": list(response.headers)}
    await send(start)
    tasks = [asyncio.ensure_future(send_parts()), asyncio.ensure_future(wait_until_gone())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        await parts.aclose()


# Which address leads where: one table, matched by whole segments


Handler: TypeAlias = Callable[[HttpRequest], Coroutine[Any, Any, Response]]

READS = ("GET", "HEAD")
ONE, REST = "*", "**"


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of address. `*` stands for one segment, and `**` at the end for any rest."""

    pattern: str
    methods: tuple[str, ...] = READS
    needs_bearer: bool = True
    is_shell: bool = False
    is_for_programs: bool = False
    """Whether callers of this route are never treated as a person, whatever credential they show."""
    is_kept_while_draining: bool = False
    """Whether the route is still answered while the server drains."""
    is_always_answered: bool = False
    """Whether the route is answered without counting as work in progress: it does no work, or has limits of
    its own.
    """
    serves: str = ""
    """Description for the reference page."""
    handler: Handler


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A route, with the values of its open segments."""

    route: Route
    segments: tuple[str, ...]


class Matcher:
    """A pattern, split once."""

    def __init__(self, pattern: str) -> None:
        parts = _split(pattern)
        self._is_open = parts[-1] == REST
        self._fixed = parts[:-1] if self._is_open else parts

    def match(self, path: str) -> tuple[str, ...] | None:
        """Return the values of the open segments, in order; None if the path does not match."""
        parts, fixed = _split(path), self._fixed
        if len(parts) < len(fixed) or (len(parts) > len(fixed) and not self._is_open):
            return None
        pairs = tuple(zip(fixed, parts, strict=False))
        if not all(bool(part) if wanted == ONE else wanted == part for wanted, part in pairs):
            return None
        return (*(part for wanted, part in pairs if wanted == ONE), *parts[len(fixed) :])


class Router:
    """The routing table, prepared for lookups."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self.routes = tuple(routes)
        self._matchers = tuple((Matcher(route.pattern), route) for route in self.routes)

    def find(self, path: str) -> Found | None:
        """Return the first route whose pattern matches."""
        for matcher, route in self._matchers:
            segments = matcher.match(path)
            if segments is not None:
                return Found(route=route, segments=segments)
        return None


def _split(path: str) -> tuple[str, ...]:
    return tuple(path.removeprefix("/").split("/"))


def open_route(
    pattern: str, handler: Handler, serves: str, *, is_shell: bool = False, is_always_answered: bool = False
) -> Route:
    """Return a route without data, which needs no token and is answered until the server ends."""
    return Route(
        pattern=pattern,
        needs_bearer=False,
        is_shell=is_shell,
        is_kept_while_draining=True,
        is_always_answered=is_always_answered,
        serves=serves,
        handler=handler,
    )
