"""Problem details: standard members first, ours beside them, details nested."""

from __future__ import annotations

import json
import re

import pytest

from handrail.contract.catalogue import E_FORBIDDEN, E_NOT_FOUND, KINDS, TOKEN_SESSION_LOCKED, Kind
from handrail.contract.envelopes.mcp_and_http import MEDIA_TYPE, retry_after_seconds, to_problem
from handrail.contract.outcome import Failure, Json, NextCall
from tests.cases import every_case

MEMBERS = [
    "type",
    "title",
    "status",
    "detail",
    "instance",
    "code",
    "native_code",
    "category",
    "retryable",
    "agent_action",
    "retry_after_ms",
    "details",
]


def failure(kind: Kind, **fields: Json) -> Failure:
    return Failure(kind=kind, message="Something is wrong.", **fields)


def test_a_locked_session_is_rendered_member_by_member() -> None:
    locked = failure(
        TOKEN_SESSION_LOCKED,
        details={"session_id": "ses_1"},
        next_call=NextCall(operation="run.continue", params={"stateToken": "st1…"}),
    )

    assert json.dumps(to_problem(locked, "req_1")) == json.dumps(
        {
            "type": "https://lafs.dev/errors/v1/transient-upstream",
            "title": "Temporarily unavailable",
            "status": 503,
            "detail": "Something is wrong.",
            "instance": "urn:handrail:request:req_1",
            "code": "TOKEN_SESSION_LOCKED",
            "native_code": "E_TIMEOUT",
            "category": "TRANSIENT",
            "retryable": True,
            "agent_action": "retry",
            "retry_after_ms": 1000,
            "details": {
                "session_id": "ses_1",
                "hint": "Another process is writing; wait, then send the same call again.",
                "next_call": {"operation": "run.continue", "params": {"stateToken": "st1…"}},
            },
        }
    )


PHRASES = {401: "Unauthorized", 403: "Forbidden", 421: "Misdirected Request"}
"""Of RFC 9110: no registered code says who may not, and another one would mislead."""


@every_case("kind", KINDS.values())
def test_every_kind_has_the_same_members_and_its_own_status(kind: Kind) -> None:
    own = dict.fromkeys(kind.details, "x")

    problem = to_problem(failure(kind, details=own), "req_1")

    assert list(problem) == MEMBERS
    assert (problem["status"], problem["retryable"]) == (kind.http_status, kind.is_retryable)
    if kind.category in ("AUTH", "PERMISSION") or kind.http_status == 403:
        assert (problem["type"], problem["title"]) == ("about:blank", PHRASES[kind.http_status])
    else:
        assert re.fullmatch(r"https://lafs\.dev/errors/v1/[a-z]+(-[a-z]+)*", problem["type"])
    assert set(problem["details"]) - {"escalation_required"} == {*own, "hint"}
    assert ("escalation_required" in problem["details"]) == kind.needs_escalation


def test_equal_codes_have_equal_titles_whatever_the_message() -> None:
    titles = {to_problem(Failure(kind=E_NOT_FOUND, message=text), "r")["title"] for text in ("a", "b")}

    assert titles == {"Not found"}


def test_a_hint_of_its_own_beats_the_hint_of_the_row() -> None:
    assert to_problem(failure(E_FORBIDDEN, hint="Ask Ada."), "r")["details"]["hint"] == "Ask Ada."


@pytest.mark.parametrize(
    ("request_id", "instance"),
    [
        ("req_01jc-5q8d.A~:9", "req_01jc-5q8d.A~:9"),
        ("a b/é", "a%20b%2F%C3%A9"),
        ("x\r\nSet-Cookie", "x%0D%0ASet-Cookie"),
    ],
)
def test_a_foreign_request_id_cannot_break_the_urn(request_id: str, instance: str) -> None:
    assert to_problem(failure(E_NOT_FOUND), request_id)["instance"] == f"urn:handrail:request:{instance}"


@every_case(
    ("given", "seconds"),
    [
        (failure(TOKEN_SESSION_LOCKED), 1),
        (failure(TOKEN_SESSION_LOCKED, retry_after_ms=0), 0),
        (failure(TOKEN_SESSION_LOCKED, retry_after_ms=1), 1),
        (failure(TOKEN_SESSION_LOCKED, retry_after_ms=1001), 2),
        (failure(E_NOT_FOUND), None),
    ],
)
def test_the_header_says_whole_seconds_rounded_up(given: Failure, seconds: int | None) -> None:
    assert retry_after_seconds(given) == seconds


def test_the_media_type_is_the_registered_one() -> None:
    assert MEDIA_TYPE == "application/problem+json"
