"""When parts of the other dialect run and how often: conditions and loops as native ones. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import isfinite
from typing import NamedTuple

import msgspec

from handrail.contract.json.places import join_pointer
from handrail.contract.outcome import Json
from handrail.contract.suggest import find_only_near
from handrail.contract.wording import quote
from handrail.workflows.conditions import CONDITION_KINDS, Condition, describe_condition
from handrail.workflows.dialect.crossing import (
    Crossing,
    Object,
    as_json,
    native_name,
    native_path,
    show_value,
)
from handrail.workflows.limits import MAX_ITERATIONS

# `{var, equals, …}` conditions as native ones, and native ones in words

NATIVE_KINDS = (*CONDITION_KINDS, "condition_ref")

_NOTHING = [False, 0, "", None]
"""What counts as false if a condition only names a variable."""

_DECIMAL = re.compile(r"-?\d{1,15}(\.\d{1,15})?", re.ASCII)


def to_condition(crossing: Crossing, value: Json, pointer: str, native: str) -> Object | None:
    """The native condition; None where nothing is restricted. `native` is the pointer it will have."""
    if value is None or value == {}:
        return None
    crossing.came_from(native, pointer)
    if isinstance(value, bool):
        return {"kind": "always_true" if value else "always_false"}
    if isinstance(value, str) and value.strip() and native_path(value) == value:
        message = f"{quote(value)} is read as a variable that is set and not false."
        crossing.changed(pointer, message, f'Write {{"var": "{value[:64]}", "equals": true}}.')
        return _truthy(value)
    if not isinstance(value, dict):
        _set_aside(crossing, value, pointer)
        return None
    if value.get("kind") in NATIVE_KINDS:
        return value
    found = _members(value)
    _keep_unknown(crossing, value, pointer)
    if not found:
        _set_aside(crossing, value, pointer)
        return None
    if len(found) == 1:
        return _member(crossing, value, found[0], pointer, native)
    of = [_member(crossing, value, name, pointer, f"{native}/of/{place}") for place, name in enumerate(found)]
    return {"kind": "and", "of": of}


def _members(value: Object) -> list[str]:
    """The keys that each say something; several of them must all hold."""
    names = [name for name in ("and", "or") if isinstance(value.get(name), list)]
    names += ["not"] if "not" in value else []
    if isinstance(value.get("var"), str) and value["var"].strip():
        names += [name for name in _COMPARISONS if name in value] or ["var"]
    return names


def _keep_unknown(crossing: Crossing, value: Object, pointer: str) -> None:
    for name in value:
        if name in _COMPARISONS or name in ("var", "and", "or", "not"):
            continue
        near = find_only_near(name, _COMPARISONS if "var" in value else ("var",))
        if not near and "var" not in value:
            crossing.keep(pointer, name, value[name], "a condition")
            continue
        place = join_pointer(pointer, name)
        crossing.put_aside(place, name, value[name], is_top=False)
        message = f"{quote(name)} is not a comparison, so the condition leaves it out."
        fix = f"Did you mean {near}?" if near else f"Compare by one of {', '.join(_COMPARISONS)}."
        crossing.changed(place, message, fix)


def _set_aside(crossing: Crossing, value: Json, pointer: str) -> None:
    crossing.put_aside(pointer, pointer, value, is_top=False)
    message = f"The condition {show_value(value)} cannot be read; it counts as true."
    crossing.changed(
        pointer, message, 'Write {"var": …, "equals": …}, or join such conditions by and, or, not.'
    )


def _member(crossing: Crossing, value: Object, name: str, pointer: str, native: str) -> Object:
    place = join_pointer(pointer, name)
    crossing.came_from(native, place)
    match name:
        case "and" | "or":
            of = [
                to_condition(crossing, one, f"{place}/{index}", f"{native}/of/{index}") or _ALWAYS
                for index, one in enumerate(value[name])
            ]
            # An empty list: "all" of nothing holds, "any" of nothing does not.
            return (
                {"kind": name, "of": of} if of else {"kind": f"always_{'true' if name == 'and' else 'false'}"}
            )
        case "not":
            return {
                "kind": "not",
                "of": to_condition(crossing, value[name], place, f"{native}/of") or _ALWAYS,
            }
        case "var":
            return _truthy(_variable(crossing, value["var"], pointer))
        case _:
            variable = _variable(crossing, value["var"], pointer)
            crossing.came_from(f"{native}/input", f"{pointer}/var")
            condition = _COMPARISONS[name](variable, value[name])
            if name != "exists" and condition.get("op") == "exists":
                message = f"There is no {name} with {show_value(value[name])} here; "
                crossing.changed(
                    place, message + f"{describe_native_condition(condition)} stands in.", _REWRITE
                )
            return condition


_ALWAYS: Object = {"kind": "always_true"}
_REWRITE = "Let an earlier step put the answer into a variable, and compare that with equals."


def _variable(crossing: Crossing, written: str, pointer: str) -> str:
    path = native_path(written)
    if path != written:
        message = f"The variable {quote(written)} cannot be named here; it is called {path}."
        crossing.changed(f"{pointer}/var", message, "Use letters, digits, _ and -, with dots for members.")
    return path


def _compare(variable: str, operator: str, operand: Json) -> Object:
    return {"kind": "compare", "input": variable, "op": operator, "value": operand}


def _lenient(variable: str, operator: str, operand: Json) -> Object:
    """A comparison as this dialect makes it: a text equals what it spells, in any case."""
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
    if isinstance(operand, str | int | float):
        return _lenient(variable, "contains", operand)
    return _exists(variable)


def _ordering(operator: str) -> Callable[[str, Json], Object]:
    def compare(variable: str, operand: Json) -> Object:
        number = _number(operand)
        return _exists(variable) if number is None else _compare(variable, operator, number)

    return compare


def _number(operand: Json) -> int | float | None:
    if isinstance(operand, bool) or not isinstance(operand, int | float | str):
        return None
    if not isinstance(operand, str):
        return operand
    return float(operand) if _DECIMAL.fullmatch(operand.strip()) else None


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


def describe_native_condition(condition: Object) -> str:
    """A native condition in words; one that is none, as it is written."""
    try:
        return describe_condition(msgspec.convert(condition, Condition))
    except msgspec.ValidationError:
        return as_json(condition)


# Loops


class Source(NamedTuple):
    """A value of the original document and its place there."""

    value: Json
    pointer: str


def is_loop(value: Json) -> bool:
    return isinstance(value, dict) and (value.get("type") == "loop" or isinstance(value.get("loop"), dict))


def loop_settings(value: Object) -> Object:
    settings = value.get("loop")
    return settings if isinstance(settings, dict) else {}


def body_sources(loop: Source) -> list[Source]:
    """What the body of a loop holds, as it is written: steps and ids of steps."""
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

_LOOP_CONTROL = "wr.contracts.loop_control"
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
    """Add the repetition to the native loop, whose body is already there."""
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
        case kind:
            if kind != "while":
                message = f"A loop of the type {show_value(kind)} is not known; it is read as while."
                crossing.changed(f"{pointer}/type", message, "Use while, until, for or forEach.")
            _conditional(crossing, settings, pointer, native, part, "while")


def _max_iterations(crossing: Crossing, settings: Object, pointer: str) -> int:
    number = _whole(settings.get("maxIterations"))
    if number is not None and 1 <= number <= MAX_ITERATIONS:
        return number
    used = DEFAULT_ITERATIONS if number is None else min(max(number, 1), MAX_ITERATIONS)
    message = f"maxIterations is not a whole number from 1 to {MAX_ITERATIONS}; {used} is used."
    crossing.changed(f"{pointer}/maxIterations", message, 'Write "maxIterations".')
    return used


def _conditional(
    crossing: Crossing, settings: Object, pointer: str, native: str, part: Object, kind: str
) -> None:
    source, place = settings.get("conditionSource"), f"{pointer}/conditionSource"
    holder, at = (source, place) if isinstance(source, dict) else (settings, pointer)
    written, inner = holder.get("condition"), join_pointer(native, kind)
    condition = to_condition(crossing, written, f"{at}/condition", inner)
    if condition is None:
        crossing.came_from(inner, at)
        _note_decision(crossing, source, place, pointer)
        condition = {"kind": "loop_control", "continueWhen": "continue" if kind == "while" else "stop"}
    part[kind] = condition
    _note_uncounted(crossing, settings, pointer, part)


def _note_decision(crossing: Crossing, source: Json, place: str, pointer: str) -> None:
    """Say where the decision of the last step stands in for something else."""
    if not isinstance(source, dict):
        message = "The loop does not say when it ends; the last step of its body decides."
        crossing.changed(pointer, message, "Write a condition, or a conditionSource.")
    elif source.get("contractRef", _LOOP_CONTROL) != _LOOP_CONTROL:
        message = f"A loop is decided by a {_LOOP_CONTROL} artifact here, and by no other."
        crossing.changed(f"{place}/contractRef", message, f"Use {_LOOP_CONTROL}.")


def _note_uncounted(crossing: Crossing, settings: Object, pointer: str, part: Object) -> None:
    name = _name(settings.get("iterationVar"), ITERATION)
    if _uses(part, name):
        message = (
            f"Nothing counts the iterations of such a loop here; {name} has a value only when a step sets it."
        )
        crossing.changed(f"{pointer}/iterationVar", message, "Let a step of the body keep count.")


def _for_each(crossing: Crossing, settings: Object, pointer: str, native: str, part: Object) -> None:
    items = settings.get("items")
    crossing.came_from(f"{native}/forEach", f"{pointer}/items")
    if isinstance(items, str) and items.strip():
        source = native_path(items)
    else:
        source = _own_list(crossing, part, items if isinstance(items, list) else [], "items")
        if not isinstance(items, list):
            message = "The loop does not say which list it goes through; it is skipped until one is given."
            crossing.changed(pointer, message, f'Write "items", or give {source} as context.')
    each: Object = {"input": source, "as": _name(settings.get("itemVar"), ITEM)}
    index = _name(settings.get("indexVar"), INDEX)
    if isinstance(settings.get("indexVar"), str) or _uses(part, index):
        each["indexAs"] = index
    part["forEach"] = each
    _note_uncounted(crossing, settings, pointer, part)


def _counted(crossing: Crossing, settings: Object, pointer: str, native: str, part: Object) -> None:
    """A number of times. The counter begins at 1, so a loop that shows it goes through a list of numbers."""
    count = settings.get("count")
    place = f"{pointer}/count"
    crossing.came_from(f"{native}/count", place)
    crossing.came_from(f"{native}/forEach", place)
    number = _whole(count)
    name = _name(settings.get("iterationVar"), ITERATION)
    if number is None and isinstance(count, str) and count.strip():
        _counted_by_variable(crossing, native_path(count), name, place, part)
        return
    if number is None or number < 1:
        message = (
            "The loop never runs."
            if number == 0
            else "The loop does not say how often it runs; it is skipped."
        )
        crossing.changed(place, message, 'Write "count".')
        part["when"] = {"kind": "always_false"}
    times = min(max(number or 1, 1), part["maxIterations"])
    if _uses(part, name):
        source = _own_list(crossing, part, list(range(1, times + 1)), "numbers")
        part["forEach"] = {"input": source, "as": name}
    else:
        part["count"] = times


def _counted_by_variable(crossing: Crossing, variable: str, name: str, place: str, part: Object) -> None:
    """As often as a variable says: through the numbers up to its value."""
    source = _own_list(crossing, part, [], "numbers")
    numbers: Object = crossing.inputs[source]
    del numbers["default"]
    numbers["countedBy"] = variable
    crossing.came_from(f"/inputs/{source}/countedBy", place)
    crossing.inputs.setdefault(variable.partition(".")[0], {"type": "any", "implicit": True})
    part["forEach"] = {"input": source, "as": name}


def _own_list(crossing: Crossing, part: Object, items: list[Json], what: str) -> str:
    """An input that only this loop uses, with the list as its default."""
    name = native_name(f"{part['loopId']}_{what}".replace("-", "_"))
    description = f"What the loop {part['loopId']} goes through."
    crossing.inputs[name] = {"type": "array", "default": items, "implicit": True, "description": description}
    return name


def _uses(part: Object, name: str) -> bool:
    return name in as_json(part["body"])


def _name(written: Json, otherwise: str) -> str:
    return native_name(written) if isinstance(written, str) and written.strip() else otherwise


def _whole(value: Json) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        return None
    return int(value)
