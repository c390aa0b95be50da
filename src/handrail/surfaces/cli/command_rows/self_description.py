"""The rows of the commands by which Handrail describes itself."""

from __future__ import annotations

from handrail.runtime.self_checks.checks import CHECK_NAMES
from handrail.surfaces.cli.command_rows.row import Row, Spelling

SELF_DESCRIPTION_ROWS = (
    Row(
        path="reference",
        operation="self.reference",
        spellings=(
            Spelling(field="command", value="PATH"),
            Spelling(field="domain", value="WORD"),
            Spelling(field="schema", value="NAME"),
        ),
        examples=(
            "handrail reference --compact",
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
        spellings=(Spelling(field="checks", kind="choices", choices=CHECK_NAMES),),
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
        path="completion",
        operation="self.completion",
        raw="script",
        examples=(
            "handrail completion --shell bash --format raw",
            "handrail completion --shell fish --compact",
        ),
    ),
)
