"""The official client on our own door: the server between two pipes, without a process in between."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import anyio.to_thread
import mcp_types
import pytest
from mcp import Client
from mcp.shared.message import SessionMessage

from handrail.runtime.runtime import Runtime
from handrail.surfaces.mcp.adapter import Adapter
from tests.surfaces.mcp.pipes import Client as Pipes
from tests.surfaces.mcp.pipes import connected

ERAS = ("legacy", "auto")
"""How a client opens: with the older handshake, or with the stateless revision if the server has it."""


@asynccontextmanager
async def talking_to(served: Runtime | Adapter, era: str, **options: Any) -> AsyncIterator[Client]:
    adapter = served if isinstance(served, Adapter) else Adapter(served)
    async with Client(_streams(adapter), mode=era, **options) as client:
        yield client


@asynccontextmanager
async def _streams(adapter: Adapter) -> AsyncIterator[Any]:
    """Both directions as the client takes them."""
    heard, to_client = anyio.create_memory_object_stream[SessionMessage | Exception](10)[::-1]
    said, to_server = anyio.create_memory_object_stream[SessionMessage](10)[::-1]
    with connected(adapter) as pipes:
        async with anyio.create_task_group() as tasks, heard, said, to_client, to_server:
            tasks.start_soon(_hear, pipes, to_client)
            tasks.start_soon(_say, pipes, said)
            try:
                yield heard, to_server
            finally:
                pipes.hang_up()  # the server then closes its end, which ends the reading thread
                tasks.cancel_scope.cancel()


async def _hear(pipes: Pipes, to_client: Any) -> None:
    while line := await anyio.to_thread.run_sync(pipes.line_or_end):
        message = mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        await to_client.send(SessionMessage(message))


async def _say(pipes: Pipes, said: Any) -> None:
    async for carried in said:
        with suppress(OSError):  # what a client says while it leaves
            pipes.send(carried.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        with anyio.fail_after(120):
            await test()

    anyio.run(bounded)


def in_eras(*eras: str) -> Callable[[Callable[..., Awaitable[None]]], Callable[..., None]]:
    """The test with a `client` of its `runtime`, once in each of these eras."""

    def decorate(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
        taken = inspect.signature(test)

        @functools.wraps(test)
        def whole(**given: Any) -> None:
            async def talk() -> None:
                async with talking_to(given["runtime"], given["era"]) as client:
                    held = {**given, "client": client}
                    await test(**{name: held[name] for name in taken.parameters})

            run(talk)

        names = {"runtime", "era", *taken.parameters} - {"client"}
        asked = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in sorted(names)]
        whole.__signature__ = inspect.Signature(asked)  # type: ignore[attr-defined]  # pytest reads it
        made: Callable[..., None] = pytest.mark.parametrize("era", eras)(whole)
        return made

    return decorate


def text_of(result: mcp_types.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, mcp_types.TextContent)
    return block.text
