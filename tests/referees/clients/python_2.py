"""Walks the journey with the Python client of the 2.x line, in the era that is asked for.

Takes one JSON argument, `{target, calls, era}`, and prints `{protocol, tools, told}`.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import anyio
import mcp_types
from mcp import Client, StdioServerParameters


def target_of(target: dict[str, Any]) -> str | StdioServerParameters:
    if "url" in target:
        return str(target["url"])
    command, *arguments = target["command"]
    return StdioServerParameters(command=command, args=arguments, env=target["env"], cwd=target["cwd"])


async def walk(asked: dict[str, Any]) -> dict[str, Any]:
    async with Client(target_of(asked["target"]), mode=asked["era"]) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        told = []
        last: dict[str, Any] = {}
        for call in asked["calls"]:
            name = call.get("tool") or last["nextCall"]["tool"]
            sent = call.get("arguments") or {**last["nextCall"]["params"], **call["add"]}
            result = await client.call_tool(name, sent)
            (block,) = result.content
            assert isinstance(block, mcp_types.TextContent), "our results hold text"
            last = result.structured_content
            told.append({"structured": last, "text": block.text, "isError": bool(result.is_error)})
        return {"protocol": client.protocol_version, "tools": tools, "told": told}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(anyio.run(walk, json.loads(sys.argv[1]))))
