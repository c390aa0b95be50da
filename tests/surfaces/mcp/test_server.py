"""The protocol around the tools, in both eras, without a process in between."""

from __future__ import annotations

import mcp_types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from handrail import __version__
from handrail.ports.workspace import Settings
from handrail.runtime.runtime import Runtime
from handrail.surfaces.mcp.adapter import Adapter
from handrail.surfaces.mcp.messages import INSTRUCTIONS, Results
from handrail.surfaces.mcp.tools import tool_definitions
from tests.conftest import settings_of
from tests.journeys.conversation import answer
from tests.surfaces.mcp.protocol_client import ERAS, in_eras, run, talking_to, text_of

VERSIONS = {"legacy": "2025-11-25", "auto": "2026-07-28"}
WORKFLOW = "project.three_steps"


@in_eras(*ERAS)
async def test_server_introduces_itself_and_its_offers(client: Client, era: str) -> None:
    assert client.protocol_version == VERSIONS[era]
    assert client.instructions == INSTRUCTIONS
    assert client.server_info is not None
    assert (client.server_info.name, client.server_info.version) == ("handrail", __version__)
    declared = client.server_capabilities.model_dump(exclude_none=True)
    assert set(declared) == {"tools", "prompts", "resources", "completions"}
    assert not declared["resources"].get("subscribe")


@pytest.mark.parametrize("era", ERAS)
def test_a_run_knows_what_the_client_that_began_it_calls_itself(runtime: Runtime, era: str) -> None:
    async def test() -> None:
        info = mcp_types.Implementation(name="editor", title="The Editor", version="1")
        async with talking_to(runtime, era, client_info=info) as client:
            await client.call_tool("start_workflow", {"workflowId": WORKFLOW})

    run(test)

    assert [row["agent"] for row in answer(runtime, "session.list")["items"]] == ["The Editor"]


@in_eras(*ERAS)
async def test_the_listing_is_the_definitions_byte_for_byte(client: Client) -> None:
    listing = await client.list_tools()
    sent = [tool.model_dump(by_alias=True, exclude_none=True) for tool in listing.tools]
    keys = ("name", "description", "inputSchema", "outputSchema", "annotations")
    assert [{key: tool[key] for key in keys} for tool in sent] == tool_definitions()
    assert all(set(tool) == set(keys) for tool in sent)


@in_eras("auto")
async def test_the_listing_may_be_kept_for_an_hour_by_this_client(client: Client) -> None:
    listing = await client.list_tools()
    assert (listing.ttl_ms, listing.cache_scope) == (3_600_000, "private")


def test_the_instructions_are_short() -> None:
    assert len(INSTRUCTIONS) <= 1_500
    assert INSTRUCTIONS.startswith("Handrail gives you a process one step at a time.")


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("continue_workflw", 'There is no tool "continue_workflw". Did you mean continue_workflow?'),
        ("rm", 'There is no tool "rm". The tools are list_workflows, '),
        ("x\x1b" * 100, 'There is no tool "x�x�'),
    ],
)
@in_eras(*ERAS)
async def test_an_unknown_tool_is_a_protocol_error(client: Client, name: str, advice: str) -> None:
    with pytest.raises(MCPError) as caught:
        await client.call_tool(name, {})
    assert caught.value.code == mcp_types.INVALID_PARAMS
    assert caught.value.message.startswith(advice)


@in_eras(*ERAS)
async def test_a_cursor_that_nobody_gave_out_is_refused(client: Client) -> None:
    with pytest.raises(MCPError) as caught:
        await client.list_tools(cursor="c" * 200)
    assert caught.value.code == mcp_types.INVALID_PARAMS
    assert caught.value.message == "All tools are on one page; send no cursor."


@in_eras(*ERAS)
async def test_an_unknown_method_is_quoted_short_and_visible(client: Client) -> None:
    class Unheard(mcp_types.Request[mcp_types.RequestParams, str]):
        method: str = "x\u202e" * 100
        params: mcp_types.RequestParams = mcp_types.RequestParams()

    with pytest.raises(MCPError) as caught:
        await client.session.send_request(Unheard(), mcp_types.EmptyResult)
    assert caught.value.code == mcp_types.METHOD_NOT_FOUND
    assert caught.value.message.startswith('There is no method "x\ufffdx\ufffd')
    assert len(caught.value.message) < 160
    assert caught.value.data is None


@in_eras(*ERAS)
async def test_an_error_is_a_result_that_clients_accept(client: Client) -> None:
    await client.list_tools()
    result = await client.call_tool("continue_workflow", {"notes": "done"})
    assert result.is_error
    assert text_of(result).startswith("VALIDATION_ERROR: ")
    await client.session.validate_tool_result("continue_workflow", result)


@pytest.mark.parametrize(
    ("results", "has_text", "has_structured", "has_schema"),
    [("both", True, True, True), ("text", True, False, False), ("structured", False, True, True)],
)
def test_odd_clients_can_be_given_one_channel(
    runtime: Runtime, results: Results, has_text: bool, has_structured: bool, has_schema: bool
) -> None:
    async def test() -> None:
        async with talking_to(Adapter(runtime, results=results), "auto") as client:
            listing = await client.list_tools()
            result = await client.call_tool("list_workflows", {})
            failed = await client.call_tool("continue_workflow", {})
            assert all((tool.output_schema is not None) == has_schema for tool in listing.tools)
            assert bool(result.content) == has_text
            assert (result.structured_content is not None) == has_structured
            assert text_of(failed).startswith("CONTEXT_MISSING: ")

    run(test)


def test_a_minimal_server_tells_only_what_the_next_call_needs(runtime: Runtime) -> None:
    async def test() -> None:
        async with talking_to(Adapter(runtime, mvi="minimal"), "auto") as client:
            first = await client.call_tool("start_workflow", {"workflowId": WORKFLOW})
            call = {"ackToken": first.structured_content["nextCall"]["params"]["ackToken"]}
            reply = await client.call_tool("continue_workflow", call)
            assert list(reply.structured_content) == ["kind", "pending", "nextIntent", "nextCall"]

    run(test)


@pytest.mark.promise("session.switched-off")
@pytest.mark.parametrize("is_on", [False, True])
def test_the_tool_that_a_setting_switches_on_is_listed_only_then(runtime: Runtime, is_on: bool) -> None:
    settings_of(runtime).settings = Settings(start_session=is_on)

    async def test() -> None:
        async with talking_to(runtime, "auto") as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert names[:6] == [definition["name"] for definition in tool_definitions()]
            assert names[6:] == (["start_session"] if is_on else [])

    run(test)
