"""Data of `handrail reference` about commands, flags and output types, from generated tables and
the types.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from handrail.contract.catalogue import E_HUMAN_REQUIRED
from handrail.contract.envelopes.cli import PLACE_KEYS
from handrail.contract.ledger import LedgerDocument
from handrail.contract.outcome import Payload
from handrail.runtime.batch import MOST_TARGETS
from handrail.runtime.operation import AckVerdict, Operation, Registry
from handrail.runtime.write_permission import DryRun
from handrail.surfaces.cli.call import operation_of
from handrail.surfaces.cli.reading.command_table import COMMANDS, GLOBALS
from handrail.surfaces.cli.reading.command_types import Command, CommandHelp, Param
from handrail.surfaces.cli.self_description.help_table import installed_paths, read_flag_help, read_help

DEEPEST_FIELD = 3
NO_LIMIT = 10**18 - 1
"""The upper limit of a flag whose input type has no limit."""
DEFAULT_MVI_TOKENS = {"answer": 1_200, "item": 120}
_PLACE = {
    "next_cursor": {"type": ["string", "null"]},
    "offset": {"type": "integer", "minimum": 0},
    "next_offset": {"type": "integer", "minimum": 1},
    "has_more": {"type": "boolean"},
}
"""Keys for the position of a page within a document's own rows."""
assert set(_PLACE) == set(PLACE_KEYS), "every key of a page is described"
_TYPES = {"switch": "boolean", "int": "integer", "object": "object", "array": "array", "input": "object"}
_AUTHORISED_BY = {
    "create": "requestId or confirm",
    "gated": "confirm",
    "dangerous": "dangerous and confirm",
    "record": "the call itself",
    "process": "the call itself, with the rights of its caller",
}


def cli_reference(registry: Registry, command: str = "") -> dict[str, Any]:
    """Return commands sorted by path, global flags, and the output types they name; or all this for one
    command.

    One command loads its own operation only: the types of all of them take half a second.
    """
    known = installed_paths(registry)
    called = {
        path: operation_of(registry, name) if (name := COMMANDS[path]["operation"]) else None
        for path in ([command] if command in known else known)
    }
    schemas = _Schemas(called)
    commands = [_command(path, one, schemas) for path, one in called.items()]
    return {
        "global_flags": [_global_flag(flag) for flag in GLOBALS],
        "commands": sorted(commands, key=lambda one: one["path"]),
        "schemas": dict(sorted(schemas.described.items())),
        "json_schemas": dict(sorted(schemas.json_schemas.items())),
        "definitions": dict(sorted(schemas.definitions.items())),
    }


_NAMES = "#/$defs/"
_CAMEL = (LedgerDocument,)
"""LAFS documents, whose keys are in camel case."""


