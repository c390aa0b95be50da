"""The tools that the official suite calls by name, apart from those that ask the client something back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import anyio
import mcp_types
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, PromptsListChanged, ToolsListChanged
from mcp.shared.exceptions import MCPError, NoBackChannelError

from tests.referees.suite_fixtures.content import AUDIO, IMAGE, embedded, text

Context: TypeAlias = ServerRequestContext[Any]
Called: TypeAlias = Callable[[Context, mcp_types.CallToolRequestParams], Awaitable[Any]]

CHANGES = InMemorySubscriptionBus()
"""What listening clients hear of; the suite triggers it by tools."""
PAUSE_SECONDS = 0.05
"""The suite asks for pauses, to see that reports do not wait for the answer."""

SCHEMA_2020_12: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
HEADER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    "required": ["region"],
}


def constant(*content: mcp_types.ContentBlock) -> Called:
    """A tool that always gives this content."""

    async def call(_: Context, __: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
        return mcp_types.CallToolResult(content=list(content))

    return call


async def fail(_: Context, __: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
    trouble = text("This tool intentionally returns an error for testing")
    return mcp_types.CallToolResult(content=[trouble], is_error=True)


async def tell_log(context: Context, _: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
    """Only clients of the older era, or those that asked for it, may be sent log messages."""
    for line in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        if context.protocol_version < "2026-07-28":
            params = mcp_types.LoggingMessageNotificationParams(level="info", data=line)
            message = mcp_types.LoggingMessageNotification(params=params)
            await context.session.send_notification(message, related_request_id=context.request_id)
        await anyio.sleep(PAUSE_SECONDS)
    return mcp_types.CallToolResult(content=[text("Logged three lines.")])


async def report_progress(context: Context, _: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
    for done in (0, 50, 100):
        await context.session.report_progress(done, total=100)
        await anyio.sleep(PAUSE_SECONDS)
    return mcp_types.CallToolResult(content=[text("Done in three parts.")])


async def need_sampling(context: Context, _: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
    declared = context.session.client_capabilities
    if declared is None or declared.sampling is None:
        raise MCPError(
            code=mcp_types.MISSING_REQUIRED_CLIENT_CAPABILITY,
            message="This tool needs a client that declares sampling.",
            data={"requiredCapabilities": {"sampling": {}}},
        )
    return mcp_types.CallToolResult(content=[text("The client declares sampling.")])


async def change_tools(_: Context, __: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
    await CHANGES.publish(ToolsListChanged())
    return mcp_types.CallToolResult(content=[text("Told that tools changed.")])


async def change_prompts(_: Context, __: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
    await CHANGES.publish(PromptsListChanged())
    return mcp_types.CallToolResult(content=[text("Told that prompts changed.")])


async def ask_back(context: Context, _: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
    """The older era's question in the middle of a call, which a stateless door cannot carry."""
    schema = {"type": "object", "properties": {"answer": {"type": "string"}}}
    try:
        await context.session.elicit_form("What now?", schema, related_request_id=context.request_id)
    except NoBackChannelError:
        return mcp_types.CallToolResult(content=[text("This door carries no questions.")], is_error=True)
    return mcp_types.CallToolResult(content=[text("Asked.")])


EMPTY: dict[str, Any] = {"type": "object", "properties": {}}
MIXED = embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}')
PLAIN = embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")

TOOLS: dict[str, tuple[dict[str, Any], Called]] = {
    "test_simple_text": (EMPTY, constant(text("This is a simple text response for testing."))),
    "test_image_content": (EMPTY, constant(IMAGE)),
    "test_audio_content": (EMPTY, constant(AUDIO)),
    "test_embedded_resource": (EMPTY, constant(PLAIN)),
    "test_multiple_content_types": (EMPTY, constant(text("Multiple content types test:"), IMAGE, MIXED)),
    "test_error_handling": (EMPTY, fail),
    "test_tool_with_logging": (EMPTY, tell_log),
    "test_logging_tool": (EMPTY, tell_log),
    "test_tool_with_progress": (EMPTY, report_progress),
    "test_missing_capability": (EMPTY, need_sampling),
    "test_trigger_tool_change": (EMPTY, change_tools),
    "test_trigger_prompt_change": (EMPTY, change_prompts),
    "test_sampling": (EMPTY, ask_back),
    "test_elicitation": (EMPTY, ask_back),
    "test_elicitation_sep1034_defaults": (EMPTY, ask_back),
    "test_elicitation_sep1330_enums": (EMPTY, ask_back),
    "json_schema_2020_12_tool": (SCHEMA_2020_12, constant(text("Took it."))),
    "test_custom_headers": (HEADER_SCHEMA, constant(text("Took it."))),
}
"""Name → input schema and what it does."""
