"""The doors of a team server against what a browser, a proxy or a stranger may send: refused, no cookies."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from handrail_serve.accounts.service import MOST_BYTES
from tests.surfaces.http.client import asked
from tests.team.team_server import HOST, ORIGIN, PAGE, PASSPHRASE, Caller, Server

EVIL = "https://evil.example.com"


@pytest.fixture
def ana(server: Server) -> Caller:
    return server.join(server.workspace("main"), "Ana", "owner")


FROM_ELSEWHERE = [
    [("origin", EVIL), ("sec-fetch-site", "cross-site")],
    [("origin", "null"), ("sec-fetch-site", "cross-site")],
    [("origin", f"{ORIGIN}.evil.example.com"), PAGE],
    [("origin", ORIGIN.replace("https", "http")), PAGE],
    [("sec-fetch-site", "same-site"), ("origin", "https://other.example.com")],
]


def test_a_page_of_another_site_changes_nothing(server: Server, ana: Caller) -> None:
    asked_at = ["/api/team.invite", "/sign-in/passphrase", "/sign-in/leave", "/mcp"]
    told = {
        (target, *extra): server.ask(
            "POST", target, ana.token, *extra, body={"name": "Eve", "requestId": "eve"}
        )
        for target in asked_at
        for extra in FROM_ELSEWHERE
    }

    assert {case: one.status for case, one in told.items()} == dict.fromkeys(told, 403)
    assert {one.header("access-control-allow-origin") for one in told.values()} == {None}
    assert [row["name"] for row in ana.data("team.members")["items"]] == ["Ana"]


@pytest.mark.parametrize(
    "name", ["evil.example.com", f"{HOST}.evil.example.com", f"{HOST}@evil", "", "127.0.0.1"]
)
def test_another_host_is_not_answered(server: Server, name: str) -> None:

    told = asyncio.run(asked(server.app, "GET", "/sign-in", [("host", name)], b"", leaves=True))

    assert told.status in (400, 421)
    assert told.header("location") is None


def test_no_answer_sets_a_cookie_and_no_cookie_is_a_credential(server: Server, ana: Caller) -> None:
    answers = [
        server.sign_in("passphrase", name="Ana", passphrase=PASSPHRASE),
        server.sign_in("renew", ana.token),
        server.ask("GET", "/", ""),
        server.ask("GET", "/api/view/team", ana.token, PAGE),
        server.ask("POST", "/api/session.list", "", ("cookie", f"token={ana.token}"), body={}),
        server.ask("POST", f"/api/session.list?token={ana.token}", "", body={}),
    ]

    assert [one.header("set-cookie") for one in answers] == [None] * len(answers)
    assert [one.status for one in answers] == [200, 200, 200, 200, 401, 401]


def test_answers_with_credentials_are_kept_by_no_cache(server: Server, ana: Caller) -> None:
    told = server.sign_in("passphrase", name="Ana", passphrase=PASSPHRASE)
    page = server.ask("GET", "/api/view/team", ana.token, PAGE)

    assert all("no-store" in (one.header("cache-control") or "") for one in (told, page))
    policy = server.ask("GET", "/join", "").header("content-security-policy") or ""
    assert "frame-ancestors 'none'" in policy
    assert "unsafe-inline" not in policy


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"x" * (MOST_BYTES + 1), 413),
        (b'{"name":' + b"[" * 5_000 + b"]" * 5_000 + b"}", 413),
        (b"[]", 400),
        (b'{"name":"a","name":"b","passphrase":"c"}', 400),
        (b'{"name":"a\xff"}', 400),
        (b"{}", 400),
    ],
)
def test_a_body_that_is_none_signs_nobody_in(server: Server, content: bytes, status: int) -> None:
    told = server.ask("POST", "/sign-in/passphrase", "", PAGE, ("origin", ORIGIN), body=content)

    assert told.status == status


def test_signing_in_gives_a_new_token_whatever_was_sent_with_it(server: Server, ana: Caller) -> None:
    given: dict[str, Any] = {"name": "Ana", "passphrase": PASSPHRASE, "token": ana.token}
    told = server.ask("POST", "/sign-in/passphrase", ana.token, PAGE, ("origin", ORIGIN), body=given)

    assert told.status == 200
    assert told.document["token"] != ana.token
