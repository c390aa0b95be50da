"""Whether a JSON value fits a declared type or a comparison, as a question and in words. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial
from typing import TypeAlias, get_args

from handrail.contract.outcome import Json
from handrail.workflows.compiled import (
    TYPE_WORDS,
    InputType,
    JsonType,
    has_declared_type,
    is_number,
    json_type,
)
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

Fit: TypeAlias = tuple[Callable[[Json], bool], str]
"""The question, and what a fitting value is called."""


def _is_ordered(value: Json) -> bool:
    return isinstance(value, str) or is_number(value)


def _is_simple(value: Json) -> bool:
    return isinstance(value, bool) or _is_ordered(value)


def _is_filled_list(value: Json) -> bool:
    return isinstance(value, list) and bool(value)


INPUT_FITS: dict[str, Fit] = {
    name: (partial(has_declared_type, name), TYPE_WORDS[name]) for name in get_args(InputType)
}
"""By input type: what a default or a member of the enum must be."""

_ORDERED: Fit = (_is_ordered, "a number or a text")
OPERATOR_FITS: dict[str, Fit] = {
    "equals": INPUT_FITS["any"],
    "not_equals": INPUT_FITS["any"],
    "in": (_is_filled_list, "a list with at least one value"),
    "contains": (_is_simple, "a text, a number, true or false"),
    "gt": _ORDERED,
    "gte": _ORDERED,
    "lt": _ORDERED,
    "lte": _ORDERED,
    "exists": INPUT_FITS["boolean"],
}
"""By operator: what the value of a comparison must be."""

_WHOLE = re.compile("-?(0|[1-9][0-9]{0,14})", re.ASCII)
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]{0,14})\.[0-9]{1,14}", re.ASCII)

_TRUTHS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
"""How people and older YAML write a boolean."""


def convert_value(declared: str, value: Json) -> Json:
    """The same value in another JSON type, if the types alone determine it; None otherwise."""
    if not isinstance(value, str):
        if declared == "string" and _is_simple(value):
            return str(value).lower() if isinstance(value, bool) else str(value)
        return [value] if declared == "array" and _is_simple(value) else None
    match declared:
        case "boolean" if value.lower() in _TRUTHS:
            return _TRUTHS[value.lower()]
        case "integer" | "number" if _WHOLE.fullmatch(value):
            return int(value)
        case "number" if _DECIMAL.fullmatch(value):
            return float(value)
        case "array":
            return [value]
        case _:
            return None


# JSON types, and what a sentence calls them.


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
