"""The transport between two pipes: a conversation cut anywhere ends in order, and odd frames end nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.contract.outcome import Success
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail.surfaces.mcp.adapter import Adapter
from tests.conftest import memory_runtime
from tests.journeys.at_a_form import REPORT
from tests.surfaces.mcp.pipes import piped
from tests.surfaces.mcp.test_ask import REGION, WORKFLOW, give

OPENING: list[dict[str, Any]] = [
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "cut", "version": "0"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
]
CALL: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "list_workflows", "arguments": {}},
}


EXPECTED_IDS: list[set[int]] = [set(), {1}, {1}, {1, 2}]
"""Which requests are answered after so many whole lines; the second line is a notification."""


def lines_of(*messages: Any) -> bytes:
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


def answers_to(sent: bytes, runtime: Runtime) -> list[dict[str, Any]]:
    """Everything written to stdout until the server has ended; each line must be protocol."""
    return [json.loads(line) for line in piped(sent, Adapter(runtime)).splitlines()]


@pytest.mark.thorough
def test_a_conversation_that_is_cut_at_any_byte_ends_in_order() -> None:
    whole = lines_of(*OPENING, CALL)
    runtime = memory_runtime()
    ends = [place + 1 for place, byte in enumerate(whole) if byte == 10]

    for cut in [*range(0, len(whole), 7), *ends, *(end - 1 for end in ends)]:
        answers = answers_to(whole[:cut], runtime)

        # A last line without its line end counts as a line: the pipe has closed behind it.
        complete = [end for end in ends if end - 1 <= cut]
        answered = {answer["id"] for answer in answers if "result" in answer}
        assert answered == EXPECTED_IDS[len(complete)], cut
        unread = [answer for answer in answers if "error" in answer]
        is_torn = cut not in (0, *ends, *(end - 1 for end in ends))
        assert len(unread) == is_torn, cut


ODD_FRAMES: list[Any] = [
    {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": []}},
    {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": {"a": 1}}},
    {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 77}},
    {"jsonrpc": "2.0", "method": "notifications/cancelled"},
    {"jsonrpc": "2.0", "method": "notifications/nobody", "params": {"x": [None]}},
    {"jsonrpc": "2.0", "id": 99, "result": {}},
    {"jsonrpc": "2.0", "id": "99", "error": {"code": 1, "message": "no"}},
]


@pytest.mark.parametrize("frame", ODD_FRAMES, ids=json.dumps)
def test_a_frame_that_asks_nothing_gets_no_answer_and_ends_nothing(runtime: Runtime, frame: Any) -> None:
    answers = answers_to(lines_of(*OPENING, frame, CALL), runtime)

    assert [answer["id"] for answer in answers] == [1, 2]
    assert all("result" in answer for answer in answers)


ODD_REQUESTS: list[dict[str, Any]] = [
    {"method": "nobody/knows"},
    {"method": "tools/call"},
    {"method": "tools/call", "params": {"name": 7}},
    {"method": "tools/call", "params": {"name": "list_workflows", "arguments": []}},
    {"method": "prompts/get", "params": {}},
    {"method": "prompts/get", "params": {"name": "resume", "arguments": {"query": 7}}},
    {"method": "prompts/list", "params": {"cursor": "cu1nonsense"}},
    {"method": "resources/read", "params": {"uri": None}},
    {"method": "resources/list", "params": {"cursor": "x" * 100_000}},
    {"method": "resources/subscribe", "params": {"uri": "handrail://workflows"}},
    {"method": "completion/complete", "params": {"ref": {"type": "ref/nothing"}, "argument": {}}},
]


@pytest.mark.parametrize("request_fields", ODD_REQUESTS, ids=lambda fields: json.dumps(fields)[:60])
def test_an_odd_request_is_refused_by_its_id_and_the_next_one_is_answered(
    runtime: Runtime, request_fields: dict[str, Any]
) -> None:
    odd = {"jsonrpc": "2.0", "id": "odd", **request_fields}

    answers = {answer["id"]: answer for answer in answers_to(lines_of(*OPENING, odd, CALL), runtime)}

    assert set(answers) == {1, "odd", 2}
    assert answers["odd"]["error"]["code"] in (-32600, -32601, -32602)
    assert len(json.dumps(answers["odd"])) < 4_000
    assert "result" in answers[2]


def test_a_question_that_nobody_can_answer_any_more_leaves_the_blocked_reply(runtime: Runtime) -> None:
    """The client closes its end while a person is asked: the call is answered, and the server ends."""
    give(runtime, REGION)
    started = perform(runtime, "run.start", {"workflowId": WORKFLOW})
    assert isinstance(started, Success)
    assert isinstance(started.data, dict)
    arguments = {"ackToken": started.data["ackToken"], "output": REPORT}
    asking = {**OPENING[0], "params": {**OPENING[0]["params"], "capabilities": {"elicitation": {}}}}
    call = {**CALL, "params": {"name": "continue_workflow", "arguments": arguments}}

    answers = answers_to(lines_of(asking, OPENING[1], call), runtime)

    assert [answer["id"] for answer in answers if "result" in answer] == [1, 2]
    assert answers[-1]["result"]["structuredContent"]["kind"] == "blocked"
