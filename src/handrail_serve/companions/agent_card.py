"""The agent card: what A2A clients read before they call, made from the registry.

The card needs no library. Calls do, so the card is published only where they can be answered.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any, Protocol, TypeAlias

from handrail import __version__
from handrail.contract.catalogue import E_NOT_FOUND
from handrail.contract.envelopes.lafs import SCHEMA_URI
from handrail.contract.outcome import Failure, Json
from handrail.runtime.operation import Registry
from handrail_serve.api import offered_operations
from handrail_serve.calls import LAFS_TYPE, Served
from handrail_serve.companions.lafs import DESCRIPTION, Published, publish
from handrail_serve.exchange import JSON_TYPE, Headers, HttpRequest, Response, deprecated_since

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
    return publish(describe_agent(registry, address))


def describe_agent(registry: Registry, address: str) -> dict[str, Json]:
    """The card. A2A 1.0 and LAFS name some things differently; a reader ignores what it does not know."""
    url = address + A2A
    return {
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
