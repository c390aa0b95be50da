"""Declared inputs against given context: every problem, and a context that fits."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.engine.judge.artifacts import (
    check_context_change,
    check_start_context,
    correct_context,
    describe_input,
    find_mistyped_keys,
    is_blank_answer,
)
from handrail.workflows.compiled import InputSpec, InputType, has_declared_type
from tests.cases import every_case

INPUTS = {
    "size": InputSpec(type="string", enum=("Small", "Large"), required=True, description="How much."),
    "count": InputSpec(type="integer", required=True),
    "depth": InputSpec(type="number", default=1.5, required=True),
    "flag": InputSpec(type="boolean"),
    "files": InputSpec(type="array"),
    "free": InputSpec(implicit=True),
}


def told(context: dict[str, Any]) -> dict[str, str]:
    return {problem.key: problem.problem for problem in check_start_context(INPUTS, context)}


@every_case(
    ("context", "expected"),
    [
        ({"size": "Small", "count": 1}, {}),
        ({"size": "Small", "count": 1, "unknown": {}, "free": [1]}, {}),
        ({}, {"size": "missing", "count": "missing"}),
        ({"size": None, "count": 0}, {"size": "missing"}),
        ({"size": "small", "count": "1"}, {"size": "not an allowed value", "count": "not of type integer"}),
        ({"size": 3, "count": True}, {"size": "not of type string", "count": "not of type integer"}),
        ({"size": "Large", "count": 2.0}, {}),
        ({"size": "Large", "count": 2.5}, {"count": "not of type integer"}),
        (
            {"size": "Large", "count": 1, "flag": 1, "files": {}, "depth": "x"},
            {"flag": "not of type boolean", "files": "not of type array", "depth": "not of type number"},
        ),
    ],
)
def test_every_problem_is_told_at_once(context: dict[str, Any], expected: dict[str, str]) -> None:
    assert told(context) == expected


def test_later_change_may_not_delete_what_is_required() -> None:
    problems = check_context_change(INPUTS, {"size": None, "depth": None, "flag": None, "count": "x"})

    assert {problem.key: problem.problem for problem in problems} == {
        "size": "cannot be deleted",
        "count": "not of type integer",
    }
    assert check_context_change(INPUTS, {}) == []


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        ({}, {"size": "…", "count": "… number"}),
        ({"size": "larg", "count": "7"}, {"size": "Large", "count": 7}),
        ({"size": 4, "count": "many", "keep": "me"}, {"size": "…", "count": "… number", "keep": "me"}),
    ],
)
def test_corrected_context_has_what_was_meant_and_marks(
    context: dict[str, Any], expected: dict[str, Any]
) -> None:
    keys = {problem.key for problem in check_start_context(INPUTS, context)}

    fixed = correct_context(INPUTS, context, keys)

    assert fixed == expected


@every_case(
    ("declared", "sent", "is_mistyped"),
    [
        ("abc", "A_B-C", True),
        ("abc", "abx", False),
        ("abcd", "abcx", True),
        ("abcd", "abxx", False),
        ("abcdefg", "abcdexx", False),
        ("abcdefgh", "abcdefxx", True),
        ("abcdefgh", "abcdexxx", False),
    ],
)
def test_a_longer_name_may_have_more_slips(declared: str, sent: str, is_mistyped: bool) -> None:
    found = find_mistyped_keys({declared: InputSpec()}, {sent: 1})

    assert [(one.key, one.declared) for one in found] == ([(sent, declared)] if is_mistyped else [])


@every_case("said", ["", "  ", "\t\n"])
@every_case("kind", ["string", "any"])
def test_a_required_text_that_says_nothing_is_a_problem(kind: InputType, said: str) -> None:
    inputs = {"ticket": InputSpec(type=kind, required=True), "note": InputSpec(type=kind)}

    found = [check_start_context(inputs, {"ticket": said, "note": said})]
    found.append(check_context_change(inputs, {"ticket": said, "note": said}))

    assert [[(one.key, one.problem) for one in problems] for problems in found] == [[("ticket", "empty")]] * 2


@every_case("value", [0, False, "0", [""], {"a": None}])
def test_a_value_that_says_something_is_an_answer(value: Any) -> None:
    assert is_blank_answer(value) is False


@every_case(
    ("kind", "yes", "no"),
    [
        ("any", [None, 1, "x"], []),
        ("string", ["", "x"], [1, None, []]),
        ("boolean", [True, False], [0, 1, "true"]),
        ("integer", [0, -3, 2.0], [True, 2.5, "2"]),
        ("number", [0, 2.5], [True, "2"]),
        ("array", [[]], [{}, ()]),
        ("object", [{}], [[]]),
    ],
)
def test_types_are_those_of_json(kind: InputType, yes: list[Any], no: list[Any]) -> None:
    assert all(has_declared_type(kind, value) for value in yes)
    assert not any(has_declared_type(kind, value) for value in no)


def test_input_is_described_by_its_values_and_meaning() -> None:
    assert describe_input(INPUTS["size"]) == "one of Small, Large: How much."
    assert describe_input(INPUTS["count"]) == "a value of type integer"
    assert describe_input(InputSpec(enum=(1, True, "x"))) == "one of 1, true, x"
    assert describe_input(InputSpec()) == "any value"
