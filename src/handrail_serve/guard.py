"""The access checks that every request passes before any other code reads it. Pure.

The order is fixed and the first refusal answers; no check makes up for another. Whole values are compared,
and none is parsed first, so nothing can be parsed differently elsewhere.
"""

from __future__ import annotations

from hmac import compare_digest

import msgspec

from handrail.contract.catalogue import (
    E_AUTH,
    HOST_REFUSED,
    MEDIA_TYPE_REFUSED,
    METHOD_NOT_ALLOWED,
    ORIGIN_REFUSED,
)
from handrail.contract.outcome import Failure
from handrail_serve.exchange import JSON_TYPE, READS, Headers, Response, Route, only_value, values_of

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
"""The names under which clients on this machine reach the server."""

_BEARER = b"bearer "
_OWN_SITE = (b"none", b"same-origin")

POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    b"require-trusted-types-for 'script'; trusted-types handrail"
)
ALWAYS: Headers = (
    (b"content-security-policy", POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
"""Headers of every answer, refusals included."""
NO_STORE = (b"cache-control", b"no-store")
_NEVER = (b"access-control-", b"set-cookie")
"""Headers that no answer has: other origins may read nothing, and cookies ignore ports."""


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """The addresses under which this server answers, and the tokens that it accepts."""

    hosts: frozenset[bytes]
    origins: frozenset[bytes]
    token: bytes
    console_token: bytes = b""
    """Token that only a page of the Console receives. It gives the same access as the other token, and an
    answer of a person requires it.
    """
    has_accounts: bool = False
    """Whether callers have tokens of their own, which are looked up once a request may continue."""


def team_identity(origin: str, port: int) -> Identity:
    """Return the identity of a server with accounts, under the address that its users know. Health is also
    answered on loopback.
    """
    hosts = [origin.partition("://")[2].encode(), *(f"{name}:{port}".encode() for name in LOOPBACK)]
    return Identity(
        hosts=frozenset(hosts), origins=frozenset({origin.encode()}), token=b"", has_accounts=True
    )


def loopback_identity(port: int, token: str, console_token: str = "") -> Identity:
    """Return the identity of a server for this machine alone: each spelling of its address, with its port."""
    hosts = [f"{name}:{port}".encode() for name in LOOPBACK]
    return Identity(
        hosts=frozenset(hosts),
        origins=frozenset(b"http://" + host for host in hosts),
        token=token.encode(),
        console_token=console_token.encode(),
    )


def is_from_console(identity: Identity, headers: Headers) -> bool:
    """Whether the request comes from a person at a page of the Console.

    The page shows the token that no program receives, and the browser confirms that the page belongs to
    this server (Fetch Metadata), which scripts of other pages cannot do.
    """
    shown = bearer(headers)
    return is_own_page(headers) and bool(shown) and compare_digest(shown, identity.console_token)


def is_own_page(headers: Headers) -> bool:
    """Whether the browser states that a page of this server sent the request (Fetch Metadata)."""
    return values_of(headers, b"sec-fetch-site") == [b"same-origin"]


def refuse(identity: Identity, method: str, headers: Headers, route: Route | None) -> Failure | None:
    """Return the first reason to refuse the request; None if it may continue. A request without a route
    needs a token to continue.
    """
    return (
        _refuse_host(identity, headers)
        or _refuse_origin(identity, headers)
        or _refuse_other_site(method, headers, is_shell=route is not None and route.is_shell)
        or (_refuse_token(identity, headers) if route is None or route.needs_bearer else None)
        or (_refuse_method(method, route.methods) if route is not None else None)
        or _refuse_content_type(method, headers)
    )


def _refuse_host(identity: Identity, headers: Headers) -> Failure | None:
    hosts = values_of(headers, b"host")
    if len(hosts) == 1 and hosts[0] in identity.hosts:
        return None
    return Failure(kind=HOST_REFUSED, message="This server does not answer under that Host.")


def _refuse_origin(identity: Identity, headers: Headers) -> Failure | None:
    origins = values_of(headers, b"origin")
    if len(origins) <= 1 and identity.origins.issuperset(origins):
        return None
    return Failure(kind=ORIGIN_REFUSED, message="This server does not answer pages of that origin.")


def _refuse_other_site(method: str, headers: Headers, *, is_shell: bool) -> Failure | None:
    """Refuse requests that other sites start. A page without data is the one thing that another site may
    link to.
    """
    sites = values_of(headers, b"sec-fetch-site")
    if not sites or (len(sites) == 1 and sites[0] in _OWN_SITE):
        return None
    is_navigation = (
        is_shell
        and method == "GET"
        and len(sites) == 1
        and values_of(headers, b"sec-fetch-mode") == [b"navigate"]
        and values_of(headers, b"sec-fetch-dest") == [b"document"]
    )
    if is_navigation:
        return None
    return Failure(kind=ORIGIN_REFUSED, message="This server does not answer requests of other sites.")


def _refuse_token(identity: Identity, headers: Headers) -> Failure | None:
    shown = bearer(headers)
    known = [compare_digest(shown, token) for token in (identity.token, identity.console_token)]
    if shown and (identity.has_accounts or any(known)):
        return None
    if identity.has_accounts:
        return NO_CREDENTIAL
    return Failure(
        kind=E_AUTH,
        message="This address needs the token of the server, as `Authorization: Bearer …`.",
        hint="Open the Console with `handrail console`, or read the token in the file that the server names.",
    )


def bearer(headers: Headers) -> bytes:
    """Return the token of a request; empty if it shows none, or several."""
    shown = only_value(headers, b"authorization")
    return shown[len(_BEARER) :] if shown[: len(_BEARER)].lower() == _BEARER else b""


NO_CREDENTIAL = Failure(
    kind=E_AUTH,
    message="This address needs a credential of the team, as `Authorization: Bearer …`; this one is missing, "
    "expired or revoked.",
    hint="Sign in to the Console; an agent asks its person for a new token.",
)
"""The answer to an invalid credential, whatever is wrong with it."""


def _refuse_method(method: str, methods: tuple[str, ...]) -> Failure | None:
    if method in methods:
        return None
    return Failure(
        kind=METHOD_NOT_ALLOWED,
        message="This address does not take that method.",
        details={"allow": list(methods)},
    )


def _refuse_content_type(method: str, headers: Headers) -> Failure | None:
    if method in READS:
        return None
    if only_value(headers, b"content-type").partition(b";")[0].strip().lower() == JSON_TYPE:
        return None
    return Failure(
        kind=MEDIA_TYPE_REFUSED,
        message="The body of this request must be JSON.",
        details={"expected": "application/json"},
    )


def finish_response(response: Response) -> Response:
    """Return the answer with the headers that every answer has, and without those that no answer has."""
    fixed, body = dict(ALWAYS), response.body
    kept = [one for one in response.headers if one[0] not in fixed and not one[0].startswith(_NEVER)]
    length = ((b"content-length", str(len(body)).encode()),) if isinstance(body, bytes) else ()
    caching = () if values_of(kept, NO_STORE[0]) else (NO_STORE,)
    return msgspec.structs.replace(response, headers=(*kept, *length, *ALWAYS, *caching))
