"""The interface through which a server uses accounts. A server without accounts has no such service."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import nullcontext
from functools import partial
from typing import Protocol

from handrail.contract.accounts import Principal
from handrail.contract.catalogue import E_TIMEOUT, E_VALIDATION
from handrail.contract.envelopes.cli import encode_document
from handrail.contract.json.strict import decode_json
from handrail.contract.outcome import Fault, Json
from handrail.ports.store import DatabaseFacts
from handrail.runtime.runtime import Runtime
from handrail_serve.accounts.refusals import (
    HASHES_AT_ONCE,
    SIGN_INS_OF_AN_ADDRESS,
    SIGN_INS_WAITING,
    STEPS_AT_ONCE,
    STEPS_OF_AN_ADDRESS,
    STEPS_WAITING,
    SignInQueue,
    Turn,
)
from handrail_serve.exchange import JSON_TYPE, HttpRequest, Response, Route, parameters, read_body
from handrail_serve.feed import Marks
from handrail_serve.guard import bearer
from handrail_serve.shell import shell_response


class AccountService(Protocol):
    """The service that knows credentials and their rights. Safe between threads; every call may ask a
    database.

    Raises Fault STORE_UNAVAILABLE if the database is away.
    """

    def check(self) -> None:
        """Raises Fault when the database cannot be used as it is; one that is away may come back."""

    def close(self) -> None:
        """Close what is open to the database; the next call opens it again."""

    def facts(self) -> DatabaseFacts:
        """Where it is and whether it answers. Changes nothing, never raises."""

    def identify(self, token: str, *, is_person: bool, is_for_programs: bool = False) -> Principal:
        """Return who acts with this token; a person only if a page of ours shows it. For programs a
        token of the identity provider does too, as an agent of its person.

        Raises Fault E_AUTH when it is unknown, expired or revoked.
        """

    def enter(self, runtime: Runtime, principal: Principal) -> Runtime:
        """Return the runtime for a call of this caller: only their workspace, within their rights."""

    def answer_team_client(self, runtime: Runtime, content: bytes) -> bytes:
        """Return the answer to a call of a team client. Raises Fault E_VALIDATION."""

    def start_sending(self, origin: str) -> None:
        """Send notices about runs to the address of the settings, from a thread of its own.

        `origin` is where this server is reached; the links that its operator makes lead there.
        """

    def marks(self, workspace: str) -> Marks:
        """Return a mark for every session of a workspace, which changes with every commit."""

    def names(self, workspace: str) -> Mapping[str, str]:
        """Return the names of the members of a workspace, by account."""

    def describe_sign_in(self) -> dict[str, Json]:
        """Return the available ways to sign in, which every caller may read."""

    def describe_resource(self, origin: str) -> dict[str, Json]:
        """The metadata of `/mcp` as a protected resource (RFC 9728), under this address."""

    def leave_for_provider(self, invitation: str, binding: str) -> str:
        """The address at which somebody signs in. Raises Fault E_NOT_FOUND where there is no provider."""

    def return_from_provider(self, state: str, code: str) -> tuple[str, str]:
        """The token for a page, and what binds it to the page that began. Raises Fault E_AUTH, E_SERVER."""

    def sign_in(self, way: str, given: Mapping[str, Json], token: str, address: str) -> dict[str, Json]:
        """What came of one step of signing in or out: `invitation`, `passphrase`, `renew`, `leave`, …

        `address` is where it comes from: what is tried there locks nobody out who signs in elsewhere.

        Raises Fault E_NOT_FOUND for a way that there is not, E_AUTH, E_VALIDATION and E_RATE_LIMITED.
        """


# Signing in: open to anybody, and answered with a token for a page, or refused


SIGN_IN = "/sign-in"
RESOURCE = "/.well-known/oauth-protected-resource"
MOST_BYTES = 16 * 1024
BODY_SECONDS = 5.0
"""For the body of such a request; a slower caller gives up its place."""

_HASHING = frozenset({"invitation", "passphrase"})
"""The steps that hash a passphrase."""


def sign_in_routes(accounts: AccountService, origin: str, turn_to_hash: Turn = nullcontext) -> list[Route]:
    """Return the routes for callers who have no token yet; nothing in them shows anything of a workspace.

    Their requests run on threads of their own, and only a few at a time.
    """
    hashing = SignInQueue(HASHES_AT_ONCE, SIGN_INS_WAITING, SIGN_INS_OF_AN_ADDRESS, turn_to_hash)
    plain = SignInQueue(STEPS_AT_ONCE, STEPS_WAITING, STEPS_OF_AN_ADDRESS)

    async def describe(_: HttpRequest) -> Response:
        return _answer_with(accounts.describe_sign_in())

    async def step(request: HttpRequest) -> Response:
        way, token = request.segments[0], bearer(request.headers).decode("latin-1")
        queue = hashing if way in _HASHING else plain
        with queue.place(request.address):
            given = decode_json(await _read_in_time(request), max_bytes=MOST_BYTES)
            if not isinstance(given, dict):
                raise Fault(E_VALIDATION, "The body must be a JSON object.", details={"param": ""})
            return _answer_with(await queue.run(lambda: accounts.sign_in(way, given, token, request.address)))

    async def page(_: HttpRequest) -> Response:
        return shell_response()

    async def leave(request: HttpRequest) -> Response:
        asked = dict(parameters(request.query))
        with plain.place(request.address):
            invitation, binding = asked.get("invitation", ""), asked.get("binding", "")
            return _lead(await plain.run(lambda: accounts.leave_for_provider(invitation, binding)))

    async def come_back(request: HttpRequest) -> Response:
        asked = dict(parameters(request.query))

        def finish() -> str:
            token, binding = accounts.return_from_provider(asked.get("state", ""), asked.get("code", ""))
            # Behind the `#`: no server, log or referrer sees it; the page compares what it bound it to.
            return f"/#signed={token}.{binding}"

        with plain.place(request.address):
            return _lead(await plain.run(finish))

    async def resource(_: HttpRequest) -> Response:
        return _answer_with(accounts.describe_resource(origin))

    route = partial(Route, needs_bearer=False)
    counted = partial(route, is_always_answered=True)
    steps = "A step of signing in or out: `invitation`, `passphrase`, `machine`, `enter`, `leave`, …"
    leads = "Leads to the identity provider, with PKCE, a nonce and a signed state."
    back = "Where the identity provider leads back to; exchanges its code."
    ways = "Which ways to sign in there are, where there are accounts."
    asks = "What `/mcp` asks of a token (RFC 9728)."
    return [
        route(pattern=SIGN_IN, serves=ways, handler=describe),
        counted(pattern=SIGN_IN + "/provider", serves=leads, handler=leave),
        counted(pattern=SIGN_IN + "/callback", is_shell=True, serves=back, handler=come_back),
        route(pattern=RESOURCE, serves=asks, handler=resource),
        route(pattern=f"{RESOURCE}/mcp", serves=asks, handler=resource),
        counted(pattern=SIGN_IN + "/*", methods=("POST",), serves=steps, handler=step),
        route(pattern="/join", is_shell=True, serves="Where an invitation is accepted.", handler=page),
    ]


async def _read_in_time(request: HttpRequest) -> bytes:
    """The body. Raises Fault E_TIMEOUT when it is too slow, and what reading it raises."""
    try:
        return await asyncio.wait_for(read_body(request, MOST_BYTES), BODY_SECONDS)
    except TimeoutError as slow:
        raise Fault(
            E_TIMEOUT, "The request came too slowly; nothing was tried.", details={"committed": False}
        ) from slow


def _lead(address: str) -> Response:
    return Response(status=302, headers=((b"location", address.encode()),))


def challenge(origin: str) -> bytes:
    """Return the header by which a refused client learns what token it needs (RFC 9728, 5.1)."""
    return f'Bearer realm="handrail", resource_metadata="{origin}{RESOURCE}/mcp"'.encode()


def _answer_with(document: dict[str, Json]) -> Response:
    body = encode_document(document, compact=True)
    return Response(headers=((b"content-type", JSON_TYPE),), body=body)
