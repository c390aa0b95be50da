"""The two eras of the protocol: how a connection opens, the form of requests, and additions to
answers.

The client's first request decides: one with the 2026-07-28 envelope opens a stateless connection,
any other one the older handshake; behind HTTP each request is a connection, and a header decides.
Both answer what the protocol library answers, byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from handrail.contract.outcome import Json
from handrail.contract.wording import quote
from handrail.runtime.runtime import Runtime
from handrail.surfaces.mcp.messages import (
    INVALID,
    INVALID_PARAMS,
    INVALID_REQUEST,
    LISTING_LIFETIME_MS,
    METHOD_NOT_FOUND,
    RESOURCE_NOT_FOUND,
    SERVER_INFO,
    UNSUPPORTED_PROTOCOL_VERSION,
    WORKFLOW_SET,
    Asking,
    ClientRequest,
    Notification,
    Refusal,
    ResultOrRefusal,
    ToolSet,
)
from handrail.surfaces.mcp.questions import ToolCall, Waiting

if TYPE_CHECKING:  # its first use loads it, which is after the first answer
    from handrail.surfaces.mcp.adapter import Adapter


HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS_VERSIONS = ("2026-07-28",)
LISTS_OF_MESSAGES = "2025-03-26"
"""The one revision in which a line may be a list of messages."""
_ENVELOPE = "io.modelcontextprotocol/"
_VERSION = _ENVELOPE + "protocolVersion"
_CAPABILITIES = _ENVELOPE + "clientCapabilities"
_LEVELS = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
_Era: TypeAlias = Literal["handshake", "stateless"]
_Shaped = TypeVar("_Shaped")


class _Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Shared options of client data: unknown fields are ignored, a wrong type is rejected."""


class _Icon(_Part, frozen=True, kw_only=True):
    src: str
    mime_type: str | None = None
    sizes: list[str] | None = None
    theme: Literal["dark", "light"] | None = None


class _Implementation(_Part, frozen=True, kw_only=True):
    name: str
    version: str
    title: str | None = None
    description: str | None = None
    website_url: str | None = None
    icons: list[_Icon] | None = None


class _Elicitation(_Part, frozen=True, kw_only=True):
    form: dict[str, Any] | None = None
    url: dict[str, Any] | None = None


class _Sampling(_Part, frozen=True, kw_only=True):
    context: dict[str, Any] | None = None
    tools: dict[str, Any] | None = None


class _Roots(_Part, frozen=True, kw_only=True):
    list_changed: bool | None = None


class _Capabilities(_Part, frozen=True, kw_only=True):
    """Capabilities of a client; this server uses the first."""

    elicitation: _Elicitation | None = None
    experimental: dict[str, dict[str, Any]] | None = None
    extensions: dict[str, dict[str, Any]] | None = None
    roots: _Roots | None = None
    sampling: _Sampling | None = None
    tasks: dict[str, Any] | None = None


class _Meta(_Part, frozen=True, kw_only=True):
    progress_token: int | str | None = None


class _EraEnvelope(_Part, frozen=True, kw_only=True):
    """Facts about its client that every request of the stateless era contains."""

    version: str = msgspec.field(name=_VERSION)
    capabilities: _Capabilities = msgspec.field(name=_CAPABILITIES)
    info: _Implementation | None = msgspec.field(name=_ENVELOPE + "clientInfo", default=None)
    level: _LEVELS | None = msgspec.field(name=_ENVELOPE + "logLevel", default=None)
    progress_token: int | str | None = None


class _Bare(_Part, frozen=True, kw_only=True):
    meta: _Meta | None = msgspec.field(name="_meta", default=None)


class _Initialize(_Bare, frozen=True, kw_only=True):
    protocol_version: str
    capabilities: _Capabilities
    client_info: _Implementation


class _EraListing(_Bare, frozen=True, kw_only=True):
    cursor: str | None = None


class _Task(_Part, frozen=True, kw_only=True):
    ttl: int | None = None


class _CallTool(_Bare, frozen=True, kw_only=True):
    name: str
    arguments: dict[str, Any] | None = None
    task: _Task | None = None


class _AnsweredCall(_CallTool, frozen=True, kw_only=True):
    """A tool call of the stateless era, which may contain answers."""

    request_state: str | None = None
    input_responses: dict[str, dict[str, Any]] | None = None


class _GetPrompt(_Bare, frozen=True, kw_only=True):
    name: str
    arguments: dict[str, str] | None = None


class _ReadResource(_Bare, frozen=True, kw_only=True):
    uri: str


