"""Whether a JSON value fits, and what a wrong key or value was meant to be, if that is certain.
Pure.

A repair keeps the meaning: it never suggests a key that is already there, and it changes a value
only into the one value of the wanted type with the same meaning.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Set
from functools import cache, partial
from typing import TypeAlias, get_args
from unicodedata import combining, normalize

import msgspec

from handrail.contract.json.places import join_pointer
from handrail.contract.outcome import Json
from handrail.workflows.compiled import (
    TYPE_WORDS,
    InputType,
    JsonType,
    has_declared_type,
    is_number,
    json_type,
)
from handrail.workflows.problem import (
    NO_EDIT,
    Edit,
    guess_name,
    guess_surely,
    remove_value,
    rename_key,
)
from handrail.workflows.reading.grammar import BLOCK_KEYS, SHAPES
from handrail.workflows.reading.part_grammar import WHEN
from handrail.workflows.reading.shapes import (
    DESCRIPTION,
    PROMPT,
    PROSE,
    REMARK,
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
"""The test, and the name of a fitting value."""


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
    **dict.fromkeys(("gt", "gte", "lt", "lte"), _ORDERED),
    "exists": INPUT_FITS["boolean"],
}
"""By operator: what the value of a comparison must be."""
OPERATOR_EXAMPLES: dict[str, str] = {
    **dict.fromkeys(("equals", "not_equals", "contains"), '"large"'),
    "in": '["small", "large"]',
    **dict.fromkeys(("gt", "gte", "lt", "lte"), "1"),
}
"""By operator that takes a value: an example of one."""

_WHOLE = re.compile("-?(0|[1-9][0-9]{0,14})", re.ASCII)
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]{0,14})\.[0-9]{1,14}", re.ASCII)

_TRUTHS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
"""Other spellings of booleans by people and older YAML."""


def convert_value(declared: str, value: Json) -> Json:
    """Return the same value in another JSON type, if the types alone determine it; otherwise None."""
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
"""Types by kind of shape, if that alone decides; a table, because every value of every file uses it."""


def shape_types(shape: Shape) -> tuple[JsonType, ...]:
    """Return the JSON types that a value of this shape can have, in the order the grammar names them."""
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
    """Return what to write if this shape is required."""
    words = [TYPE_WORDS[one] for one in shape_types(shape)]
    return " or ".join(words)


# What was meant

_KEYS_ELSEWHERE = {
    "title label": "name",
    "title label name": "title",
    "label title": "label",
    "prompt text": "text content",
    "prompt": "instructions instruction",
    "description": "summary help",
    "when": "if condition runIf runCondition",
    "body": "steps children",
    "maxIterations maximum": "max",
    "maxIterations": "limit maxRounds max_iterations",
    "input": "items list variable",
    "as": "item itemVar",
    "as input": "var",
    "indexAs": "index indexVar",
    "op": "operator",
    "enum": "values allowed",
    "options enum": "choices",
    "default": "defaultValue",
    "required": "mandatory",
    "set": "sets context",
    "params args": "args parameters",
    "args params": "arguments",
    "templateId": "template",
    "operation": "tool",
    "contractRef": "contract",
    "minimum": "min minLength",
    "maximum": "maxLength",
    "pattern": "regex",
    "of": "conditions",
    "agentRole": "role",
    "requireConfirmation": "confirm",
    "output": "outputContract",
    "guidance": "metaGuidance",
    "questions": "clarificationPrompts",
    "functionRefs": "functionReferences",
}
"""Keys, each with names of other tools for it; the first key that is absent counts."""
OTHER_KEYS = {
    other: tuple(meant.split()) for meant, others in _KEYS_ELSEWHERE.items() for other in others.split()
}

_WORDS_ELSEWHERE = {
    "equals": "= == === eq equal is",
    "not_equals": "!= !== <> ne neq is_not",
    "gt": ">",
    "gte": ">= ge",
    "lt": "<",
    "lte": "<= le",
    "contains": "includes has",
    "in": "one_of any_of",
    "string": "str text",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "array": "list",
    "object": "dict map",
    "and": "all",
    "or": "any",
    "not": "none",
    "always_true": "true always",
    "always_false": "false never",
    "step": "task prompt",
    "loop": "for repeat foreach for_each while until",
    "template_call": "call template",
    "choice": "decision question",
    "action": "tool operation",
}
"""Words of the closed sets, with other spellings; one counts only if its meaning is allowed at the place."""
OTHER_WORDS = {other: meant for meant, others in _WORDS_ELSEWHERE.items() for other in others.split()}


def guess_word(word: str, values: tuple[str, ...]) -> str:
    """Guess the value that a word stands for; empty if that is not certain."""
    other = OTHER_WORDS.get(word.lower(), "")
    return other if other in values else guess_surely(word, values)


def guess_key(name: str, value: dict[str, Json], known: tuple[str, ...]) -> str:
    """Return the key that was meant by an unknown one; never one that is already there."""
    absent = [one for one in known if one not in value]
    if name in absent:
        return name
    if name == "prompt" and "slot" in known and "description" in absent:
        return "description"
    return next((one for one in OTHER_KEYS.get(name, ()) if one in absent), "") or guess_surely(name, absent)


def advise_on_key(
    name: str,
    value: dict[str, Json],
    known: tuple[str, ...],
    pointer: str,
    belongs: str = "",
) -> tuple[str, str, Edit]:
    """Return for an unknown key: the probable key, the advice, and the edit if it is certain.

    `belongs` is what would turn the record into another kind, which has such a key.
    """
    place = join_pointer(pointer, name)
    near = guess_key(name, value, known)
    if near:
        return near, f"Did you mean {near}?", rename_key(place, near)
    if name == "id" and "slot" in known:
        edit = remove_value(place) if value["id"] == value.get("slot") else NO_EDIT
        return "", "Remove it: a slot is known by its name under slot.", edit
    if name in _WRITTEN_OTHERWISE and _WRITTEN_OTHERWISE[name][0] in known:
        return "", _WRITTEN_OTHERWISE[name][1], NO_EDIT
    if belongs:
        return "", f"Write {belongs} if that is meant: {name} belongs there.", NO_EDIT
    perhaps = guess_name(name, [one for one in known if one not in value])
    if perhaps:
        return perhaps, f"Did you mean {perhaps}?", NO_EDIT
    there = guess_name(name, [one for one in known if one in value])
    if there and value[there] == value[name]:
        return "", f"{there} is already there with the same value; remove this one.", remove_value(place)
    if there:
        return "", f"{there} is already there: keep the value that you mean under {there}.", NO_EDIT
    # A customisation has nothing that is kept without meaning.
    kept = "" if _OF_OVERLAYS & set(known) else ", or move it under extra of the workflow"
    return "", f"Remove it{kept}; known keys: {', '.join(known)}.", NO_EDIT


_OF_OVERLAYS = {"extends", "append", "after", "demand"}
_NOT = ' with {"kind": "not", "of": …}: the part is skipped where the condition does not hold.'
_WRITTEN_OTHERWISE = {
    "doWhile": ("until", "Write until with the opposite condition: it is checked after each iteration."),
    **dict.fromkeys(("unless", "skipIf", "skipWhen"), ("when", f"Write when{_NOT}")),
    **dict.fromkeys(
        ("goto", "next", "nextStep", "then", "jump"),
        ("set", "Write set with a value of your own, and compare it under when of the steps that follow."),
    ),
    "conditions": ("extends", "Write each where it is used, such as `when: {kind: …}`."),
    **dict.fromkeys(
        ("contract", "contractRef"), ("output", "Write output: {contractRef: …} with the id of the contract.")
    ),
    **dict.fromkeys(("as", "indexAs"), ("forEach", "An item is named inside forEach: {input, as, indexAs}.")),
    "unset": ("set", "Write set with null as the value: null takes a value back."),
    "minIterations": (
        "maxIterations",
        "Remove it: a loop has no least number; count repeats a fixed number.",
    ),
}
"""Keys without a direct equivalent: the key that must be known for the advice to help, and the advice."""


_LINES = (PROMPT, PROSE, DESCRIPTION, REMARK)
"""Texts that some people write as a list of lines."""
_CONVERTED: tuple[JsonType, ...] = ("string", "boolean", "array", "number")


def guess_value(value: Json, shape: Shape) -> Json | msgspec.UnsetType:
    """Return the same value in one of the types of the shape; UNSET unless there is exactly one."""
    if shape == WHEN:
        return {"kind": f"always_{str(value).lower()}"} if isinstance(value, bool) else msgspec.UNSET
    wanted = shape_types(shape)
    if isinstance(value, list) and value and "string" in wanted and "array" not in wanted:
        is_prose = _is_prose(shape) and all(isinstance(one, str) for one in value)
        return "\n".join(value) if is_prose else msgspec.UNSET
    if pair := join_pair(value, shape):
        return pair
    made = [convert_value(one, value) for one in wanted if one in _CONVERTED]
    found = [one for one in made if one is not None]
    return found[0] if len(found) == 1 else msgspec.UNSET


def join_pair(value: Json, shape: Shape) -> str:
    """Return the text that YAML read as an object because of its colon; empty if it is none."""
    if not isinstance(value, dict) or len(value) != 1 or not _is_prose(shape):
        return ""
    [(name, rest)] = value.items()
    if name in ("text", "content") and isinstance(rest, str):
        return rest  # as other languages hold a text
    # A word in lower case may be a key of another language.
    is_words = name[:1].isupper() or " " in name.strip()
    is_key = bool(guess_name(name, _KEYS_OF_TEXTS)) or not is_words or not isinstance(rest, str)
    return "" if is_key else f"{name}: {rest}"


_KEYS_OF_TEXTS = ("kind", "refId", *BLOCK_KEYS)


def _is_prose(shape: Shape) -> bool:
    shapes = shape.shapes if isinstance(shape, ByType) else (shape,)
    return any(one in _LINES for one in shapes)


def make_id(text: str) -> str:
    """Return an id made from a text; letters lose their accents."""
    bare = "".join(one for one in normalize("NFKD", text.strip()) if not combining(one))
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", bare)
    return re.sub(r"[^a-z0-9_-]+", "_", words.lower()).strip("_")[:64]


def make_workflow_id(text: str) -> str:
    namespace, dot, name = text.strip().partition("@")[0].partition(".")
    parts = [make_id(one.replace(".", "_")) for one in ((namespace, name) if dot else (namespace,))]
    return ".".join(parts) if all(part and part[0].isalpha() for part in parts) else ""


def find_free_id(wanted: str, taken: Set[str]) -> str:
    """Return the id, or the id with the lowest number that makes it free."""
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted}_{number}", number + 1
    return name