class _Schemas:
    """The output types collected so far, each under one label."""

    def __init__(self, found: Mapping[str, Operation | None]) -> None:
        self.described: dict[str, Any] = {}
        self.json_schemas: dict[str, Any] = {}
        self._sources: dict[str, Any] = {}
        called = {path: one for path, one in found.items() if one is not None}
        kinds = [
            AckVerdict,
            DryRun,
            *dict.fromkeys(kind for one in called.values() for kind in _kinds_of(one)),
        ]
        refs, self.definitions = msgspec.json.schema_components(kinds, ref_template=_NAMES + "{name}")
        self._refs = dict(zip(kinds, refs, strict=True))
        for path, one in called.items():
            self._note_levels(COMMANDS[path]["shown"], one)

    def label_of(self, called: Operation) -> str:
        """Return the label of an operation's answer type."""
        label = _snake(called.output.__name__)
        source = (called.output, called.item)
        assert self._sources.setdefault(label, source) == source, f"two output types are called {label}"
        kinds = (called.output, *called.variants)
        fields = list(dict.fromkeys(name for kind in kinds for name in self._fields_of(kind)))
        untrusted = [_placed(called, name) for name in called.shape.untrusted]
        refs = [self._refs[kind] for kind in kinds]
        schema = refs[0] if len(refs) == 1 else {"anyOf": refs}
        if called.item is not None:
            schema = _page_schema(schema, self._refs[called.item])
            rows = [f"items.{name}" for name in self._fields_of(called.item)]
            fields = [*schema["properties"], *fields, *rows]
        if called.shape.rows:
            fields = [*fields, *(key for key in PLACE_KEYS if key not in fields)]
            schema = {"type": "object", "allOf": [schema], "properties": _PLACE}
        self._add(label, fields, untrusted, called.output, schema)
        return label

    def _note_levels(self, columns: Sequence[str], called: Operation) -> None:
        """Require only the fields that every disclosure level shows, including the row of the
        default level.
        """
        shown = [names for names in (*called.shape.levels.values(), columns or None) if names is not None]
        select = called.shape.select
        kind = called.item if select == "items" else called.output if select == "top" else None
        if shown and kind is not None:
            always = set.intersection(*({name.partition(".")[0] for name in names} for names in shown))
            described = self.definitions[self._refs[kind]["$ref"].removeprefix(_NAMES)]
            described["required"] = [name for name in described.get("required", ()) if name in always]

    def plain(self, kind: type[Any]) -> str:
        """Return the label of a type that several operations answer with."""
        label = _snake(kind.__name__)
        self._add(label, self._fields_of(kind), [], kind, self._refs[kind])
        return label

    def listed(self, label: str, *fields: str) -> str:
        """Return the label of output that is not written by one of our types."""
        self.described[label] = _described(fields, [], "snake_case")
        self.json_schemas[label] = {"type": "object", "properties": {name: {} for name in fields}}
        return label

    def _add(self, label: str, fields: list[str], untrusted: list[str], kind: type[Any], schema: Any) -> None:
        is_camel = issubclass(kind, Payload) or kind in _CAMEL
        style = "camelCase" if is_camel else "snake_case"
        self.described[label] = _described(fields, untrusted, style)
        self.json_schemas[label] = schema

    def _fields_of(self, kind: type[Any]) -> list[str]:
        """Return every field by its dotted name, as `--fields` takes it, through lists and down to a
        limited depth.
        """
        return list(dict.fromkeys(_names(self._refs[kind], self.definitions, "", 0)))


def _kinds_of(called: Operation) -> tuple[type[Any], ...]:
    """Return every type that its answers contain."""
    return (called.output, *called.variants, *(() if called.item is None else (called.item,)))


def _command(path: str, called: Operation | None, schemas: _Schemas) -> dict[str, Any]:
    command, helped = COMMANDS[path], read_help()[path]
    effect = command["effect"]
    is_previewed = "--dry-run" in command["globals"]
    return {
        "path": path,
        "type": {"read": "read", "server": "server"}.get(effect, "write" if called is not None else "read"),
        "effect": effect,
        "where": None if called is None else called.where,
        "operation": command["operation"] or None,
        "tool": command["tool"] or None,
        "description": command["summary"],
        "usage": helped["usage"],
        "params": [
            _param(param, text) for param, text in zip(command["params"], helped["texts"], strict=True)
        ],
        "global_flags": list(command["globals"]),
        "expand": [] if called is None else list(called.shape.on_demand),
        "paging": _paging(command, called),
        "default_sort": helped["sort"] or None,
        "batch": _batch(command),
        "dangerous": effect == "dangerous",
        "requires_confirmation": effect in ("gated", "dangerous"),
        "authorised_by": _authority(command, helped),
        "blast_radius": helped["blast_radius"] or None,
        "output": helped["output"],
        "raw": bool(command["raw"]),
        "stream": "--stream" in command["globals"],
        "verdict": any(param["name"] == "reportOnly" for param in command["params"]),
        "output_schema": schemas.listed(*helped["schema"]) if called is None else schemas.label_of(called),
        "dry_run_output_schema": _preview(schemas, called, effect) if is_previewed else None,
        "mvi_budget": _mvi_budget(called),
        "needs": list(helped["needs"]),
        "errors": list(helped["errors"]),
        "examples": list(helped["examples"]),
        "deprecated": None,
    }


def _authority(command: Command, helped: CommandHelp) -> str | None:
    """Return what a change requires: a token, flags, a person, or nothing besides the call."""
    if command["effect"] == "ack":
        return next(param["name"] for param in command["params"] if param["kind"] == "token")
    if command["effect"] == "record" and E_HUMAN_REQUIRED.code in helped["errors"]:
        return "a person at a terminal or in the Console"
    return _AUTHORISED_BY.get(command["effect"])


