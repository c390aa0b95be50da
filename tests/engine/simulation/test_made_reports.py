"""Made-up reports: the engine accepts each valid one and refuses each invalid one."""

from __future__ import annotations

from typing import Any

from handrail.engine.judge.assess import assess, place_of
from handrail.engine.judge.requirements import list_broken_rules
from handrail.engine.navigate import LoopFrame, Running
from handrail.engine.simulation.made_reports import notes_for, report_without_artifact, valid_reports
from handrail.workflows.compiled import (
    AllOf,
    AnyOf,
    CompiledWorkflow,
    ContainsRule,
    Gate,
    LengthRule,
    Loop,
    PatternRule,
    Rule,
    SchemaRule,
    Step,
    UserOnly,
    While,
)
from handrail.workflows.conditions import Compare, Condition, Facts, LoopControl
from tests.cases import every_case
from tests.engine.contracts import CONTRACTS, FINDING, LOOP, PROBE
from tests.engine.written_log import step, workflow_of

STATE = Running(step_id="a", loops=(LoopFrame(loop_id="fix", iteration=0),))
GATE = Gate(
    assessment_id="ready",
    purpose="?",
    dimensions={"tests": ("none", "all"), "docs": ("old", "new")},
    followups={"none": "Write one."},
)
SEVERE: dict[str, Condition] = {
    "severe": Compare(artifact="project.finding", field="severity", op="equals", value="high")
}
ASKING = [
    step("a"),
    step("a", contract=FINDING),
    step("a", contract=LOOP),
    step("a", contract=PROBE, capability="delegation"),
    step("a", gates=(GATE,)),
    step("a", user_only=UserOnly(reason="needs_user_approval")),
    step("a", contract=FINDING, gates=(GATE,), user_only=UserOnly(reason="needs_user_choice")),
    step("a", rules=(ContainsRule(value="seen", message="m"),), contract=FINDING),
]
IDS = ["nothing", "contract", "loop", "probe", "gate", "user", "several", "rules"]


def flow(held: Step, conditions: dict[str, Condition] | None = None) -> CompiledWorkflow:
    loop = Loop(id="fix", repeat=While(condition="keep"), max_iterations=3, body=(held,))
    used = [step(f"when_{name}", when=name) for name in conditions or {}]
    return workflow_of(
        loop,
        *used,
        contracts=CONTRACTS,
        conditions={"keep": LoopControl()} | (conditions or {}),
        capabilities={"delegation": "required"},
    )


def reasons(workflow: CompiledWorkflow, held: Step, report: Any) -> list[str]:
    verdict = assess(place_of(workflow, STATE, held), Facts(), report.notes, report.artifacts)
    return [reason.name for reason in verdict.reasons]


@every_case("held", ASKING)
def test_every_valid_report_is_accepted(held: Step) -> None:
    workflow = flow(held)
    notes = notes_for(held.rules)
    assert notes is not None

    made = valid_reports(workflow, held, STATE, notes)

    assert made
    assert len({report.label for report in made}) == len(made)
    assert [reasons(workflow, held, report) for report in made] == [[]] * len(made)


def test_a_loop_is_decided_both_ways() -> None:
    held = step("a", contract=LOOP)

    decided = [report.artifacts[0]["decision"] for report in valid_reports(flow(held), held, STATE, "")]

    assert decided == ["stop", "continue"]


def test_artifact_comes_in_every_form_that_conditions_need() -> None:
    held = step("a", contract=FINDING)

    made = valid_reports(flow(held, SEVERE), held, STATE, "")

    assert {report.artifacts[0]["severity"] for report in made} == {"low", "high"}


def test_missing_required_capability_is_no_valid_report() -> None:
    held = step("a", contract=PROBE, capability="delegation")

    valid = [report.label for report in valid_reports(flow(held), held, STATE, "")]

    assert valid == ["available"]


@every_case(
    "rules",
    [
        (),
        (ContainsRule(value="Evidence", message="m"), LengthRule(minimum=200, message="m")),
        (AnyOf(of=(ContainsRule(value="a", message="m"), ContainsRule(value="b", message="m"))),),
        (AllOf(of=(ContainsRule(value="a", message="m"), LengthRule(maximum=50, message="m"))),),
    ],
)
def test_notes_are_made_up_for_texts_and_lengths(rules: tuple[Rule, ...]) -> None:
    notes = notes_for(rules)

    assert notes is not None
    assert list_broken_rules(rules, notes) == []


@every_case(
    "rule",
    [
        PatternRule(pattern="^done", message="m"),
        SchemaRule(schema={"type": "object"}, message="m"),
        LengthRule(maximum=5, message="m"),
    ],
)
def test_notes_that_cannot_be_made_up_are_admitted(rule: Rule) -> None:
    assert notes_for((ContainsRule(value="Evidence", message="m"), rule)) is None


def test_a_report_without_its_artifact_keeps_the_others() -> None:
    held = step("a", contract=FINDING)

    lacking = report_without_artifact(flow(held), held, STATE, "done")

    assert lacking is not None
    assert (lacking.notes, lacking.artifacts) == ("done", ())
    assert reasons(flow(held), held, lacking)
    assert report_without_artifact(flow(step("a")), step("a"), STATE, "done") is None
