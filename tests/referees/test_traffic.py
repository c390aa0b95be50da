"""The judge of recorded traffic finds what was planted, and only that."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cases import every_case
from tests.referees.traffic import (
    Exchange,
    crashes,
    read_http,
    read_stdio,
    reflections,
    unanswered,
    wrongly_accepted,
)
from tests.surfaces.mcp.conversations import request

TOOLS = {
    "take": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "context": {"type": "object"}},
        "required": ["name"],
        "additionalProperties": False,
    }
}
PROTOCOL = {
    "$defs": {
        "PingRequest": {
            "type": "object",
            "properties": {"method": {"const": "ping"}, "params": {"type": "object"}},
            "required": ["method"],
        }
    }
}
LONG = "y" * 90


def call(**arguments: Any) -> dict[str, Any]:
    return request(1, "tools/call", {"name": "take", "arguments": arguments})


def result(text: str = "ok", *, is_error: bool = False, **structured: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return {"id": 1, "result": {"content": content, "structuredContent": structured, "isError": is_error}}


def error(code: int, message: str = "no", data: object = None) -> dict[str, Any]:
    return {"id": 1, "error": {"code": code, "message": message, "data": data}}


def exchanged(request: dict[str, Any], answer: dict[str, Any] | None) -> list[Exchange]:
    return [Exchange(request=request, answer=answer)]


ACCEPTED: list[tuple[str, dict[str, Any], dict[str, Any], bool]] = [
    ("valid and accepted", call(name="a"), result(), False),
    ("invalid and refused", call(other=1), result(is_error=True, code="X"), False),
    ("invalid and a protocol error", call(other=1), error(-32602), False),
    ("an unknown member accepted", call(name="a", other=1), result(), True),
    ("a missing member accepted", call(), result(), True),
    ("an object as its JSON text", call(name="a", context='{"b":1}'), result(), False),
    ("a number as JSON text of an object", call(name="a", context="1"), result(), True),
    ("a request that the protocol refuses", {"id": 1, "method": "ping", "params": []}, result(), True),
    ("a request of the protocol", {"id": 1, "method": "ping"}, result(), False),
]


@every_case(("request_", "answer", "is_found"), [case[1:] for case in ACCEPTED])
def test_accepted_input_is_held_against_the_schemas(
    request_: dict[str, Any], answer: dict[str, Any], is_found: bool
) -> None:
    assert bool(wrongly_accepted(exchanged(request_, answer), TOOLS, PROTOCOL)) is is_found


OFFERED = {"next_call": {"tool": "take", "params": {"name": LONG}}}
REFLECTED: list[tuple[str, dict[str, Any], dict[str, Any], bool]] = [
    ("a short quote", call(name="short"), result('X: "short"', is_error=True), False),
    ("a long quote", call(name=LONG), result(f"X: {LONG}", is_error=True), True),
    ("a long quote in the structure", call(name=LONG), result("X", is_error=True, message=LONG), True),
    ("a long quote in a protocol error", call(name=LONG), error(-32602, data=LONG), True),
    (
        "the call that is offered back",
        call(name=LONG),
        result(f"X\ntake {LONG}", is_error=True, details=OFFERED),
        False,
    ),
    ("a hidden character", call(name="a"), result("X: a\u202eb", is_error=True), True),
    (
        "a hidden one in the offered call",
        call(name="a"),
        result("X\ntake \u202e", is_error=True, details=OFFERED),
        True,
    ),
    ("stored text in a success", call(name=LONG), result(LONG), False),
]


@every_case(("request_", "answer", "is_found"), [case[1:] for case in REFLECTED])
def test_refusals_quote_little_and_hide_nothing(
    request_: dict[str, Any], answer: dict[str, Any], is_found: bool
) -> None:
    assert bool(reflections(exchanged(request_, answer))) is is_found


@pytest.mark.parametrize(
    ("answer", "is_crash"),
    [
        (result(), False),
        (result(is_error=True, code="INTERNAL_ERROR"), True),
        (error(-32603), True),
        (error(-32602), False),
    ],
)
def test_a_defect_is_a_crash_and_a_refusal_is_not(answer: dict[str, Any], is_crash: bool) -> None:
    assert bool(crashes(exchanged(call(name="a"), answer))) is is_crash


def test_lines_are_paired_by_id_and_what_is_odd_is_told() -> None:
    lines = [
        {"way": "sent", "line": '{"id": 1, "method": "ping"}'},
        {"way": "sent", "line": '{"id": 2, "method": "ping"}'},
        {"way": "sent", "line": '{"method": "notifications/initialized"}'},
        {"way": "sent", "line": "garbage"},
        {"way": "heard", "line": '{"id": 2, "result": {}}'},
        {"way": "heard", "line": '{"id": 2, "result": {}}'},
        {"way": "heard", "line": "Traceback"},
        {"way": "ended", "line": "1"},
    ]

    exchanges, odd = read_stdio([json.dumps(line) for line in lines])

    assert [(each.request["id"], each.answer) for each in exchanges] == [
        (1, None),
        (2, {"id": 2, "result": {}}),
    ]
    assert odd == ["not JSON on stdout: 'Traceback'", "the server ended with 1", "heard2 2 times"]
    assert len(unanswered(exchanges)) == 1


def test_a_server_error_over_http_is_odd() -> None:
    lines = [
        {"status": 200, "sent": '{"id": 1, "method": "ping"}', "heard": '{"id": 1, "result": {}}'},
        {"status": 202, "sent": '{"method": "notifications/initialized"}', "heard": ""},
        {"status": 500, "sent": '{"id": 2, "method": "ping"}', "heard": "Internal Server Error"},
    ]

    exchanges, odd = read_http([json.dumps(line) for line in lines])

    assert [each.request["id"] for each in exchanges] == [1, 2]
    assert odd == ['HTTP 500 to \'{"id": 2, "method": "ping"}\'']
    assert len(unanswered(exchanges)) == 1
