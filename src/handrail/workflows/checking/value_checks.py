"""Whether a value can be one that its input may have, and patterns written as in another language. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from json import dumps
from typing import TypeAlias

from handrail.contract.json.places import join_pointer
from handrail.contract.outcome import Json
from handrail.contract.wording import quote
from handrail.workflows.conditions import Compare, Facts, holds, is_same_value
from handrail.workflows.problem import NO_EDIT, Edit, replace_value
from handrail.workflows.reading.findings import Findings, guess_name, guess_surely, label_pointer, quote_name
from handrail.workflows.reading.value_fit import INPUT_FITS, convert_value

Object: TypeAlias = dict[str, Json]

_ORDERINGS = ("gt", "gte", "lt", "lte")
_LISTS = ("array", "any")
_NUMBERS = ("number", "integer", "any")


def check_set_value(found: Findings, spec: Object, value: Json, pointer: str) -> None:
    """An option must set a value that the input may have."""
    if value is not None:  # null takes a value back
        _check_value(found, spec, value, pointer, "sets", is_lenient=False)


def check_comparison(found: Findings, spec: Object, condition: Object, pointer: str) -> None:
    """A condition must compare with a value that the input may have, or it never decides."""
    operator, value, place = condition["op"], condition.get("value"), join_pointer(pointer, "value")
    is_lenient = condition.get("lenient") is True
    if "value" not in condition or operator == "exists" or (value is None and operator != "in"):
        return
    if operator in ("equals", "not_equals"):
        _check_value(found, spec, value, place, "compares with", is_lenient=is_lenient)
    elif operator == "in":
        for index, one in enumerate(value if isinstance(value, list) else ()):
            if one is not None:
                _check_value(
                    found, spec, one, join_pointer(place, index), "compares with", is_lenient=is_lenient
                )
    elif operator in _ORDERINGS:
        _check_order(found, spec, value, place)


def check_count(found: Findings, inputs: Object, name: str) -> None:
    """A counted list is a list without a value of its own, and a number counts it."""
    spec, pointer = inputs[name], join_pointer("/inputs", name)
    counter: str = spec["countedBy"]
    counting = inputs.get(counter, {})
    kind, place = counting.get("type", "any"), join_pointer(pointer, "countedBy")
    if spec.get("type", "any") not in _LISTS:
        message = f"countedBy makes a list, but the input is declared as {spec['type']}."
        found.report("bad_value", place, message, 'Write "type": "array", or remove countedBy.')
    elif counter == name or "countedBy" in counting:
        message = f"countedBy reads {quote_name(counter)}, which is a counted list and not a number."
        found.report("bad_value", place, message, "Name an input that is a number.")
    elif kind not in _NUMBERS:
        message = f"countedBy reads {quote_name(counter)}, which is declared as {kind} and not as a number."
        found.report("bad_value", place, message, "Name an input that is a number, or declare it as one.")
    elif "default" in spec:
        message = "The list has a default, so countedBy never counts."
        found.report("bad_value", place, message, "Remove countedBy or the default.")


def check_goal(found: Findings, spec: Object, pointer: str) -> None:
    """A goal is any text, so only an input that takes any text is filled from it."""
    if spec.get("type", "any") not in ("any", "string") or "enum" in spec:
        message = "fromGoal fills the input with a text, and the input does not take every text."
        fix = 'Write "type": "string" without enum, or remove fromGoal.'
        found.report("bad_value", join_pointer(pointer, "fromGoal"), message, fix)


def _check_value(
    found: Findings, spec: Object, value: Json, pointer: str, does: str, *, is_lenient: bool
) -> None:
    fits, words = INPUT_FITS[spec.get("type", "any")]
    enum = spec.get("enum", [])
    if any(_is_same(value, member, is_lenient=is_lenient) for member in enum):
        return
    if enum:
        texts = [member for member in enum if isinstance(member, str)]
        near = guess_name(value, texts) if isinstance(value, str) else ""
        sure = guess_surely(value, texts) if near else ""
        listed = ", ".join(_as_json(member) for member in enum[:12])
        fix = f"Did you mean {quote_name(near)}?" if near else f"Write one of {listed}."
        edit = replace_value(pointer, sure) if sure else _converted_edit(spec, value, pointer, enum)
        message = f"It {does} {_as_json(value)}, which the input cannot be."
        found.report("bad_value", pointer, message, fix, edit)
    elif not fits(value) and not is_lenient:
        message = f"It {does} {_as_json(value)}, but the input is {words}."
        found.report(
            "bad_value", pointer, message, f"Write {words}.", _converted_edit(spec, value, pointer, [])
        )


def _check_order(found: Findings, spec: Object, value: Json, pointer: str) -> None:
    declared = spec.get("type", "any")
    is_text = isinstance(value, str)
    if declared in ("number", "integer") and is_text:
        edit = _converted_edit(spec, value, pointer, [])
        message = f"It compares a number with the text {_as_json(value)}."
        found.report("bad_value", pointer, message, "Write a number.", edit)
    elif declared == "string" and not is_text:
        message = f"It compares a text with the number {_as_json(value)}; that never holds."
        found.report("bad_value", pointer, message, "Declare the input as a number, or write a text.")


def _converted_edit(spec: Object, value: Json, pointer: str, enum: list[Json]) -> Edit:
    """The same value in the declared type, where there is exactly one."""
    made = convert_value(spec.get("type", "any"), value)
    if made is None or (enum and not any(is_same_value(made, member) for member in enum)):
        return NO_EDIT
    return replace_value(pointer, made)


def _is_same(value: Json, member: Json, *, is_lenient: bool) -> bool:
    if not is_lenient:
        return is_same_value(value, member)
    return holds(Compare(input="x", op="equals", value=value, lenient=True), Facts(values={"x": member}))


def _as_json(value: Json) -> str:
    return dumps(value, ensure_ascii=False)[:64]


# Patterns written as in another language: between slashes, with flags at the end

_BETWEEN = re.compile(r"/(?P<inner>.+)/(?P<flags>(?!.*(.).*\3)[gimsuy]{0,4})", re.DOTALL)
_ONLY_IN_PATTERNS = re.compile(r"[\\\[\](){}|^$*+?]")
OUR_FLAGS = "ims"


def split_delimiters(pattern: str) -> tuple[str, str] | None:
    """Split a pattern into what is between slashes and its flags; None if they may mean themselves."""
    whole = _BETWEEN.fullmatch(pattern)
    if whole is None or not (whole["flags"] or _ONLY_IN_PATTERNS.search(whole["inner"])):
        return None
    return whole["inner"], whole["flags"]


def never_matches(pattern: str) -> bool:
    """Whether no text can match with the slashes: `^` after one, or `$` before one."""
    inner, _ = split_delimiters(pattern) or ("", "")
    return inner.startswith(("^", r"\A")) or (inner.endswith("$") and not inner.endswith(r"\$"))


def find_delimited(schema: Json, pointer: str = "") -> Iterator[tuple[str, str]]:
    """Find the patterns of a schema that are between slashes, with their places."""
    if isinstance(schema, dict):
        pattern = schema.get("pattern")
        if isinstance(pattern, str) and split_delimiters(pattern):
            yield join_pointer(pointer, "pattern"), pattern
        for name, inner in schema.items():
            yield from find_delimited(inner, join_pointer(pointer, name))
    elif isinstance(schema, list):
        for index, inner in enumerate(schema):
            yield from find_delimited(inner, join_pointer(pointer, index))


def check_delimiters(found: Findings, pattern: str, pointer: str) -> None:
    """Report a rule's pattern that is looked for together with its slashes."""
    if (parts := split_delimiters(pattern)) is None:
        return
    ours = "".join(flag for flag in OUR_FLAGS if flag in parts[1])
    beside = f' and "flags": "{ours}" beside it' if ours else ""
    _tell_slashes(found, pattern, pointer, f"Write {quote(parts[0])}{beside}.")


