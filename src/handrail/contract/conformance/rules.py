"""How documents are judged: shape rules as data, checks at a tier, and the report. Pure.

The names of broken rules and their meanings are those of JSON Schema, with Python's traps avoided:
`True` is no integer, `1.0` is one, lengths count code points, patterns match the whole text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Literal, TypeAlias, assert_never

import msgspec

from handrail.contract.json.places import join_pointer
from handrail.contract.outcome import Json

DocumentKind: TypeAlias = Literal["lafs", "cli", "ledger", "flags", "discovery", "card"]
Tier: TypeAlias = Literal["core", "standard", "complete"]


class SchemaError(msgspec.Struct, frozen=True, kw_only=True):
    """One broken shape rule. `rule` is the JSON Schema keyword for it."""

    pointer: str
    """JSON Pointer (RFC 6901) to the value, or to where a missing key belongs."""
    rule: str
    message: str


class Advisory(msgspec.Struct, frozen=True, kw_only=True):
    """A remark about something that is allowed."""

    name: str
    detail: str


class Check(msgspec.Struct, frozen=True, kw_only=True, rename={"passed": "pass"}):
    """One named check; `pass` is null if an earlier failure left nothing to check."""

    name: str
    passed: bool | None
    detail: str = ""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The result for one document; `ok` if every check of the tier passed."""

    source: str
    kind: DocumentKind | Literal["problem"]
    tier: Tier
    ok: bool
    checks: tuple[Check, ...]
    failed: tuple[str, ...]
    advisories: tuple[Advisory, ...] = ()
    schema_errors: tuple[SchemaError, ...] = ()


# Times and addresses: which texts count as `date-time` and as `uri`

_DATE_TIME = re.compile(
    r"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
    r"(?P<separator>[Tt ])"
    r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})(?:\.[0-9]+)?"
    r"(?:[Zz]|(?P<sign>[+-])(?P<offset_hour>[0-9]{2})(?P<colon>:?)(?P<offset_minute>[0-9]{2}))"
)
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_MINUTES_OF_DAY = 24 * 60

_UNRESERVED = r"A-Za-z0-9._~!$&'()*+,;=\-"
_PERCENT = "%[0-9A-Fa-f]{2}"
_SEGMENTS = rf"(?:[{_UNRESERVED}:@/]|{_PERCENT})*"
_HOST = rf"(?:\[[{_UNRESERVED}:]+\]|(?:[{_UNRESERVED}]|{_PERCENT})*)"
_AUTHORITY = rf"(?:(?:[{_UNRESERVED}:]|{_PERCENT})*@)?{_HOST}(?::[0-9]*)?"
_URI = re.compile(
    rf"[A-Za-z][A-Za-z0-9+.-]*:(?://{_AUTHORITY}(?:/{_SEGMENTS})?|(?!//){_SEGMENTS})"
    rf"(?:\?(?:[{_UNRESERVED}:@/?]|{_PERCENT})*)?(?:#(?:[{_UNRESERVED}:@/?]|{_PERCENT})*)?"
)


def is_uri(text: str) -> bool:
    """Whether the text is an absolute RFC 3986 address; the content of `[…]` hosts is not checked."""
    return _URI.fullmatch(text) is not None


def is_date_time(text: str) -> bool:
    """Whether the text is a moment: a real date, a time and an offset. A time without one is not."""
    found = _DATE_TIME.fullmatch(text)
    if found is None:
        return False
    year, month, day = (int(found[part]) for part in ("year", "month", "day"))
    hour, minute, second = (int(found[part]) for part in ("hour", "minute", "second"))
    offset_hour, offset_minute = int(found["offset_hour"] or 0), int(found["offset_minute"] or 0)
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    is_day = 1 <= month <= 12 and 1 <= day <= _DAYS[month - 1] + (is_leap and month == 2)
    is_offset = offset_hour <= 23 and offset_minute <= 59
    if not (is_day and is_offset and hour <= 23 and minute <= 59):
        return False
    offset = (offset_hour * 60 + offset_minute) * (-1 if found["sign"] == "-" else 1)
    last_minute = (hour * 60 + minute - offset) % _MINUTES_OF_DAY == _MINUTES_OF_DAY - 1
    return second <= 59 or (second == 60 and last_minute)


