"""Who may ask what: the checks that every request passes before anything else looks at it. Pure.

The order is fixed and the first refusal answers; no check makes up for another. Whole values are compared,
and none is parsed first, so nothing can be parsed differently elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from handrail_serve.exchange import Headers

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
"""The names under which clients on this machine reach the server."""

_SAFE_METHODS = frozenset({"GET", "HEAD"})
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
"""On every answer, refusals included."""
NO_STORE = (b"cache-control", b"no-store")
_NEVER = (b"access-control-", b"set-cookie")
"""What no answer has: other origins may read nothing, and cookies ignore ports."""


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """Under which addresses this server answers, and the tokens that its callers show."""

    hosts: frozenset[bytes]
    origins: frozenset[bytes]
    token: bytes
    console_token: bytes = b""
    """What only a page of the Console is given: as good as the other, and a person's answer needs it."""
    has_accounts: bool = False
    """Callers have tokens of their own, which are looked up once a request may go on."""


def team_identity(origin: str, port: int) -> Identity:
    """A server with accounts, under the address that its users know; health is also asked on loopback."""
    hosts = [origin.partition("://")[2].encode(), *(f"{name}:{port}".encode() for name in LOOPBACK)]
    return Identity(
        hosts=frozenset(hosts), origins=frozenset({origin.encode()}), token=b"", has_accounts=True
    )


def loopback_identity(port: int, token: str, console_token: str = "") -> Identity:
    """A server for this machine alone: every spelling of its address, with its port."""
    hosts = [f"{name}:{port}".encode() for name in LOOPBACK]
    return Identity(
        hosts=frozenset(hosts),
        origins=frozenset(b"http://" + host for host in hosts),
        token=token.encode(),
        console_token=console_token.encode(),
    )


def is_from_console(identity: Identity, headers: Headers) -> bool:
    """Whether a person sits at the page that asks: it shows the token that no program is given, and a browser
    says that the page is ours (Fetch Metadata), which scripts of other pages cannot.
    """
    shown = bearer(headers)
    return is_own_page(headers) and bool(shown) and compare_digest(shown, identity.console_token)


def is_own_page(headers: Headers) -> bool:
    """Whether a browser says that a page of ours asks (Fetch Metadata)."""
    return _values(headers, b"sec-fetch-site") == [b"same-origin"]


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What the guard looks at: the request line, its headers, and what the route asks for."""

    method: str
    headers: Headers
    methods: tuple[str, ...]
    needs_bearer: bool
    is_shell: bool = False
    """A page without data: the one thing that another site may link to."""


def refuse(identity: Identity, asked: Asked) -> Failure | None:
    """The first reason to refuse; None lets the request in."""
    return (
        _refuse_host(identity, asked.headers)
        or _refuse_origin(identity, asked.headers)
        or _refuse_other_site(asked)
        or _refuse_token(identity, asked)
        or _refuse_method(asked)
        or _refuse_content_type(asked)
    )


def _refuse_host(identity: Identity, headers: Headers) -> Failure | None:
    hosts = _values(headers, b"host")
    if len(hosts) == 1 and hosts[0] in identity.hosts:
        return None
    return Failure(kind=HOST_REFUSED, message="This server does not answer under that Host.")


def _refuse_origin(identity: Identity, headers: Headers) -> Failure | None:
    origins = _values(headers, b"origin")
    if len(origins) <= 1 and identity.origins.issuperset(origins):
        return None
    return Failure(kind=ORIGIN_REFUSED, message="This server does not answer pages of that origin.")


def _refuse_other_site(asked: Asked) -> Failure | None:
    sites = _values(asked.headers, b"sec-fetch-site")
    if not sites or (len(sites) == 1 and sites[0] in _OWN_SITE):
        return None
    is_navigation = (
        asked.is_shell
        and asked.method == "GET"
        and len(sites) == 1
        and _values(asked.headers, b"sec-fetch-mode") == [b"navigate"]
        and _values(asked.headers, b"sec-fetch-dest") == [b"document"]
    )
    if is_navigation:
        return None
    return Failure(kind=ORIGIN_REFUSED, message="This server does not answer requests of other sites.")


def _refuse_token(identity: Identity, asked: Asked) -> Failure | None:
    if not asked.needs_bearer:
        return None
    shown = bearer(asked.headers)
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
    """The token that a request shows; empty where it shows none, or several."""
    given = _values(headers, b"authorization")
    shown = given[0] if len(given) == 1 else b""
    return shown[len(_BEARER) :] if shown[: len(_BEARER)].lower() == _BEARER else b""


NO_CREDENTIAL = Failure(
    kind=E_AUTH,
    message="This address needs a credential of the team, as `Authorization: Bearer …`; this one is missing, "
    "expired or revoked.",
    hint="Sign in to the Console; an agent asks its person for a new token.",
)
"""What is told of a credential that opens nothing, whatever is wrong with it."""


def _refuse_method(asked: Asked) -> Failure | None:
    if asked.method in asked.methods:
        return None
    return Failure(
        kind=METHOD_NOT_ALLOWED,
        message="This address does not take that method.",
        details={"allow": list(asked.methods)},
    )


def _refuse_content_type(asked: Asked) -> Failure | None:
    if asked.method in _SAFE_METHODS:
        return None
    given = _values(asked.headers, b"content-type")
    media = given[0].partition(b";")[0].strip().lower() if len(given) == 1 else b""
    if media == b"application/json":
        return None
    return Failure(
        kind=MEDIA_TYPE_REFUSED,
        message="The body of this request must be JSON.",
        details={"expected": "application/json"},
    )


def _values(headers: Headers, name: bytes) -> list[bytes]:
    """Every occurrence of a header; a lookup by name would hide all but one."""
    return [value for key, value in headers if key == name]


def finish_headers(headers: Sequence[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The headers of an answer with those that every answer has, and without those that none has."""
    fixed = dict(ALWAYS)
    kept = [(name, value) for name, value in headers if name not in fixed and not name.startswith(_NEVER)]
    has_caching = any(name == NO_STORE[0] for name, _ in kept)
    return [*kept, *ALWAYS, *(() if has_caching else (NO_STORE,))]
