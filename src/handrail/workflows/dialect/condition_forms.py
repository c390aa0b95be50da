"""`{var, equals, …}` conditions as native ones, and native ones in words. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from handrail.contract.json.places import join_pointer
from handrail.contract.outcome import Json
from handrail.contract.suggest import find_only_near
from handrail.contract.wording import quote
from handrail.workflows.conditions import Condition, describe_condition
from handrail.workflows.dialect.crossing import Crossing, Object, as_json, native_path, show_value

NATIVE_KINDS = (
    "always_true",
    "always_false",
    "compare",
    "and",
    "or",
    "not",
    "loop_control",
    "condition_ref",
)

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
