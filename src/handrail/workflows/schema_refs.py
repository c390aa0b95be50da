"""What a `$ref` of a contract's schema names: one of the definitions at its root. Pure."""

from __future__ import annotations

from typing import Any, TypeAlias

from handrail.contract.outcome import Json

Schema: TypeAlias = dict[str, Any]

DEFINITIONS = "#/$defs/"
MAX_DEPTH = 16
"""Levels that a schema may be nested, and references that may lead to one another."""


def resolve_ref(schema: Json, root: Schema) -> Json:
    """The schema itself, or what its `$ref` names; an empty one when the name leads nowhere."""
    for _ in range(MAX_DEPTH):
        if not isinstance(schema, dict) or "$ref" not in schema:
            return schema
        schema = list_definitions(root).get(str(schema["$ref"]).removeprefix(DEFINITIONS), {})
    return {}


def list_definitions(root: Schema) -> Schema:
    found = root.get("$defs")
    return found if isinstance(found, dict) else {}
