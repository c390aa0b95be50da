"""The JSON Schema (2020-12) of workflow files for editors, from the tables that the reader uses.
Pure.

It describes the shapes and the builtin ids. Rules about several places, such as ids that must
differ, are left to the reader: the schema rejects nothing that the reader accepts.
"""

from __future__ import annotations

from typing import Any, TypeAlias, assert_never

from handrail.workflows.builtins.contracts import CONTRACTS
from handrail.workflows.builtins.prompt_texts import FEATURES, REFS
from handrail.workflows.builtins.specs import Builtin
from handrail.workflows.builtins.templates import TEMPLATES
from handrail.workflows.reading.grammar import OVERLAY, ROOT, SHAPES
from handrail.workflows.reading.shapes import (
    Anything,
    ByType,
    Flag,
    Items,
    Members,
    Named,
    Record,
    Registry,
    Shape,
    Tagged,
    Text,
    Whole,
    Word,
)

Schema: TypeAlias = dict[str, Any]

SCHEMA_ID = "urn:handrail:schema:workflow:1"

_OPEN_NAMES: dict[Registry, str] = {
    "templates": r"^wr\.templates\.routine\.[a-z0-9_-]+$",
    "contracts": r"^(?!wr\.)[a-z][a-z0-9_-]*\.contracts\.[a-z0-9_-]+$",
}
"""Pattern of ids besides the builtin ones: routines and contracts are files, which an editor does
not know.
"""


def workflow_json_schema() -> Schema:
    """Return the schema of one workflow file; the same on every machine."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "Handrail workflow",
        "type": "object",
        "if": {"required": ["extends"]},
        "then": {"$ref": f"#/$defs/{OVERLAY}"},
        "else": {"$ref": f"#/$defs/{ROOT}"},
        "$defs": {name: _schema(shape) for name, shape in sorted(SHAPES.items())},
    }


def _schema(shape: Shape) -> Schema:
    match shape:
        case Named(name=name):
            return {"$ref": f"#/$defs/{name}"}
        case ByType(shapes=shapes):
            return {"anyOf": [_schema(one) for one in shapes]}
        case Tagged():
            return _tagged(shape)
        case Record():
            return _record(shape)
        case Members(of=of, name=name, most=most):
            names = {key: value for key, value in _text(name).items() if key != "type"}
            return {
                "type": "object",
                "additionalProperties": _schema(of),
                "propertyNames": names,
                "maxProperties": most,
            }
        case Items(of=of, least=least, most=most):
            bounds = {"minItems": least} if least else {}
            return {"type": "array", "items": _schema(of), **bounds, "maxItems": most}
        case Text():
            return _text(shape)
        case Word(values=(only,)):
            return {"const": only}
        case Word(values=values):
            return {"enum": list(values)}
        case Whole(least=least, most=most):
            return {"type": "integer", "minimum": least, "maximum": most}
        case Flag():
            return {"type": "boolean"}
        case Anything():
            return {}
        case never:
            assert_never(never)


def _text(shape: Text) -> Schema:
    if shape.names is not None:
        return _builtin_id(shape.names)
    schema: Schema = {"type": "string"}
    if not shape.may_be_blank:
        schema["minLength"] = 1
    schema["maxLength"] = shape.most
    if shape.pattern:
        schema["pattern"] = f"^(?:{shape.pattern})$"
    elif not shape.may_be_blank:
        schema["pattern"] = r"\S"
    return schema


def _builtin_id(registry: Registry) -> Schema:
    offered: list[Schema] = [{"const": name, "description": text} for name, text in _builtins(registry)]
    if registry in _OPEN_NAMES:
        offered.append({"type": "string", "pattern": _OPEN_NAMES[registry]})
    return {"anyOf": offered}


def _builtins(registry: Registry) -> list[tuple[str, str]]:
    """Return every id of a registry with its summary."""
    others = [(name, spec.summary) for spec in REFS for name in spec.other_ids] if registry == "refs" else []
    return sorted([*((spec.id, spec.summary) for spec in _OFFERED[registry]), *others])


_OFFERED: dict[Registry, tuple[Builtin, ...]] = {
    "templates": TEMPLATES,
    "features": FEATURES,
    "contracts": CONTRACTS,
    "refs": REFS,
}


def _record(record: Record) -> Schema:
    schema: Schema = {
        "type": "object",
        "description": record.description,
        "additionalProperties": False,
        "required": [name for name, key in record.keys.items() if key.is_required],
        "properties": {
            name: {"description": key.description, **_schema(key.shape)} for name, key in record.keys.items()
        },
    }
    if record.one_of:
        schema["oneOf"] = [{"required": [name]} for name in record.one_of]
    if record.any_of:
        schema["anyOf"] = [{"required": [name]} for name in record.any_of]
    return schema


def _tagged(shape: Tagged) -> Schema:
    """Return one `if` per tag, so that an editor's complaint is about the record that was meant."""
    branches = [
        {
            "if": {"properties": {shape.tag: {"const": tag}}, "required": [shape.tag]},
            "then": {"$ref": f"#/$defs/{record}"},
        }
        for tag, record in shape.records.items()
    ]
    branches += [
        {
            "if": {"not": {"required": [shape.tag]}, "required": [name]},
            "then": {"$ref": f"#/$defs/{record}"},
        }
        for name, record in shape.own_keys.items()
    ]
    if shape.default:
        given = [{"required": [name]} for name in (shape.tag, *shape.own_keys)]
        branches.append(
            {
                "if": {"not": {"anyOf": given} if shape.own_keys else {"required": [shape.tag]}},
                "then": {"$ref": f"#/$defs/{shape.records[shape.default]}"},
            }
        )
    return {
        "type": "object",
        "description": shape.description,
        "properties": {shape.tag: {"enum": list(shape.records)}},
        "required": [] if shape.default else [shape.tag],
        "allOf": branches,
    }
