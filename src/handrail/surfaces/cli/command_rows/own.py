"""The rows of commands about Handrail itself: checks, servers, the demo."""

from __future__ import annotations

from handrail.contract.catalogue import (
    E_CONFIG,
    E_INTERRUPTED,
    E_USAGE,
    E_VALIDATION,
    FORMAT_CONFLICT,
    INTERNAL_ERROR,
)
from handrail.surfaces.cli.command_rows.row import Row, Spelling

DEMO_FIELDS = (
    *("session_id", "steps", "checks", "calls", "kills", "steps_done", "artifacts", "blocked", "events"),
    *("lost", "doubled", "graph", "kept"),
)
"""What `handrail demo --format json` tells."""

_OWN_ERRORS = tuple(
    kind.code for kind in (E_USAGE, E_VALIDATION, FORMAT_CONFLICT, E_CONFIG, E_INTERRUPTED, INTERNAL_ERROR)
)
"""Of a line that is refused before anything is served or shown."""

OWN_ROWS = (
    Row(
        path="lafs check",
        operation="lafs.check",
        spellings=(
            Spelling(
                field="documents",
                position=1,
                kind="documents",
                value="FILE",
                text="Files to check; `-` is stdin.",
            ),
        ),
        examples=(
            "handrail lafs check answer.json --tier complete --compact",
            "handrail lafs check - --report-only --compact",
        ),
    ),
    Row(
        path="mcp",
        summary="Serve the Model Context Protocol on stdin and stdout, for an agent's client to start.",
        spellings=(
            Spelling(
                field="results",
                flag="--results",
                kind="choice",
                value="both|text|structured",
                choices=("both", "text", "structured"),
                text="What a tool result carries, both by default.",
            ),
        ),
        output="protocol",
        schema=("json_rpc_message", ("jsonrpc", "id", "method", "params", "result", "error")),
        needs=("mcp", "mcp_types", "anyio", "pydantic"),
        errors=_OWN_ERRORS,
        examples=("handrail mcp",),
    ),
    Row(
        path="demo",
        summary="Show a run that survives a lost chat and a killed process, in a scratch directory.",
        spellings=(
            Spelling(
                field="keep",
                kind="directory",
                value="DIR",
                text="Play in this new directory and keep it; by default in one that is removed.",
            ),
        ),
        output="text",
        schema=("demo_report", DEMO_FIELDS),
        also=("--format", "--json", "--human"),
        errors=_OWN_ERRORS,
        examples=("handrail demo", "handrail demo --format json"),
    ),
)
