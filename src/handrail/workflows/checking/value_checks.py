"""Whether a value that is set or compared can be one that its input may have. Pure."""

from __future__ import annotations

from json import dumps
from typing import TypeAlias

from handrail.contract.json.places import join_pointer
from handrail.contract.outcome import Json
from handrail.workflows.conditions import Compare, Facts, holds
from handrail.workflows.problem import NO_EDIT, Edit, replace_value
from handrail.workflows.reading.findings import Findings, guess_name, guess_surely, quote_name
from handrail.workflows.reading.value_fit import INPUT_FITS, convert_value, is_same_value

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
