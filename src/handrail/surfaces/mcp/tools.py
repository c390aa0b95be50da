"""The closed set of tools and their definitions, from the operation registry. Pure.

Nothing that an author, a repository or a session wrote ever reaches a definition.
"""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.contract.outcome import Json, NextCall
from handrail.runtime.operation import Effect, Operation
from handrail.runtime.registry import operation
from handrail.surfaces.mcp.slim_schema import input_schema, output_schema

OFFERED = (
    "workflow.list",
    "workflow.inspect",
    "run.start",
    "run.continue",
    "run.checkpoint",
    "session.resume",
)
"""The operations that agents get as tools, in the order in which every process lists them."""

SWITCHED_ON = ("session.start",)
"""Those that a setting adds when the server starts; without it calling them is refused anyway."""

SAID_BY_NAME = ("project",)
"""Arguments that every tool has; their names say enough, and a description would be paid for seven times."""


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """One tool: the operation it runs and the definition that clients see."""

    name: str
    operation: str
    definition: dict[str, Any]


def offered_tools(*, start_session: bool = False) -> dict[str, Tool]:
    """Every tool by its name, in listing order; the last one only where the user's settings allow it."""
    tools = (_tool(operation(name)) for name in (*OFFERED, *(SWITCHED_ON if start_session else ())))
    return {tool.name: tool for tool in tools}


def tool_definitions(*, start_session: bool = False) -> list[dict[str, Any]]:
    """What `tools/list` answers, as plain data."""
    return [tool.definition for tool in offered_tools(start_session=start_session).values()]


def spell_call(tools: dict[str, Tool], call: NextCall) -> dict[str, Json] | None:
    """The next call as a tool call; None when no tool takes these params."""
    for tool in tools.values():
        if tool.operation == call.operation and set(call.params) <= set(fields_of(tool)):
            return {"tool": tool.name, "params": call.params}
    return None


def fields_of(tool: Tool) -> dict[str, Any]:
    """The arguments of a tool with their schemas."""
    properties: dict[str, Any] = tool.definition["inputSchema"]["properties"]
    return properties


def _tool(offered: Operation) -> Tool:
    assert offered.tool, f"{offered.name} names no tool"
    definition = {
        "name": offered.tool,
        "description": offered.tool_description,
        "inputSchema": input_schema(offered.input, offered.tool_fields, offered.tool_choices, SAID_BY_NAME),
        "outputSchema": output_schema(offered.output, offered.item, offered.shape, SAID_BY_NAME),
        "annotations": _annotations(offered.effect),
    }
    return Tool(name=offered.tool, operation=offered.name, definition=definition)


def _annotations(effect: Effect) -> dict[str, bool]:
    """All four hints, always: a client that has to guess guesses the worst."""
    is_read = effect == "read"
    return {
        "readOnlyHint": is_read,
        "destructiveHint": False,
        "idempotentHint": is_read or effect == "ack",
        "openWorldHint": False,
    }
