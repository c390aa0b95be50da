"""What LAFS asks of an HTTP server beside the envelope: the context ledger, discovery, and
the card and calls of other agents (A2A), of which only `a2a_calls.py` needs a library.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from hashlib import sha256
from typing import Any, Literal, Protocol, TypeAlias

import msgspec

from handrail.contract.catalogue import E_NOT_FOUND
from handrail.contract.envelopes.lafs import SCHEMA_URI, VERSION
from handrail.contract.json.canonical import canonical_bytes
from handrail.contract.outcome import Failure, Fault, Json, refuse_argument
from handrail.contract.wording import quote
from handrail.runtime.operation import Operation, Registry, operation
from handrail.version import __version__
from handrail_serve.api import (
    OF_THE_COMMAND_LINE,
    PREFIX,
    methods_of,
    offered_operations,
    read_ask,
    read_message_call,
    read_query,
    why_not_served,
)
from handrail_serve.calls import LAFS_TYPE, Asked, Served, answer_read
from handrail_serve.exchange import JSON_TYPE, Headers, HttpRequest, Response, deprecated_since, parameters

LEDGER = "/_lafs/context/"
DISCOVERY = "/.well-known/lafs.json"
_DISCOVERY_SCHEMA = "https://lafs.dev/schemas/v1/discovery.schema.json"
DESCRIPTION = (
    "Gives AI agents one workflow step at a time, keeps every accepted step in a log, and proves what a "
    "change does."
)
_GROUPS = {
    "workflow": "Workflows: list, inspect, check, draw and simulate them.",
    "run": "Runs: start, continue, checkpoint, close and confirm them.",
    "check": "Receipts of programs that ran.",
    "code": "Files of a project, and source code.",
    "session": "Sessions: list, show, resume, export and import them.",
    "preferences": "How a run may act without a person.",
    "keys": "The keys that sign tokens.",
    "store": "The store as a whole.",
    "ledger": "The context ledger of a run.",
    "lafs": "Checks of the response contract.",
    "clients": "Agents' clients.",
    "program": "The program itself.",
    "self": "Context and check-up of this installation.",
}


# The context ledger


def answer_ledger(served: Served, request: HttpRequest) -> Response:
    """The ledger, by the names of LAFS 8.1.2; the answer is always a LAFS envelope, a refusal too."""
    plain = Asked(
        operation="ledger.show",
        params={"runId": request.segments[0]},
        dialect="lafs",
        request_id=request.id,
        source=f"GET {LEDGER}",
    )
    return answer_read(served, plain, lambda: _read_ledger_call(plain, request))


def _read_ledger_call(plain: Asked, request: HttpRequest) -> Asked:
    """Raises Fault VALIDATION_ERROR."""
    given = parameters(request.query)
    ask = read_ask([(name, value) for name, value in given if name.startswith("_")])
    own = [(name, value) for name, value in given if not name.startswith("_")]
    params = read_query(operation("ledger.show"), [pair for pair in own if pair[0] not in _LAFS_NAMES])
    return msgspec.structs.replace(plain, params={**params, **plain.params, **_read_lafs_names(own)}, ask=ask)


_LAFS_NAMES = ("includeChecksum", "filterByOperation")


def _read_lafs_names(given: Sequence[tuple[str, str]]) -> dict[str, Json]:
    """What LAFS spells otherwise: a positive switch, and a list that may repeat its name."""
    params: dict[str, Json] = {}
    names = [value for name, value in given if name == "filterByOperation"]
    if names:
        params["filterByOperation"] = ",".join(names)
    switches = [value for name, value in given if name == "includeChecksum"]
    if len(switches) > 1 or not set(switches) <= {"true", "false"}:
        raise refuse_argument(
            "The parameter includeChecksum is true or false.", "includeChecksum", "not true or false"
        )
    return params | ({"withoutChecksum": True} if switches == ["false"] else {})


# Discovery


@cache
def publish_service(registry: Registry, address: str) -> Published:
    """The discovery document: what this server can do, and nothing about who uses it."""
    groups: dict[str, list[Operation]] = {}
    for called in offered_operations(registry):
        groups.setdefault(called.name.partition(".")[0], []).append(called)
    return publish(
        {
            "$schema": _DISCOVERY_SCHEMA,
            "lafs_version": VERSION,
            "service": {"name": "handrail", "version": __version__, "description": DESCRIPTION},
            "capabilities": [
                {
                    "name": group,
                    "version": VERSION,
                    "operations": [called.name for called in members],
                    "description": _GROUPS.get(group, f"Operations of {group}."),
                    "optional": False,
                }
                for group, members in groups.items()
            ],
            "endpoints": {
                "envelope": f"{address}/api",
                "context": f"{address}{LEDGER.rstrip('/')}",
                "discovery": f"{address}{DISCOVERY}",
            },
        }
    )


class Published(msgspec.Struct, frozen=True, kw_only=True):
    """A document for everybody, with the tag by which a client sees that it has it."""

    body: bytes
    tag: bytes


@cache
def publish_operations(registry: Registry, closed: frozenset[str] = frozenset()) -> Published:
    """Every operation that a caller over HTTP can perform, with how it is asked for; `closed` are those that
    this one may not.
    """
    rows = [
        {
            "name": called.name,
            "address": PREFIX + called.name,
            "methods": list(methods_of(called)),
            "effect": called.effect,
            "summary": called.summary,
            "input": msgspec.json.schema(called.input),
        }
        for called in offered_operations(registry)
        if called.name not in closed
    ]
    reasons = {one.name: why_not_served(one) for one in registry.operations()}
    elsewhere = {name: reason for name, reason in reasons.items() if reason} | OF_THE_COMMAND_LINE
    return publish({"operations": rows, "not_served": elsewhere})


def publish(document: dict[str, Any]) -> Published:
    """The tag is made of the canonical bytes, so the same document has one tag in every process."""
    body = canonical_bytes(document)
    return Published(body=body, tag=b'"' + sha256(body).hexdigest()[:32].encode() + b'"')


def answer_published(published: Published, request: HttpRequest, more: Headers = ()) -> Response:
    """The document, or that the client has it already."""
    headers = (
        (b"content-type", JSON_TYPE),
        (b"etag", published.tag),
        (b"cache-control", b"no-cache"),
        *more,
    )
    known = [tag.strip().removeprefix(b"W/") for tag in request.header(b"if-none-match").split(b",")]
    if published.tag in known or known == [b"*"]:
        return Response(status=304, headers=headers[1:])
    return Response(headers=headers, body=published.body)


# The agent card: what A2A clients read before they call, made from the registry


CARD = "/.well-known/agent-card.json"
A2A = "/a2a"
PROTOCOL_VERSION = "1.0"
EXTENSION = "https://lafs.dev/extensions/envelope/v1"
_CARD_SCHEMA = "https://lafs.dev/schemas/v1/agent-card.schema.json"
_SCHEME = "bearer"

NOT_INSTALLED = Failure(
    kind=E_NOT_FOUND,
    message="This server has no agent card: the A2A library is not installed beside it.",
    hint="Install handrail[a2a] and start the server again, or read /.well-known/lafs.json.",
)


SUCCESSION: Headers = (
    deprecated_since("2026-11-16"),
    (b"link", b"<" + CARD.encode() + b'>; rel="successor-version"'),
)
"""On the discovery document where the card is there too: LAFS still asks for it, and calls it the older form.

