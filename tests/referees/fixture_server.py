"""The product's MCP server with the official suite's named tools, prompts and resources laid over it.

Every answer passes through the server that `build_server` made and the door that the product uses; what the
suite does not name is answered by the product.
"""

from __future__ import annotations

from typing import Any

import mcp_types
from mcp.server.lowlevel import Server
from mcp.server.subscriptions import ListenHandler
from mcp.shared.exceptions import MCPError

from handrail.runtime.runtime import Runtime
from handrail.surfaces.mcp.over_http import build_server
from tests.referees.suite_fixtures.pages import (
    PROMPTS,
    prompt_definitions,
    prompt_messages,
    resource_contents,
    resource_definitions,
    template_definitions,
)
from tests.referees.suite_fixtures.questions import ASKING, PROMPT, answer_or_ask, prompt_or_ask
from tests.referees.suite_fixtures.tools import CHANGES, EMPTY, TOOLS, Context


def build_fixture_server(runtime: Runtime) -> Server[Any]:
    server = build_server(runtime)
    _lay_over_tools(server)
    _lay_over_prompts(server)
    _lay_over_resources(server)
    _lay_over_utilities(server)
    return server


def _lay_over_tools(server: Server[Any]) -> None:
    listed, called = server.get_request_handler("tools/list"), server.get_request_handler("tools/call")
    assert listed is not None, "the product lists tools"
    assert called is not None, "the product answers calls"
    schemas = {name: schema for name, (schema, _) in TOOLS.items()} | dict.fromkeys(ASKING, EMPTY)
    mine = [
        mcp_types.Tool(name=name, description=f"The suite's {name}.", input_schema=schema)
        for name, schema in schemas.items()
    ]

    async def list_tools(context: Context, params: mcp_types.PaginatedRequestParams) -> Any:
        own = await listed.handler(context, params)
        assert isinstance(own, dict), "the product answers in plain data"
        return {
            **own,
            "tools": [*own["tools"], *(tool.model_dump(by_alias=True, exclude_none=True) for tool in mine)],
        }

    async def call_tool(context: Context, params: mcp_types.CallToolRequestParams) -> Any:
        if params.name in ASKING:
            return answer_or_ask(context, params)
        if params.name in TOOLS:
            return await TOOLS[params.name][1](context, params)
        return await called.handler(context, params)

    server.add_request_handler("tools/list", mcp_types.PaginatedRequestParams, list_tools)
    server.add_request_handler("tools/call", mcp_types.CallToolRequestParams, call_tool)


def _lay_over_prompts(server: Server[Any]) -> None:
    async def list_prompts(_: Context, __: mcp_types.PaginatedRequestParams) -> mcp_types.ListPromptsResult:
        return mcp_types.ListPromptsResult(prompts=prompt_definitions())

    async def get_prompt(_: Context, params: mcp_types.GetPromptRequestParams) -> Any:
        if params.name == PROMPT:
            return prompt_or_ask(params)
        missing = set(PROMPTS.get(params.name, ("name",))) - set(params.arguments or {})
        if missing:
            raise MCPError(code=mcp_types.INVALID_PARAMS, message=f"Give {', '.join(sorted(missing))}.")
        return mcp_types.GetPromptResult(messages=prompt_messages(params.name, params.arguments or {}))

    server.add_request_handler("prompts/list", mcp_types.PaginatedRequestParams, list_prompts)
    server.add_request_handler("prompts/get", mcp_types.GetPromptRequestParams, get_prompt)


def _lay_over_resources(server: Server[Any]) -> None:
    async def list_resources(
        _: Context, __: mcp_types.PaginatedRequestParams
    ) -> mcp_types.ListResourcesResult:
        return mcp_types.ListResourcesResult(resources=resource_definitions())

    async def list_templates(
        _: Context, __: mcp_types.PaginatedRequestParams
    ) -> mcp_types.ListResourceTemplatesResult:
        return mcp_types.ListResourceTemplatesResult(resource_templates=template_definitions())

    async def read_resource(
        _: Context, params: mcp_types.ReadResourceRequestParams
    ) -> mcp_types.ReadResourceResult:
        contents = resource_contents(params.uri)
        if contents is None:
            raise MCPError(
                code=mcp_types.INVALID_PARAMS, message="Resource not found", data={"uri": params.uri}
            )
        return mcp_types.ReadResourceResult(contents=[contents])

    server.add_request_handler("resources/list", mcp_types.PaginatedRequestParams, list_resources)
    server.add_request_handler("resources/templates/list", mcp_types.PaginatedRequestParams, list_templates)
    server.add_request_handler("resources/read", mcp_types.ReadResourceRequestParams, read_resource)


def _lay_over_utilities(server: Server[Any]) -> None:
    async def nothing(_: Context, __: Any) -> mcp_types.EmptyResult:
        return mcp_types.EmptyResult()

    async def complete(_: Context, params: mcp_types.CompleteRequestParams) -> mcp_types.CompleteResult:
        values = [each for each in ("test-one", "test-two") if each.startswith(params.argument.value)]
        return mcp_types.CompleteResult(completion=mcp_types.Completion(values=values, total=len(values)))

    server.add_request_handler("resources/subscribe", mcp_types.SubscribeRequestParams, nothing)
    server.add_request_handler("resources/unsubscribe", mcp_types.UnsubscribeRequestParams, nothing)
    server.add_request_handler("logging/setLevel", mcp_types.SetLevelRequestParams, nothing)
    server.add_request_handler("completion/complete", mcp_types.CompleteRequestParams, complete)
    server.add_request_handler(
        "subscriptions/listen", mcp_types.SubscriptionsListenRequestParams, ListenHandler(CHANGES)
    )
