"""JSON types, and what a sentence calls them. Pure."""

from __future__ import annotations

from functools import cache
from typing import Literal, TypeAlias, get_args

from handrail.contract.outcome import Json
from handrail.workflows.compiled import TYPE_WORDS
from handrail.workflows.reading.grammar import SHAPES
from handrail.workflows.reading.shapes import (
    Anything,
    ByType,
    Flag,
    Items,
    Members,
    Named,
    Record,
    Shape,
    Tagged,
    Text,
    Whole,
    Word,
)

JsonType: TypeAlias = Literal["object", "array", "string", "number", "boolean", "null"]

_TYPES: dict[type, JsonType] = {
    dict: "object",
    list: "array",
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    type(None): "null",
}


def json_type(value: Json) -> JsonType:
    return _TYPES[type(value)]


def name_type(value: Json) -> str:
    return TYPE_WORDS[json_type(value)]


_OF_SHAPE: dict[type, tuple[JsonType, ...]] = {
    Text: ("string",),
    Word: ("string",),
    Record: ("object",),
    Tagged: ("object",),
    Members: ("object",),
    Items: ("array",),
    Flag: ("boolean",),
    Whole: ("number",),
    Anything: get_args(JsonType),
}
"""Where the kind of shape alone decides; a table, because every value of every file is asked."""


def shape_types(shape: Shape) -> tuple[JsonType, ...]:
    """The JSON types that a value of this shape can have, in the order the grammar names them."""
    match shape:
        case Named(name=name):
            return _named_types(name)
        case ByType(shapes=shapes):
            return tuple(one for inner in shapes for one in shape_types(inner))
        case _:
            return _OF_SHAPE[type(shape)]


@cache
def _named_types(name: str) -> tuple[JsonType, ...]:
    return shape_types(SHAPES[name])


def describe_shape(shape: Shape) -> str:
    """What to write where this shape is wanted."""
    words = [TYPE_WORDS[one] for one in shape_types(shape)]
    return " or ".join(words)