class _Argument(_Part, frozen=True, kw_only=True):
    name: str
    value: str


class _PromptReference(_Part, frozen=True, kw_only=True, tag_field="type", tag="ref/prompt"):
    name: str
    title: str | None = None


class _TemplateReference(_Part, frozen=True, kw_only=True, tag_field="type", tag="ref/resource"):
    uri: str


class _Resolved(_Part, frozen=True, kw_only=True):
    arguments: dict[str, str] | None = None


class _Complete(_Bare, frozen=True, kw_only=True):
    ref: _PromptReference | _TemplateReference
    argument: _Argument
    context: _Resolved | None = None


class _SetLevel(_Bare, frozen=True, kw_only=True):
    level: _LEVELS


class _Listen(_Bare, frozen=True, kw_only=True):
    notifications: dict[str, Any]


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """A request that an operation answers, in a worker."""

    perform: Callable[[Adapter, Runtime], ResultOrRefusal | Waiting]
    tool: str | None = None
    progress_token: int | str | None = None


_IN_BOTH: dict[str, type[_Bare]] = {
    "tools/list": _EraListing,
    "prompts/list": _EraListing,
    "prompts/get": _GetPrompt,
    "resources/list": _EraListing,
    "resources/templates/list": _EraListing,
    "resources/read": _ReadResource,
    "completion/complete": _Complete,
}
_HANDSHAKE = _IN_BOTH | {
    "initialize": _Initialize,
    "ping": _Bare,
    "tools/call": _CallTool,
    "resources/subscribe": _ReadResource,
    "resources/unsubscribe": _ReadResource,
    "logging/setLevel": _SetLevel,
}
_STATELESS = _IN_BOTH | {
    "server/discover": _Bare,
    "tools/call": _AnsweredCall,
    "subscriptions/listen": _Listen,
}
"""The requests of each era with the types of their params; others do not exist there."""
_UNSERVED = frozenset({"resources/subscribe", "resources/unsubscribe", "subscriptions/listen"})
"""Requests that exist but are not served; their params are still checked first."""
_BY_CAPABILITY = {"prompts": "prompts", "resources": "resources", "completion": "completions"}
"""Families of requests that only a server with the capability serves."""
_LIFETIMES_MS = {
    "tools/list": LISTING_LIFETIME_MS,
    "resources/templates/list": LISTING_LIFETIME_MS,
    "prompts/list": 0,
    "resources/list": 0,
    "resources/read": 0,
    "server/discover": 0,
}


UNNAMED = "an MCP client"
"""Client name of a request that does not state one: an HTTP request of the handshake era."""


