"""Facts at a node: defaults, context and validated artifacts along lineage, decisions of this iteration."""

from __future__ import annotations

from typing import Any

from handrail.engine.facts import (
    Place,
    apply_report,
    carry_facts,
    facts_at,
    first_facts,
    is_same_place,
)
from handrail.engine.navigate import LoopFrame, Running
from handrail.workflows.compiled import CompiledWorkflow, Part
from handrail.workflows.conditions import Facts, LoopControl
from tests.cases import every_case
from tests.engine.contracts import CONTRACTS, FINDING, finding
from tests.engine.written_log import WrittenLog, step, work, workflow_of


def flow(*parts: Part, **fields: Any) -> CompiledWorkflow:
    return workflow_of(*parts, contracts=CONTRACTS, conditions={"keep": LoopControl()}, **fields)


def test_report_applied_by_hand_gives_the_facts_of_the_log() -> None:
    log = WrittenLog(workflow=flow(step("a", contract=FINDING), step("b")))
    first = log.start(context={"x": 1})
    after = log.report(first, work(context={"y": 2, "x": None}, artifacts=[finding()]))
    assert isinstance(first.state, Running)
    kept = [held.artifact for held in log.history.attached[after.node_id].artifacts]

    by_hand = apply_report(
        log.workflow, first_facts(log.workflow, {"x": 1}), first.state, {"y": 2, "x": None}, kept
    )

    assert by_hand == facts_at(log.history, log.workflow, after.node_id)


def test_facts_carried_on_forget_ended_iterations() -> None:
    def at(*frames: tuple[str, int]) -> Running:
        loops = tuple(LoopFrame(loop_id=name, iteration=number) for name, number in frames)
        return Running(step_id="a", loops=loops)

    facts = Facts(loop_decisions={"outer": "continue", "inner": "stop"})
    before = at(("outer", 0), ("inner", 0))

    assert carry_facts(facts, before, before).loop_decisions == facts.loop_decisions
    assert carry_facts(facts, before, at(("outer", 0))).loop_decisions == {"outer": "continue"}
    assert carry_facts(facts, before, at(("outer", 1), ("inner", 0))).loop_decisions == {}


@every_case(
    ("one", "other", "is_same"),
    [
        (Place(), Place(), False),
        (Place(directory="/a"), Place(directory="/a"), True),
        (Place(directory="/a"), Place(directory="/b"), False),
        (Place(directory="/a", repository="r"), Place(directory="/b", repository="r"), True),
        (Place(directory="/a", repository="r"), Place(directory="/a", repository="s"), False),
        (Place(directory="/a", repository="r"), Place(directory="/a"), True),
        (Place(directory="/a", identity="i"), Place(directory="/b", identity="i"), True),
        (Place(directory="/a", identity="i"), Place(directory="/b", identity="j"), False),
    ],
)
def test_project_is_the_same_by_identity_repository_folder(one: Place, other: Place, is_same: bool) -> None:
    assert is_same_place(one, other) is is_same
    assert is_same_place(other, one) is is_same
