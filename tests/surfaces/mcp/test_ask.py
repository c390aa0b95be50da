"""A person is asked only for one typed value that a blocked step waits for, and never for a secret."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, cast

import mcp_types
import pytest
from mcp import Client
from mcp.client import ClientRequestContext

from handrail.event_log.memory import MemoryLog
from handrail.runtime.runtime import Runtime
from tests.conftest import library_of
from tests.surfaces.mcp.protocol_client import ERAS, run, talking_to, text_of

Asked: TypeAlias = list[mcp_types.ElicitRequestFormParams]
Person: TypeAlias = Callable[..., Awaitable[mcp_types.ElicitResult | mcp_types.ErrorData]]

WORKFLOW = "project.asks"
REGION = {"type": "string", "enum": ["eu", "us"], "description": "Where it runs."}
REPORT = {"notesMarkdown": "Looked at both."}


def give(
    runtime: Runtime,
    spec: dict[str, Any],
    name: str = "region",
    *,
    is_confirmed: bool = False,
    then: dict[str, Any] | None = None,
    files: dict[str, Any] | None = None,
    **user_only: Any,
) -> None:
    """A workflow whose first step waits for one input of the user."""
    needs = {"reason": "needs_user_artifact", "input": name} | user_only
    document = {
        "id": WORKFLOW,
        "name": "Asks",
        "description": "Waits for the user.",
        "inputs": {name: spec} | ({} if files is None else {"files": files}),
        "steps": [
            {
                "id": "pick",
                "title": "Pick",
                "prompt": "Pick one.",
                "userOnly": {key: held for key, held in needs.items() if held},
                "requireConfirmation": is_confirmed,
            },
            then or {"id": "go", "title": "Go", "prompt": "Go."},
        ],
    }
    library_of(runtime).add(json.dumps(document).encode(), "asks.json")


def person(
    asked: Asked, action: str = "accept", content: dict[str, Any] | None = None, trouble: bool = False
) -> Person:
    async def answer(
        _: ClientRequestContext, params: mcp_types.ElicitRequestParams
    ) -> mcp_types.ElicitResult | mcp_types.ErrorData:
        assert isinstance(params, mcp_types.ElicitRequestFormParams)
        asked.append(params)
        if trouble:
            return mcp_types.ErrorData(code=mcp_types.INTERNAL_ERROR, message="no window")
        return mcp_types.ElicitResult(action=cast(Any, action), content=content)

    return answer


async def report_first_step(client: Client) -> tuple[mcp_types.CallToolResult, dict[str, Any]]:
    """The answer to the report of the waiting step, and the call that was made."""
    first = await client.call_tool("start_workflow", {"workflowId": WORKFLOW})
    call = {"ackToken": first.structured_content["ackToken"], "output": REPORT}
    return await client.call_tool("continue_workflow", call), call


@pytest.mark.parametrize("era", ERAS)
def test_the_answer_of_a_person_lets_the_run_go_on_in_the_same_call(runtime: Runtime, era: str) -> None:
    give(runtime, REGION)
    asked: Asked = []

    async def test() -> None:
        async with talking_to(
            runtime, era, elicitation_callback=person(asked, content={"region": "eu"})
        ) as client:
            reply, _ = await report_first_step(client)
            assert reply.structured_content["kind"] == "ok"
            assert reply.structured_content["pending"]["stepId"] == "go"
            (form,) = asked
            assert form.message == (
                'The step "Pick" of the workflow "Asks" needs region from you: Where it runs. '
                "Do not enter secrets. Your answer is kept in the log of the session, with the account that "
                "this server runs under."
            )
            assert form.requested_schema == {
                "type": "object",
                "properties": {"region": {"type": "string", "title": "region", "enum": ["eu", "us"]}},
                "required": ["region"],
            }

    run(test)


@pytest.mark.parametrize("era", ERAS)
def test_a_repeat_asks_nobody_again_writes_nothing_and_gets_the_same_bytes(
    runtime: Runtime, era: str
) -> None:
    give(runtime, REGION)
    asked: Asked = []

    async def test() -> None:
        async with talking_to(
            runtime, era, elicitation_callback=person(asked, content={"region": "us"})
        ) as client:
            reply, call = await report_first_step(client)
            before = cast(MemoryLog, runtime.log).list_sessions()
            for _ in range(3):
                again = await client.call_tool("continue_workflow", call)
                assert text_of(again) == text_of(reply)
                assert again.structured_content == reply.structured_content
            async with talking_to(runtime, era) as silent:
                again = await silent.call_tool("continue_workflow", call)
                assert text_of(again) == text_of(reply)
            assert len(asked) == 1
            assert cast(MemoryLog, runtime.log).list_sessions() == before

    run(test)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    "answering",
    [
        {"action": "decline"},
        {"action": "cancel"},
        {"action": "accept", "content": {}},
        {"action": "accept", "content": {"region": "mars"}},
        {"action": "accept", "content": {"region": 7}},
        {"action": "accept", "content": {"other": "eu"}},
    ],
    ids=["declined", "cancelled", "empty", "not offered", "wrong type", "another name"],
)
@pytest.mark.thorough
def test_without_a_usable_answer_the_blocked_reply_stands_as_if_nobody_was_asked(
    runtime: Runtime, era: str, answering: dict[str, Any]
) -> None:
    give(runtime, REGION)
    asked: Asked = []

    async def test() -> None:
        async with talking_to(runtime, era, elicitation_callback=person(asked, **answering)) as client:
            reply, call = await report_first_step(client)
        async with talking_to(runtime, era) as silent:
            plain = await silent.call_tool("continue_workflow", call)
        assert len(asked) == 1
        assert not reply.is_error
        assert reply.structured_content["kind"] == "blocked"
        assert reply.structured_content == plain.structured_content
        assert text_of(reply) == text_of(plain)

    run(test)


@pytest.mark.parametrize("era", ERAS)
def test_what_stands_in_the_way_after_a_value_is_told_with_its_own_tokens(runtime: Runtime, era: str) -> None:
    """The value was stored with the attempt, so the reply before it could not be used any more."""
    loop = {
        "type": "loop",
        "loopId": "each",
        "forEach": {"input": "files", "as": "file"},
        "maxIterations": 3,
        "body": [{"id": "go", "title": "Go", "prompt": "Go."}],
    }
    give(runtime, REGION, then=loop, files={})
    asked: Asked = []

    async def test() -> None:
        async with talking_to(
            runtime, era, elicitation_callback=person(asked, content={"region": "eu"})
        ) as client:
            reply, call = await report_first_step(client)
            blocked = reply.structured_content
            assert blocked["blockers"][0]["pointer"] == {"kind": "context_key", "key": "files"}
            following = blocked["nextCall"]["params"] | {"context": {"files": ["a"]}, "output": REPORT}
            done = await client.call_tool("continue_workflow", following)
            assert done.structured_content["pending"]["stepId"] == "each@0::go"
            again = await client.call_tool("continue_workflow", call)
            assert again.structured_content == blocked
        assert len(asked) == 1

    run(test)


def test_a_client_that_fails_to_ask_gets_the_blocked_reply(runtime: Runtime) -> None:
    """In the stateless revision the client itself gives up such a call; here we are the ones who asked."""
    give(runtime, REGION)

    async def test() -> None:
        async with talking_to(runtime, "legacy", elicitation_callback=person([], trouble=True)) as client:
            reply, _ = await report_first_step(client)
            assert reply.structured_content["kind"] == "blocked"

    run(test)


@pytest.mark.parametrize("era", ERAS)
def test_a_client_that_cannot_ask_gets_blocked_and_never_a_protocol_error(runtime: Runtime, era: str) -> None:
    give(runtime, REGION)

    async def test() -> None:
        async with talking_to(runtime, era) as client:
            reply, _ = await report_first_step(client)
            assert not reply.is_error
            assert reply.structured_content["kind"] == "blocked"
            following = reply.structured_content["nextCall"]
            fixed = {**following["params"], "context": {"region": "eu"}, "output": REPORT}
            done = await client.call_tool(following["tool"], fixed)
            assert done.structured_content["pending"]["stepId"] == "go"

    run(test)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("spec", "name", "user_only"),
    [
        ({"type": "string"}, "answer", {"reason": "needs_user_secret_or_token"}),
        ({"type": "string"}, "answer", {"reason": "needs_user_account_access"}),
        ({"type": "string"}, "apiKey", {}),
        ({"type": "string"}, "password", {}),
        ({"type": "string", "description": "Your access token."}, "answer", {}),
        ({"type": "object"}, "answer", {}),
        ({"type": "array"}, "answer", {}),
        ({"type": "any"}, "answer", {}),
        ({"type": "string"}, "unused", {"input": ""}),
    ],
    ids=[
        "a secret",
        "an account",
        "a key by name",
        "a password by name",
        "a token by description",
        "an object",
        "a list",
        "no type",
        "an artifact",
    ],
)
@pytest.mark.thorough
def test_secrets_and_what_no_single_field_holds_are_never_asked_for(
    runtime: Runtime, era: str, spec: dict[str, Any], name: str, user_only: dict[str, Any]
) -> None:
    give(runtime, spec, name, **user_only)
    asked: Asked = []

    async def test() -> None:
        async with talking_to(
            runtime, era, elicitation_callback=person(asked, content={name: "x"})
        ) as client:
            reply, _ = await report_first_step(client)
            assert reply.structured_content["kind"] == "blocked"
            assert asked == []

    run(test)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("spec", "value", "field"),
    [
        ({"type": "boolean"}, True, {"type": "boolean"}),
        ({"type": "boolean"}, False, {"type": "boolean"}),
        ({"type": "integer"}, 3, {"type": "integer"}),
        ({"type": "number"}, 0.5, {"type": "number"}),
        ({"type": "integer", "enum": [1, 2]}, 2, {"type": "integer", "description": "One of 1, 2"}),
    ],
)
@pytest.mark.thorough
def test_every_single_value_can_be_asked_for(
    runtime: Runtime, era: str, spec: dict[str, Any], value: Any, field: dict[str, Any]
) -> None:
    give(runtime, spec, "answer")
    asked: Asked = []

    async def test() -> None:
        async with talking_to(
            runtime, era, elicitation_callback=person(asked, content={"answer": value})
        ) as client:
            reply, _ = await report_first_step(client)
            assert reply.structured_content["pending"]["stepId"] == "go"
            assert asked[0].requested_schema["properties"] == {"answer": field | {"title": "answer"}}

    run(test)


def test_a_state_that_is_not_ours_brings_no_answer(runtime: Runtime) -> None:
    """In the stateless revision the client carries the question; what it brings back is not trusted."""
    give(runtime, REGION)

    async def test() -> None:
        async with talking_to(runtime, "auto", elicitation_callback=person([])) as client:
            first = await client.call_tool("start_workflow", {"workflowId": WORKFLOW})
            call = {"ackToken": first.structured_content["ackToken"], "output": REPORT}
            asking = await client.session.call_tool("continue_workflow", call, allow_input_required=True)
            assert isinstance(asking, mcp_types.InputRequiredResult)
            state = asking.request_state
            assert state is not None
            assert state.startswith("ak1")
            answer = mcp_types.ElicitResult(action="accept", content={"region": "eu"})
            for forged in ("", "x", state[:-1] + ("0" if state[-1] != "0" else "1"), call["ackToken"]):
                reply = await client.session.call_tool(
                    "continue_workflow",
                    call,
                    input_responses={"region": answer},
                    request_state=forged,
                    allow_input_required=True,
                )
                assert isinstance(reply, mcp_types.CallToolResult)
                assert reply.structured_content["kind"] == "blocked"
            reply = await client.session.call_tool(
                "continue_workflow", call, input_responses={"region": answer}, request_state=state
            )
            assert reply.structured_content["kind"] == "ok"

    run(test)
