"""Outcomes become results: the payload unchanged, errors with their call, warnings at their place."""

from __future__ import annotations

import json
from typing import Any

from handrail.contract.catalogue import TOKEN_BAD_SIGNATURE
from handrail.contract.outcome import Failure, Page, Success
from handrail.surfaces.mcp.results import add_warnings, render
from handrail.surfaces.mcp.tools import offered_tools

TOOLS = offered_tools()
WARNING = {"code": "INPUT_REPAIRED", "message": "output was text."}


def test_the_structured_copy_is_the_payload_with_its_paging_keys() -> None:
    success = Success(
        data={"project": "/p", "scope": "here"},
        page=Page(items=({"id": "a.b", "name": "B"},), has_more=True, next_cursor="cu1x"),
    )

    rendered = render(TOOLS, TOOLS["list_workflows"], {"query": "b"}, success)

    assert not rendered.is_error
    assert json.dumps(rendered.structured) == json.dumps(
        {
            "items": [{"id": "a.b", "name": "B"}],
            "count": 1,
            "next_cursor": "cu1x",
            "has_more": True,
            "project": "/p",
            "scope": "here",
        }
    )
    assert 'list_workflows {"query":"b","cursor":"cu1x"}' in rendered.text


def test_what_a_connection_cannot_carry_is_replaced() -> None:
    """A folder name that is not UTF-8 arrives as lone surrogates; an integer can be too long for a client."""
    success = Success(data={"project": "/p\udcff", "scope": "x", "big": 2**60}, page=Page(items=()))

    rendered = render(TOOLS, TOOLS["list_workflows"], {}, success)

    rendered.text.encode()
    json.dumps(rendered.structured, ensure_ascii=False).encode()
    assert rendered.structured["project"] == "/p\ufffd"
    assert rendered.structured["big"] == str(2**60)


def test_a_hostile_message_cannot_break_the_connection() -> None:
    rendered = render(TOOLS, TOOLS["resume_session"], {}, Failure(kind=TOKEN_BAD_SIGNATURE, message="\udcff"))

    rendered.text.encode()
    assert rendered.structured["message"] == "\ufffd"


def check_order(data: dict[str, Any], expected: list[str]) -> Success:
    told = add_warnings(Success(data=data), (WARNING,))

    assert isinstance(told.data, dict)
    assert list(told.data) == expected
    return told


def test_a_warning_stands_after_the_call_and_before_the_recap() -> None:
    told = check_order(
        {"kind": "ok", "pending": None, "nextCall": None, "recap": {}, "session": {}},
        ["kind", "pending", "nextCall", "warnings", "recap", "session"],
    )

    assert told.data["warnings"] == [WARNING]  # type: ignore[call-overload]  # data is an object here


def test_warning_stands_after_what_a_blocked_reply_names() -> None:
    check_order(
        {"kind": "blocked", "nextCall": {}, "blockers": [], "retryable": True, "example": {}, "recap": {}},
        ["kind", "nextCall", "blockers", "retryable", "example", "warnings", "recap"],
    )


def test_a_warning_joins_those_that_are_there() -> None:
    before = {"code": "TOKEN_REPAIRED", "message": "m"}

    told = check_order(
        {"kind": "ok", "retryable": True, "warnings": [before], "session": {}},
        ["kind", "retryable", "warnings", "session"],
    )

    assert told.data["warnings"] == [before, WARNING]  # type: ignore[call-overload]  # data is an object here
