"""The rows of what a person decides once: preferences and keys."""

from __future__ import annotations

from handrail.surfaces.cli.command_rows.row import Row, Spelling

_SESSION = Spelling(
    field="session", kind="id", value="ID", text="One session; by default what new sessions begin with."
)

HOUSEHOLD_ROWS = (
    Row(
        path="preferences show",
        operation="preferences.show",
        spellings=(_SESSION,),
        examples=(
            "handrail preferences show --compact",
            "handrail preferences show --session SESSION_ID --compact",
        ),
    ),
    Row(
        path="preferences set",
        operation="preferences.set",
        spellings=(_SESSION,),
        examples=(
            "handrail preferences set --preset full_auto_with_stops --dry-run --compact",
            "handrail preferences set --autonomy guided --confirm CONFIRM_TOKEN --compact",
        ),
    ),
    Row(
        path="keys rotate",
        operation="keys.rotate",
        examples=(
            "handrail keys rotate --dry-run --compact",
            "handrail keys rotate --confirm CONFIRM_TOKEN --compact",
        ),
    ),
)
