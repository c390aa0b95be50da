"""The rows of what stands between Handrail and an agent's client, and of keeping Handrail itself current."""

from __future__ import annotations

from handrail.surfaces.cli.command_rows.row import Row, Spelling

CLIENT_ROWS = (
    Row(
        path="hook",
        summary="Answer a hook of an agent's client: keep the place before a compaction, tell it afterwards.",
        spellings=(
            Spelling(
                field="event",
                position=1,
                is_required=True,
                kind="text",
                value="EVENT",
                text="PreCompact or SessionStart; the client's message is read from stdin.",
            ),
        ),
        output="protocol",
        schema=("hook_text", ("text",)),
        blast_radius="Adds at most one checkpoint to the one run in progress in this project.",
        examples=("handrail hook PreCompact", "handrail hook SessionStart"),
    ),
)
