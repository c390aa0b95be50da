"""What LAFS asks of an HTTP server beside the envelope: the context ledger and the discovery document."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from typing import Any

import msgspec

from handrail import __version__
from handrail.contract.catalogue import VALIDATION_ERROR
from handrail.contract.envelopes.lafs import VERSION
from handrail.contract.json.canonical import canonical_bytes
from handrail.contract.outcome import Fault, Json
from handrail.runtime.operation import Operation, Registry, operation
from handrail_serve.api import (
    OF_THE_COMMAND_LINE,
    PREFIX,
    methods_of,
    offered_operations,
    read_ask,
    read_query,
    why_not_served,
)
from handrail_serve.calls import Asked, Served, answer_read
from handrail_serve.exchange import JSON_TYPE, Headers, HttpRequest, Response, parameters

LEDGER = "/_lafs/context/"
DISCOVERY = "/.well-known/lafs.json"
_DISCOVERY_SCHEMA = "https://lafs.dev/schemas/v1/discovery.schema.json"
DESCRIPTION = (
    "Hands an AI agent one workflow step at a time, and survives rewinds, compaction, crashes and new chats."
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
        door=f"GET {LEDGER}",
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
        raise Fault(
            VALIDATION_ERROR,
            "The parameter includeChecksum is true or false.",
            details={"problems": [{"param": "includeChecksum", "problem": "not true or false"}]},
        )
    return params | ({"withoutChecksum": True} if switches == ["false"] else {})


# Discovery


def describe_service(registry: Registry, address: str) -> dict[str, Json]:
    """The discovery document: what this server can do, and nothing about who uses it."""
    groups: dict[str, list[Operation]] = {}
    for called in offered_operations(registry):
        groups.setdefault(called.name.partition(".")[0], []).append(called)
    return {
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


class Published(msgspec.Struct, frozen=True, kw_only=True):
    """A document for everybody, with the tag by which a client sees that it has it."""

    body: bytes
    tag: bytes


@cache
def publish_service(registry: Registry, address: str) -> Published:
    return publish(describe_service(registry, address))


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
