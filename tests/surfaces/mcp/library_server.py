"""The same adapter on the protocol library's own server: the oracle of what clients expect on either door.

Nothing of it is in the product. It answers the same requests with the library's reading of the protocol.
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
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from handrail import __version__
from handrail.contract.disclosure.fields import Level
from handrail.contract.outcome import Json
from handrail.contract.wording import quote
from handrail.runtime.runtime import Runtime
from handrail.surfaces.mcp.adapter import Adapter
from handrail.surfaces.mcp.arguments import MAX_BYTES
from handrail.surfaces.mcp.eras import UNNAMED, complete_result
from handrail.surfaces.mcp.messages import (
    ANSWER_SECONDS,
    CALLS_AT_ONCE,
    INSTRUCTIONS,
    INVALID_PARAMS,
    RESOURCE_NOT_FOUND,
    Asking,
    Refusal,
    ResultOrRefusal,
    Results,
)
from handrail.surfaces.mcp.questions import Question, ToolCall, Waiting, read_answer


def stateless_http(runtime: Runtime) -> StreamableHTTPSessionManager:
    """The library's door, stateless and with whole answers, as ours is; `run()` is entered around it."""
    return StreamableHTTPSessionManager(
        build_server(runtime),
        json_response=True,
        stateless=True,
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        max_request_body_size=MAX_BYTES,
    )


Context: TypeAlias = ServerRequestContext[Any]
Listing: TypeAlias = mcp_types.PaginatedRequestParams | None
_T = TypeVar("_T")


class ThreadedAdapter:
    """The adapter for the library's event loop: every operation runs in a worker thread."""

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self.runtime = adapter.runtime
        self._limiter = anyio.CapacityLimiter(CALLS_AT_ONCE)

    async def in_thread(self, work: Callable[[], _T]) -> _T:
        return await anyio.to_thread.run_sync(work, limiter=self._limiter)

    async def answer(self, context: Context, work: Callable[[], ResultOrRefusal]) -> dict[str, Json]:
        """The result; a refusal is a protocol error."""
        return _result(context, await self.in_thread(work))


def build_server(runtime: Runtime, *, results: Results = "both", mvi: Level = "standard") -> Server[Any]:
    """The protocol server around the operations."""
    adapter = Adapter(runtime, results, mvi)
    threaded = ThreadedAdapter(adapter)

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
        on_call_tool=partial(_call_tool, threaded),
        on_list_prompts=partial(_list_prompts, threaded),
        on_get_prompt=partial(_get_prompt, threaded),
        on_list_resources=partial(_list_resources, threaded),
        on_list_resource_templates=list_templates,
        on_read_resource=partial(_read_resource, threaded),
        on_completion=partial(_complete, threaded),
    )
    server.middleware.append(_refuse_briefly)
    return server


async def _refuse_briefly(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Shorten the refusal of an unknown method: the library repeats its whole name, however long."""
    try:
        return await call_next(ctx)
    except MCPError as trouble:
        if trouble.code != mcp_types.METHOD_NOT_FOUND:
            raise
        message = f"There is no method {quote(ctx.method)} here; use one of the declared capabilities."
        raise MCPError(code=mcp_types.METHOD_NOT_FOUND, message=message) from None


def _result(context: Context, told: ResultOrRefusal) -> dict[str, Json]:
    told = complete_result(context.method, told) if _is_modern(context) else told
    if not isinstance(told, Refusal):
        return told
    if told.data is UNSET:
        raise MCPError(code=told.code, message=told.message)
    raise MCPError(code=told.code, message=told.message, data=told.data)


async def _call_tool(
    threaded: ThreadedAdapter, context: Context, params: mcp_types.CallToolRequestParams
) -> Any:
    brought = {name: answer.model_dump() for name, answer in (params.input_responses or {}).items()}
    call = ToolCall(
        name=params.name,
        arguments=params.arguments or {},
        request_state=params.request_state,
        input_responses=brought,
    )
    runtime = replace(threaded.runtime, client=_client_name(context))
    found = await threaded.in_thread(lambda: threaded.adapter.call_tool(runtime, call, _asking(context)))
    while isinstance(found, Waiting):
        value = await _ask_now(context, found.question)
        if value is UNSET:
            return _result(context, found.unanswered)
        found = await threaded.in_thread(partial(found.go_on, runtime, value))
    return _result(context, found)


def _client_name(context: Context) -> str:
    """What the client calls itself: a run keeps it."""
    told = context.session.client_params
    return UNNAMED if told is None else told.client_info.title or told.client_info.name or UNNAMED


def _asking(context: Context) -> Asking:
    """How a person can be asked: only if the client can show a form and can be sent one."""
    declared = context.session.client_capabilities
    elicitation = None if declared is None else declared.elicitation
    if elicitation is None or (elicitation.form is None and elicitation.url is not None):
        return "never"
    if _is_modern(context):
        return "in the answer"
    return "now" if context.session.can_send_request else "never"


def _is_modern(context: Context) -> bool:
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


async def _ask_now(context: Context, question: Question) -> Json | UnsetType:
    with anyio.move_on_after(ANSWER_SECONDS):
        try:
            answer = await context.session.elicit_form(
                question.message, question.schema, related_request_id=context.request_id
            )
        except MCPError:
            return UNSET  # the client could not ask after all
        return read_answer(question, answer.action, answer.content)
    return UNSET


async def _list_prompts(threaded: ThreadedAdapter, context: Context, params: Listing) -> Any:
    cursor = params.cursor if params else None
    return await threaded.answer(context, lambda: threaded.adapter.list_prompts(threaded.runtime, cursor))


async def _get_prompt(
    threaded: ThreadedAdapter, context: Context, params: mcp_types.GetPromptRequestParams
) -> Any:
    return await threaded.answer(
        context, lambda: threaded.adapter.get_prompt(threaded.runtime, params.name, params.arguments or {})
    )


async def _list_resources(threaded: ThreadedAdapter, context: Context, params: Listing) -> Any:
    cursor = params.cursor if params else None
    return await threaded.answer(context, lambda: threaded.adapter.list_resources(threaded.runtime, cursor))


async def _read_resource(
    threaded: ThreadedAdapter, context: Context, params: mcp_types.ReadResourceRequestParams
) -> Any:
    missing = INVALID_PARAMS if _is_modern(context) else RESOURCE_NOT_FOUND
    return await threaded.answer(
        context, lambda: threaded.adapter.read_resource(threaded.runtime, params.uri, missing)
    )


async def _complete(
    threaded: ThreadedAdapter, context: Context, params: mcp_types.CompleteRequestParams
) -> Any:
    named, argument = params.ref, params.argument
    reference = {"name": named.name} if isinstance(named, mcp_types.PromptReference) else {"uri": named.uri}
    return await threaded.answer(
        context, lambda: threaded.adapter.complete(threaded.runtime, reference, argument.name, argument.value)
    )
