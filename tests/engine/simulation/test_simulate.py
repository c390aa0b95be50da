"""The simulator: coverage, dead steps and why, loops, modes, limits, and the problems it must find."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.engine.simulation.report import ALL_MODES, Coverage, Limits, Report
from handrail.workflows.compiled import (
    Action,
    Choice,
    CompiledWorkflow,
    Contract,
    Count,
    ForEach,
    Fragment,
    Gate,
    InputSpec,
    Loop,
    Option,
    Part,
    PatternRule,
    Repeat,
    Until,
    UserOnly,
    While,
)
from handrail.workflows.conditions import AlwaysFalse, And, Compare, Condition, LoopControl
from tests.cases import every_case
from tests.engine.contracts import CONTRACTS, FINDING, LOOP, PROBE
from tests.engine.simulation.simulated import simulate
from tests.engine.written_log import step, workflow_of

BIG = Compare(input="size", op="equals", value="big")
SEVERE = Compare(artifact="project.finding", field="severity", op="equals", value="high")
CONDITIONS: dict[str, Condition] = {
    "big": BIG,
    "severe": SEVERE,
    "keep": LoopControl(),
    "enough": LoopControl(continue_when="stop"),
    "never": AlwaysFalse(),
    "more": Compare(input="more", op="equals", value=True),
    "left": Compare(input="way", op="equals", value="left"),
}


def flow(*parts: Part, **fields: Any) -> CompiledWorkflow:
    return workflow_of(*parts, **{"contracts": CONTRACTS, "conditions": CONDITIONS} | fields)


def loop(loop_id: str, repeat: Repeat, *body: Part, most: int = 10, when: str = "") -> Loop:
    return Loop(id=loop_id, repeat=repeat, max_iterations=most, body=body, when=when)


def dead(report: Report) -> dict[str, str]:
    return {found.step_id: found.reason for found in report.dead_steps}


def check_clean(workflow: CompiledWorkflow) -> Report:
    """Every step is reached in every mode and nothing goes wrong."""
    report = simulate(workflow)
    assert report.problems == []
    assert dead(report) == {}
    assert set(report.by_mode.values()) == {report.coverage}
    assert not report.truncated
    return report


def test_a_line_of_steps_is_one_path_per_mode() -> None:
    report = check_clean(flow(step("a"), step("b")))

    assert report.coverage == Coverage(reached=2, total=2)
    assert (report.paths, report.completed) == (3, 3)
    assert set(report.by_mode) == set(ALL_MODES)


def test_every_branch_is_walked() -> None:
    options = (Option(id="left", label="L", sets={"way": "left"}), Option(id="right", label="R"))

    check_clean(
        flow(
            step("a", contract=FINDING),
            step("b", when="severe"),
            Choice(id="way", title="?", prompt="?", options=options, non_assumable="scope_boundary"),
            step("c", when="left"),
            step("d", when="big"),
            Action(id="e", title="E", operation="scan.search", save_as="hits"),
        )
    )


@every_case(
    ("repeat", "iterations", "reasons"),
    [
        (While(condition="keep"), (1, 2, 3), ("condition_false", "decision_missing", "limit_reached")),
        (Until(condition="enough"), (1, 2, 3), ("condition_false", "decision_missing", "limit_reached")),
        (While(condition="more"), (0, 1, 2, 3), ("condition_false", "limit_reached")),
        (Until(condition="more"), (1, 2, 3), ("condition_false", "limit_reached")),
        (Count(count=500), (3,), ("limit_reached",)),
        (Count(count=2), (2,), ("items_exhausted",)),
        (ForEach(input="files", item="file"), (0, 1, 2, 3), ("items_exhausted", "limit_reached")),
    ],
)
def test_loops_end_after_none_one_two_and_at_their_limit(
    repeat: Repeat, iterations: tuple[int, ...], reasons: tuple[str, ...]
) -> None:
    decided = isinstance(repeat, While | Until) and repeat.condition in ("keep", "enough")
    last = step("b", contract=LOOP if decided else "")

    (ends,) = check_clean(flow(loop("l", repeat, step("a"), last, most=1_000), step("z"))).loops

    assert (tuple(ends.iterations), tuple(ends.reasons)) == (iterations, reasons)


@pytest.mark.thorough
def test_nested_loops_stay_within_bounds() -> None:
    inner: Part = step("a", contract=LOOP)
    for depth in range(5):
        inner = loop(f"l{depth}", While(condition="keep"), inner, step(f"s{depth}", contract=LOOP))

    check_clean(flow(inner, step("z")))


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ((step("a", when="never"), step("b")), {"a": "its condition never never held"}),
        (
            (loop("l", Count(count=2), step("a"), when="never"), step("b")),
            {"a": "the condition of the loop l never never held"},
        ),
        (
            (loop("l", While(condition="never"), step("a")), step("b")),
            {"a": "the loop l never ran"},
        ),
    ],
)
def test_a_dead_step_is_named_with_what_kept_every_walk_away(
    parts: tuple[Part, ...], expected: dict[str, str]
) -> None:
    report = simulate(flow(*parts))

    assert dead(report) == expected
    assert report.coverage.reached == report.coverage.total - len(expected)


def test_a_condition_that_the_enum_rules_out_leaves_a_dead_step() -> None:
    inputs = {"size": InputSpec(type="string", enum=("small", "medium"), default="small")}

    assert "a" in dead(simulate(flow(step("a", when="big"), step("b"), inputs=inputs)))


def test_contract_without_an_example_stops_no_walk() -> None:
    unknown = Contract(
        artifact_kind="project.x",
        schema={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
        example={"kind": "project.x"},
        guidance="",
    )
    workflow = flow(step("a", contract="project.contracts.x"), contracts={"project.contracts.x": unknown})

    report = simulate(workflow)

    assert (report.problems, report.unproven) == ([], ["a"])


def test_gate_with_a_follow_up_at_every_level_never_opens() -> None:
    gate = Gate(assessment_id="g", purpose="?", dimensions={"d": ("low",)}, followups={"low": "Again."})

    report = simulate(flow(step("a", gates=(gate,)), step("b")))

    assert {problem.kind for problem in report.problems if problem.mode == "guided"} >= {"does_not_end"}
    assert report.by_mode["guided"].reached == 1
    assert report.by_mode["full_auto_never_stop"].reached == 2


def test_every_demand_blocks_or_is_disclosed_in_every_mode() -> None:
    gate = Gate(
        assessment_id="g", purpose="?", dimensions={"d": ("low", "high")}, followups={"low": "Again."}
    )

    check_clean(
        flow(
            step("probe", contract=PROBE, capability="web_browsing"),
            step("a", gates=(gate,)),
            step("b", user_only=UserOnly(reason="needs_user_approval")),
            step("c", user_only=UserOnly(reason="needs_user_artifact", input="ticket")),
            capabilities={"web_browsing": "required"},
        )
    )


def test_never_stop_walks_the_way_of_a_missing_artifact() -> None:
    without = Compare(artifact="project.finding", field="file", op="exists", value=False)
    workflow = flow(step("a", contract=FINDING), step("b", when="without"), conditions={"without": without})

    report = simulate(workflow)

    assert report.by_mode["guided"].reached == 1
    assert report.by_mode["full_auto_never_stop"].reached == 2


def test_a_dimension_without_levels_takes_any_and_is_no_problem() -> None:
    gate = Gate(assessment_id="g", purpose="?", dimensions={"d": ()})

    check_clean(flow(step("a", gates=(gate,))))


def test_prompt_sizes_are_those_of_the_longest_form() -> None:
    held = step("a", prompt="Look at {{size}}.", fragments=(Fragment(when="big", text="é" * 10),))

    (size,) = simulate(flow(held)).prompts

    assert size.step_id == "a"
    assert size.size_bytes == len("Look at big.\n\n") + 20
    assert size.tokens > 0


def test_pattern_that_no_notes_are_made_for_stops_no_walk() -> None:
    rule = PatternRule(pattern="^[^a-zA-Z0-9 _./:-]+$", message="m")
    leaf = step("a", rules=(rule,), notes_required=True)

    report = simulate(flow(leaf, step("b")))

    assert report.unproven == ["a"]
    assert report.coverage == Coverage(reached=2, total=2)
    assert report.problems == []


def test_limits_are_kept_and_told() -> None:
    parts = [step(f"s{number}", contract=FINDING, when="severe") for number in range(20)]
    workflow = flow(step("first", contract=FINDING), *parts)

    report = simulate(workflow, Limits(max_positions=5))

    assert report.truncated
    assert report.dead_steps == []
    assert report.untried
    assert all(found.reason.startswith("the limits") for found in report.untried)


def test_a_condition_of_many_parts_is_reached_among_many_inputs() -> None:
    parts = tuple(Compare(input=f"v{number}", op="equals", value="yes") for number in range(12))
    workflow = flow(step("rare", when="all"), step("z"), conditions={"all": And(of=parts[:6])})

    report = simulate(workflow)

    assert report.starts_possible > report.starts_tried
    assert dead(report) == {}


def test_only_the_asked_modes_are_walked() -> None:
    report = simulate(flow(step("a")), modes=("guided",))

    assert list(report.by_mode) == ["guided"]
