"""Conditions of the other dialect: translated ones hold where the author meant them to."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from handrail.workflows.conditions import Condition, Facts, holds
from handrail.workflows.dialect.translation import to_native
from handrail.workflows.reading.reader import read_workflow
from tests.cases import every_case
from tests.workflows.dialect.foreign_documents import about, foreign, only_step, step, told, translated

ABSENT = object()


def check(written: Any, value: Any, expected: bool) -> None:
    """The condition, read, translated and evaluated with the value in the variable `x`."""
    part = only_step(runCondition=written)
    condition: Condition = msgspec.convert(part["when"], Condition)
    values = {} if value is ABSENT else {"x": value}

    assert holds(condition, Facts(values=values)) is expected


@every_case(
    ("written", "holding", "failing"),
    [
        ({"equals": "a"}, ["a", "A", " a "], ["b", 1, ABSENT]),
        ({"equals": "Large"}, ["large", "LARGE"], ["larger", True, ABSENT]),
        ({"equals": 3}, [3, "3", " 3.0 "], ["three", "", True, ABSENT]),
        ({"equals": 0}, [0, "0", ""], [False, "no", ABSENT]),
        ({"equals": True}, [True, "Yes", "TRUE", "1"], [False, 1, "no", "y", ABSENT]),
        ({"equals": False}, [False, "No", "false", "0"], [True, 0, "", ABSENT]),
        ({"equals": None}, [None, ABSENT], ["a", 0]),
        ({"not_equals": "a"}, ["b", ABSENT, 0], ["a", "A"]),
        ({"not_equals": None}, ["a", 0], [None, ABSENT]),
        ({"not_equals": []}, [["a"], ABSENT], [[]]),
        ({"gt": 1}, [2, 1.5], [1, 0, "2", ABSENT]),
        ({"gte": 1}, [1, 2], [0, ABSENT]),
        ({"lt": 1}, [0], [1, 2, ABSENT]),
        ({"lte": 1}, [1], [1.5, ABSENT]),
        ({"gt": "1.5"}, [2], [1]),
        ({"in": ["a", "b"]}, ["a", "b", "B "], ["c", ABSENT]),
        ({"in": "a"}, ["a"], ["b"]),
        ({"contains": "a"}, ["bar", "BAR", ["a"], ["xAx"], {"a": 1}], ["b", ["b"], ABSENT]),
        ({"contains": 1}, [["1"], 21, "v1"], [2, ABSENT]),
        ({"contains": ["a", "b"]}, [["b"], "a"], [["c"], ABSENT]),
        ({"exists": True}, ["a", None, 0], [ABSENT]),
        ({"exists": False}, [ABSENT], ["a"]),
        ({}, ["a", 1, True, ["x"]], ["", 0, False, None, ABSENT]),
        ({"gte": 1, "lte": 3}, [1, 3], [0, 4]),
    ],
)
def test_a_comparison_holds_as_its_author_meant(
    written: dict[str, Any], holding: list[Any], failing: list[Any]
) -> None:
    for value in holding:
        check({"var": "x", **written}, value, True)
    for value in failing:
        check({"var": "x", **written}, value, False)


@every_case(
    ("written", "value", "expected"),
    [
        ({"and": [{"var": "x", "gt": 1}, {"var": "x", "lt": 4}]}, 2, True),
        ({"and": [{"var": "x", "gt": 1}, {"var": "x", "lt": 4}]}, 5, False),
        ({"or": [{"var": "x", "equals": "a"}, {"var": "x", "equals": "b"}]}, "b", True),
        ({"or": [{"var": "x", "equals": "a"}, {"var": "x", "equals": "b"}]}, "c", False),
        ({"not": {"var": "x", "equals": "a"}}, "b", True),
        ({"not": {"or": [{"var": "x", "equals": "a"}, {"var": "x", "equals": "b"}]}}, "b", False),
        ({"var": "x", "equals": "a", "or": [{"var": "x", "exists": False}]}, "a", False),
    ],
)
def test_conditions_are_joined_as_they_are_written(written: Any, value: Any, expected: bool) -> None:
    check(written, value, expected)


@pytest.mark.parametrize("written", [{}, None])
def test_an_empty_condition_restricts_nothing(written: Any) -> None:
    assert "when" not in only_step(runCondition=written)


@pytest.mark.parametrize("written", ["size === 'large'", 7, ["x"], {"expression": "size > 3"}])
def test_a_condition_that_cannot_be_read_is_left_to_the_reader(written: Any) -> None:
    document = foreign(step(runCondition=written))

    reading = read_workflow(json.dumps(document).encode())

    assert to_native(document).document["steps"][0]["when"] == written
    assert [one.pointer.rpartition("/runCondition")[0] for one in reading.problems if one.severity == "error"]


def test_an_operator_nobody_knows_is_kept_and_told() -> None:
    found = translated(step(runCondition={"var": "x", "resembles": "a"}))

    assert told(found) == ["/steps/0/runCondition/resembles"]
    assert found.document["extra"]["parts"] == {"/steps/0/runCondition/resembles": "a"}


@every_case(
    ("written", "expected"),
    [("a.b", "a.b"), ("{{ a.b }}", "a.b")],
)
def test_a_variable_gets_a_name_that_can_be_looked_up(written: str, expected: str) -> None:
    found = translated(step(runCondition={"var": written, "equals": 1}))

    assert found.document["steps"][0]["when"]["input"] == expected


def test_a_native_condition_stays_as_it_is() -> None:
    native = {"kind": "compare", "input": "x", "op": "equals", "value": 1}

    assert only_step(runCondition=native)["when"] == native


def test_conditions_of_fragments_are_translated() -> None:
    written = {"var": "x", "equals": "a"}
    expected = {"kind": "compare", "input": "x", "op": "equals", "value": "a", "lenient": True}

    part = only_step(
        requireConfirmation=written, promptFragments=[{"id": "f", "when": written, "text": "More."}]
    )

    assert part["requireConfirmation"] == expected
    assert part["promptFragments"] == [{"id": "f", "when": expected, "text": "More."}]


@every_case(
    ("written", "expected"),
    [
        (True, True),
        (False, False),
        ({"kind": "human_approval"}, True),
        ({"kind": "coordinator_eval"}, True),
        (
            {"kind": "human_approval", "condition": {"not": {"var": "x", "equals": "a"}}},
            {
                "kind": "not",
                "of": {"kind": "compare", "input": "x", "op": "equals", "value": "a", "lenient": True},
            },
        ),
        ({}, True),
    ],
)
def test_every_kind_of_confirmation_asks_the_user(written: Any, expected: Any) -> None:
    part = translated(step(requireConfirmation=written, runCondition={"var": "x"})).document["steps"][0]

    assert part["requireConfirmation"] == expected


def test_problem_of_a_condition_has_its_original_place() -> None:
    found = translated(
        step(runCondition={"or": [{"var": "x", "equals": 1}, {"not": {"var": "y", "gt": 1, "near": 2}}]})
    )

    assert found.pointers["/steps/0/when"] == "/steps/0/runCondition/or"
    assert found.pointers["/steps/0/when/of/1/of"] == "/steps/0/runCondition/or/1/not/gt"
    assert about(found, "/steps/0/runCondition/or/1/not/near").severity == "warning"