def _paging(command: Command, called: Operation | None) -> str:
    """Return how its list is paged; a list with two ways names both, the usual one first.

    A list without an order of its own is not paged: texts inside a preview have pages, too, but are
    no result.
    """
    if called is None or not called.default_sort:
        return "none"
    names = {param["name"] for param in command["params"]}
    return " or ".join(way for way in ("offset", "cursor") if way in names) or "none"


def _preview(schemas: _Schemas, called: Operation | None, effect: str) -> str:
    """Return the type of a dry run: a preview with its token, the verdict on a given token, or the answer
    itself.
    """
    if effect == "update" and called is not None:
        return schemas.label_of(called)  # it needs no token (CLI section 14)
    return schemas.plain(AckVerdict if effect == "ack" else DryRun)


def _param(param: Param, text: str) -> dict[str, Any]:
    values = list(param["choices"])
    is_bounded = param["kind"] == "int"
    return {
        "name": param["flag"].removeprefix("--") or param["name"],
        "flag": param["flag"] or None,
        "position": param["position"] or None,
        "field": param["name"],
        "type": _TYPES.get(param["kind"], "string"),
        "kind": param["kind"],
        "required": param["required"],
        "multiple": param["is_plural"],
        "values": values or None,
        "minimum": param["least"] if is_bounded else None,
        "maximum": param["most"] if is_bounded and param["most"] != NO_LIMIT else None,
        "sensitive": param["kind"] == "token",
        "description": text,
    }


def _global_flag(flag: Param) -> dict[str, Any]:
    helped = read_flag_help()[flag["flag"]]
    return {
        "name": flag["flag"],
        "type": _TYPES.get(flag["kind"], "string"),
        "values": list(flag["choices"]) or None,
        "minimum": flag["least"] or None,
        "maximum": flag["most"] or None,
        "applies_to": helped["applies_to"],
        "env": helped["environment"] or None,
        "description": helped["text"],
    }


def _batch(command: Command) -> dict[str, Any] | None:
    """Return the plural parameter of a command that acts on several targets in one call."""
    if "--continue-on-error" not in command["globals"]:
        return None
    plural = next((param for param in command["params"] if param["is_plural"]), None)
    named = None if plural is None else plural["flag"] or plural["value"]
    return {
        "param": named,
        "continue_on_error": command["effect"] != "dangerous",
        "max_targets": MOST_TARGETS,
    }


def _mvi_budget(called: Operation | None) -> dict[str, Any] | None:
    """Return the highest cost of the minimal level (LAFS 9.1), so that a caller can plan for it."""
    if called is None:
        return None
    per = "answer" if called.item is None else "item"
    return {"level": "minimal", "per": per, "tokens": DEFAULT_MVI_TOKENS[per]}


def _page_schema(wrapper: dict[str, Any], item: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a list as it is sent: rows, position of the page, and the wrapper's fields."""
    paging = {
        "items": {"type": "array", "items": item},
        "count": {"type": "integer", "minimum": 0},
        "next_cursor": {"type": ["string", "null"]},
        "has_more": {"type": "boolean"},
    }
    return {"type": "object", "allOf": [wrapper], "properties": paging, "required": list(paging)}


def _described(fields: Any, untrusted: list[str], style: str) -> dict[str, Any]:
    return {
        "shape": "object",
        "fields": list(fields),
        "untrusted_fields": untrusted,
        "key_style": style,
    }


def _placed(called: Operation, name: str) -> str:
    """Return a field of the shape as it is named from the top of the payload."""
    select = called.shape.select
    if select == "items":
        return f"items.{name}"
    return f"{select.removeprefix('entity:')}.{name}" if select.startswith("entity:") else name


def _names(schema: dict[str, Any], parts: dict[str, Any], prefix: str, depth: int) -> list[str]:
    if depth == DEEPEST_FIELD:
        return []
    found: list[str] = []
    for part in (schema, *schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())):
        if part is not schema:
            found += _names(part, parts, prefix, depth)
        elif "$ref" in part:
            found += _names(parts[part["$ref"].removeprefix(_NAMES)], parts, prefix, depth)
        elif part.get("type") == "array" and isinstance(part.get("items"), dict):
            found += _names(part["items"], parts, prefix, depth)
        for name, field in part.get("properties", {}).items() if part is schema else ():
            found.append(prefix + name)
            found += _names(field, parts, f"{prefix}{name}.", depth + 1)
    return found


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
