"""Where a run goes next: conditions, loops of every kind, nesting, and the trace that explains it."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.engine.navigate import (
    EnteredLoop,
    ExitedLoop,
    LoopFrame,
    Move,
    Running,
    deciding_loop,
    first_move,
    leaf_at,
    loop_values,
    next_move,
    step_key,
)
from handrail.workflows.compiled import CompiledWorkflow, Count, ForEach, Loop, Part, Repeat, Until, While
from handrail.workflows.conditions import And, Compare, Condition, Facts, LoopControl
from tests.engine.written_log import step, workflow_of

CONDITIONS: dict[str, Condition] = {
    "large": Compare(input="size", op="equals", value="large"),
    "keep": LoopControl(),
    "enough": LoopControl(continue_when="stop"),
    "odd": Compare(input="n", op="equals", value=1),
    "done": Compare(input="done", op="equals", value=True),
}


def loop(loop_id: str, repeat: Repeat, *body: Part, most: int = 5, when: str = "") -> Loop:
    return Loop(id=loop_id, repeat=repeat, max_iterations=most, body=body, when=when)


def flow(*parts: Part) -> CompiledWorkflow:
    return workflow_of(*parts, conditions=CONDITIONS)


def place(move: Move) -> str:
    return step_key(move.state) if isinstance(move.state, Running) else "done"


def walked(workflow: CompiledWorkflow, values: dict[str, Any], *decisions: dict[str, str]) -> list[str]:
    """Every position to the end; the n-th set of decisions is used for the n-th advance, then none."""
    move = first_move(workflow, Facts(values=values))
    places = [place(move)]
    waiting = list(decisions)
    while isinstance(move.state, Running):
        decided = waiting.pop(0) if waiting else {}
        move = next_move(workflow, move.state, Facts(values=values, loop_decisions=decided))
        places.append(place(move))
        assert len(places) < 100, "the walk must end"
    return places


def test_a_loop_without_an_iteration_still_leaves_a_trace() -> None:
    workflow = flow(loop("l", ForEach(input="files", item="file"), step("a")), step("b"))

    empty = first_move(workflow, Facts(values={"files": []}))
    missing = first_move(workflow, Facts())

    assert ExitedLoop(loop_id="l", iterations=0, reason="items_exhausted", not_needed=True) in empty.trace
    assert ExitedLoop(loop_id="l", iterations=0, reason="items_missing") in missing.trace


def test_a_decided_loop_runs_once_and_then_as_long_as_it_is_told() -> None:
    workflow = flow(loop("l", While(condition="keep"), step("a"), step("b")), step("z"))
    go, stop = {"l": "continue"}, {"l": "stop"}

    assert walked(workflow, {}, {}, stop) == ["l@0::a", "l@0::b", "z", "done"]
    assert walked(workflow, {}, {}, go, {}, stop) == [
        "l@0::a", "l@0::b", "l@1::a", "l@1::b", "z", "done",
    ]  # fmt: skip


def test_loops_inside_loops_begin_anew() -> None:
    inner = loop("inner", Count(count=2), step("a"))
    workflow = flow(loop("outer", Count(count=2), inner, step("b")))

    assert walked(workflow, {}) == [
        "outer@0/inner@0::a", "outer@0/inner@1::a", "outer@0::b",
        "outer@1/inner@0::a", "outer@1/inner@1::a", "outer@1::b", "done",
    ]  # fmt: skip


def test_one_decision_never_starts_two_iterations() -> None:
    """The inner loop is decided again in the next outer iteration."""
    inner = loop("inner", While(condition="keep"), step("a"))
    workflow = flow(loop("outer", Count(count=2), inner))

    assert walked(workflow, {}, {"inner": "continue"}, {}, {"inner": "stop"}) == [
        "outer@0/inner@0::a", "outer@0/inner@1::a", "outer@1/inner@0::a", "done",
    ]  # fmt: skip


def test_a_body_that_is_passed_by_whole_does_not_hang_the_run() -> None:
    workflow = flow(loop("l", Count(count=3), step("a", when="large"), most=3), step("z"))

    move = first_move(workflow, Facts())

    assert place(move) == "z"
    assert [entry.iteration for entry in move.trace if isinstance(entry, EnteredLoop)] == [0, 1, 2]


def test_decision_is_used_up_where_the_next_body_is_skipped() -> None:
    workflow = flow(loop("l", While(condition="keep"), step("a", when="large")))
    at_first = Running(step_id="a", loops=(LoopFrame(loop_id="l", iteration=0),))

    move = next_move(workflow, at_first, Facts(loop_decisions={"l": "continue"}))

    assert move.trace[-1] == ExitedLoop(loop_id="l", iterations=2, reason="condition_false")


def test_conditions_see_the_item_of_their_own_iteration() -> None:
    workflow = flow(loop("l", ForEach(input="numbers", item="n", index="at"), step("a", when="odd")))

    assert walked(workflow, {"numbers": [0, 1, 2, 1]}) == ["l@1::a", "l@3::a", "done"]


def test_a_decision_can_be_one_part_of_a_condition() -> None:
    conditions: dict[str, Condition] = {
        "both": And(of=(LoopControl(), Compare(input="size", op="equals", value="large")))
    }
    workflow = workflow_of(loop("l", Until(condition="both"), step("a"), most=3), conditions=conditions)
    at_first = Running(step_id="a", loops=(LoopFrame(loop_id="l", iteration=0),))

    ended = next_move(workflow, at_first, Facts(values={"size": "large"}, loop_decisions={"l": "continue"}))
    going = next_move(workflow, at_first, Facts(values={}, loop_decisions={"l": "continue"}))

    assert (place(ended), place(going)) == ("done", "l@1::a")


def test_values_of_nested_loops_stand_on_top_of_what_was_there() -> None:
    inner = loop("inner", ForEach(input="row", item="cell", index="j"), step("a"))
    workflow = flow(loop("outer", ForEach(input="rows", item="row", index="i"), inner))
    frames = (LoopFrame(loop_id="outer", iteration=1), LoopFrame(loop_id="inner", iteration=0))

    values = loop_values(workflow, frames, {"rows": [["x"], ["y", "z"]], "row": "outside"})

    assert (values["row"], values["cell"], values["i"], values["j"]) == (["y", "z"], "y", 1, 0)


def test_decision_without_a_loop_id_is_about_the_innermost() -> None:
    inner = loop("each", Count(count=2), step("a"))
    workflow = flow(loop("asking", While(condition="keep"), inner))
    frames = (LoopFrame(loop_id="asking", iteration=0), LoopFrame(loop_id="each", iteration=0))

    assert deciding_loop(workflow, frames) == "asking"
    assert deciding_loop(flow(loop("each", Count(count=2), step("a"))), frames[1:]) == "each"
    assert deciding_loop(workflow, ()) == ""


def test_a_position_names_its_leaf_however_deep_it_is() -> None:
    deep = step("deep")
    workflow = flow(step("a"), loop("l", Count(count=1), loop("m", Count(count=1), deep)))

    assert leaf_at(workflow, Running(step_id="deep")) == deep
    with pytest.raises(AssertionError, match="no step or loop gone"):
        leaf_at(workflow, Running(step_id="gone"))
