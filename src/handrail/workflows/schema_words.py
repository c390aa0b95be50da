"""What a contract's schema asks for, in a few lines for a prompt. Pure.

An example shows the shape. These lines say what it cannot show: the closed sets, and what may be added.
"""

from __future__ import annotations

from collections.abc import Iterator

from handrail.contract.outcome import Json
from handrail.workflows.prompt_sections import MAY_BE_LEFT_OUT
from handrail.workflows.schema_refs import MAX_DEPTH, Schema, resolved


def field_lines(schema: Schema) -> list[str]:
    """One line for each member with a closed set or a pattern, and for each that may be left out."""
    return list(_lines(schema, schema, "", 0))


def _lines(schema: Json, root: Schema, path: str, depth: int) -> Iterator[str]:
    schema = resolved(schema, root)
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return
    properties = schema.get("properties", {})
    required = schema.get("required", ())
    for name, declared in properties.items():
        inner = resolved(declared, root)
        here = f"{path}.{name}" if path else name
        said = _said(inner, is_optional=name not in required)
        if said:
            yield f"{here}: {said}"
        yield from _lines(inner, root, here, depth + 1)
    if "items" in schema:
        items = resolved(schema["items"], root)
        values = _values(items)
        if values:
            yield f"{path}[]: {values}"
        yield from _lines(items, root, path + "[]", depth + 1)


def _said(schema: Json, *, is_optional: bool) -> str:
    values = _values(schema)
    if is_optional:
        return f"{values}; {MAY_BE_LEFT_OUT}" if values else MAY_BE_LEFT_OUT
    return values


def _values(schema: Json) -> str:
    if not isinstance(schema, dict):
        return ""
    options, pattern = schema.get("enum"), schema.get("pattern")
    if not isinstance(options, list) or len(options) < 2:
        # What blocks is told before it can block; that a text is not blank goes without saying.
        is_told = isinstance(pattern, str) and pattern != r"\S"
        return f"matches the pattern {pattern}" if is_told else ""
    return "one of " + ", ".join(str(option) for option in options)
