"""The rows of commands about Handrail itself: its store, settings, descriptions, servers, clients, update."""

from __future__ import annotations

from handrail.contract.catalogue import (
    E_CONFIG,
    E_INTERRUPTED,
    E_USAGE,
    E_VALIDATION,
    FORMAT_CONFLICT,
    INTERNAL_ERROR,
)
from handrail.program.setup.clients import CLIENTS, HOOKS, TOOL_SETS
from tools.commands.rows import CURSOR, Row, Spelling, show_gated

# Settings: preferences and keys

_SESSION = Spelling(
    field="session", kind="id", value="ID", text="One session; by default the preferences of new sessions."
)

SETTINGS_ROWS = (
    Row(
        path="settings show",
        operation="self.settings",
        examples=("handrail settings show --compact",),
    ),
    Row(
        path="settings show --preferences",
        operation="preferences.show",
        spellings=(_SESSION,),
        examples=(
            "handrail settings show --preferences --compact",
            "handrail settings show --preferences --session SESSION_ID --compact",
        ),
    ),
    Row(
        path="settings set",
        spellings=(
            Spelling(field="key", position=1),
            Spelling(field="value", position=2),
        ),
        examples=(
            "handrail settings set retentionDays 30 --dry-run --compact",
            "handrail settings set auditMonths 6 --confirm CONFIRM_TOKEN --compact",
        ),
    ),
    Row(
        path="settings set --preferences",
        operation="preferences.set",
        spellings=(_SESSION,),
        examples=(
            "handrail settings set --preferences --preset full_auto_with_stops --dry-run --compact",
            "handrail settings set --preferences --autonomy guided --confirm CONFIRM_TOKEN --compact",
        ),
    ),
    Row(
        path="keys rotate",
        examples=show_gated("keys rotate"),
    ),
)


# The ledger and the store

LEDGER_ROWS = (
    Row(
        path="ledger show",
        spellings=(
            Spelling(
                field="runId",
                position=1,
                kind="id",
                value="RUN",
                text="A run id, or a session id for its latest run.",
            ),
            Spelling(field="filterByOperation", value="run.*,!run.start"),
            Spelling(field="limit", value="N", text="Entries per page, 100 by default."),
            CURSOR,
        ),
        examples=(
            "handrail ledger show RUN_ID --mode summary --compact",
            "handrail ledger show RUN_ID --mode delta --since-version 2 --compact",
        ),
    ),
)


STORE_ROWS = (
    Row(
        path="store verify",
        spellings=(
            Spelling(field="ids", kind="ids", value="ID,ID", text="Only these sessions and their blobs."),
        ),
        seconds=900,
        examples=(
            "handrail store verify --compact",
            "handrail store verify --ids SESSION_ID --human",
            "handrail store verify --stream",
        ),
    ),
    Row(
        path="store du",
        examples=("handrail store du --compact", "handrail store du --human"),
    ),
    Row(
        path="store selftest",
        operation="store.selftest",
        spellings=(
            Spelling(field="kills", value="N"),
            Spelling(field="dir", kind="directory", value="DIR"),
            Spelling(field="seed", value="N"),
        ),
        seconds=3600,
        examples=(
            "handrail store selftest --kills 50 --human",
            "handrail store selftest --kills 50 --stream",
        ),
    ),
    Row(
        path="store gc",
        spellings=(Spelling(field="olderThan", value="DAYS"),),
        columns=("target", "ok", "error"),
        seconds=900,
        examples=show_gated("store gc --older-than 90 --dangerous"),
    ),
    Row(
        path="store copy",
        spellings=(
            Spelling(field="from", value="HOME"),
            Spelling(field="to", value="HOME"),
            Spelling(field="adopt"),
            Spelling(field="ids", kind="ids", value="ID,ID"),
        ),
        columns=("target", "ok", "error"),
        seconds=900,
        examples=show_gated("store copy --to copied"),
    ),
    Row(
        path="store adopt",
        examples=("handrail store adopt --human",),
    ),
    Row(
        path="store move",
        spellings=(Spelling(field="from", value="DIRECTORY"), Spelling(field="to", value="DIRECTORY")),
        seconds=900,
        examples=("handrail store move --to moved --human",),
    ),
)


# Self-description

