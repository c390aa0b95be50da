"""Assessment gates: what passes, what does not fit, and levels that demand a follow-up."""

from __future__ import annotations

from typing import Any

from handrail.engine.judge.assess import Verdict, assess, place_of
from handrail.engine.judge.report_frame import assessment_example
from handrail.engine.navigate import Running
from handrail.workflows.compiled import Gate
from handrail.workflows.conditions import Facts
from tests.cases import every_case
from tests.engine.written_log import step, workflow_of

GATE = Gate(
    assessment_id="ready",
    purpose="Is it ready?",
    dimensions={"tests": ("none", "some", "all"), "docs": ("old", "current")},
    followups={"none": "Write a test.", "old": "Update the page."},
)


def told(dimensions: dict[str, str], assessment_id: str = "ready") -> dict[str, Any]:
    return {"kind": "wr.assessment", "assessmentId": assessment_id, "dimensions": dimensions}


def judged(*artifacts: dict[str, Any]) -> Verdict:
    held = step("a", gates=(GATE,))
    return assess(place_of(workflow_of(held), Running(step_id="a"), held), Facts(), "", artifacts)


@every_case(
    ("dimensions", "result", "said"),
    [
        ({"tests": "some", "docs": "current"}, "valid", ""),
        ({"tests": "all", "docs": "current"}, "valid", ""),
        ({"tests": "some"}, "invalid", "docs is missing"),
        ({"tests": "some", "docs": "current", "speed": "high"}, "invalid", "speed is not a dimension"),
        ({"tests": "many", "docs": "current"}, "invalid", "tests cannot be many"),
        ({"tests": "none", "docs": "current"}, "invalid", "tests is none"),
        ({"tests": "all", "docs": "old"}, "invalid", "docs is old"),
    ],
)
def test_a_gate_takes_declared_levels_that_demand_nothing(
    dimensions: dict[str, str], result: str, said: str
) -> None:
    verdict = judged(told(dimensions))

    assert [(check.contract_ref, check.result) for check in verdict.checks] == [
        ("wr.contracts.assessment", result)
    ]
    assert said in "".join(reason.message for reason in verdict.reasons)
    assert bool(verdict.reasons) == (result == "invalid")


def test_two_assessments_that_differ_are_none() -> None:
    verdict = judged(told({"tests": "all", "docs": "current"}), told({"tests": "some", "docs": "current"}))

    assert [reason.name for reason in verdict.reasons] == ["contract_violation:invalid_required_output"]


def test_the_example_passes_its_own_gate() -> None:
    example = assessment_example(GATE)

    assert example["dimensions"] == {"tests": "some", "docs": "current"}
    assert judged(example).reasons == ()