It has no day on which it goes, so there is no `Sunset`."""


class A2aCalls(Protocol):
    """Answers the requests of A2A clients."""

    async def answer(self, request: HttpRequest, body: bytes) -> Response: ...


InThread: TypeAlias = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Runs work outside the event loop."""
BuildA2a: TypeAlias = Callable[[Served, InThread], A2aCalls]
"""Loads the library, which takes a second: at the first call, not at the start."""


@cache
def publish_card(registry: Registry, address: str) -> Published:
    """The card. A2A 1.0 and LAFS name some things differently; a reader ignores what it does not know."""
    url = address + A2A
    return publish(
        {
            "$schema": _CARD_SCHEMA,
            "name": "handrail",
            "description": DESCRIPTION,
            "version": __version__,
            "url": url,
            "supportedInterfaces": [
                {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": PROTOCOL_VERSION}
            ],
            "capabilities": {
                "streaming": False,
                "pushNotifications": False,
                "extendedAgentCard": False,
                "extensions": [
                    {
                        "uri": EXTENSION,
                        "description": "Each result is a LAFS envelope, in an artifact named lafs_response.",
                        "required": False,
                        "params": {
                            "supportsContextLedger": True,
                            "supportsTokenBudgets": True,
                            "envelopeSchema": SCHEMA_URI,
                        },
                    }
                ],
            },
            "securitySchemes": {
                _SCHEME: {
                    "type": "http",
                    "scheme": "Bearer",
                    "httpAuthSecurityScheme": {"scheme": "Bearer"},
                }
            },
            "security": [{_SCHEME: []}],
            "securityRequirements": [{"schemes": {_SCHEME: {"list": []}}}],
            "defaultInputModes": [JSON_TYPE.decode()],
            "defaultOutputModes": [LAFS_TYPE.decode()],
            "skills": [
                {
                    "id": called.name,
                    "name": called.name,
                    "description": called.summary,
                    "tags": [called.name.partition(".")[0], called.effect],
                }
                for called in offered_operations(registry)
            ],
        }
    )


# What the message of another agent asks for, and how its task ends


State: TypeAlias = Literal["COMPLETED", "INPUT_REQUIRED", "AUTH_REQUIRED", "REJECTED", "FAILED"]
LONGEST_ID = 200
TASKS_KEPT = 256
TASK_BYTES_KEPT = 16 * 1024 * 1024
"""Envelopes of past tasks, in all; the oldest go first."""
SHAPE = (
    "The message must have one data part with an object: "
    '{"operation": "session.list", "input": {…}}; the agent card names the operations.'
)
_SOURCE = f"POST {A2A}"


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """How a call ended, and the LAFS envelope that says so."""

    state: State
    body: bytes


def read_call(parts: Sequence[Json]) -> tuple[str, dict[str, Json]] | None:
    """The operation and the input that the data of a message's parts name; None where they do not."""
    match list(parts):
        case [{"operation": str() as operation, **rest}] if set(rest) <= {"input"}:
            given = rest.get("input", {})
            return (operation, _with_integers(given)) if isinstance(given, dict) else None
        case _:
            return None


def _with_integers(value: Any) -> Any:
    """The value with 5 for 5.0: clients of this protocol can send no other numbers."""
    match value:
        case dict():
            return {name: _with_integers(one) for name, one in value.items()}
        case list():
            return [_with_integers(one) for one in value]
        case float() if value.is_integer():
            return int(value)
        case _:
            return value


def perform_for_agent(served: Served, request_id: str, operation: str, given: dict[str, Json]) -> Done:
    """Perform the operation. Never raises: trouble is a state and an envelope too."""
    named = operation[:LONGEST_ID]
    plain = Asked(operation=named, params={}, dialect="lafs", request_id=request_id, source=_SOURCE)
    called = next((one for one in offered_operations(served.runtime.registry) if one.name == operation), None)

    def read() -> Asked:
        if called is not None:
            return read_message_call(called, given, request_id, _SOURCE)
        raise Fault(
            E_NOT_FOUND,
            f"No operation of this server is named {quote(operation)}.",
            details={"resource": "operation", "id": named},
            hint="Use the id of a skill of the agent card.",
        )

    response = answer_read(served, plain, read)
    body = response.body
    assert isinstance(body, bytes), "an operation is answered as a whole"
    state = "REJECTED" if called is None else _state_of(response.status, json.loads(body))
    return Done(state=state, body=body)


def _state_of(status: int, envelope: Any) -> State:
    if status == 200:
        result = envelope.get("result")
        is_blocked = isinstance(result, dict) and result.get("kind") == "blocked"
        return "INPUT_REQUIRED" if is_blocked else "COMPLETED"
    error = envelope.get("error") or {}
    return "AUTH_REQUIRED" if error.get("category") == "AUTH" else "FAILED"