SELF_DESCRIPTION_ROWS = (
    Row(
        path="reference",
        operation="self.reference",
        spellings=(
            Spelling(field="command", value="PATH"),
            Spelling(field="domain", value="WORD"),
            Spelling(field="schema", value="NAME"),
        ),
        shown=(
            *("tool", "version", "risk_tier", "release_readiness", "commands.path", "commands.type"),
            *("commands.description", "commands.output_schema", "schemas", "exit_codes"),
        ),
        examples=(
            "handrail reference --compact",
            "handrail reference --mvi full --compact",
            "handrail reference --command 'run continue' --compact",
            "handrail reference --schema session_list --compact",
        ),
    ),
    Row(
        path="context",
        operation="self.context",
        examples=("handrail context --compact",),
    ),
    Row(
        path="doctor",
        operation="self.doctor",
        spellings=(Spelling(field="checks", kind="choices"),),
        examples=(
            "handrail doctor --compact",
            "handrail doctor --offline --checks store,keyring --compact",
        ),
    ),
    Row(
        path="changelog",
        operation="self.changelog",
        spellings=(Spelling(field="since", value="VERSION"),),
        examples=("handrail changelog --since 0.1.0 --compact",),
    ),
    Row(
        path="version",
        operation="self.version",
        examples=("handrail version --compact",),
    ),
    Row(
        path="completion",
        operation="self.completion",
        raw="script",
        examples=(
            "handrail completion --shell bash --format raw",
            "handrail completion --shell fish --compact",
        ),
    ),
)


# Checks, servers and the demo

DEMO_FIELDS = ("session_id", "steps", "checks", "calls", "kills", "graph", "kept")
"""What `handrail demo --format json` tells."""

OWN_ERRORS = tuple(
    kind.code for kind in (E_USAGE, E_VALIDATION, FORMAT_CONFLICT, E_CONFIG, E_INTERRUPTED, INTERNAL_ERROR)
)
"""Of a line that is refused before anything is served or shown."""

OF_A_REFUSAL = ("--format", "--json", "--human", "--envelope", "--compact", "--quiet", "--schema-version")
"""What a command without a document of its own takes: they say how its refusal looks."""

OWN_ROWS = (
    Row(
        path="lafs check",
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
        operation="",
        summary="Serve the Model Context Protocol on stdin and stdout, for an agent's client to start.",
        spellings=(
            Spelling(
                field="results",
                kind="choice",
                choices=("both", "text", "structured"),
                text="What a tool result contains, both by default.",
            ),
            Spelling(
                field="set",
                kind="choice",
                choices=TOOL_SETS,
                text="Which tools it serves: for workflows, or for source code; default workflow.",
            ),
        ),
        output="protocol",
        also=OF_A_REFUSAL,
        schema=("json_rpc_message", ("jsonrpc", "id", "method", "params", "result", "error")),
        needs=("mcp", "mcp_types", "anyio", "pydantic"),
        errors=OWN_ERRORS,
        examples=("handrail mcp", "handrail mcp --set code"),
    ),
    Row(
        path="demo",
        operation="",
        summary="Play a run that survives a lost chat and a killed process, in a scratch directory.",
        spellings=(
            Spelling(
                field="keep",
                kind="directory",
                value="DIR",
                text="Run in this new directory and keep it; by default in one that is removed.",
            ),
        ),
        output="text",
        schema=("demo_report", DEMO_FIELDS),
        also=OF_A_REFUSAL,
        errors=OWN_ERRORS,
        examples=("handrail demo", "handrail demo --format json"),
    ),
)


CLIENT_ROWS = (
    Row(
        path="setup",
        operation="clients.setup",
        spellings=(
            Spelling(field="clients", kind="choices", choices=CLIENTS),
            Spelling(field="sets", flag="--set", kind="choices", value="SET", choices=TOOL_SETS),
        ),
        seconds=300,
        examples=(
            *show_gated("setup --clients cursor"),
            "handrail setup --clients claude-code --hooks --scope project --dry-run --compact",
            "handrail setup --clients cursor --set code --dry-run --compact",
            "handrail setup --checks --dry-run --compact",
        ),
    ),
    Row(
        path="update",
        operation="program.update",
        spellings=(Spelling(field="targetVersion", value="VERSION"),),
        seconds=600,
        examples=(
            "handrail update --check --compact",
            "handrail update --dry-run --compact",
            "handrail update",
        ),
    ),
    Row(
        path="hook",
        operation="",
        summary="Answer a hook of an agent's client. It never fails; stderr says what it left out.",
        spellings=(
            Spelling(
                field="event",
                position=1,
                is_required=True,
                kind="text",
                text="As the client spells it, such as PreCompact; its message is read from stdin.",
            ),
            Spelling(
                field="client",
                position=2,
                kind="choice",
                value="CLIENT",
                choices=tuple(sorted(HOOKS)),
                text="Whose hook it is: claude-code (default), codex, cursor or gemini.",
            ),
        ),
        output="protocol",
        schema=("hook_text", ("text",)),
        blast_radius="Adds at most one checkpoint or receipt to the one run in progress in this project.",
        examples=(
            "handrail hook PreCompact",
            "handrail hook SessionStart gemini",
        ),
    ),
)
