"""What was meant by a key or a value that is not right, where that is certain. Pure.

A repair keeps the meaning when it is applied as it stands: no key is suggested that is already there, and a
value is only changed into the one value of the wanted type that says the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from handrail.contract.outcome import Json
from handrail.workflows.dialect.single_keys import native_members
from handrail.workflows.edits import NO_EDIT, Edit, added, removed, renamed
from handrail.workflows.reading.condition_grammar import OPERATORS
from handrail.workflows.reading.findings import child, meant, surely_meant
from handrail.workflows.reading.json_words import JsonType
from handrail.workflows.reading.value_fit import converted

OTHER_KEYS: dict[str, tuple[str, ...]] = {
    "name": ("title", "label"),
    "title": ("title", "label", "name"),
    "label": ("label", "title"),
    "text": ("prompt", "text"),
    "instructions": ("prompt",),
    "instruction": ("prompt",),
    "content": ("prompt", "text"),
    "summary": ("description",),
    "help": ("description",),
    "if": ("when",),
    "condition": ("when",),
    "runIf": ("when",),
    "steps": ("body",),
    "children": ("body",),
    "max": ("maxIterations",),
    "limit": ("maxIterations",),
    "maxRounds": ("maxIterations",),
    "max_iterations": ("maxIterations",),
    "items": ("input",),
    "list": ("input",),
    "item": ("as",),
    "itemVar": ("as",),
    "var": ("as", "input"),
    "variable": ("input",),
    "index": ("indexAs",),
    "indexVar": ("indexAs",),
    "operator": ("op",),
    "values": ("enum",),
    "choices": ("options", "enum"),
    "allowed": ("enum",),
    "defaultValue": ("default",),
    "mandatory": ("required",),
    "sets": ("set",),
    "context": ("set",),
    "args": ("params", "args"),
    "arguments": ("args", "params"),
    "parameters": ("params", "args"),
    "template": ("templateId",),
    "contract": ("contractRef",),
    "min": ("minimum",),
    "minLength": ("minimum",),
    "maxLength": ("maximum",),
    "regex": ("pattern",),
    "conditions": ("of",),
    "role": ("agentRole",),
    "confirm": ("requireConfirmation",),
    "metaGuidance": ("guidance",),
    "clarificationPrompts": ("questions",),
    "functionReferences": ("functionRefs",),
}
"""What people write who know another tool, and the keys that say the same here; the first absent one."""

OTHER_WORDS = {
    "=": "equals",
    "==": "equals",
    "===": "equals",
    "eq": "equals",
    "equal": "equals",
    "is": "equals",
    "!=": "not_equals",
    "!==": "not_equals",
    "<>": "not_equals",
    "ne": "not_equals",
    "neq": "not_equals",
    "is_not": "not_equals",
    ">": "gt",
    ">=": "gte",
    "ge": "gte",
    "<": "lt",
    "<=": "lte",
    "le": "lte",
    "includes": "contains",
    "has": "contains",
    "one_of": "in",
    "any_of": "in",
    "str": "string",
    "text": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "list": "array",
    "dict": "object",
    "map": "object",
    "all": "and",
    "any": "or",
    "none": "not",
    "true": "always_true",
    "false": "always_false",
    "task": "step",
    "prompt": "step",
    "for": "loop",
    "repeat": "loop",
    "call": "template_call",
    "template": "template_call",
    "decision": "choice",
    "question": "choice",
    "tool": "action",
    "operation": "action",
}
"""Other spellings of the closed sets; a word counts only where its meaning is one of the wanted words."""


def word_meant(word: str, values: tuple[str, ...]) -> str:
    """The value that a word stands for; nothing where that is not certain."""
    other = OTHER_WORDS.get(word.lower(), "")
    return other if other in values else surely_meant(word, values)


def key_meant(name: str, value: dict[str, Json], known: tuple[str, ...]) -> str:
    """The key that was meant by an unknown one; never one that is already there."""
    absent = [one for one in known if one not in value]
    if name in absent:
        return name
    return next((one for one in OTHER_KEYS.get(name, ()) if one in absent), "") or surely_meant(name, absent)


def key_advice(
    name: str, value: dict[str, Json], known: tuple[str, ...], pointer: str
) -> tuple[str, str, Edit]:
    """Of an unknown key: the key that was probably meant, the advice, and the edit where it is certain."""
    place = child(pointer, name)
    near = key_meant(name, value, known)
    if near:
        return near, f"Did you mean {near}?", renamed(place, near)
    native = _said_natively(name, value, known)
    if native:
        became = " and ".join(sorted(native))
        edit = (*removed(place), *(one for key in native for one in added(child(pointer, key), native[key])))
        return next(iter(native)), f"Write it as {became}.", edit
    perhaps = meant(name, [one for one in known if one not in value])
    if perhaps:
        return perhaps, f"Did you mean {perhaps}?", NO_EDIT
    there = meant(name, [one for one in known if one in value])
    if there and value[there] == value[name]:
        return "", f"{there} is already there with the same value; remove this one.", removed(place)
    if there:
        return "", f"{there} is already there: keep the value that you mean under {there}.", NO_EDIT
    return "", f"Remove it, or move it under extra; known keys: {', '.join(known)}.", NO_EDIT


def _said_natively(name: str, value: dict[str, Json], known: tuple[str, ...]) -> dict[str, Json]:
    """Native members that say what one key of another language says, as far as there is room for them."""
    operator = word_meant(name, OPERATORS) if "op" in known else ""
    if operator:
        found: dict[str, Json] = {"op": operator, "value": value[name]}
    else:
        found = native_members(name, value[name], known)
    return {} if any(key in value for key in found) else found


_CONVERTED: tuple[JsonType, ...] = ("string", "boolean", "array", "number")


def value_meant(value: Json, types: Iterable[JsonType]) -> Json | msgspec.UnsetType:
    """The same value in one of the wanted types; UNSET where there is not exactly one."""
    wanted = list(types)
    if isinstance(value, list) and value and "string" in wanted and "array" not in wanted:
        return "\n".join(value) if all(isinstance(one, str) for one in value) else msgspec.UNSET
    made = [converted(one, value) for one in wanted if one in _CONVERTED]
    found = [one for one in made if one is not None]
    return found[0] if len(found) == 1 else msgspec.UNSET


def id_meant(text: str) -> str:
    """The id that a text with other characters stands for."""
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", text.strip())
    return re.sub(r"[^a-z0-9_-]+", "_", words.lower()).strip("_")[:64]


def workflow_id_meant(text: str) -> str:
    namespace, dot, name = text.strip().partition(".")
    parts = [id_meant(one.replace(".", "_")) for one in ((namespace, name) if dot else (namespace,))]
    return ".".join(parts) if all(part and part[0].isalpha() for part in parts) else ""


def free_id(wanted: str, taken: Iterable[str]) -> str:
    """The id with the first number behind it that nobody has."""
    names = set(taken)
    number = 2
    while f"{wanted}_{number}" in names:
        number += 1
    return f"{wanted}_{number}"
