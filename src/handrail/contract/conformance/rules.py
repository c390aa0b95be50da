"""Rules of shape as data, and the walk that reports every broken one. Pure.

The names of broken rules are those of JSON Schema, and so are the meanings, with Python's traps closed:
`True` is no integer, `1.0` is one, lengths count code points, patterns match the whole text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, TypeAlias, assert_never

import msgspec

from handrail.contract.conformance.report import Advisory, SchemaError
from handrail.contract.conformance.times import is_date_time, is_uri, loose_parts
from handrail.contract.outcome import Json

Finding: TypeAlias = SchemaError | Advisory


class Text(msgspec.Struct, frozen=True, kw_only=True):
    """A string."""

    least: int = 0
    most: int | None = None
    pattern: re.Pattern[str] | None = None
    choices: tuple[str, ...] = ()
    form: Literal["", "date-time", "uri"] = ""


class Whole(msgspec.Struct, frozen=True, kw_only=True):
    """An integer; JSON does not tell 1 from 1.0."""

    least: int | None = None
    most: int | None = None


class Truth(msgspec.Struct, frozen=True, kw_only=True):
    """A boolean."""


class Null(msgspec.Struct, frozen=True, kw_only=True):
    """null, and nothing else."""


class Items(msgspec.Struct, frozen=True, kw_only=True):
    """An array."""

    of: Rule | None = None
    least: int = 0


class Members(msgspec.Struct, frozen=True, kw_only=True):
    """An object."""

    required: dict[str, Rule] = {}
    optional: dict[str, Rule] = {}
    is_closed: bool = False
    others: Rule | None = None
    """What every other member must be, when the object is open."""


class Either(msgspec.Struct, frozen=True, kw_only=True):
    """One of several types, such as an object or null; told apart by type alone."""

    rules: tuple[Rule, ...]


Rule: TypeAlias = Text | Whole | Truth | Null | Items | Members | Either

ANY_OBJECT = Members()
ANY_ARRAY = Items()


def findings(value: Json, rule: Rule, pointer: str = "") -> Iterator[Finding]:
    """Every broken rule below `pointer`, in the order of the document, and advice on loose times."""
    if not _has_type(value, rule):
        yield SchemaError(pointer=pointer, rule="type", message=f"This must be {_type_name(rule)}.")
        return
    match rule:
        case Text():
            yield from _text(value, rule, pointer)
        case Whole():
            yield from _whole(value, rule, pointer)
        case Truth() | Null():
            return
        case Items():
            yield from _items(value, rule, pointer)
        case Members():
            yield from _members(value, rule, pointer)
        case Either(rules=rules):
            yield from findings(value, next(one for one in rules if _has_type(value, one)), pointer)
        case never:
            assert_never(never)


def below(pointer: str, key: str | int) -> str:
    """The pointer to a member or item, escaped as RFC 6901 asks."""
    return f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}"


def is_whole(value: Json) -> bool:
    if isinstance(value, bool):  # before int: True is one
        return False
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer())


def _has_type(value: Json, rule: Rule) -> bool:
    match rule:
        case Text():
            return isinstance(value, str)
        case Whole():
            return is_whole(value)
        case Truth():
            return isinstance(value, bool)
        case Null():
            return value is None
        case Items():
            return isinstance(value, list)
        case Members():
            return isinstance(value, dict)
        case Either(rules=rules):
            return any(_has_type(value, one) for one in rules)
        case never:
            assert_never(never)


def _type_name(rule: Rule) -> str:
    match rule:
        case Text():
            return "a string"
        case Whole():
            return "an integer"
        case Truth():
            return "true or false"
        case Null():
            return "null"
        case Items():
            return "an array"
        case Members():
            return "an object"
        case Either(rules=rules):
            return " or ".join(_type_name(one) for one in rules)
        case never:
            assert_never(never)


def _text(value: str, rule: Text, pointer: str) -> Iterator[Finding]:
    def broken(name: str, message: str) -> SchemaError:
        return SchemaError(pointer=pointer, rule=name, message=message)

    if len(value) < rule.least:
        yield broken("minLength", f"This needs at least {rule.least} characters; it has {len(value)}.")
    if rule.most is not None and len(value) > rule.most:
        yield broken("maxLength", f"This takes at most {rule.most} characters; it has {len(value)}.")
    if rule.pattern is not None and rule.pattern.fullmatch(value) is None:
        yield broken("pattern", f"This must match {rule.pattern.pattern} as a whole.")
    if len(rule.choices) == 1 and value != rule.choices[0]:
        yield broken("const", f"This must be {rule.choices[0]}.")
    elif rule.choices and value not in rule.choices:
        yield broken("enum", f"This must be one of {', '.join(rule.choices)}.")
    if rule.form == "uri" and not is_uri(value):
        yield broken("format", "This must be an absolute URI.")
    if rule.form == "date-time":
        yield from _date_time(value, pointer)


def _date_time(value: str, pointer: str) -> Iterator[Finding]:
    if not is_date_time(value):
        message = "This must be a real date and time with Z or an offset, such as 2026-11-15T09:30:00.123Z."
        yield SchemaError(pointer=pointer, rule="format", message=message)
    elif loose := loose_parts(value):
        detail = f"{pointer} has {' and '.join(loose)}; write times as 2026-11-15T09:30:00.123Z."
        yield Advisory(name="loose_time", detail=detail)


def _whole(value: int | float, rule: Whole, pointer: str) -> Iterator[Finding]:
    if rule.least is not None and value < rule.least:
        yield SchemaError(pointer=pointer, rule="minimum", message=f"This must be at least {rule.least}.")
    if rule.most is not None and value > rule.most:
        yield SchemaError(pointer=pointer, rule="maximum", message=f"This must be at most {rule.most}.")


def _items(value: list[Json], rule: Items, pointer: str) -> Iterator[Finding]:
    if len(value) < rule.least:
        message = f"This needs at least {rule.least} item; it has {len(value)}."
        yield SchemaError(pointer=pointer, rule="minItems", message=message)
    if rule.of is not None:
        for index, item in enumerate(value):
            yield from findings(item, rule.of, below(pointer, index))


def _members(value: dict[str, Json], rule: Members, pointer: str) -> Iterator[Finding]:
    for key in rule.required:
        if key not in value:
            message = f"The key {key} is missing."
            yield SchemaError(pointer=below(pointer, key), rule="required", message=message)
    for key, item in value.items():
        known = rule.required.get(key) or rule.optional.get(key) or rule.others
        if known is not None:
            yield from findings(item, known, below(pointer, key))
        elif rule.is_closed:
            message = "This key is not known here; remove it."
            yield SchemaError(pointer=below(pointer, key), rule="additionalProperties", message=message)
