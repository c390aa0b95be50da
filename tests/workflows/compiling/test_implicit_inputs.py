"""Inputs that are used and not declared: found wherever a name can stand; what comes from inside is none."""

from __future__ import annotations

from typing import Any

from handrail.workflows.compiled import InputSpec
from tests.cases import every_case
from tests.workflows.compiling.written import choice, compiled, document, loop, step

IS_LARGE = {"kind": "compare", "input": "size", "op": "gt", "value": 3}
EACH_FILE = {"input": "files", "as": "file", "indexAs": "place"}


def implicit(*steps: dict[str, Any], **more: Any) -> list[str]:
    inputs = compiled(document(*steps, **more)).inputs
    return [name for name, spec in inputs.items() if spec.implicit]


@every_case(
    ("steps", "expected"),
    [
        ([step("a", when=IS_LARGE)], ["size"]),
        ([step("a", when={"kind": "not", "of": {"kind": "and", "of": [IS_LARGE]}})], ["size"]),
        ([step("a", when=IS_LARGE | {"input": "repo.size"})], ["repo"]),
        ([step("a", "Read {{ path }} of {{repo.name}}.")], ["path", "repo"]),
        ([step("a", requireConfirmation=IS_LARGE)], ["size"]),
        ([step("a", promptFragments=[{"when": IS_LARGE, "text": "See {{more}}."}])], ["more", "size"]),
        ([choice("a", prompt="Which of {{paths}}?")], ["paths"]),
        ([loop("l", step("a"), forEach=EACH_FILE)], ["files"]),
        ([loop("l", step("a"), **{"while": IS_LARGE})], ["size"]),
        ([loop("l", step("a"), count=2, when=IS_LARGE)], ["size"]),
        ([step("a", "Write { {name} } and {name}.")], []),
        ([step("a", when={"kind": "compare", "artifact": "wr.plan", "op": "exists"})], []),
    ],
)
def test_every_place_that_names_a_value_is_looked_at(
    steps: list[dict[str, Any]], expected: list[str]
) -> None:
    assert implicit(*steps) == expected


def test_a_function_that_a_step_names_may_ask_for_values() -> None:
    functions = {"used": "Look at {{log}}.", "unused": "Look at {{other}}."}

    assert implicit(step("a", functionRefs=["used"]), functions=functions) == ["log"]


def test_a_declared_input_stays_as_it_was_declared() -> None:
    workflow = compiled(document(step("a", "Read {{path}}."), inputs={"path": {"type": "string"}}))

    assert workflow.inputs == {"path": InputSpec(type="string")}


def test_variables_of_a_loop_are_no_inputs_inside_it() -> None:
    inside = step("a", "Read {{file.path}}, number {{place}}.")

    assert implicit(loop("l", inside, forEach=EACH_FILE)) == ["files"]


def test_variables_of_a_loop_are_inputs_outside_of_it() -> None:
    body = loop("l", step("a"), forEach=EACH_FILE)

    assert implicit(body, step("b", "Sum up {{file}}.")) == ["file", "files"]


def test_an_inner_loop_goes_through_the_item_of_the_outer_one() -> None:
    inner = loop("inner", step("a", "{{line}}"), forEach={"input": "file", "as": "line"})

    assert implicit(loop("outer", inner, forEach={"input": "files", "as": "file"})) == ["files"]


def test_what_a_choice_sets_or_an_action_saves_is_no_input() -> None:
    options = [{"id": "a", "label": "A", "set": {"way": "a"}}, {"id": "b", "label": "B"}]
    action = {"type": "action", "id": "x", "operation": "scan.search", "saveAs": "hits"}

    steps = [choice("c", options=options), action, step("a", "Go {{way}} with {{hits}}.")]

    assert implicit(*steps) == []


def test_an_implicit_input_may_be_anything_and_is_not_asked_for() -> None:
    assert compiled(document(step("a", "{{x}}"))).inputs == {"x": InputSpec(type="any", implicit=True)}
