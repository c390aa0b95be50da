"""What is declared and never used; and every way in which something counts as used."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.workflows.catalog import read_checked
from tests.cases import every_case
from tests.workflows.checking.linted import linted, seen
from tests.workflows.compiling.written import call, choice, document, loop, step

TEXT: dict[str, Any] = {"type": "string"}
IS_X = {"kind": "compare", "input": "x", "op": "equals", "value": "y"}


def test_unused_declaration_is_told_at_its_place() -> None:
    """Everything that is declared and unused is reported where it is declared."""
    problems = linted(
        step("a"),
        inputs={"x": TEXT},
        functions={"f": "F."},
        conditions=[{"id": "c", "kind": "always_true"}],
        assessments=[{"id": "r", "purpose": "R.", "dimensions": {"d": ["low"]}}],
    )

    assert seen(problems) == [
        ("warning", "unused", "/inputs/x"),
        ("warning", "unused", "/functions/f"),
        ("warning", "unused", "/conditions/0"),
        ("warning", "unused", "/assessments/0"),
    ]
    assert problems[0].message == "The input x is never used."


@every_case(
    "part",
    [
        step("a", "Read {{x}}."),
        step("a", "Read {{x.path}}."),
        step("a", when=IS_X),
        step("a", requireConfirmation=IS_X),
        step("a", promptFragments=[{"text": "See {{x}}."}]),
        step("a", promptFragments=[{"when": IS_X, "text": "More."}]),
        step("a", guidance=["Mind {{x}}."]),
        choice("a", prompt="{{x}}?"),
        loop("l", step("a"), forEach={"input": "x", "as": "one"}),
        loop("l", step("a"), **{"while": IS_X}),
        call("wr.templates.verification_pass", args={"subject": "{{x}}"}),
        call("wr.templates.handoff_summary", when=IS_X),
        {"type": "action", "id": "a", "operation": "scan.search", "params": {"q": ["{{x}}"]}},
    ],
)
def test_every_use_of_an_input_counts(part: dict[str, Any]) -> None:
    kind = "array" if part.get("forEach") else "string"

    assert linted(part, step("z"), inputs={"x": {"type": kind, "required": True}}) == ()


@every_case(
    "part",
    [
        step("a", when="c"),
        step("a", requireConfirmation="c"),
        step("a", promptFragments=[{"when": "c", "text": "More."}]),
        loop("l", step("a"), **{"while": "c"}),
        loop("l", step("a"), until="c"),
        call("wr.templates.handoff_summary", when="c"),
    ],
)
def test_every_use_of_a_condition_counts(part: dict[str, Any]) -> None:
    assert linted(part, conditions=[{"id": "c", "kind": "always_true"}]) == ()


def test_functions_and_assessments_count_where_a_step_names_them() -> None:
    problems = linted(
        step("a", functionRefs=["f"], gates=[{"assessmentId": "r"}]),
        functions={"f": "F."},
        assessments=[{"id": "r", "purpose": "R.", "dimensions": {"d": ["low"]}}],
    )

    assert problems == ()


def test_a_value_in_a_function_counts() -> None:
    assert linted(step("a", functionRefs=["f"]), functions={"f": "See {{x}}."}, inputs={"x": TEXT}) == ()


@pytest.mark.parametrize(
    ("sets", "told"),
    [
        ({"sev": "n"}, []),
        ({"sve": "n"}, ["/steps/0/options/1/set/sve"]),
        ({"why": "n"}, []),
        ({"sev": "n", "ves": "n"}, []),
    ],
)
def test_swapped_letters_of_a_short_set_name_are_told(sets: dict[str, str], told: list[str]) -> None:
    """What nobody reads may be there for the record."""
    options = [{"id": "o", "label": "O", "set": {"sev": "y"}}, {"id": "p", "label": "P", "set": sets}]
    asked = {"type": "choice", "id": "c", "title": "C", "prompt": "P", "options": options}
    written = document(asked, step("a", when=IS_X | {"input": "sev"}), step("b"), inputs={"sev": TEXT})

    problems = read_checked(json.dumps(written).encode()).problems

    assert [one.pointer for one in problems if "is set here" in one.message] == told


@every_case(
    ("yes", "no", "told"),
    [
        ({"x": "y"}, {"x": "z"}, ""),
        ({"x": "y"}, {}, ""),
        ({}, {}, ""),
        ({"x": "y"}, {"x": "y"}, "The choice ask decides nothing: its options set the same."),
        ({"other": 1}, {"other": 2}, "The choice ask decides nothing: nothing reads other."),
        ({"x": "y", "other": 1}, {"x": "y"}, "The choice ask decides nothing: nothing reads other."),
    ],
)
@every_case("in_loop", [False, True])
def test_a_choice_that_decides_nothing_is_a_warning(
    yes: dict[str, Any], no: dict[str, Any], told: str, in_loop: bool
) -> None:
    options = [{"id": "yes", "label": "Yes", "set": yes}, {"id": "no", "label": "No", "set": no}]
    asked = {"type": "choice", "id": "ask", "title": "Ask", "prompt": "Which?", "options": options}
    asked = loop("l", asked, count=2) if in_loop else asked

    problems = linted(asked, step("b", when=IS_X))

    assert [one.message for one in problems if one.code == "unused"] == ([told] if told else [])


@pytest.mark.parametrize(
    ("default", "most", "codes"),
    [
        (["a"], 2, []),
        (5, 2, ["not_a_list"]),
        ({"a": 1}, 2, ["not_a_list"]),
        (["a", "b", "c"], 2, ["bad_value"]),
    ],
)
def test_what_a_loop_goes_through_by_default_is_a_list_that_fits(
    default: Any, most: int, codes: list[str]
) -> None:
    part = loop("l", step("a"), forEach={"input": "things", "as": "thing"}, maxIterations=most)
    given = document(part, inputs={"things": {"type": "any", "default": default}})

    problems = read_checked(json.dumps(given).encode()).problems

    assert [one.code for one in problems] == codes


def test_work_is_handed_out_for_a_list() -> None:
    child = {"id": "one", "title": "One", "workflow": "project.other"}
    told = {"forEach": "things", "as": "thing", "child": child, "collect": "found"}
    part = {"id": "hand", "title": "Hand", "delegate": told}
    given = document(part, inputs={"things": {"type": "any", "default": 5}})

    problems = read_checked(json.dumps(given).encode()).problems

    assert [one.code for one in problems] == ["not_a_list"]
