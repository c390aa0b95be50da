"""A recorded run replayed: the same way on the same workflow, and the first difference on a changed one."""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.engine.simulation.regression import RegressionCase, record, replay
from handrail.workflows.compiled import Choice, CompiledWorkflow, ContainsRule, Loop, Option, Part, While
from handrail.workflows.conditions import Compare, Condition, LoopControl
from tests.engine.contracts import CONTRACTS, FINDING, LOOP, decision, finding
from tests.engine.written_log import WORKFLOW_HASH, WrittenLog, step, work, workflow_of

CONDITIONS: dict[str, Condition] = {
    "big": Compare(input="size", op="equals", value="big"),
    "keep": LoopControl(),
    "severe": Compare(artifact="project.finding", field="severity", op="equals", value="high"),
}
OPTIONS = (Option(id="left", label="L", sets={"way": "left"}), Option(id="right", label="R"))
CHOICE = Choice(id="way", title="?", prompt="?", options=OPTIONS)


def flow(*parts: Part, **fields: Any) -> CompiledWorkflow:
    return workflow_of(*parts, contracts=CONTRACTS, conditions=CONDITIONS, **fields)


LOOPED = Loop(id="fix", repeat=While(condition="keep"), max_iterations=5, body=(step("t", contract=LOOP),))
NOTED = step("a", contract=FINDING, rules=(ContainsRule(value="seen", message="Say seen."),))
WORKFLOW = flow(NOTED, step("b", when="severe"), CHOICE, LOOPED, step("z"))


def ran() -> RegressionCase:
    """A run with a blocked attempt, a retry that left things out, a checkpoint, a choice and a loop."""
    log = WrittenLog(workflow=WORKFLOW)
    blocked = log.report(log.start(context={"size": "big"}), work("seen"))
    node = log.report(blocked, work(artifacts=[finding(severity="high")]))
    node = log.report(log.checkpoint(node, "half"), work("did b", {"x": 1}))
    node = log.report(node, work(option=1))
    node = log.report(node, work(artifacts=[decision("continue")]))
    node = log.report(node, work(artifacts=[decision("stop")]))
    end = log.advance(node, "the end")
    return record(log.history, end.node_id)


def test_a_case_holds_what_was_given_and_the_way_it_went() -> None:
    case = ran()

    assert (case.workflow_id, case.workflow_hash) == ("project.test", WORKFLOW_HASH)
    assert case.context == {"size": "big"}
    assert [(report.step, report.was_blocked) for report in case.reports] == [
        ("a", True),
        ("a", False),
        ("b", False),
        ("way", False),
        ("fix@0::t", False),
        ("fix@1::t", False),
        ("z", False),
    ]
    assert case.reports[3].option_id == "right"
    assert case.end == "(finished)"


def test_a_case_survives_being_written_down() -> None:
    case = ran()

    assert msgspec.json.decode(msgspec.json.encode(case), type=RegressionCase) == case


def test_the_same_workflow_takes_the_same_way() -> None:
    found = replay(ran(), WORKFLOW)

    assert found.is_same, found.difference
    assert found.expected == found.actual
    assert found.actual[0] == "a (blocked)"
    assert found.difference == ""


def test_a_changed_workflow_is_told_by_its_first_difference() -> None:
    without_b = flow(NOTED, CHOICE, LOOPED, step("z"))

    found = replay(ran(), without_b)

    assert not found.is_same
    assert found.difference == "at place 3 the run was at b and is now at way"


def test_an_option_that_is_gone_is_a_difference() -> None:
    gone = msgspec.structs.replace(CHOICE, options=(OPTIONS[0], Option(id="up", label="U")))

    found = replay(ran(), flow(NOTED, step("b", when="severe"), gone, LOOPED, step("z")))

    assert found.difference == "at place 4 the run was at way and is now at way (no option right)"


def test_a_step_more_at_the_end_is_a_difference() -> None:
    longer = flow(NOTED, step("b", when="severe"), CHOICE, LOOPED, step("z"), step("last"))

    found = replay(ran(), longer)

    assert found.difference == "at place 8 the run was at (finished) and is now at last"


def test_a_stricter_contract_blocks_where_it_did_not() -> None:
    stricter = msgspec.structs.replace(
        CONTRACTS[FINDING],
        schema=CONTRACTS[FINDING].schema | {"required": ["kind", "file", "severity", "why"]},
    )
    workflow = msgspec.structs.replace(WORKFLOW, contracts={**CONTRACTS, FINDING: stricter})

    found = replay(ran(), workflow)

    assert found.difference == "at place 2 the run was at a and is now at a (blocked)"


def test_a_run_that_is_not_finished_is_a_case_too() -> None:
    log = WrittenLog("a", "b", "c")
    second = log.advance(log.start(), "did a")

    case = record(log.history, second.node_id)

    assert case.end == "b"
    assert replay(case, log.workflow).is_same


def test_what_a_checkpoint_saw_of_a_required_capability_is_part_of_the_case() -> None:
    workflow = flow(step("a"), step("z"), capabilities={"web_browsing": "required"})
    sight = {"kind": "wr.capability_observation", "capability": "web_browsing", "summary": "Tried it."}
    log = WrittenLog(workflow=workflow)
    lost = log.checkpoint(log.start(), "half", [sight | {"status": "unavailable"}])
    blocked = log.report(lost, work("did a"))
    works = log.checkpoint(blocked, "again", [sight | {"status": "available"}])
    end = log.advance(log.report(works, work()), "the end")

    case = record(log.history, end.node_id)

    assert [report.was_blocked for report in case.reports] == [True, False, False]
    assert replay(case, workflow).difference == ""
