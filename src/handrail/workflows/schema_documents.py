"""Documents made up from a contract's schema: one that fits, and many that do not. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from handrail.contract.outcome import Json
from handrail.workflows.schema_subset import MAX_DEPTH, Schema, resolved

_UNKNOWN_MEMBER = "unexpectedMember"


def sample_of(schema: Schema) -> Json:
    """A small document that fits, as far as types, bounds and closed lists decide it."""
    return _sample(schema, schema, 0)


def _sample(schema: Json, root: Schema, depth: int) -> Json:
    schema = resolved(schema, root)
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return "text"
    if "const" in schema:
        return msgspec.to_builtins(schema["const"])
    if schema.get("enum"):
        return msgspec.to_builtins(schema["enum"][0])
    named = schema.get("type", "string")
    match named[0] if isinstance(named, list) and named else named:
        case "object":
            properties = schema.get("properties", {})
            others = schema.get("additionalProperties", {})
            return {
                name: _sample(properties.get(name, others), root, depth + 1)
                for name in schema.get("required", ())
            }
        case "array":
            least = min(schema.get("minItems", 0), 100)
            return [_sample(schema.get("items", {}), root, depth + 1) for _ in range(least)]
        case "integer" | "number":
            return schema.get("minimum", min(0, schema.get("maximum", 0)))
        case "boolean":
            return True
        case "null":
            return None
        case _:
            return "text".ljust(min(schema.get("minLength", 0), 10_000), "t")[: schema.get("maxLength")]


def spoiled(schema: Schema, document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Copies of a document with one thing spoiled; the `kind` of the artifact stays."""
    for change in _changes(schema, schema, document, 0):
        if change == document or change.get("kind") != document.get("kind"):
            continue
        yield change


def _changes(schema: Json, root: Schema, value: Json, depth: int) -> Iterator[Any]:
    """Every spoiled form of one value: of the value itself, then of what is inside."""
    schema = resolved(schema, root)
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return
    if isinstance(value, dict):
        yield from _changed_objects(schema, root, value, depth)
    elif isinstance(value, list):
        yield from _changed_lists(schema, root, value, depth)
    else:
        yield from _changed_scalars(schema, value)
    if depth:
        yield from _other_types(value)


def _changed_objects(schema: Schema, root: Schema, value: dict[str, Any], depth: int) -> Iterator[Any]:
    for name in schema.get("required", ()):
        yield {key: inner for key, inner in value.items() if key != name}
    if schema.get("additionalProperties", True) is False:
        yield value | {_UNKNOWN_MEMBER: "text"}
    properties = schema.get("properties", {})
    others = schema.get("additionalProperties", {})
    for name, inner in value.items():
        for changed in _changes(properties.get(name, others), root, inner, depth + 1):
            yield value | {name: changed}


def _changed_lists(schema: Schema, root: Schema, value: list[Any], depth: int) -> Iterator[Any]:
    least, most = schema.get("minItems", 0), schema.get("maxItems")
    if least:
        yield value[: least - 1]
    if most is not None and value and most < 1_000:
        yield [*value, *(value[-1:] * (most + 1 - len(value)))]
    if value:
        for changed in _changes(schema.get("items", {}), root, value[0], depth + 1):
            yield [changed, *value[1:]]


def _changed_scalars(schema: Schema, value: Json) -> Iterator[Any]:
    if "enum" in schema or "const" in schema:
        yield "not one of the allowed values"
    if isinstance(value, str):
        yield ""
        if "maxLength" in schema and schema["maxLength"] < 10_000:
            yield "x" * (schema["maxLength"] + 1)
    if "minimum" in schema:
        yield schema["minimum"] - 1
    if "maximum" in schema:
        yield schema["maximum"] + 1


def _other_types(value: Json) -> Iterator[Any]:
    """Values of other types; those that happen to be allowed are sorted out by the caller."""
    yield None
    yield 7 if isinstance(value, str) else "text"
    if not isinstance(value, list):
        yield [value]
    if not isinstance(value, dict):
        yield {"value": value}
