"""The protocol library's server around the adapter, for HTTP.

It serves the stateless 2026-07-28 revision and the older handshake; the client's first request decides.
Only this file and `over_http` import the protocol library: it costs more to start than all the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias, TypeVar

import anyio
import anyio.to_thread
import mcp_types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from msgspec import UNSET, UnsetType

from handrail import __version__
from handrail.contract.outcome import Json
from handrail.contract.shape import Level
from handrail.contract.wording import quoted
from handrail.runtime.runtime import Runtime
from handrail.surfaces.mcp.adapter import Adapter
from handrail.surfaces.mcp.eras import completed
from handrail.surfaces.mcp.introduction import ANSWER_SECONDS, CALLS_AT_ONCE, INSTRUCTIONS, Asking, Results
from handrail.surfaces.mcp.messages import INVALID_PARAMS, RESOURCE_NOT_FOUND, Refusal, Told
from handrail.surfaces.mcp.questions import Question, ToolCall, Waiting, answer_in

Context: TypeAlias = ServerRequestContext[Any]
Listing: TypeAlias = mcp_types.PaginatedRequestParams | None
_T = TypeVar("_T")


class Door:
    """The adapter as the library's event loop sees it: every operation in a worker thread."""

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self.runtime = adapter.runtime
        self._limiter = anyio.CapacityLimiter(CALLS_AT_ONCE)

    async def in_thread(self, work: Callable[[], _T]) -> _T:
        return await anyio.to_thread.run_sync(work, limiter=self._limiter)

    async def told(self, context: Context, work: Callable[[], Told]) -> dict[str, Json]:
        """The result; a refusal is a protocol error."""
        return _result(context, await self.in_thread(work))


def build_server(runtime: Runtime, *, results: Results = "both", mvi: Level = "standard") -> Server[Any]:
    """The protocol server around the operations."""
    adapter = Adapter(runtime, results, mvi)
    door = Door(adapter)

    async def list_tools(context: Context, params: Listing) -> Any:
        return _result(context, adapter.list_tools(params.cursor if params else None))

    async def list_templates(context: Context, params: Listing) -> Any:
        return _result(context, adapter.list_templates(params.cursor if params else None))

    server: Server[Any] = Server(
        "handrail",
        version=__version__,
        title="Handrail",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=partial(_call_tool, door),
        on_list_prompts=partial(_list_prompts, door),
        on_get_prompt=partial(_get_prompt, door),
        on_list_resources=partial(_list_resources, door),
        on_list_resource_templates=list_templates,
        on_read_resource=partial(_read_resource, door),
        on_completion=partial(_complete, door),
    )
    server.middleware.append(_refuse_briefly)
    return server


async def _refuse_briefly(ctx: Context, call_next: CallNext) -> HandlerResult:
    """The library repeats the name of an unknown method whole, however long it is and whatever it hides."""
    try:
        return await call_next(ctx)
    except MCPError as trouble:
        if trouble.code != mcp_types.METHOD_NOT_FOUND:
            raise
        message = f"There is no method {quoted(ctx.method)} here; use one of the declared capabilities."
        raise MCPError(code=mcp_types.METHOD_NOT_FOUND, message=message) from None


def _result(context: Context, told: Told) -> dict[str, Json]:
    told = completed(context.method, told) if _is_modern(context) else told
    if not isinstance(told, Refusal):
        return told
    if told.data is UNSET:
        raise MCPError(code=told.code, message=told.message)
    raise MCPError(code=told.code, message=told.message, data=told.data)


async def _call_tool(door: Door, context: Context, params: mcp_types.CallToolRequestParams) -> Any:
    brought = {name: answer.model_dump() for name, answer in (params.input_responses or {}).items()}
    call = ToolCall(
        name=params.name,
        arguments=params.arguments or {},
        request_state=params.request_state,
        input_responses=brought,
    )
    found = await door.in_thread(lambda: door.adapter.call_tool(door.runtime, call, _asking(context)))
    if not isinstance(found, Waiting):
        return _result(context, found)
    value = await _asked_now(context, found.question)
    return await door.told(context, lambda: found.go_on(door.runtime, value))


def _asking(context: Context) -> Asking:
    """The client said that it can show a form, and there is a way to send one."""
    declared = context.session.client_capabilities
    elicitation = None if declared is None else declared.elicitation
    if elicitation is None or (elicitation.form is None and elicitation.url is not None):
        return "never"
    if _is_modern(context):
        return "in the answer"
    return "now" if context.session.can_send_request else "never"


def _is_modern(context: Context) -> bool:
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


async def _asked_now(context: Context, question: Question) -> Json | UnsetType:
    with anyio.move_on_after(ANSWER_SECONDS):
        try:
            answer = await context.session.elicit_form(
                question.message, question.schema, related_request_id=context.request_id
            )
        except MCPError:
            return UNSET  # the client could not ask after all
        return answer_in(question, answer.action, answer.content)
    return UNSET


async def _list_prompts(door: Door, context: Context, params: Listing) -> Any:
    cursor = params.cursor if params else None
    return await door.told(context, lambda: door.adapter.list_prompts(door.runtime, cursor))


async def _get_prompt(door: Door, context: Context, params: mcp_types.GetPromptRequestParams) -> Any:
    return await door.told(
        context, lambda: door.adapter.get_prompt(door.runtime, params.name, params.arguments or {})
    )


async def _list_resources(door: Door, context: Context, params: Listing) -> Any:
    cursor = params.cursor if params else None
    return await door.told(context, lambda: door.adapter.list_resources(door.runtime, cursor))


async def _read_resource(door: Door, context: Context, params: mcp_types.ReadResourceRequestParams) -> Any:
    missing = INVALID_PARAMS if _is_modern(context) else RESOURCE_NOT_FOUND
    return await door.told(context, lambda: door.adapter.read_resource(door.runtime, params.uri, missing))


async def _complete(door: Door, context: Context, params: mcp_types.CompleteRequestParams) -> Any:
    named, argument = params.ref, params.argument
    reference = {"name": named.name} if isinstance(named, mcp_types.PromptReference) else {"uri": named.uri}
    return await door.told(
        context, lambda: door.adapter.complete(door.runtime, reference, argument.name, argument.value)
    )