class Connection:
    """One connection: its era, and what its client stated about itself. Only the reading thread uses it."""

    def __init__(self, tool_set: ToolSet = WORKFLOW_SET, era: _Era | None = None) -> None:
        """Create a connection; `era` is given for a connection of one request, which no handshake opens."""
        self._tool_set = tool_set
        self._is_one_request = era is not None
        self._era = era
        self._version = HANDSHAKE_VERSIONS[-1]
        self._asking: Asking = "never"
        self._client = UNNAMED
        self._is_accepted = era is not None

    @property
    def takes_lists(self) -> bool:
        return self._is_accepted and self._version == LISTS_OF_MESSAGES and self._era != "stateless"

    def hear(self, notification: Notification) -> None:
        """Process a notification of the handshake; cancelling is handled where requests are run."""
        if notification.method == "notifications/initialized" and self._era != "stateless":
            self._is_accepted = self._is_accepted or _is_meta(notification.params.get("_meta"))

    def answer(self, request: ClientRequest) -> ResultOrRefusal | Work:
        """Return the answer if it is known at once, or else the work that finds it."""
        is_enveloped = request.method != "initialize" and _has_envelope(request.params)
        if self._era is None:
            self._era = "stateless" if is_enveloped else "handshake"
        if self._era == "stateless":
            return self._answer_stateless(request)
        if is_enveloped:
            return Refusal(
                code=INVALID_REQUEST,
                message="this connection serves the handshake protocol era; "
                "requests carrying the 2026-07-28 envelope are not accepted on it",
            )
        return self._answer_after_handshake(request)

    def _answer_after_handshake(self, request: ClientRequest) -> ResultOrRefusal | Work:
        shape = _HANDSHAKE.get(request.method)
        if shape is None:
            return _unknown(request.method)
        params = _convert(request.params, shape)
        if params is None:
            return INVALID
        if isinstance(params, _Initialize):
            return self._initialize(params)
        if not self._is_served(request.method):
            return _unknown(request.method)
        if request.method == "ping":
            return {}
        if not self._is_accepted:
            return INVALID
        if request.method == "logging/setLevel":
            return {}  # accepted; this server sends no log messages
        token = None if params.meta is None else params.meta.progress_token
        work = _work(request.method, params, self._asking, token, RESOURCE_NOT_FOUND)
        work = _name_client(work, self._client)
        if request.method != "tools/list":
            return work
        return msgspec.structs.replace(
            work, perform=lambda adapter, rt: _order_keys(work.perform(adapter, rt))
        )

    def _initialize(self, params: _Initialize) -> dict[str, Json]:
        is_known = params.protocol_version in HANDSHAKE_VERSIONS
        self._version = params.protocol_version if is_known else HANDSHAKE_VERSIONS[-1]
        self._asking = "now" if _can_ask(params.capabilities) else "never"
        self._client = _name_of(params.client_info)
        self._is_accepted = True
        return {
            "capabilities": self._tool_set.capabilities,
            "instructions": self._tool_set.instructions,
            "protocolVersion": self._version,
            "serverInfo": SERVER_INFO,
        }

    def _is_served(self, method: str) -> bool:
        capability = _BY_CAPABILITY.get(method.partition("/")[0], "tools")
        return method not in _UNSERVED and capability in self._tool_set.capabilities

    def _answer_stateless(self, request: ClientRequest) -> ResultOrRefusal | Work:
        is_late = request.method == "initialize" and not self._is_one_request
        refusal = _initialized_late(request) if is_late else _envelope_flaw(request.params)
        if refusal is not None:
            return refusal
        shape = _STATELESS.get(request.method)
        if shape is None:
            return _unknown(request.method)
        params = _convert(request.params, shape)
        envelope = _convert(request.params["_meta"], _EraEnvelope)
        if params is None or envelope is None:
            return INVALID
        if not self._is_served(request.method):
            return _unknown(request.method)
        if request.method == "server/discover":
            tool_set = self._tool_set
            discovered = {"capabilities": tool_set.capabilities, "instructions": tool_set.instructions}
            return _sign_result(request.method, {**discovered, "supportedVersions": list(STATELESS_VERSIONS)})
        asking: Asking = "in the answer" if _can_ask(envelope.capabilities) else "never"
        work = _work(request.method, params, asking, envelope.progress_token, INVALID_PARAMS)
        perform = _name_client(work, _name_of(envelope.info)).perform

        def perform_signed(adapter: Adapter, runtime: Runtime) -> ResultOrRefusal | Waiting:
            found = perform(adapter, runtime)
            assert not isinstance(found, Waiting), "this era asks in the answer"
            return _sign_result(request.method, found)

        return msgspec.structs.replace(work, perform=perform_signed)


def _name_of(client: _Implementation | None) -> str:
    return UNNAMED if client is None else client.title or client.name or UNNAMED


def _name_client(work: Work, name: str) -> Work:
    """Return the work with a runtime that knows the client's name."""
    return msgspec.structs.replace(
        work, perform=lambda adapter, rt: work.perform(adapter, msgspec.structs.replace(rt, client=name))
    )


def _work(method: str, params: _Bare, asking: Asking, token: int | str | None, missing: int) -> Work:
    """Return the adapter's call; `missing` is the error code for an address that does not exist."""
    match params:
        case _EraListing(cursor=cursor) if method == "tools/list":
            return Work(perform=lambda adapter, _: adapter.list_tools(cursor))
        case _EraListing(cursor=cursor) if method == "resources/templates/list":
            return Work(perform=lambda adapter, _: adapter.list_templates(cursor))
        case _EraListing(cursor=cursor) if method == "prompts/list":
            return Work(perform=lambda adapter, rt: adapter.list_prompts(rt, cursor))
        case _EraListing(cursor=cursor):
            return Work(perform=lambda adapter, rt: adapter.list_resources(rt, cursor))
        case _CallTool():
            call = _tool_call(params)
            return Work(
                perform=lambda adapter, rt: adapter.call_tool(rt, call, asking),
                tool=call.name,
                progress_token=token,
            )
        case _GetPrompt(name=name, arguments=arguments):
            return Work(perform=lambda adapter, rt: adapter.get_prompt(rt, name, arguments or {}))
        case _ReadResource(uri=uri):
            return Work(perform=lambda adapter, rt: adapter.read_resource(rt, uri, missing))
        case _Complete(ref=ref, argument=typed):
            reference = {"name": ref.name} if isinstance(ref, _PromptReference) else {"uri": ref.uri}
            return Work(perform=lambda adapter, rt: adapter.complete(rt, reference, typed.name, typed.value))
        case _:
            raise AssertionError(f"{method} has no work")


