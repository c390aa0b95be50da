"""Signing in, where there are accounts: open to anybody, and answered with a token for a page, or refused."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeAlias

from handrail.contract.catalogue import E_VALIDATION
from handrail.contract.envelopes.cli import encode_document
from handrail.contract.json.strict import decode_json
from handrail.contract.outcome import Fault, Json
from handrail_serve.accounts.door import Door
from handrail_serve.exchange import JSON_TYPE, HttpRequest, Response, parameters, read_body
from handrail_serve.guard import bearer
from handrail_serve.routes import Route
from handrail_serve.shell import shell_response

SIGN_IN = "/sign-in"
RESOURCE = "/.well-known/oauth-protected-resource"
MOST_BYTES = 16 * 1024

InThread: TypeAlias = Callable[[Callable[[], dict[str, Json]]], Coroutine[Any, Any, dict[str, Json]]]


def sign_in_routes(door: Door, in_thread: InThread, origin: str) -> list[Route]:
    """Where somebody who has no token yet can ask; nothing here shows anything of a workspace."""

    async def describe(_: HttpRequest) -> Response:
        return _answer_with(door.describe_sign_in())

    async def step(request: HttpRequest) -> Response:
        given = decode_json(await read_body(request, MOST_BYTES), max_bytes=MOST_BYTES)
        if not isinstance(given, dict):
            raise Fault(E_VALIDATION, "The body must be a JSON object.", details={"param": ""})
        way, token = request.segments[0], bearer(request.headers).decode("latin-1")
        return _answer_with(await in_thread(lambda: door.sign_in(way, given, token)))

    async def page(_: HttpRequest) -> Response:
        return shell_response()

    async def leave(request: HttpRequest) -> Response:
        asked = dict(parameters(request.query))
        address = await in_thread(
            lambda: {"to": door.leave_for_provider(asked.get("invitation", ""), asked.get("binding", ""))}
        )
        return _lead(address["to"])

    async def come_back(request: HttpRequest) -> Response:
        asked = dict(parameters(request.query))

        def finish() -> dict[str, Json]:
            token, binding = door.return_from_provider(asked.get("state", ""), asked.get("code", ""))
            # Behind the `#`: no server, log or referrer sees it; the page compares what it bound it to.
            return {"to": f"/#signed={token}.{binding}"}

        return _lead((await in_thread(finish))["to"])

    async def resource(_: HttpRequest) -> Response:
        return _answer_with(door.describe_resource(origin))

    route = partial(Route, needs_bearer=False)
    steps = "A step of signing in or out: `invitation`, `passphrase`, `machine`, `enter`, `leave`, …"
    told = "Leads to the identity provider, with PKCE, a nonce and a signed state."
    back = "Where the identity provider leads back to; exchanges its code."
    ways = "Which ways to sign in there are, where there are accounts."
    asks = "What `/mcp` asks of a token (RFC 9728)."
    return [
        route(pattern=SIGN_IN, serves=ways, handler=describe),
        route(pattern=SIGN_IN + "/provider", serves=told, handler=leave),
        route(pattern=SIGN_IN + "/callback", is_shell=True, serves=back, handler=come_back),
        route(pattern=RESOURCE, serves=asks, handler=resource),
        route(pattern=f"{RESOURCE}/mcp", serves=asks, handler=resource),
        route(pattern=SIGN_IN + "/*", methods=("POST",), serves=steps, handler=step),
        route(pattern="/join", is_shell=True, serves="Where an invitation is accepted.", handler=page),
    ]


def _lead(address: str) -> Response:
    return Response(status=302, headers=((b"location", address.encode()),))


def challenge(origin: str) -> bytes:
    """How a refused client finds out what token it needs (RFC 9728, 5.1)."""
    return f'Bearer realm="handrail", resource_metadata="{origin}{RESOURCE}/mcp"'.encode()


def _answer_with(document: dict[str, Json]) -> Response:
    body = encode_document(document, compact=True)
    return Response(headers=((b"content-type", JSON_TYPE),), body=body)
