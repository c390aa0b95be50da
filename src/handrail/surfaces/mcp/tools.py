"""The closed set of tools and their definitions, from the operation registry. Pure.

Nothing that an author, a repository or a session wrote ever reaches a definition.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Failure, Json, NextCall
from handrail.runtime.operation import Effect, Operation, operation

# JSON Schemas of our structs, as short as a client allows
#
# An agent pays for every tool definition in every conversation, so references are inlined, and what
# neither a model nor a validator reads (titles, defaults, docstrings of structs) is left out.

Schema: TypeAlias = dict[str, Any]

_REFERENCE = "#/$defs/"
_UNREAD = ("title", "default", "minLength", "maxLength", "pattern")
"""Schema keywords that are left out, because the operation rejects violations with a better sentence."""
_LIST: dict[str, Schema] = {"items": {"type": "array"}}


def input_schema(
    struct: type[Any],
    fields: tuple[str, ...],
    choices: dict[str, tuple[str, ...]],
    clear_by_name: tuple[str, ...] = (),
) -> Schema:
    """Return what a tool takes: only these fields, in this order, with their enums narrowed; closed.

    Fields whose name says enough have no description.
    """
    whole = _read(struct)
    unknown = set(fields) - set(whole["properties"])
    assert not unknown, f"{struct.__name__} has no fields {sorted(unknown)}"
    properties = {name: whole["properties"][name] for name in fields}
    for name, values in choices.items():
        properties[name] = {**properties[name], "enum": list(values)}
    for name in set(clear_by_name) & set(properties):
        properties[name] = {key: held for key, held in properties[name].items() if key != "description"}
    required = [name for name in whole.get("required", ()) if name in properties]
    slim: Schema = {"type": "object", "properties": _typed(properties)}
    if required:
        slim["required"] = required
    return {**slim, "additionalProperties": False}


def output_schema(
    struct: type[Any], item: type[Any] | None, shape: Shape, clear_by_name: tuple[str, ...] = ()
) -> Schema:
    """Return the schema of a tool's answers, one level deep; open, because fields are only ever
    added.

    Nothing is required at the top: several clients check the structured copy of an error against
    this schema too, and would hide the error from the agent if it did not match.
    """
    if item is not None:
        return {"type": "object", "properties": _LIST}
    whole = _read(struct)
    level = shape.levels.get("minimal") if shape.select == "top" else None
    always = [name for name in whole.get("required", ()) if level is None or name in level]
    always = [name for name in always if name not in clear_by_name]
    return {"type": "object", "properties": {name: _type_alone(whole["properties"][name]) for name in always}}


def _type_alone(schema: Schema) -> Schema:
    """Return the type of a field only: a client that cached the listing must accept a new word of a closed
    set.

    A nullable field is only named: its type would cost more tokens than it saves.
    """
    if "enum" in schema:
        return {"type": "string"}
    return {"type": schema["type"]} if isinstance(schema.get("type"), str) else {}


def _read(struct: type[Any]) -> Schema:
    (root,), definitions = msgspec.json.schema_components((struct,), ref_template=_REFERENCE + "{name}")
    slim = _inlined(root, definitions)
    assert isinstance(slim, dict), "a struct has an object schema"
    return slim


def _inlined(schema: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_inlined(part, definitions) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _resolved(schema, definitions)
    slim = {}
    for key, value in schema.items():
        if key in _UNREAD or (key == "required" and not value):
            continue
        if key == "properties":
            slim[key] = {name: _inlined(part, definitions) for name, part in value.items()}
        else:
            slim[key] = _inlined(value, definitions)
    return _without_null_branch(slim)


def _resolved(schema: Schema, definitions: dict[str, Any]) -> Schema:
    """Replace a reference by its definition, with the description of the field, not of the struct."""
    named = definitions[schema["$ref"].removeprefix(_REFERENCE)]
    body = _inlined(named, definitions)
    beside = {key: value for key, value in schema.items() if key not in ("$ref", *_UNREAD)}
    return {**beside, **{key: value for key, value in body.items() if key != "description"}}


def _without_null_branch(schema: Schema) -> Schema:
    """Turn `{anyOf: [X, null]}` into X with a nullable type, which is half as long."""
    branches = schema.get("anyOf")
    if branches is None or len(branches) != 2 or {"type": "null"} not in branches:
        return schema
    other = next(branch for branch in branches if branch != {"type": "null"})
    if not isinstance(other.get("type"), str):
        return schema
    beside = {key: value for key, value in schema.items() if key != "anyOf"}
    return {**beside, **other, "type": [other["type"], "null"]}


def _typed(schema: Any) -> Any:
    """Give enums the type string: some model providers refuse an enum without a type."""
    if isinstance(schema, list):
        return [_typed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    typed = {key: _typed(value) for key, value in schema.items()}
    if isinstance(schema.get("enum"), list) and "type" not in schema:
        return {"type": "string", **typed}
    return typed


# Tools

OFFERED = (
    "workflow.list",
    "workflow.inspect",
    "run.start",
    "run.continue",
    "run.checkpoint",
    "session.resume",
)
"""The operations that agents get as tools, in the order in which every process lists them."""

SWITCHED_ON = ("session.start",)
"""Operations that a setting adds when the server starts; without it, calling them is refused."""

CLEAR_BY_NAME = ("project",)
"""Arguments whose names say enough; a description would cost tokens in every tool."""


class Wording(msgspec.Struct, frozen=True, kw_only=True):
    """How a set words its outcomes, if its operations mention a command line."""

    refuse: Callable[[Tool, dict[str, Json], Failure], Failure]
    respell: Callable[[dict[str, Json]], dict[str, Json]]
    text: Callable[[dict[str, Any]], str]
    spell_call: Callable[[NextCall], dict[str, Json] | None]
    """Spells a call as one of the tools of the set; None for the spelling of every other set."""


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """One tool: the operation it runs and the definition that clients read."""

    name: str
    operation: str
    definition: dict[str, Any]
    adds: dict[str, Json] = {}
    """Params that the tool itself gives its operation."""
    wording: Wording | None = None


def offered_tools(*, start_session: bool = False) -> dict[str, Tool]:
    """Return every tool by its name, in listing order; the last one only if the user's settings allow it."""
    tools = (_tool(operation(name)) for name in (*OFFERED, *(SWITCHED_ON if start_session else ())))
    return {tool.name: tool for tool in tools}