def _tool_call(params: _CallTool) -> ToolCall:
    arguments = params.arguments or {}
    if not isinstance(params, _AnsweredCall):
        return ToolCall(name=params.name, arguments=arguments)
    brought: dict[str, Json] = {**(params.input_responses or {})}
    return ToolCall(
        name=params.name, arguments=arguments, request_state=params.request_state, input_responses=brought
    )


def complete_result(method: str, answer: ResultOrRefusal) -> ResultOrRefusal:
    """Return the result with what the stateless era requires: type and lifetime."""
    if isinstance(answer, Refusal):
        return answer
    added: dict[str, Json] = {"resultType": "complete"}
    if method in _LIFETIMES_MS:
        added |= {"cacheScope": "private", "ttlMs": _LIFETIMES_MS[method]}
    whole = added | answer
    return {name: whole[name] for name in sorted(whole)}


def _sign_result(method: str, answer: ResultOrRefusal) -> ResultOrRefusal:
    """Return the result with the server info, which the protocol library adds by itself."""
    whole = complete_result(method, answer)
    return whole if isinstance(whole, Refusal) else whole | {"_meta": {_ENVELOPE + "serverInfo": SERVER_INFO}}


def _order_keys(answer: ResultOrRefusal | Waiting) -> ResultOrRefusal | Waiting:
    """Order the keys as the older schema does: it names three keys of a tool's schemas, which come first."""
    if not isinstance(answer, dict):
        return answer
    return {"tools": [{key: _order_schema(value) for key, value in tool.items()} for tool in answer["tools"]]}


def _order_schema(value: Json) -> Json:
    if not isinstance(value, dict) or "properties" not in value:
        return value
    first = {key: value[key] for key in ("properties", "required", "type") if key in value}
    return first | value


def _can_ask(capabilities: _Capabilities) -> bool:
    """Whether the client stated that it can show a form."""
    elicitation = capabilities.elicitation
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


def _has_envelope(params: dict[str, Json]) -> bool:
    """Whether the request has an envelope; half of one counts, so that the client learns what is missing."""
    meta = params.get("_meta")
    return isinstance(meta, dict) and _VERSION in meta


def _envelope_flaw(params: dict[str, Json]) -> Refusal | None:
    meta = params.get("_meta")
    if not isinstance(meta, dict):
        message = (
            "params._meta must be an object carrying the required "
            f"{_VERSION!r} and {_CAPABILITIES!r} envelope keys"
        )
        return Refusal(code=INVALID_PARAMS, message=message)
    missing = [key for key in (_VERSION, _CAPABILITIES) if key not in meta]
    if missing:
        message = f"params._meta is missing the required envelope key(s): {', '.join(missing)}"
        return Refusal(code=INVALID_PARAMS, message=message)
    version = meta[_VERSION]
    if not isinstance(version, str):
        return Refusal(code=INVALID_PARAMS, message="the protocol-version envelope value must be a string")
    return None if version in STATELESS_VERSIONS else refuse_version(version)


def named_version(params: dict[str, Json]) -> Json | UnsetType:
    """Return the version that a whole envelope names; UNSET if the envelope is not whole."""
    meta = params.get("_meta")
    return meta.get(_VERSION, UNSET) if isinstance(meta, dict) and _CAPABILITIES in meta else UNSET


def refuse_version(version: str) -> Refusal:
    return _unsupported("Unsupported protocol version", version)


def _initialized_late(request: ClientRequest) -> Refusal:
    message = "connection is serving the 2026-07-28 protocol; the initialize handshake is not accepted"
    return _unsupported(message, request.params.get("protocolVersion"))


def _unsupported(message: str, requested: Json) -> Refusal:
    supported: dict[str, Json] = {"supported": list(STATELESS_VERSIONS)}
    data = supported | {"requested": requested} if isinstance(requested, str) else supported
    return Refusal(code=UNSUPPORTED_PROTOCOL_VERSION, message=message, data=data)


def _unknown(method: str) -> Refusal:
    message = f"There is no method {quote(method)} here; use one of the declared capabilities."
    return Refusal(code=METHOD_NOT_FOUND, message=message)


def _convert(document: Json, shape: type[_Shaped]) -> _Shaped | None:
    try:
        return msgspec.convert(document, shape)
    except msgspec.ValidationError:
        return None


def _is_meta(meta: Json) -> bool:
    return meta is None or isinstance(meta, dict)
