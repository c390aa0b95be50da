"""The MCP server for HTTP: the protocol library's server around the adapter, as an ASGI app.

It serves the stateless 2026-07-28 revision and the older handshake; the client's first request decides.
It is stateless in both, and checks Host and Origin itself. Only this file imports the protocol library, which
costs more to start than all the rest; a client on stdin and stdout must not pay for it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, Literal, TypeAlias, TypeVar

import anyio
import anyio.to_thread
import mcp_types
import msgspec
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from msgspec import UNSET, UnsetType

from handrail import __version__
from handrail.contract.catalogue import HOST_REFUSED, METHOD_NOT_ALLOWED, ORIGIN_REFUSED
from handrail.contract.disclosure.fields import Level
from handrail.contract.envelopes.mcp_and_http import MEDIA_TYPE, to_problem
from handrail.contract.outcome import Failure, Json
from handrail.contract.wording import quote
from handrail.runtime.runtime import Runtime
from handrail.surfaces.mcp.adapter import Adapter
from handrail.surfaces.mcp.arguments import MAX_BYTES
from handrail.surfaces.mcp.eras import complete_result
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

# The ASGI app

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
"""The three arguments of every ASGI app; they need no web framework."""

Answers: TypeAlias = Literal["json", "stream"]
"""`stream` is for calls that report progress; ours answer once, so `json` is enough."""

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def loopback_authorities(port: int) -> tuple[str, ...]:
    """Every spelling of the address of a server on this port, for clients on this machine."""
    return tuple(f"{host}:{port}" for host in LOOPBACK)


class HttpApp:
    """One MCP server behind HTTP. Mount it at a path, and keep `running()` entered while it is mounted."""

    def __init__(
        self,
        server: Server[Any],
        authorities: Sequence[str],
        *,
        scheme: str = "http",
        answers: Answers = "json",
    ) -> None:
        self._hosts = frozenset(authority.encode("ascii") for authority in authorities)
        self._origins = frozenset(f"{scheme}://{authority}".encode("ascii") for authority in authorities)
        # Exact lists here too: the default of the library accepts any port, and so any local page.
        exact = TransportSecuritySettings(
            allowed_hosts=list(authorities), allowed_origins=[f"{scheme}://{each}" for each in authorities]
        )
        self._manager = StreamableHTTPSessionManager(
            server,
            json_response=answers == "json",
            stateless=True,
            security_settings=exact,
            max_request_body_size=MAX_BYTES,
        )

    def running(self) -> AbstractAsyncContextManager[None]:
        """A mounted app is not started by itself, so its host enters this while it runs."""
        return self._manager.run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return  # no WebSocket; the server closes it unanswered
        refusal = self._refusal(scope)
        if refusal is not None:
            await _answer_refused(send, refusal)
            return
        await self._manager.handle_request(scope, receive, send)

    def _refusal(self, scope: Scope) -> Failure | None:
        """Compare whole values: nothing is parsed, so nothing can be parsed differently elsewhere."""
        hosts = _values(scope, b"host")
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return Failure(kind=HOST_REFUSED, message="This server does not answer under that Host.")
        origins = _values(scope, b"origin")
        if len(origins) > 1 or not self._origins.issuperset(origins):
            return Failure(kind=ORIGIN_REFUSED, message="This server does not answer pages of that origin.")
        if scope["method"] != "POST":
            # The library would keep a GET open forever, for messages that a stateless server never sends.
            message = "MCP requests are sent with POST; there is no stream to open and no session to end."
            return Failure(kind=METHOD_NOT_ALLOWED, message=message, details={"allow": ["POST"]})
        return None


def _values(scope: Scope, name: bytes) -> list[bytes]:
    """Every occurrence of a header; a lookup by name would hide all but one."""
    return [value for key, value in scope["headers"] if key == name]


async def _answer_refused(send: Send, refusal: Failure) -> None:
    problem = to_problem(refusal, "")
    del problem["instance"]  # a refused request has no id
    body = msgspec.json.encode(problem)
    headers = [
        (b"content-type", MEDIA_TYPE.encode("ascii")),
        (b"content-length", str(len(body)).encode("ascii")),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
    ]
    if refusal.kind is METHOD_NOT_ALLOWED:
        headers.append((b"allow", b"POST"))
    await send({"type": "http.response.start", "status": refusal.kind.http_status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


# The protocol server

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
    found = await threaded.in_thread(
        lambda: threaded.adapter.call_tool(threaded.runtime, call, _asking(context))
    )
    while isinstance(found, Waiting):
        value = await _ask_now(context, found.question)
        if value is UNSET:
            return _result(context, found.unanswered)
        found = await threaded.in_thread(partial(found.go_on, threaded.runtime, value))
    return _result(context, found)


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
