"""Values worth trying: both ways for every comparison, arrays for loops, and starts that cover conditions."""

from __future__ import annotations

from typing import Any

from handrail.engine.judge.artifacts import check_start_context
from handrail.engine.simulation.made_reports import (
    Paths,
    flip_condition,
    input_paths,
    list_starts,
    simulation_effort,
    try_both_ways,
)
from handrail.workflows.compiled import CompiledWorkflow, ForEach, InputSpec, Loop, Part
from handrail.workflows.conditions import (
    MISSING,
    And,
    Compare,
    Condition,
    Facts,
    LoopControl,
    Not,
    Operator,
    Or,
    comparisons,
    holds,
    nest_values,
)
from tests.cases import every_case
from tests.engine.written_log import step, workflow_of


def flow(conditions: dict[str, Condition], *parts: Part, **inputs: InputSpec) -> CompiledWorkflow:
    """Each condition is used by a step of its own."""
    used = [step(f"when_{name}", when=name) for name in conditions]
    return workflow_of(*parts, *used, step("z"), conditions=conditions, inputs=inputs)


def paths_of(workflow: CompiledWorkflow) -> Paths:
    return input_paths(workflow, 2, simulation_effort())


def equals(name: str, value: Any) -> Compare:
    return Compare(input=name, op="equals", value=value)


@every_case(
    ("op", "value"),
    [
        ("equals", "x"),
        ("equals", True),
        ("equals", 3),
        ("equals", None),
        ("not_equals", "something else"),
        ("in", ["a", "b"]),
        ("in", [1, 2]),
        ("contains", "x"),
        ("contains", 4),
        ("gt", 3),
        ("gte", 3.5),
        ("lt", 0),
        ("lte", "m"),
        ("exists", True),
        ("exists", False),
    ],
)
def test_a_comparison_is_tried_both_ways(op: Operator, value: Any) -> None:
    atom = Compare(input="x", op=op, value=value)

    results = {
        holds(atom, Facts(values={} if tried is MISSING else {"x": tried})) for tried in try_both_ways(atom)
    }

    if op == "equals" and value is None:
        assert results == {False} or results == {True, False}
    else:
        assert results == {True, False}


def test_comparisons_are_found_inside_other_conditions() -> None:
    nested = And(of=(equals("a", 1), Or(of=(Not(of=equals("b", 2)), LoopControl()))))

    assert [atom.input for atom in comparisons(nested)] == ["a", "b"]


def test_only_inputs_that_steer_or_are_required_are_tried() -> None:
    workflow = flow(
        {"big": equals("size", "big")},
        size=InputSpec(enum=("big", "small"), default="small"),
        ticket=InputSpec(type="string", required=True),
        remark=InputSpec(type="string"),
    )

    paths = paths_of(workflow)

    assert set(paths) == {"size", "ticket"}
    assert paths["size"] == ["small", "big"]
    assert len(paths["ticket"]) == 1


def test_an_undeclared_value_may_also_be_left_out() -> None:
    assert paths_of(flow({"c": equals("mood", "good")}))["mood"] == ["good", "something else", MISSING]


def test_every_start_fits_the_declared_inputs() -> None:
    workflow = flow(
        {
            "big": equals("size", "big"),
            "deep": Compare(input="depth", op="gt", value=3),
            "has": Compare(input="tags", op="contains", value="x"),
        },
        size=InputSpec(type="string", enum=("big", "small"), required=True),
        depth=InputSpec(type="integer", default=1),
        tags=InputSpec(type="array"),
        name=InputSpec(type="string", required=True),
    )

    contexts, possible = list_starts(workflow, paths_of(workflow), 64, simulation_effort())

    assert len(contexts) == possible
    assert all(check_start_context(workflow.inputs, context) == [] for context in contexts)


def test_many_combinations_make_each_condition_hold_and_fail() -> None:
    conditions: dict[str, Condition] = {f"c{number}": equals(f"v{number}", "yes") for number in range(12)}
    conditions["rare"] = And(of=tuple(equals(f"v{number}", "yes") for number in range(6)))
    workflow = flow(conditions)

    contexts, possible = list_starts(workflow, paths_of(workflow), 40, simulation_effort())

    assert possible > 40
    assert len(contexts) <= 40
    for name, condition in conditions.items():
        assert {holds(condition, Facts(values=context)) for context in contexts} == {True, False}, name


def test_arrays_hold_what_conditions_ask_of_items() -> None:
    loop = Loop(
        id="each",
        repeat=ForEach(input="files", item="file", index="at"),
        max_iterations=3,
        body=(step("a", when="new"),),
    )
    workflow = flow({"new": equals("file.state", "new")}, loop, files=InputSpec(type="array", required=True))

    arrays = paths_of(workflow)["files"]

    assert [] in arrays
    assert {len(array) for array in arrays} >= {0, 1, 2}
    assert {item["state"] for array in arrays for item in array} == {"new", "something else"}


def test_items_of_nested_loops_are_arrays_themselves() -> None:
    inner = Loop(id="in", repeat=ForEach(input="row.cells", item="cell"), max_iterations=3, body=(step("a"),))
    outer = Loop(id="out", repeat=ForEach(input="rows", item="row"), max_iterations=3, body=(inner,))

    arrays = paths_of(flow({}, outer))["rows"]

    assert any(item["cells"] for array in arrays for item in array)


def test_a_path_becomes_nested_objects() -> None:
    assert nest_values({"a.b.c": 1, "a.d": 2, "e": MISSING, "f": []}) == {
        "a": {"b": {"c": 1}, "d": 2},
        "f": [],
    }


def test_building_a_context_changes_no_value_it_was_given() -> None:
    base: dict[str, Any] = {"kept": 1}

    nest_values({"a": base, "a.b": 2})

    assert base == {"kept": 1}


def test_a_condition_can_be_turned_around_by_a_change_of_context() -> None:
    condition = equals("more", True)
    paths = paths_of(flow({"c": condition}))

    change = flip_condition(condition, paths, Facts(values={"more": True}), simulation_effort())

    assert change is not None
    assert not holds(condition, Facts(values={"more": True} | change))
    assert flip_condition(LoopControl(), paths, Facts(), simulation_effort()) is None
