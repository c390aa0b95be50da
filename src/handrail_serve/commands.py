"""The commands of the server: `handrail serve` and `handrail console`."""

from __future__ import annotations

from handrail.contract.catalogue import E_CONFLICT, E_FORBIDDEN, E_IO
from handrail.surfaces.cli.commands.own import OF_A_REFUSAL, OWN_ERRORS
from handrail.surfaces.cli.commands.row import Row, Spelling

_SERVER_STACK = ("mcp", "mcp_types", "anyio", "pydantic", "starlette", "uvicorn", "asyncio")
_SERVER = (
    Spelling(
        field="port",
        flag="--port",
        kind="int",
        value="N",
        most=65_535,
        text="The port, 7245 by default; 0 takes a free one.",
    ),
    Spelling(
        field="host",
        flag="--host",
        kind="text",
        value="HOST",
        text="The address on loopback, 127.0.0.1 by default; any other is refused.",
    ),
    Spelling(
        field="token_file",
        flag="--token-file",
        kind="text",
        value="FILE",
        text="Keep the token in this file, made if it is missing; by default each start has its own.",
    ),
)
_OPEN = Spelling(field="open", flag="--open", kind="switch", text="Open the Console in a browser.")
_ACCESS_LOG = Spelling(
    field="access_log", flag="--access-log", kind="switch", text="Write a line per request to stderr."
)

ROWS = (
    Row(
        path="serve",
        summary="Serve the Console, the HTTP interface and MCP on loopback, until a signal.",
        spellings=(*_SERVER, _OPEN, _ACCESS_LOG),
        output="protocol",
        also=OF_A_REFUSAL,
        schema=("server_address", ("address",)),
        needs=_SERVER_STACK,
        errors=(*OWN_ERRORS, E_CONFLICT.code, E_FORBIDDEN.code, E_IO.code),
        examples=("handrail serve", "handrail serve --port 0 --open"),
    ),
    Row(
        path="console",
        summary="Open the Console in a browser; starts the server if none runs.",
        spellings=_SERVER,
        output="protocol",
        also=OF_A_REFUSAL,
        schema=("server_address", ("address",)),
        needs=_SERVER_STACK,
        errors=(*OWN_ERRORS, E_CONFLICT.code, E_FORBIDDEN.code, E_IO.code),
        examples=("handrail console",),
    ),
)
