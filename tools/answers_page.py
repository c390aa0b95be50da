"""docs/reference/answers.md: what `data` holds for every command, from the schemas that `reference` tells."""

from __future__ import annotations

from typing import Any

from tools.cli_reference import cli_reference
from tools.page_parts import page, table, type_text

_NAMES = "#/$defs/"
_ENVELOPE = (
    ("`ok`", "Whether it succeeded."),
    ("`schema_version`", "Of this envelope, 1.0."),
    ("`data`", "Of a success: the answer, as below."),
    ("`error`", "Of a failure: `code`, `message`, `details` and `retryable`; see [errors](errors.md)."),
    ("`meta`", "`duration_ms`, and `notices` where there are some."),
)


def answers_page() -> str:
    """The whole page."""
    known = cli_reference()
    return page(
        "# Answers",
        "The fields of every answer.\n"
        "Over MCP, `structuredContent` is what stands in `data` here, for the operations that are tools.\n"
        "`handrail reference --schema reply` gives one of these types as JSON Schema.\n"
        "Fields are only ever added; ignore those that you do not know.",
        "## Envelope",
        table(("field", "what"), _ENVELOPE),
        *(_section(label, schema, known) for label, schema in known["json_schemas"].items()),
        "## Parts",
        "What the fields above are made of.",
        *(_part(name, schema) for name, schema in known["definitions"].items()),
    )


def _section(label: str, schema: dict[str, Any], known: dict[str, Any]) -> str:
    whole = _joined(schema, known["definitions"])
    text = [f"## {label}", _told_by(label, known["commands"])]
    if "description" in whole:
        text[1] += "\n" + _lines(whole["description"])
    untrusted = known["schemas"][label]["untrusted_fields"]
    if untrusted:
        text.append("Text from outside may stand in " + ", ".join(f"`{name}`" for name in untrusted) + ".")
    if whole.get("properties"):
        text.append(_fields(whole))
    return "\n\n".join(text)


def _told_by(label: str, commands: list[dict[str, Any]]) -> str:
    plain = [f"`{one['path']}`" for one in commands if one["output_schema"] == label]
    looked = [f"`{one['path']}`" for one in commands if one["dry_run_output_schema"] == label]
    told = f"Of {', '.join(plain)}." if plain else ""
    looked = [one for one in looked if one not in plain]
    return "\n".join(filter(None, (told, f"With `--dry-run` of {', '.join(looked)}." if looked else "")))


def _joined(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """A type with what it takes over from its definitions."""
    found: dict[str, Any] = {"properties": {}, "required": []}
    refs = [one["$ref"] for one in schema.get("allOf", ()) if "$ref" in one]
    for ref in [schema["$ref"]] if "$ref" in schema else refs:
        whole = _joined(definitions[ref.removeprefix(_NAMES)], definitions)
        found["properties"] |= whole["properties"]
        found["required"] += whole["required"]
        found["description"] = whole.get("description", "")
    found["properties"] |= schema.get("properties", {})
    found["required"] += schema.get("required", [])
    if schema.get("description"):
        found["description"] = schema["description"]
    return {key: value for key, value in found.items() if value or key != "description"}


def _part(name: str, schema: dict[str, Any]) -> str:
    text = [f"### {name}"]
    if schema.get("description"):
        text.append(_lines(schema["description"]))
    text.append(_fields(schema) if schema.get("properties") else f"Type: {type_text(schema)}.")
    return "\n\n".join(text)


def _fields(schema: dict[str, Any]) -> str:
    rows = [
        [f"`{name}`", type_text(field), "yes" if name in schema.get("required", ()) else "no"]
        for name, field in schema["properties"].items()
    ]
    return table(("field", "type", "always there"), rows)


def _lines(text: str) -> str:
    return text.replace(". ", ".\n")