def tool_definitions(*, start_session: bool = False) -> list[dict[str, Any]]:
    """Return what `tools/list` answers, as plain data."""
    return [tool.definition for tool in offered_tools(start_session=start_session).values()]


def spell_call(tools: dict[str, Tool], call: NextCall) -> dict[str, Json] | None:
    """Return the next call as a tool call; None if no tool takes these params."""
    for tool in tools.values():
        params = {name: value for name, value in call.params.items() if name not in tool.adds}
        if tool.operation == call.operation and set(params) <= set(fields_of(tool)):
            return {"tool": tool.name, "params": params}
    return None


def fields_of(tool: Tool) -> dict[str, Any]:
    """Return the arguments of a tool with their schemas."""
    properties: dict[str, Any] = tool.definition["inputSchema"]["properties"]
    return properties


def _tool(offered: Operation) -> Tool:
    assert offered.tool, f"{offered.name} names no tool"
    assert offered.effect != "process", f"{offered.name} starts programs, which no server may"
    taken = input_schema(offered.input, offered.tool_fields, offered.tool_choices, CLEAR_BY_NAME)
    definition = {
        "name": offered.tool,
        "description": offered.tool_description,
        "inputSchema": taken | ({"required": [*offered.tool_required]} if offered.tool_required else {}),
        "outputSchema": output_schema(offered.output, offered.item, offered.shape, CLEAR_BY_NAME),
        "annotations": annotations_of(offered.effect),
    }
    return Tool(name=offered.tool, operation=offered.name, definition=definition)


def annotations_of(effect: Effect, *, is_overwriting: bool = False) -> dict[str, bool]:
    """Return all four hints, always, because a client that has to guess assumes the worst."""
    is_read = effect == "read"
    return {
        "readOnlyHint": is_read,
        "destructiveHint": is_overwriting,
        "idempotentHint": is_read or effect == "ack",
        "openWorldHint": False,
    }