def loose_parts(text: str) -> list[str]:
    """Return what in an accepted time differs from RFC 3339 as most readers know it; empty if
    nothing does.
    """
    found = _DATE_TIME.fullmatch(text)
    assert found is not None, "only a time that was accepted can be loose"
    loose = []
    if found["separator"] == " ":
        loose.append("a space between date and time")
    if found["second"] == "60":
        loose.append("second 60")
    if found["sign"] and not found["colon"]:
        loose.append("an offset without a colon")
    return loose


# Rules

Finding: TypeAlias = SchemaError | Advisory


class Text(msgspec.Struct, frozen=True, kw_only=True):
    """A rule for a string."""

    least: int = 0
    most: int | None = None
    pattern: re.Pattern[str] | None = None
    choices: tuple[str, ...] = ()
    form: Literal["", "date-time", "uri"] = ""


class Whole(msgspec.Struct, frozen=True, kw_only=True):
    """A rule for an integer; JSON does not distinguish 1 from 1.0."""

    least: int | None = None
    most: int | None = None


class Truth(msgspec.Struct, frozen=True, kw_only=True):
    """A rule for a boolean."""


class Null(msgspec.Struct, frozen=True, kw_only=True):
    """A rule for null."""


class Items(msgspec.Struct, frozen=True, kw_only=True):
    """A rule for an array."""

    of: Rule | None = None
    least: int = 0


class Members(msgspec.Struct, frozen=True, kw_only=True):
    """A rule for an object."""

    required: dict[str, Rule] = {}
    optional: dict[str, Rule] = {}
    is_closed: bool = False
    others: Rule | None = None
    """The rule for all other members, if the object is open."""


class Either(msgspec.Struct, frozen=True, kw_only=True):
    """One of several types, such as an object or null; distinguished by type alone."""

    rules: tuple[Rule, ...]


Rule: TypeAlias = Text | Whole | Truth | Null | Items | Members | Either

ANY_OBJECT = Members()
ANY_ARRAY = Items()


# Checking a value against a rule


def findings(value: Json, rule: Rule, pointer: str = "") -> Iterator[Finding]:
    """Yield every broken rule below `pointer`, in the order of the document, and advice on unusual times."""
    offered = rule.rules if isinstance(rule, Either) else (rule,)
    match next((one for one in offered if _TYPES[type(one)][1](value)), None):
        case None:
            names = " or ".join(_TYPES[type(one)][0] for one in offered)
            yield SchemaError(pointer=pointer, rule="type", message=f"This must be {names}.")
        case Text() as text:
            yield from _text(value, text, pointer)
        case Whole() as whole:
            yield from _whole(value, whole, pointer)
        case Items() as items:
            yield from _items(value, items, pointer)
        case Members() as members:
            yield from _members(value, members, pointer)
        case Truth() | Null() | Either():
            pass  # the type check covers it


def is_whole(value: Json) -> bool:
    if isinstance(value, bool):  # before int: True is one
        return False
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer())


_TYPES: dict[type[Rule], tuple[str, Callable[[Json], bool]]] = {
    Text: ("a string", lambda value: isinstance(value, str)),
    Whole: ("an integer", is_whole),
    Truth: ("true or false", lambda value: isinstance(value, bool)),
    Null: ("null", lambda value: value is None),
    Items: ("an array", lambda value: isinstance(value, list)),
    Members: ("an object", lambda value: isinstance(value, dict)),
}
"""For the values of each rule: their name, and whether a value is of that type."""


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
            yield from findings(item, rule.of, join_pointer(pointer, index))


