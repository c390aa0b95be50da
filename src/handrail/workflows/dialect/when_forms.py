"""When parts of the other dialect run and how often: conditions and loops as native ones. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from handrail.contract.json.places import join_pointer
from handrail.contract.outcome import Json
from handrail.contract.suggest import find_only_near
from handrail.contract.wording import quote
from handrail.workflows.conditions import CONDITION_KINDS
from handrail.workflows.dialect.crossing import (
    Crossing,
    Object,
    as_json,
    native_name,
    native_path,
)
from handrail.workflows.limits import MAX_ITERATIONS

# `{var, equals, …}` conditions as native ones, and native ones in words

NATIVE_KINDS = (*CONDITION_KINDS, "condition_ref")

_NOTHING = [False, 0, "", None]
"""Values that count as false if a condition only names a variable."""

_DECIMAL = re.compile(r"-?\d{1,15}(\.\d{1,15})?", re.ASCII)


def to_condition(crossing: Crossing, value: Json, pointer: str, native: str) -> Json:
    """Return the native condition; None if the part is not restricted. `native` is the pointer that the
    condition will have.

    A value that is no condition of the other dialect is passed on, so that the reader of workflows reports
    it.
    """
    if value is None or value == {}:
        return None
    crossing.came_from(native, pointer)
    found = _members(value) if isinstance(value, dict) and value.get("kind") not in NATIVE_KINDS else []
    if not found:
        return value
    _leave_out_unknown(crossing, value, pointer)
    if len(found) == 1:
        return _member(crossing, value, found[0], pointer, native)
    of = [_member(crossing, value, name, pointer, f"{native}/of/{place}") for place, name in enumerate(found)]
    return {"kind": "and", "of": of}


def _members(value: Object) -> list[str]:
    """Return the keys that each set a condition; if there are several, all their conditions must hold."""
    names = [name for name in ("and", "or") if isinstance(value.get(name), list)]
    names += ["not"] if "not" in value else []
    if isinstance(value.get("var"), str) and value["var"].strip():
        names += [name for name in _COMPARISONS if name in value] or ["var"]
    return names


def _leave_out_unknown(crossing: Crossing, value: Object, pointer: str) -> None:
    for name in value:
        if name in _COMPARISONS or name in ("var", "and", "or", "not"):
            continue
        place, near = join_pointer(pointer, name), find_only_near(name, _COMPARISONS)
        crossing.put_aside(place, name, value[name], is_top=False)
        message = f"{quote(name)} is not a comparison, so the condition leaves it out."
        fix = f"Did you mean {near}?" if near else f"Compare by one of {', '.join(_COMPARISONS)}."
        crossing.changed(place, message, fix)


def _member(crossing: Crossing, value: Object, name: str, pointer: str, native: str) -> Object:
    place = join_pointer(pointer, name)
    crossing.came_from(native, place)
    match name:
        case "and" | "or":
            of = [
                to_condition(crossing, one, f"{place}/{index}", f"{native}/of/{index}") or _ALWAYS
                for index, one in enumerate(value[name])
            ]
            return {"kind": name, "of": of}
        case "not":
            inner = to_condition(crossing, value[name], place, f"{native}/of") or _ALWAYS
            return {"kind": "not", "of": inner}
        case "var":
            return _truthy(native_path(value["var"]))
        case _:
            crossing.came_from(f"{native}/input", f"{pointer}/var")
            return _COMPARISONS[name](native_path(value["var"]), value[name])


_ALWAYS: Object = {"kind": "always_true"}


def _compare(variable: str, operator: str, operand: Json) -> Object:
    return {"kind": "compare", "input": variable, "op": operator, "value": operand}


def _lenient(variable: str, operator: str, operand: Json) -> Object:
    """Return a comparison as this dialect makes it: a text equals the value that it spells, in any case."""
    return {**_compare(variable, operator, operand), "lenient": True}


def _exists(variable: str) -> Object:
    return _compare(variable, "exists", True)


def _truthy(variable: str) -> Object:
    return {
        "kind": "and",
        "of": [_exists(variable), {"kind": "not", "of": _compare(variable, "in", list(_NOTHING))}],
    }


def _equals(variable: str, operand: Json) -> Object:
    if operand is None:  # an absent value counts as null
        return {"kind": "not", "of": _compare(variable, "not_equals", None)}
    return _lenient(variable, "equals", operand)


def _not_equals(variable: str, operand: Json) -> Object:
    if operand is None:
        return _compare(variable, "not_equals", None)
    return _lenient(variable, "not_equals", operand)


def _in(variable: str, operand: Json) -> Object:
    values = operand if isinstance(operand, list) else [operand]
    return _lenient(variable, "in", values) if values else {"kind": "always_false"}


def _contains(variable: str, operand: Json) -> Object:
    if isinstance(operand, list) and operand:
        return {"kind": "or", "of": [_contains(variable, one) for one in operand]}
    return _lenient(variable, "contains", operand)


def _ordering(operator: str) -> Callable[[str, Json], Object]:
    def compare(variable: str, operand: Json) -> Object:
        return _compare(variable, operator, _number(operand))

    return compare


def _number(operand: Json) -> Json:
    """Return the number that a text spells; anything else unchanged."""
    is_number = isinstance(operand, str) and _DECIMAL.fullmatch(operand.strip()) is not None
    return float(operand) if is_number else operand


_COMPARISONS: dict[str, Callable[[str, Json], Object]] = {
    "equals": _equals,
    "not_equals": _not_equals,
    "gt": _ordering("gt"),
    "gte": _ordering("gte"),
    "lt": _ordering("lt"),
    "lte": _ordering("lte"),
    "in": _in,
    "contains": _contains,
    "exists": lambda variable, operand: _compare(variable, "exists", bool(operand)),
}


# Loops


class Source(NamedTuple):
    """A value of the original document, with its pointer."""

    value: Json
    pointer: str


def is_loop(value: Json) -> bool:
    return isinstance(value, dict) and (value.get("type") == "loop" or isinstance(value.get("loop"), dict))


def loop_settings(value: Object) -> Object:
    settings = value.get("loop")
    return settings if isinstance(settings, dict) else {}


def body_sources(loop: Source) -> list[Source]:
    """Return the body of a loop as it is written: steps and ids of steps."""
    body, pointer = loop.value.get("body"), f"{loop.pointer}/body"
    if isinstance(body, list):
        return [Source(one, f"{pointer}/{index}") for index, one in enumerate(body)]
    return [] if body is None else [Source(body, pointer)]


DEFAULT_ITERATIONS = 100
ITERATION = "currentIteration"
ITEM = "currentItem"
INDEX = "currentIndex"
"""The names of loop variables that the author did not name."""

# How a loop repeats

_KNOWN = frozenset(
    {
        "type",
        "condition",
        "conditionSource",
        "items",
        "itemVar",
        "indexVar",
        "count",
        "iterationVar",
        "maxIterations",
    }
)


def add_repeat(crossing: Crossing, loop: Source, native: str, part: Object) -> None:
    """Add the repetition to the native loop, whose body is already translated."""
    settings, pointer = loop_settings(loop.value), f"{loop.pointer}/loop"
    crossing.keep_others(pointer, settings, _KNOWN, "a loop")
    part["maxIterations"] = _max_iterations(crossing, settings, pointer)
    match settings.get("type"):
        case "forEach":
            _for_each(crossing, settings, pointer, native, part)
        case "for":
            _counted(crossing, settings, pointer, native, part)
        case "until":
            _conditional(crossing, settings, pointer, native, part, "until")
        case "while":
            _conditional(crossing, settings, pointer, native, part, "while")
        case _:
            pass  # the reader asks for one


def _max_iterations(crossing: Crossing, settings: Object, pointer: str) -> Json:
    if "maxIterations" in settings:
        return settings["maxIterations"]
    message = f"The loop has no limit; {DEFAULT_ITERATIONS} iterations are its limit."
    crossing.changed(pointer, message, 'Write "maxIterations".')
    return DEFAULT_ITERATIONS


def _conditional(
    crossing: Crossing, settings: Object, pointer: str, native: str, part: Object, kind: str
) -> None:
    source, place = settings.get("conditionSource"), f"{pointer}/conditionSource"
    holder, at = (source, place) if isinstance(source, dict) else (settings, pointer)
    written, inner = holder.get("condition"), join_pointer(native, kind)
    condition = to_condition(crossing, written, f"{at}/condition", inner)
    if condition is None:
        crossing.came_from(inner, at)
        if not isinstance(source, dict):
            message = "The loop does not say when it ends; the last step of its body decides."
            crossing.changed(pointer, message, "Write a condition, or a conditionSource.")
        condition = {"kind": "loop_control", "continueWhen": "continue" if kind == "while" else "stop"}
    part[kind] = condition


def _for_each(crossing: Crossing, settings: Object, pointer: str, native: str, part: Object) -> None:
    items = settings.get("items")
    crossing.came_from(f"{native}/forEach", f"{pointer}/items")
    source = (
        _own_list(crossing, part, items, "items")
        if isinstance(items, list)
        else native_path(items)
        if isinstance(items, str)
        else items
    )
    each: Object = {"input": source, "as": _name(settings.get("itemVar"), ITEM)}
    index = _name(settings.get("indexVar"), INDEX)
    if isinstance(settings.get("indexVar"), str) or _uses(part, index):
        each["indexAs"] = index
    part["forEach"] = each


def _counted(crossing: Crossing, settings: Object, pointer: str, native: str, part: Object) -> None:
    """A number of times. The counter begins at 1, so a loop that shows it goes through a list of numbers."""
    count = settings.get("count")
    place = f"{pointer}/count"
    crossing.came_from(f"{native}/count", place)
    crossing.came_from(f"{native}/forEach", place)
    name = _name(settings.get("iterationVar"), ITERATION)
    if isinstance(count, str) and count.strip():
        _counted_by_variable(crossing, native_path(count), name, place, part)
    elif type(count) is int and _uses(part, name):
        numbers = list(range(1, min(count, MAX_ITERATIONS) + 1))
        part["forEach"] = {"input": _own_list(crossing, part, numbers, "numbers"), "as": name}
    else:
        part["count"] = count


def _counted_by_variable(crossing: Crossing, variable: str, name: str, place: str, part: Object) -> None:
    """Repeat as often as a variable says, through the numbers up to its value."""
    source = _own_list(crossing, part, [], "numbers")
    numbers: Object = crossing.inputs[source]
    del numbers["default"]
    numbers["countedBy"] = variable
    crossing.came_from(f"/inputs/{source}/countedBy", place)
    crossing.inputs.setdefault(variable.partition(".")[0], {"type": "any", "implicit": True})
    part["forEach"] = {"input": source, "as": name}


def _own_list(crossing: Crossing, part: Object, items: list[Json], what: str) -> str:
    """Add an input that only this loop uses, with the list as its default."""
    name = native_name(f"{part['loopId']}_{what}".replace("-", "_"))
    description = f"What the loop {part['loopId']} goes through."
    crossing.inputs[name] = {"type": "array", "default": items, "implicit": True, "description": description}
    return name


def _uses(part: Object, name: str) -> bool:
    return name in as_json(part["body"])


def _name(written: Json, otherwise: str) -> str:
    return native_name(written) if isinstance(written, str) and written.strip() else otherwise
