"""Walks the journey with the Python client of the 1.x line; runs in an environment of its own.

Takes one JSON argument, `{target, calls}`, and prints `{protocol, tools, told}`.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
from contextlib import AsyncExitStack
from typing import Any

# By name: the library that our own environment holds under this name is the next major version.
mcp: Any = importlib.import_module("mcp")
stdio: Any = importlib.import_module("mcp.client.stdio")
http: Any = importlib.import_module("mcp.client.streamable_http")


async def walk(asked: dict[str, Any]) -> dict[str, Any]:
    async with AsyncExitStack() as stack:
        target = asked["target"]
        if "url" in target:
            streams = await stack.enter_async_context(http.streamable_http_client(target["url"]))
        else:
            command, *arguments = target["command"]
            server = mcp.StdioServerParameters(
                command=command, args=arguments, env=target["env"], cwd=target["cwd"]
            )
            streams = await stack.enter_async_context(stdio.stdio_client(server))
        session = await stack.enter_async_context(mcp.ClientSession(streams[0], streams[1]))
        opened = await session.initialize()
        tools = [tool.name for tool in (await session.list_tools()).tools]
        told = []
        last: dict[str, Any] = {}
        for call in asked["calls"]:
            name = call.get("tool") or last["nextCall"]["tool"]
            sent = call.get("arguments") or {**last["nextCall"]["params"], **call["add"]}
            result = await session.call_tool(name, sent)
            last = result.structuredContent or {}
            told.append({"structured": last, "text": result.content[0].text, "isError": result.isError})
    return {"protocol": opened.protocolVersion, "tools": tools, "told": told}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(walk(json.loads(sys.argv[1])))))
