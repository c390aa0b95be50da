"""Objects and lists that an agent sent as JSON text, read with good will and named. Pure."""

from __future__ import annotations

from typing import Any

from handrail.contract.outcome import Fault, Json
from handrail.contract.strict_json import decode_json
from handrail.surfaces.mcp.limits import MAX_BYTES, MAX_DEPTH

_LIST, _OBJECT = "a list of objects", "an object"


def read_texts(fields: dict[str, Any], given: dict[str, Json]) -> tuple[dict[str, Json], dict[str, str]]:
    """The arguments with such texts read, and where one was: dotted name → what belongs there.

    Only declared places are looked at; text inside context or an artifact's body is content.
    """
    found: dict[str, str] = {}
    return _object(fields, given, "", found), found


def text_warning(name: str, meant: str) -> dict[str, Json]:
    """What the reply says about a text that was read."""
    return {
        "code": "INPUT_REPAIRED",
        "message": f"{name} was sent as text and read as JSON; send it as {meant} next time.",
    }


def _object(
    fields: dict[str, Any], given: dict[str, Json], above: str, found: dict[str, str]
) -> dict[str, Json]:
    read = dict(given)
    for name, schema in fields.items():
        if name not in read:
            continue
        place = f"{above}{name}"
        kind = schema.get("type")
        if kind == "object":
            read[name] = _read(read[name], "{", place, _OBJECT, found)
            if isinstance(read[name], dict):
                read[name] = _object(schema.get("properties", {}), read[name], f"{place}.", found)
        elif kind == "array":
            read[name] = _list(schema["items"], read[name], place, found)
    return read


def _list(item: dict[str, Any], value: Json, place: str, found: dict[str, str]) -> Json:
    if isinstance(value, str):
        value = _read(value, "[{", place, _LIST, found)
        return [value] if isinstance(value, dict) else value  # one item alone, where a list belongs
    if isinstance(value, list) and item.get("type") == "object":
        return [_read(part, "{", place, _LIST, found) for part in value]
    return value


def _read(value: Json, openings: str, place: str, meant: str, found: dict[str, str]) -> Json:
    if not isinstance(value, str) or not value.lstrip().startswith(tuple(openings)):
        return value
    try:
        read = decode_json(value, max_bytes=MAX_BYTES, max_depth=MAX_DEPTH)
    except Fault:  # not JSON after all; the flaw is reported with the field
        return value
    found[place] = meant
    return read
