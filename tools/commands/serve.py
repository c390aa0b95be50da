"""The commands of the server: `handrail serve` and `handrail console`."""

from __future__ import annotations

import msgspec

from handrail.contract.catalogue import E_CONFLICT, E_FORBIDDEN, E_IO
from tools.commands.own import OF_A_REFUSAL, OWN_ERRORS
from tools.commands.rows import Row, Spelling

_SERVER_STACK = ("mcp", "mcp_types", "anyio", "pydantic", "starlette", "uvicorn", "asyncio")
_SERVER = (
    Spelling(
        field="port",
        kind="int",
        value="N",
        most=65_535,
        text="The port, 7245 by default; 0 takes a free one.",
    ),
    Spelling(
        field="host",
        kind="text",
        text="The address on loopback, 127.0.0.1 by default; another one only for a team, with encryption.",
    ),
    Spelling(
        field="token_file",
        kind="text",
        value="FILE",
        text="Keep the token in this file, made if it is missing; by default each start has its own.",
    ),
)
_TEAM = (
    Spelling(field="team", kind="switch", text="Serve a team: people and agents with accounts."),
    Spelling(
        field="store",
        kind="text",
        value="URI",
        text="Of a team: its PostgreSQL, postgresql://HOST/DATABASE; else HANDRAIL_STORE.",
    ),
    Spelling(
        field="origin",
        kind="text",
        value="URL",
        text="Of a team: the address that its users open; where it listens by default.",
    ),
    Spelling(
        field="workflows",
        kind="text",
        value="DIR",
        text="Of a team: the folder with the workflows that it offers beside the bundled ones.",
    ),
    Spelling(
        field="issuer",
        kind="text",
        value="URL",
        text="Of a team: its identity provider (OpenID Connect), which vouches for people and tokens.",
    ),
    Spelling(
        field="client_id",
        kind="text",
        value="ID",
        text="Of a team: what the provider calls this server; its secret is HANDRAIL_CLIENT_SECRET.",
    ),
    Spelling(
        field="proxy",
        kind="text",
        value="ADDRESSES",
        text="Of a team: the proxy that encrypts, by IP address; nobody else is answered.",
    ),
    Spelling(
        field="tls_cert",
        kind="text",
        value="FILE",
        text="Of a team: the certificate to encrypt with; without it or a proxy, loopback only.",
    ),
    Spelling(
        field="workers",
        kind="int",
        value="N",
        most=64,
        text="Of a team: how many processes answer, 1 by default; one for each core is a good number.",
    ),
    Spelling(field="tls_key", kind="text", value="FILE", text="Of a team: its private key."),
)
_OPEN = Spelling(field="open", kind="switch", text="Open the Console in a browser.")
_ACCESS_LOG = Spelling(field="access_log", kind="switch", text="Write a line per request to stderr.")

_SERVE = Row(
    path="serve",
    operation="",
    summary="Serve the Console, the HTTP interface and MCP on loopback, until a signal.",
    spellings=(*_SERVER, _OPEN, _ACCESS_LOG, *_TEAM),
    output="protocol",
    also=OF_A_REFUSAL,
    schema=("server_address", ("address",)),
    needs=_SERVER_STACK,
    errors=(*OWN_ERRORS, E_CONFLICT.code, E_FORBIDDEN.code, E_IO.code),
    examples=(
        "handrail serve",
        "handrail serve --port 0 --open",
        "handrail serve --team --store postgresql://handrail@db/handrail --origin https://handrail.example.com",
    ),
)
ROWS = (
    _SERVE,
    msgspec.structs.replace(
        _SERVE,
        path="console",
        summary="Open the Console in a browser; starts the server if none runs.",
        spellings=_SERVER,
        examples=("handrail console",),
    ),
)
