"""Conditions that never hold and steps that no run reaches, told only where it is certain."""

from __future__ import annotations

from typing import Any

from handrail.workflows.compiled import Contract
from handrail.workflows.compiling.compilation import Surroundings
from tests.cases import every_case
from tests.workflows.checking.linted import linted, seen
from tests.workflows.compiling.written import call, choice, loop, step

INPUTS: dict[str, Any] = {
    "size": {"type": "string", "enum": ["Small", "Large"], "required": True},
    "maybe": {"type": "string", "enum": ["a", "b"]},
    "flag": {"type": "boolean", "required": True},
    "count": {"type": "integer", "required": True},
    "ratio": {"type": "number", "required": True},
    "name": {"type": "string", "required": True},
    "files": {"type": "array", "required": True},
}


DECISION = {"kind": "loop_control"}


def compare(name: str, op: str, value: Any = None) -> dict[str, Any]:
    return {"kind": "compare", "input": name, "op": op} | ({} if value is None else {"value": value})


def artifact(kind: str, field: str, op: str, value: Any = None) -> dict[str, Any]:
    where = {"kind": "compare", "artifact": kind, "field": field, "op": op}
    return where | ({} if value is None else {"value": value})


def both(*conditions: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "and", "of": list(conditions)}


def either(*conditions: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "or", "of": list(conditions)}


def opposite(condition: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "not", "of": condition}


def dead(condition: dict[str, Any], **more: Any) -> bool:
    """Whether the linter says that no run reaches a step with this condition."""
    used = "Look at " + " ".join("{{" + name + "}}" for name in INPUTS) + "."
    problems = linted(step("first"), step("a", when=condition), step("b", used), inputs=INPUTS, **more)
    assert {code for _, code, _ in seen(problems)} <= {"unreachable_step"}, problems
    return bool(problems)


@every_case(
    "condition",
    [
        {"kind": "always_false"},
        compare("size", "equals", "Medium"),
        compare("size", "equals", "small"),
        compare("size", "in", ["Medium", "Huge"]),
        compare("size", "contains", "edium"),
        compare("size", "gt", "Z"),
        compare("size", "exists", False),
        both(compare("size", "equals", "Small"), compare("size", "equals", "Large")),
        both(compare("size", "equals", "Small"), compare("size", "not_equals", "Small")),
        opposite(either(compare("size", "equals", "Small"), compare("size", "equals", "Large"))),
        opposite(opposite(compare("size", "equals", "Medium"))),
        compare("maybe", "equals", "c"),
        compare("flag", "equals", "true"),
        compare("flag", "gt", 0),
        both(compare("flag", "equals", True), opposite(compare("flag", "equals", True))),
        {"kind": "loop_control"},
        artifact("wr.plan", "no_such_field", "equals", "x"),
        artifact("wr.loop_control", "decision", "equals", "pause"),
        artifact("acme.report", "verdict", "equals", "good"),
    ],
)
def test_impossible_condition_makes_its_step_unreachable(condition: dict[str, Any]) -> None:
    assert dead(condition)


@every_case(
    "condition",
    [
        {"kind": "always_true"},
        compare("size", "equals", "Large"),
        compare("size", "not_equals", "Medium"),
        compare("size", "in", ["Medium", "Large"]),
        compare("size", "contains", "arg"),
        compare("size", "gt", "Large"),
        compare("maybe", "exists", False),
        compare("maybe", "not_equals", "a"),
        compare("flag", "equals", False),
        compare("count", "equals", 3),
        both(compare("ratio", "gt", 5), compare("ratio", "lt", 3)),
        both(compare("name", "contains", "x"), opposite(compare("name", "contains", "y"))),
        compare("files", "contains", "x"),
        compare("unknown", "gt", 3),
        compare("unknown.member", "equals", 3),
        both(compare("unknown", "gt", 3), compare("other", "lt", 3)),
        either({"kind": "always_false"}, compare("flag", "equals", True)),
        artifact("wr.loop_control", "decision", "equals", "stop"),
        artifact("wr.plan", "no_such_field", "exists", False),
        artifact("wr.verification_report", "verdict", "equals", "passed"),
    ],
)
def test_a_condition_that_may_hold_is_left_alone(condition: dict[str, Any]) -> None:
    assert not dead(condition)