def _members(value: dict[str, Json], rule: Members, pointer: str) -> Iterator[Finding]:
    for key in rule.required:
        if key not in value:
            message = f"The key {key} is missing."
            yield SchemaError(pointer=join_pointer(pointer, key), rule="required", message=message)
    for key, item in value.items():
        known = rule.required.get(key) or rule.optional.get(key) or rule.others
        if known is not None:
            yield from findings(item, known, join_pointer(pointer, key))
        elif rule.is_closed:
            place, message = join_pointer(pointer, key), "This key is not known here; remove it."
            yield SchemaError(pointer=place, rule="additionalProperties", message=message)


# Profiles: how one kind of document is judged at a tier

TIERS: tuple[Tier, ...] = ("core", "standard", "complete")
"""Tiers in ascending order; each requires everything that the one before it requires (LAFS 12.1)."""

MOST_FINDINGS = 1_000
"""Limits of a report: it stays readable, and a hostile document cannot make it grow without end
(LAFS 13.5).
"""


class NamedCheck(msgspec.Struct, frozen=True, kw_only=True):
    """One check beyond the shape. It is run only on documents of the right shape."""

    name: str
    tier: Tier
    """The first tier that requires it."""
    why_not: Callable[[Json], str]
    """Returns why the document fails; empty if it passes."""
    note: str = ""
    """A text to report if it passes."""


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """How one kind of document is judged."""

    kind: DocumentKind
    shape_check: str
    shape: Callable[[Json], Iterable[Finding]]
    checks: tuple[NamedCheck, ...] = ()
    advice: Callable[[Json], Iterable[Advisory]] = lambda _: ()


def judge(doc: Json, profile: Profile, tier: Tier, source: str) -> Report:
    """Run every check of the tier. If the shape is broken, the other checks are listed without a verdict."""
    errors, advisories, broken = _shape(doc, profile)
    asked = [check for check in profile.checks if TIERS.index(check.tier) <= TIERS.index(tier)]
    if broken:
        checks = (_broken_shape(profile, broken), *(_undecided(check) for check in asked))
    else:
        advisories += profile.advice(doc)
        checks = (Check(name=profile.shape_check, passed=True), *(_decided(check, doc) for check in asked))
    failed = tuple(check.name for check in checks if check.passed is False)
    return Report(
        source=source,
        kind=profile.kind,
        tier=tier,
        ok=not failed,
        checks=checks,
        failed=failed,
        advisories=tuple(advisories),
        schema_errors=tuple(errors),
    )


def _shape(doc: Json, profile: Profile) -> tuple[list[SchemaError], list[Advisory], int]:
    """Return what is wrong with the shape, what is unusual in it, and how many rules are broken in all."""
    errors: list[SchemaError] = []
    advisories: list[Advisory] = []
    broken = 0
    for finding in profile.shape(doc):
        match finding:
            case SchemaError():
                broken += 1
                errors += [finding] if broken <= MOST_FINDINGS else []
            case Advisory():
                advisories += [finding] if len(advisories) < MOST_FINDINGS else []
            case never:
                assert_never(never)
    return errors, advisories, broken


def _broken_shape(profile: Profile, broken: int) -> Check:
    count = "1 rule is broken" if broken == 1 else f"{broken} rules are broken"
    listed = "every one" if broken <= MOST_FINDINGS else f"the first {MOST_FINDINGS}"
    return Check(name=profile.shape_check, passed=False, detail=f"{count}; schema_errors lists {listed}.")


def _undecided(check: NamedCheck) -> Check:
    return Check(name=check.name, passed=None, detail="Not checked: the shape of the document is wrong.")


def _decided(check: NamedCheck, doc: Json) -> Check:
    reason = check.why_not(doc)
    return Check(name=check.name, passed=not reason, detail=reason or check.note)


def reserve_checks(names: Iterable[str]) -> Iterator[NamedCheck]:
    """Yield checks for names that LAFS 12.1.3 reserves; they pass until LAFS defines them."""
    for name in names:
        note = "Reserved by LAFS 12.1.3; it passes until it is defined."
        yield NamedCheck(name=name, tier="complete", why_not=lambda _: "", note=note)
