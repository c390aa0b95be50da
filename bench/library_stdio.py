"""The same adapter on the protocol library's stdio transport: what bench/stdio.py measures the server beside.

Started as the product starts its own server: from the same home, with the collector set the same way.
"""

from __future__ import annotations

import gc
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import anyio
from mcp.server.stdio import stdio_server

from handrail.wiring import build_runtime
from tests.surfaces.mcp.library_server import build_server


async def _serve() -> None:
    server = build_server(build_runtime(os.environ))
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    gc.freeze()
    gc.set_threshold(2_000)
    anyio.run(_serve)