def test_many_conditions_at_once_are_not_tried_for_ever() -> None:
    assert not dead(both(*(compare(f"value{n}", "equals", n) for n in range(40))))


def test_what_a_choice_sets_counts_as_possible() -> None:
    options = [{"id": "a", "label": "A", "set": {"size": "Medium"}}, {"id": "b", "label": "B"}]

    problems = linted(
        choice("c", options=options),
        step("a", when=compare("size", "equals", "Medium")),
        inputs={"size": INPUTS["size"]},
    )

    assert problems == ()


def test_what_an_action_saves_may_be_anything() -> None:
    action = {"type": "action", "id": "x", "operation": "scan.search", "saveAs": "count"}

    problems = linted(
        action, step("a", when=compare("count", "equals", "x")), inputs={"count": INPUTS["count"]}
    )

    assert problems == ()


def test_project_contract_limits_what_its_artifact_holds() -> None:
    schema = {"type": "object", "properties": {"kind": {}, "verdict": {"enum": ["good", "bad"]}}}
    contract = Contract(artifact_kind="acme.report", schema=schema, example={}, guidance="Report.")
    around = Surroundings(contracts={"acme.contracts.report": contract})
    first = step("a", output={"contractRef": "acme.contracts.report"})

    fine = linted(first, step("b", when=artifact("acme.report", "verdict", "equals", "good")), around=around)
    wrong = linted(first, step("b", when=artifact("acme.report", "verdict", "equals", "god")), around=around)

    assert fine == ()
    assert seen(wrong) == [("warning", "unreachable_step", "/steps/1")]


def test_the_reason_names_an_artifact_that_nobody_delivers() -> None:
    (problem,) = linted(step("a", when=artifact("acme.report", "verdict", "equals", "good")))

    assert problem.message == "No run reaches a: no step delivers an artifact of the kind acme.report."


@every_case(
    ("part", "expected"),
    [
        (
            loop("l", step("a"), **{"while": both({"kind": "loop_control"}, {"kind": "always_true"})}),
            [("warning", "unreachable_step", "/steps/0")],
        ),
        (
            loop("l", step("a"), **{"while": compare("size", "equals", "Medium")}),
            [("warning", "unreachable_step", "/steps/0")],
        ),
        (
            loop("l", step("a"), until=compare("size", "equals", "Medium")),
            [("warning", "impossible_condition", "/steps/0")],
        ),
        (loop("l", step("a"), **{"while": {"kind": "loop_control"}}), []),
        (loop("l", step("a"), until={"kind": "loop_control", "continueWhen": "stop"}), []),
        (
            step("a", requireConfirmation=compare("size", "equals", "Medium")),
            [("warning", "impossible_condition", "/steps/0")],
        ),
        (
            step("a", promptFragments=[{"when": compare("size", "equals", "Medium"), "text": "More."}]),
            [("warning", "impossible_condition", "/steps/0")],
        ),
        (
            step("a", output={"contractRef": "wr.contracts.loop_control"}),
            [("warning", "loop_without_decision", "/steps/0")],
        ),
        (
            loop(
                "l", step("a", when=compare("size", "equals", "Large")), **{"while": {"kind": "loop_control"}}
            ),
            [("warning", "loop_without_decision", "/steps/0/body/0")],
        ),
        (
            call("wr.templates.handoff_summary", when=compare("size", "equals", "Medium")),
            [("warning", "unreachable_step", "/steps/0")],
        ),
        (
            loop("l", loop("m", step("a", when={"kind": "always_false"}), count=2), count=2),
            [("warning", "unreachable_step", "/steps/0/body/0/body/0")],
        ),
    ],
)
def test_loops_fragments_and_confirmations_are_looked_at(
    part: dict[str, Any], expected: list[tuple[str, str, str]]
) -> None:
    problems = linted(part, step("z", "See {{size}}."), inputs={"size": INPUTS["size"]})

    assert seen(problems) == expected
