"""Rules of shape: pointers, types and bounds, whatever document they are used for."""

from __future__ import annotations

from handrail.contract.conformance.rules import (
    Advisory,
    Either,
    Items,
    Members,
    Null,
    Rule,
    SchemaError,
    Text,
    Truth,
    Whole,
    findings,
)
from handrail.contract.json.places import join_pointer
from handrail.contract.outcome import Json
from tests.cases import every_case


def check(value: Json, rule: Rule, *broken: tuple[str, str]) -> list[str]:
    """Exactly these (pointer, rule) pairs are reported; gives the messages."""
    found = list(findings(value, rule))
    errors = [one for one in found if isinstance(one, SchemaError)]
    assert [(one.pointer, one.rule) for one in errors] == list(broken)
    return [one.message for one in errors]


@every_case(
    ("value", "rule", "message"),
    [
        (1, Text(), "This must be a string."),
        (True, Whole(), "This must be an integer."),
        (float("inf"), Whole(), "This must be an integer."),
        (0, Truth(), "This must be true or false."),
        (False, Null(), "This must be null."),
        ({}, Items(), "This must be an array."),
        ([], Members(), "This must be an object."),
        ("x", Either(rules=(Whole(), Null())), "This must be an integer or null."),
    ],
)
def test_a_wrong_type_is_named_in_words(value: Json, rule: Rule, message: str) -> None:
    assert check(value, rule, ("", "type")) == [message]


def test_one_text_may_break_several_rules_at_once() -> None:
    assert check("", Text(least=2, choices=("ab", "cd")), ("", "minLength"), ("", "enum")) == [
        "This needs at least 2 characters; it has 0.",
        "This must be one of ab, cd.",
    ]


def test_bounds_are_inclusive() -> None:
    check(1, Whole(least=1, most=1))
    check(1.0, Whole(least=1, most=1))
    check(0, Whole(least=1), ("", "minimum"))
    check(2, Whole(most=1), ("", "maximum"))
    check("ab", Text(least=2, most=2))
    check([1], Items(least=1))
    check([], Items(least=1), ("", "minItems"))


def test_pointers_escape_what_json_pointer_reserves() -> None:
    assert join_pointer("/a", "b/c~d") == "/a/b~1c~0d"
    check({"a/b": [1, "x"]}, Members(optional={"a/b": Items(of=Whole())}), ("/a~1b/1", "type"))


def test_members_may_be_closed_open_or_all_alike() -> None:
    known: dict[str, Rule] = {"a": Whole()}

    check({"a": 1, "z": 1}, Members(optional=known))
    check({"a": 1, "z": 1}, Members(optional=known, is_closed=True), ("/z", "additionalProperties"))
    check({"a": 1, "z": 1}, Members(optional=known, others=Text()), ("/z", "type"))
    check({}, Members(required=known), ("/a", "required"))


def test_a_loose_time_is_advice_and_not_an_error() -> None:
    found = list(findings({"at": "2026-11-15 09:30:00Z"}, Members(required={"at": Text(form="date-time")})))

    assert found == [
        Advisory(
            name="loose_time",
            detail="/at has a space between date and time; write times as 2026-11-15T09:30:00.123Z.",
        )
    ]
