"""Who decides whether a loop goes on: the step that says so, else the last one."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.workflows.compiled import Step
from tests.workflows.compiling.written import (
    choice,
    compilation,
    compiled,
    document,
    found,
    loop,
    parts,
    step,
)

DECISION = {"kind": "loop_control"}
STOP = {"kind": "loop_control", "continueWhen": "stop"}
LOOP_CONTROL = "wr.contracts.loop_control"
DECLARED = {"contractRef": LOOP_CONTROL}
PLAN = {"contractRef": "wr.contracts.plan"}


def contracts(*steps: dict[str, Any]) -> dict[str, str]:
    """Each step that must deliver something, and what."""
    held = parts(compiled(document(*steps)))
    return {name: part.contract for name, part in held.items() if isinstance(part, Step) and part.contract}


@pytest.mark.parametrize("repeat", [{"while": DECISION}, {"until": STOP}])
def test_the_last_step_of_the_body_decides(repeat: dict[str, Any]) -> None:
    assert contracts(loop("l", step("a"), step("b"), **repeat)) == {"b": LOOP_CONTROL}


def test_a_step_that_declares_the_contract_decides_alone() -> None:
    body = [step("a", output=DECLARED), step("b")]

    assert contracts(loop("l", *body, **{"while": DECISION})) == {"a": LOOP_CONTROL}


@pytest.mark.parametrize(
    "repeat",
    [
        {"count": 2},
        {"forEach": {"input": "files", "as": "file"}},
        {"while": {"kind": "compare", "input": "open", "op": "equals", "value": True}},
    ],
)
def test_a_loop_that_waits_for_no_decision_gets_no_contract(repeat: dict[str, Any]) -> None:
    assert contracts(loop("l", step("a"), **repeat)) == {}


def test_a_decision_inside_a_longer_condition_counts() -> None:
    longer = {"kind": "or", "of": [DECISION, {"kind": "compare", "input": "x", "op": "exists"}]}

    assert contracts(loop("l", step("a"), **{"while": longer})) == {"a": LOOP_CONTROL}


def test_last_step_decides_before_a_choice_or_loop() -> None:
    inner = loop("inner", step("b"), count=2)

    assert contracts(loop("l", step("a"), inner, choice("c"), **{"while": DECISION})) == {"a": LOOP_CONTROL}


def test_each_loop_has_its_decider_and_a_named_example() -> None:
    inner = loop("inner", step("b"), **{"while": DECISION})

    workflow = compiled(document(loop("outer", inner, step("a"), **{"while": DECISION})))

    held = parts(workflow)
    assert isinstance(held["a"], Step)
    assert isinstance(held["b"], Step)
    assert '"loopId":"outer"' in held["a"].prompt
    assert '"loopId":"inner"' in held["b"].prompt


@pytest.mark.parametrize(
    "body",
    [
        [choice("c")],
        [step("a", output=PLAN)],
        [step("a"), step("b", output=PLAN)],
        [loop("inner", step("a"), count=2)],
    ],
)
def test_a_loop_that_nobody_could_decide_is_an_error(body: list[dict[str, Any]]) -> None:
    done = compilation(document(loop("l", *body, **{"while": DECISION})))

    assert found(done) == [("error", "loop_without_decision", "/steps/0")]
    assert done.problems[0].fix == f"End the body with a step whose output.contractRef is {LOOP_CONTROL}."
