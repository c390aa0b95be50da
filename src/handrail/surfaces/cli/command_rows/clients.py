"""The rows of what stands between Handrail and an agent's client, and of keeping Handrail itself current."""

from __future__ import annotations

from handrail.runtime.client_setup.clients import CLIENTS
from handrail.surfaces.cli.command_rows.row import Row, Spelling
from handrail.surfaces.cli.hook import CLIENTS as HOOK_CLIENTS

CLIENT_ROWS = (
    Row(
        path="setup",
        operation="clients.setup",
        spellings=(Spelling(field="clients", kind="choices", choices=CLIENTS),),
        seconds=300,
        examples=(
            "handrail setup --clients cursor --dry-run --compact",
            "handrail setup --clients cursor --confirm CONFIRM_TOKEN --compact",
            "handrail setup --clients claude-code --hooks --scope project --dry-run --compact",
        ),
    ),
    Row(
        path="update",
        operation="program.update",
        spellings=(
            Spelling(field="targetVersion", value="VERSION"),
            Spelling(field="channel"),
        ),
        seconds=600,
        examples=(
            "handrail update --check --compact",
            "handrail update --dry-run --compact",
            "handrail update",
        ),
    ),
    Row(
        path="hook",
        summary="Answer a client's hook around a compaction. It never fails; stderr tells what it left out.",
        spellings=(
            Spelling(
                field="event",
                position=1,
                is_required=True,
                kind="text",
                value="EVENT",
                text="As the client spells it, PreCompact or SessionStart; its message is read from stdin.",
            ),
            Spelling(
                field="client",
                position=2,
                kind="choice",
                value="CLIENT",
                choices=HOOK_CLIENTS,
                text="Whose hook it is: claude-code (default), codex, cursor or gemini.",
            ),
        ),
        output="protocol",
        schema=("hook_text", ("text",)),
        blast_radius="Adds at most one checkpoint to the one run in progress in this project.",
        examples=("handrail hook PreCompact", "handrail hook SessionStart gemini"),
    ),
)
