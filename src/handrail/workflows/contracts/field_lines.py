"""Prompt lines for what the schema of a contract requires beyond its example. Pure.

An example shows the shape. These lines add what it cannot show: closed sets, and optional members.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from handrail.contract.outcome import Json
from handrail.workflows.compiled import MAX_DEPTH, Schema, resolve_ref
from handrail.workflows.contracts.own_members import is_asked_for
from handrail.workflows.prompt_sections import MAY_BE_LEFT_OUT


def describe_fields(schema: Schema) -> list[str]:
    """Return one line for each member with a closed set or a pattern, and for each optional one.

    Optional members of rows share a line, because there are several, and every prompt pays for it.
    """
    optional: list[tuple[str, str]] = []
    lines = list(_lines(schema, schema, "", optional, 0))
    if not optional:
        return lines
    rows = [("", ""), *optional]
    names = [name if row == before else f"{row}.{name}" for (before, _), (row, name) in pairwise(rows)]
    return [*lines, f"{', '.join(names)}: {MAY_BE_LEFT_OUT}"]


def _lines(
    schema: Json, root: Schema, path: str, optional: list[tuple[str, str]], depth: int
) -> Iterator[str]:
    """Yield the lines of this part; `optional` gets what is listed together."""
    schema = resolve_ref(schema, root)
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return
    properties = schema.get("properties", {})
    required = schema.get("required", ())
    for name, declared in properties.items():
        inner = resolve_ref(declared, root)
        if not is_asked_for(inner):
            continue
        here = f"{path}.{name}" if path else name
        text = _describe_field(inner, is_optional=name not in required)
        if text == MAY_BE_LEFT_OUT and path:
            optional.append((path, name))
        elif text:
            yield f"{here}: {text}"
        yield from _lines(inner, root, here, optional, depth + 1)
    if "items" in schema:
        items = resolve_ref(schema["items"], root)
        values = _values(items)
        if values:
            yield f"{path}[]: {values}"
        yield from _lines(items, root, path + "[]", optional, depth + 1)


def _count(schema: dict[str, Json]) -> str:
    """Return how many there must be, if the example may show fewer."""
    least = schema.get("minItems", 0)
    return f"at least {least}" if isinstance(least, int) and least > 1 else ""


def _describe_field(schema: Json, *, is_optional: bool) -> str:
    values = _values(schema)
    if is_optional:
        parts = [_rows(schema), values, MAY_BE_LEFT_OUT]
        return "; ".join(part for part in parts if part)
    return values


def _rows(schema: Json) -> str:
    """Return the members of each row, because no example shows a list that is optional."""
    items = schema.get("items") if isinstance(schema, dict) else None
    declared = items.get("properties") if isinstance(items, dict) else None
    held = declared.items() if isinstance(declared, dict) else ()
    members = [name for name, one in held if is_asked_for(one)]
    return f"rows of {', '.join(members)}" if members else ""


def _values(schema: Json) -> str:
    if not isinstance(schema, dict):
        return ""
    if schema.get("type") == "array":
        return _count(schema)
    options, pattern = schema.get("enum"), schema.get("pattern")
    if not isinstance(options, list) or len(options) < 2:
        # What blocks is shown before it can block; that a text is not blank goes without saying.
        is_shown = isinstance(pattern, str) and pattern != r"\S"
        return f"matches the pattern {pattern}" if is_shown else ""
    return "one of " + ", ".join(str(option) for option in options)
