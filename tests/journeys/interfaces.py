"""The doors of the product, as journeys use them: MCP tool calls and the command line, in this process."""

from __future__ import annotations

import json
from typing import Any

from handrail.operations.handles import read_state
from handrail.runtime.runtime import Runtime
from handrail.surfaces.mcp.results import Rendered, answer_call
from handrail.surfaces.mcp.tools import offered_tools
from tests.surfaces.cli.here import run_here

TOOLS = offered_tools()
OPERATION_OF = {tool.name: tool.operation for tool in TOOLS.values()}
TOOL_OF = {operation: name for name, operation in OPERATION_OF.items()}


def tool_call(runtime: Runtime, tool: str, **params: Any) -> Rendered:
    """What the MCP tool answers."""
    return answer_call(runtime, TOOLS, TOOLS[tool], params, "standard")


def command(runtime: Runtime, *arguments: str) -> tuple[int, dict[str, Any]]:
    """The exit status and the one document that the command line prints."""
    ran = run_here(runtime, arguments)
    document: dict[str, Any] = json.loads(ran.out)
    return ran.status, document


def events_of(runtime: Runtime, reply: dict[str, Any]) -> list[dict[str, Any]]:
    """The stored events of a reply's session, from their raw bytes: `kind`, `scope`, `data`, `key`."""
    loaded = runtime.log.load(read_state(runtime.keys, reply["stateToken"]).claims.session_id)
    assert loaded is not None
    found = []
    for record in loaded.records:
        body = json.loads(record.body)
        found.append(
            {
                "kind": body["data"]["kind"],
                "scope": body["scope"],
                "data": body["data"],
                "key": record.dedupe_key,
                "index": record.index,
            }
        )
    return found


def of_kind(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event for event in events if event["kind"] == kind]


def evidence_of(reply: dict[str, Any]) -> dict[str, int]:
    """The sum of a run's evidence, without the words that count nothing."""
    return {name: count for name, count in reply["evidence"].items() if count}
