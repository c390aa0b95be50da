"""Our doors and the protocol library answer the same conversations with the same bytes.

The library's own connection is the oracle: nothing of it is in the product. What the library refuses and
the door serves (fractional ids, halves of surrogate pairs, a logging level) is shown in `test_messages.py`.
"""

from __future__ import annotations

import json
from typing import Any

import anyio
import anyio.lowlevel
import mcp_types
import pytest
from mcp.shared.message import SessionMessage

from handrail.runtime.runtime import Runtime
from handrail.surfaces.mcp.adapter import Adapter
from handrail.surfaces.mcp.eras import UNNAMED
from handrail_serve.mcp_over_http import McpOverHttp
from tests.conftest import memory_runtime
from tests.journeys import given_workflows
from tests.journeys.given_workflows import choice, option, step
from tests.quick_set import all_but_thorough
from tests.surfaces.mcp.conversations import (
    ASKED,
    CHOOSES,
    Conversation,
    Message,
    conversations,
    enveloped,
    numbered,
    opening,
    walk,
)
from tests.surfaces.mcp.library_server import build_server
from tests.surfaces.mcp.pipes import connected
from tests.surfaces.mcp.test_ask import REGION, give
from tests.surfaces.mcp.test_over_http import asked, headers_for

LIMIT_SECONDS = 120
SETTLING_STEPS = 20
"""Turns of the event loop after which the library has taken a notification in."""
TALKS = conversations()
WAY = choice("way", option("left"), option("right") | {"label": "Größe 🚀"}, nonAssumable="scope_boundary")


def fresh_runtime() -> Runtime:
    """Two of them give the same ids, tokens and times."""
    runtime = memory_runtime()
    give(runtime, REGION)
    given_workflows.give(runtime, WAY, step("go"), id=CHOOSES, name="Chooses")
    return runtime


def said(conversation: Conversation, turn: int, heard: list[bytes]) -> Message:
    made = conversation.turns[turn]
    return made([json.loads(line) for line in heard]) if callable(made) else made


def wants_answer(message: Message, heard: list[bytes]) -> bool:
    """A request does, and so does the answer to a question, after which the call goes on."""
    is_request = "method" in message and "id" in message
    return is_request or ("result" in message and bool(heard) and b'"elicitation/create"' in heard[-1])


def through_our_door(conversation: Conversation) -> list[bytes]:
    options: Any = {"results": conversation.results, "mvi": conversation.mvi}
    heard: list[bytes] = []
    with connected(Adapter(fresh_runtime(), **options)) as client:
        for turn in range(len(conversation.turns)):
            message = said(conversation, turn, heard)
            client.send(message)
            if wants_answer(message, heard):
                heard.append(client.line())
        client.hang_up()
        assert client.rest() == b""
    return heard


def through_the_library(conversation: Conversation) -> list[bytes]:
    options: Any = {"results": conversation.results, "mvi": conversation.mvi}
    server = build_server(fresh_runtime(), **options)
    heard: list[bytes] = []

    async def talk() -> None:
        to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](10)
        to_client, from_server = anyio.create_memory_object_stream[SessionMessage](10)
        with anyio.fail_after(LIMIT_SECONDS):
            async with to_server, from_client, to_client, from_server, anyio.create_task_group() as tasks:
                tasks.start_soon(server.run, from_client, to_client, server.create_initialization_options())
                for turn in range(len(conversation.turns)):
                    message = said(conversation, turn, heard)
                    parsed = mcp_types.jsonrpc_message_adapter.validate_json(
                        json.dumps(message), by_name=False
                    )
                    await to_server.send(SessionMessage(parsed))
                    for _ in range(SETTLING_STEPS):
                        await anyio.lowlevel.checkpoint()
                    if wants_answer(message, heard):
                        answer = (await from_server.receive()).message
                        heard.append(answer.model_dump_json(by_alias=True, exclude_unset=True).encode())
                tasks.cancel_scope.cancel()

    anyio.run(talk)
    return heard


@pytest.mark.parametrize("conversation", all_but_thorough(TALKS, step=9), ids=lambda each: each.name[:70])
def test_both_doors_send_the_same_bytes(conversation: Conversation) -> None:
    ours, theirs = through_our_door(conversation), through_the_library(conversation)

    assert ours == theirs


def over_http(runtime: Runtime, turns: Conversation, version: str) -> list[bytes]:
    door, heard = McpOverHttp(Adapter(runtime)), list[bytes]()
    for turn in range(len(turns.turns)):
        message = said(turns, turn, heard)
        heard.append(asked(door, headers_for(message, version), message).body)
    return heard


PLAIN = [
    (method, params)
    for method, params in ASKED
    if method.isascii()
    and json.dumps(params).isascii()
    and "\\" not in json.dumps(params)
    and len(str(params)) < 400
]
"""What a header can name as it is."""


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
def test_http_sends_the_same_bytes(version: str) -> None:
    is_older = version == "2025-11-25"
    wrap = (lambda params: params) if is_older else enveloped
    talk = Conversation(name="http", turns=[*numbered(PLAIN, wrap), *walk(wrap)])
    unnamed = opening(client=UNNAMED) if is_older else []  # without a handshake, HTTP knows no name
    opened = Conversation(name="stdio", turns=[*unnamed, *talk.turns])

    ours, theirs = through_our_door(opened), over_http(fresh_runtime(), talk, version)

    assert ours[-len(theirs) :] == theirs
