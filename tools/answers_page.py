"""docs/reference/answers.md: the types that commands answer with, from what `reference` tells of them."""

from __future__ import annotations

from typing import Any

from handrail.surfaces.cli.self_description.reference_data import cli_reference
from handrail.wiring import registry
from tools.page_parts import page, table

_ENVELOPE = (
    ("`ok`", "Whether it succeeded."),
    ("`schema_version`", "Of this envelope, 1.0."),
    ("`data`", "Of a success: the answer, as below."),
    ("`error`", "Of a failure: `code`, `message`, `details` and `retryable`; see [errors](errors.md)."),
    ("`meta`", "`duration_ms`, and `notices` where there are some."),
)


def answers_page() -> str:
    """The whole page."""
    known = cli_reference(registry())
    rows = [_row(label, known["schemas"][label], known["commands"]) for label in known["schemas"]]
    return page(
        "# Answers",
        "The types of every answer.\n"
        "Over MCP, `structuredContent` is what stands in `data` here, for the operations that are tools.\n"
        "Fields are only ever added; ignore those that you do not know.",
        "## Envelope",
        table(("field", "what"), _ENVELOPE),
        "## Types",
        "`handrail reference --schema reply` gives one of these types as JSON Schema, with the types of its "
        "fields and what they are made of.",
        table(("type", "of", "fields", "may hold text from outside"), rows),
    )


def _row(label: str, told: dict[str, Any], commands: list[dict[str, Any]]) -> list[str]:
    plain = [one["path"] for one in commands if one["output_schema"] == label]
    looked = [one["path"] for one in commands if one["dry_run_output_schema"] == label]
    answered = [_listed(plain), f"{_listed(looked)} with `--dry-run`" if set(looked) - set(plain) else ""]
    fields = [name for name in told["fields"] if "." not in name]
    untrusted = _listed(told["untrusted_fields"])
    return [f"`{label}`", "; ".join(filter(None, answered)), _listed(fields), untrusted]


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
