"""An MCP tool error: the text alone and the structure alone both tell the agent what to do."""

from __future__ import annotations

import json

import pytest

from handrail.contract.catalogue import (
    E_INTERRUPTED,
    E_NETWORK,
    E_NOT_FOUND,
    FEATURE_DISABLED,
    FIELD_UNKNOWN,
    KINDS,
    VALIDATION_ERROR,
    Kind,
)
from handrail.contract.envelopes.mcp_and_http import retry_of, to_mcp_error
from handrail.contract.outcome import Failure, Json, NextCall
from tests.cases import every_case
from tests.contract.worked_examples import C_MCP_LINES, C_OUTCOME

NEXT = NextCall(operation="session.resume", params={"query": "ses_7k2"})


def tool_call(call: NextCall) -> dict[str, Json] | None:
    tools = {"session.resume": "resume_session"}
    return {"tool": tools[call.operation], "params": call.params} if call.operation in tools else None


def failure(kind: Kind, **fields: Json) -> Failure:
    return Failure(kind=kind, message="Something is wrong.", **fields)


def text_lines(given: Failure) -> list[str]:
    return to_mcp_error(given, tool_call=tool_call)[0].split("\n")


def test_the_worked_example_is_rendered_line_by_line() -> None:
    text, structured = to_mcp_error(C_OUTCOME, tool_call=tool_call)

    assert text.split("\n") == C_MCP_LINES
    assert json.dumps(structured) == json.dumps(
        {
            "code": "TOKEN_BAD_SIGNATURE",
            "message": "The ackToken was not minted by this server or was changed.",
            "retry": {"kind": "not_retryable"},
            "suggestion": "Resume the session to get fresh tokens.",
            "details": {
                "token_kind": "ack",
                "domain_code": "TOKEN_BAD_SIGNATURE",
                "agent_action": "refresh_context",
                "hint": "Resume the session to get fresh tokens.",
                "next_call": {"tool": "resume_session", "params": {"query": "ses_7k2"}},
            },
        }
    )


RETRIES: list[tuple[Failure, dict[str, Json], str]] = [
    (failure(E_NOT_FOUND), {"kind": "not_retryable"}, "retry: not_retryable"),
    (failure(E_INTERRUPTED), {"kind": "retryable_immediate"}, "retry: retryable_immediate"),
    (failure(E_NETWORK), {"kind": "retryable_after_ms", "afterMs": 1000}, "retry: retryable_after_ms 1000"),
    (
        failure(E_NETWORK, retry_after_ms=250),
        {"kind": "retryable_after_ms", "afterMs": 250},
        "retry: retryable_after_ms 250",
    ),
]


@pytest.mark.parametrize(("given", "union", "line"), RETRIES)
def test_the_retry_union_follows_from_the_row_and_the_wait(
    given: Failure, union: dict[str, Json], line: str
) -> None:
    text, structured = to_mcp_error(given, tool_call=tool_call)

    assert structured["retry"] == retry_of(given) == union
    assert text.split("\n")[2] == line


@every_case("kind", KINDS.values())
def test_every_kind_has_exact_keys_and_three_first_lines(kind: Kind) -> None:
    own = dict.fromkeys(kind.details, "x")

    text, structured = to_mcp_error(failure(kind, details=own, next_call=NEXT), tool_call=tool_call)
    lines = text.split("\n")

    assert list(structured) == ["code", "message", "retry", "suggestion", "details"]
    assert structured["code"] == kind.code
    assert set(own) | {"agent_action", "hint", "next_call"} <= set(structured["details"])
    assert "next_command" not in structured["details"]
    assert (structured["retry"]["kind"] == "not_retryable") == (not kind.is_retryable)
    assert lines[:2] == [f"{kind.code}: Something is wrong.", f"fix: {kind.hint}"]
    assert lines[2].startswith("retry: ")
    assert lines[-1] == 'resume_session {"query":"ses_7k2"}'


@pytest.mark.parametrize("call", [None, NextCall(operation="store.verify")])
def test_next_call_without_a_tool_has_no_line(call: NextCall | None) -> None:
    text, structured = to_mcp_error(failure(E_NOT_FOUND, next_call=call), tool_call=tool_call)

    assert len(text.split("\n")) == 3
    assert structured["details"]["next_call"] is None


DETAILS_IN_TEXT: list[tuple[str, Failure, str]] = [
    (
        "a list of problems",
        failure(
            VALIDATION_ERROR, hint="Fix it.", details={"problems": [{"param": "a", "problem": "missing"}]}
        ),
        'details: {"problems":[{"param":"a","problem":"missing"}]}',
    ),
    (
        "valid choices",
        failure(FIELD_UNKNOWN, details={"unknown": ["x"], "valid": ["id"]}),
        'details: {"unknown":["x"],"valid":["id"]}',
    ),
    (
        "a value that the fix points at",
        failure(FEATURE_DISABLED, details={"setting": "start_session"}),
        'details: {"setting":"start_session"}',
    ),
]


@pytest.mark.parametrize(
    ("given", "line"), [case[1:] for case in DETAILS_IN_TEXT], ids=[case[0] for case in DETAILS_IN_TEXT]
)
def test_a_client_that_shows_only_text_gets_what_the_fix_needs(given: Failure, line: str) -> None:
    assert text_lines(given)[3:] == [line]


def test_an_incidental_detail_costs_no_line() -> None:
    assert len(text_lines(failure(E_NETWORK, details={"stage": "dns"}))) == 3


def test_unreadable_text_is_replaced_in_the_call_line() -> None:
    call = NextCall(operation="session.resume", params={"query": "a\ud800é", "n": 2**60})

    assert text_lines(failure(E_NOT_FOUND, next_call=call))[-1] == (
        'resume_session {"query":"a\ufffdé","n":"1152921504606846976"}'
    )


def test_a_character_that_hides_is_an_escape_in_the_call_line() -> None:
    call = NextCall(operation="session.resume", params={"query": "a\u202eb\u2028c\U000e0041"})

    line = text_lines(failure(E_NOT_FOUND, next_call=call))[-1]

    assert line == r'resume_session {"query":"a\u202eb\u2028c\udb40\udc41"}'
    assert json.loads(line.removeprefix("resume_session ")) == call.params