def check_schema_patterns(found: Findings, schema: Json, pointer: str, contract: str = "") -> None:
    """The same for the patterns of a schema, where flags come before the pattern.

    One of a `contract` is in another file: the pointer is that of the name of the contract.
    """
    for place, pattern in find_delimited(schema, pointer):
        inner, flags = split_delimiters(pattern) or (pattern, "")
        ours = "".join(flag for flag in OUR_FLAGS if flag in flags)
        fix = f"Write {quote(f'(?{ours}){inner}' if ours else inner)}."
        _tell_slashes(
            found, pattern, pointer if contract else place, fix, f"{contract}: " if contract else ""
        )


def _tell_slashes(found: Findings, pattern: str, pointer: str, fix: str, where: str = "") -> None:
    what = "slashes and flags" if (split_delimiters(pattern) or ("", ""))[1] else "slashes"
    tell = found.report if never_matches(pattern) else found.warn
    message = f"{where}The {what} of {quote(pattern)} count as part of the pattern."
    tell("bad_pattern", pointer, message, fix)


def check_dimensions(found: Findings, dimensions: dict[str, list[str]], pointer: str) -> None:
    """Every assessment has a dimension, and no dimension the same level twice."""
    if not dimensions:
        message = "The assessment has no dimension, so there is nothing to report."
        found.report("bad_value", pointer, message, 'Add one, such as "risk": ["low", "high"].')
    for name, levels in dimensions.items():
        for index, level in enumerate(levels):
            if level in levels[:index]:
                place = join_pointer(join_pointer(pointer, name), index)
                message = f"{label_pointer(place)} repeats the level {quote_name(level)}."
                found.report("bad_value", place, message, "Remove one of them, or rename it.")
