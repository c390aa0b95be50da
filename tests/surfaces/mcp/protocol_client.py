"""The official client on our protocol server, without a process in between."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types
from mcp import Client

from handrail.runtime.runtime import Runtime
from handrail.surfaces.mcp.over_http import build_server

ERAS = ("legacy", "auto")
"""How a client opens: with the older handshake, or with the stateless revision if the server has it."""


@asynccontextmanager
async def talking_to(runtime: Runtime, era: str, **options: Any) -> AsyncIterator[Client]:
    async with Client(build_server(runtime), mode=era, **options) as client:
        yield client


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        with anyio.fail_after(120):
            await test()

    anyio.run(bounded)


def text_of(result: mcp_types.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, mcp_types.TextContent)
    return block.text
