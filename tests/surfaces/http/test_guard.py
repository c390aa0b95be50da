"""Nobody but the owner of the token gets past the guard: every route, every way to come from elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from handrail_serve.app import App
from handrail_serve.exchange import Response, Route
from handrail_serve.guard import finish_response
from tests.surfaces.http.client import BEARER, HOST, JSON, PORT, TOKEN, Answered, Headers, asked

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "get", "X")

BAD_HOSTS: dict[str, Headers] = {
    "none": [],
    "twice": [("host", HOST), ("host", HOST)],
    "another port": [("host", "127.0.0.1:1")],
    "no port": [("host", "127.0.0.1")],
    "trailing dot": [("host", f"localhost.:{PORT}")],
    "another name": [("host", f"handrail.example:{PORT}")],
    "another address": [("host", f"127.0.0.2:{PORT}")],
    "any address": [("host", f"0.0.0.0:{PORT}")],
    "upper case": [("host", f"LOCALHOST:{PORT}")],
    "a user before it": [("host", f"a@127.0.0.1:{PORT}")],
    "a path after it": [("host", f"127.0.0.1:{PORT}/")],
    "a space after it": [("host", f"127.0.0.1:{PORT} ")],
    "not ASCII": [("host", f"127.0.0.1:{PORT}\u00b7")],
    "empty": [("host", "")],
    "a list": [("host", f"{HOST}, {HOST}")],
}
BAD_ORIGINS: dict[str, Headers] = {
    "null": [("origin", "null")],
    "another port": [("origin", "http://127.0.0.1:1")],
    "no port": [("origin", "http://127.0.0.1")],
    "https": [("origin", f"https://127.0.0.1:{PORT}")],
    "another site": [("origin", "https://example.org")],
    "ours as a prefix": [("origin", f"http://127.0.0.1:{PORT}.example.org")],
    "a slash after it": [("origin", f"http://127.0.0.1:{PORT}/")],
    "twice": [("origin", f"http://{HOST}"), ("origin", f"http://{HOST}")],
    "empty": [("origin", "")],
    "a file": [("origin", "file://")],
}
BAD_SITES: dict[str, Headers] = {
    "cross-site": [("sec-fetch-site", "cross-site")],
    "same-site": [("sec-fetch-site", "same-site")],
    "unknown": [("sec-fetch-site", "moon")],
    "twice": [("sec-fetch-site", "none"), ("sec-fetch-site", "none")],
    "in a frame": [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "navigate"),
        ("sec-fetch-dest", "iframe"),
    ],
    "as a script": [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "no-cors"),
        ("sec-fetch-dest", "script"),
    ],
}
BAD_TOKENS: dict[str, Headers] = {
    "none": [],
    "empty": [("authorization", "")],
    "without a scheme": [("authorization", TOKEN)],
    "another scheme": [("authorization", f"Basic {TOKEN}")],
    "one letter more": [("authorization", f"Bearer {TOKEN}0")],
    "one letter less": [("authorization", f"Bearer {TOKEN[:-1]}")],
    "another": [("authorization", f"Bearer {TOKEN[::-1]}")],
    "upper case": [("authorization", f"Bearer {TOKEN.upper()}")],
    "twice": [BEARER, BEARER],
    "in a cookie": [("cookie", f"token={TOKEN}")],
}
NAVIGATION: Headers = [
    ("sec-fetch-site", "cross-site"),
    ("sec-fetch-mode", "navigate"),
    ("sec-fetch-dest", "document"),
]


def paths_of(app: App) -> Iterator[tuple[Route, str]]:
    """An address for every registered route, and one that no route knows."""
    for route in app.router.routes:
        yield route, route.pattern.replace("**", "x/y").replace("*", "x")
    yield Route(pattern="/nothing", methods=METHODS, handler=app.router.routes[0].handler), "/nothing"


def answers(app: App, requests: list[tuple[str, str, Headers]]) -> list[Answered]:
    async def all_of_them() -> list[Answered]:
        return [
            await asked(app, method, path, headers, b"{}", leaves=True) for method, path, headers in requests
        ]

    return asyncio.run(all_of_them())


def check(app: App, bad: dict[str, Headers], status: int, code: str, *, beside: Headers) -> int:
    """Every route refuses each of these, whatever else is right about the request."""
    cases = [
        (f"{route.methods[0]} {path}: {name}", (route.methods[0], path, [*headers, *beside, JSON]))
        for route, path in paths_of(app)
        for name, headers in bad.items()
    ]
    told = answers(app, [request for _, request in cases])
    wrong = [
        (name, answer.status)
        for (name, _), answer in zip(cases, told, strict=True)
        if answer.status != status or (answer.body and answer.document["code"] != code)
    ]
    assert wrong == []
    return len(cases)


def test_every_route_refuses_every_other_host(app: App) -> None:
    count = check(app, BAD_HOSTS, 421, "HOST_REFUSED", beside=[BEARER])

    assert count == (len(app.router.routes) + 1) * len(BAD_HOSTS)


def test_every_route_refuses_every_other_origin(app: App) -> None:
    check(app, BAD_ORIGINS, 403, "ORIGIN_REFUSED", beside=[("host", HOST), BEARER])


def test_every_route_refuses_requests_of_other_sites(app: App) -> None:
    check(app, BAD_SITES, 403, "ORIGIN_REFUSED", beside=[("host", HOST), BEARER])


def test_every_route_with_data_refuses_a_missing_or_wrong_token(app: App) -> None:
    open_routes = [route for route in app.router.routes if not route.needs_bearer]
    app.router.routes = tuple(route for route in app.router.routes if route.needs_bearer)

    check(app, BAD_TOKENS, 401, "E_AUTH", beside=[("host", HOST)])

    assert {route.pattern for route in open_routes} == {
        *("/", "/inbox/**", "/sessions/**", "/workflows/**", "/builtins/**", "/gaps/**", "/import/**"),
        *("/settings/**", "/team/**", "/machines/**", "/assets/*", "/health/live", "/health/ready"),
        *("/.well-known/lafs.json", "/.well-known/agent-card.json"),
    }


def test_one_right_thing_never_makes_up_for_a_wrong_one(app: App) -> None:
    """All wrong at once: the first check answers, in the order of the table."""
    everything = [("host", "evil"), ("origin", "null"), ("sec-fetch-site", "cross-site")]

    told = answers(
        app,
        [
            ("PUT", "/api/session.list", everything),
            ("PUT", "/api/session.list", [("host", HOST), *everything[1:]]),
            ("PUT", "/api/session.list", [("host", HOST), *everything[2:]]),
            ("PUT", "/api/session.list", [("host", HOST)]),
            ("PUT", "/api/session.list", [("host", HOST), BEARER]),
            ("POST", "/api/session.list", [("host", HOST), BEARER]),
        ],
    )

    assert [answer.status for answer in told] == [421, 403, 403, 401, 405, 415]


def test_other_site_may_link_to_a_page_without_data_only(app: App) -> None:
    cases = [(route, path) for route, path in paths_of(app)]
    told = answers(app, [("GET", path, [("host", HOST), BEARER, *NAVIGATION]) for _, path in cases])

    allowed = {path for (_, path), answer in zip(cases, told, strict=True) if answer.status != 403}

    assert allowed == {path for route, path in cases if route.is_shell}


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "[::1]"])
def test_every_spelling_of_our_own_address_is_let_in(app: App, name: str) -> None:
    own = f"{name}:{PORT}"
    headers = [("host", own), ("origin", f"http://{own}"), ("sec-fetch-site", "same-origin"), BEARER]

    told = answers(app, [("GET", "/api/session.list", headers)])

    assert told[0].status == 200


def test_no_answer_opens_the_server_to_other_pages(app: App) -> None:
    """Every route × every method, with everything else right."""
    cases = [
        (method, path, [("host", HOST), BEARER, JSON]) for _, path in paths_of(app) for method in METHODS
    ]

    told = answers(app, cases)

    for (method, path, _), answer in zip(cases, told, strict=True):
        where = f"{method} {path}"
        names = {name for name, _ in answer.headers}
        assert not {name for name in names if name.startswith("access-control")}, where
        assert "set-cookie" not in names, where
        assert answer.header("x-content-type-options") == "nosniff", where
        assert answer.header("referrer-policy") == "no-referrer", where
        assert answer.header("cross-origin-resource-policy") == "same-origin", where
        assert answer.header("cross-origin-opener-policy") == "same-origin", where
        assert "frame-ancestors 'none'" in (answer.header("content-security-policy") or ""), where
        is_published = path == "/.well-known/lafs.json" and answer.status == 200
        assert answer.header("cache-control") == ("no-cache" if is_published else "no-store"), where


@pytest.mark.parametrize("name", [b"set-cookie", b"access-control-allow-origin", b"referrer-policy"])
def test_what_a_route_adds_by_mistake_is_taken_out(name: bytes) -> None:
    given = Response(headers=((name, b"mistake"), (b"x-own", b"1")))

    sent = finish_response(given).headers

    assert (name, b"mistake") not in sent
    assert (b"x-own", b"1") in sent


def test_a_method_that_a_route_does_not_name_is_refused(app: App) -> None:
    cases = [
        (route, (method, path, [("host", HOST), BEARER, JSON]))
        for route, path in paths_of(app)
        for method in METHODS
        if route.pattern != "/nothing"
    ]

    told = answers(app, [request for _, request in cases])

    for (route, (method, path, _)), answer in zip(cases, told, strict=True):
        assert (answer.status == 405) == (method not in route.methods), f"{method} {path}"
        if answer.status == 405:
            assert answer.header("allow") == ", ".join(route.methods)


def test_a_websocket_is_closed_unanswered(app: App) -> None:
    sent = []

    async def talk() -> None:
        async def receive() -> dict[str, str]:
            return {"type": "websocket.connect"}

        async def send(message: object) -> None:
            sent.append(message)

        await app({"type": "websocket", "path": "/mcp", "headers": []}, receive, send)

    asyncio.run(talk())

    assert sent == [{"type": "websocket.close", "code": 1008}]
