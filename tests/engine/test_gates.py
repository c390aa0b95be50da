"""Assessment gates: what passes, what does not fit, and levels that demand a follow-up."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.contract.canonical import digest
from handrail.engine.events import Artifact
from handrail.engine.gates import assessment_example, through_gates
from handrail.workflows.compiled import Gate
from tests.engine.written_log import step

GATE = Gate(
    assessment_id="ready",
    purpose="Is it ready?",
    dimensions={"tests": ("none", "some", "all"), "docs": ("old", "current")},
    followups={"none": "Write a test.", "old": "Update the page."},
)


def told(dimensions: dict[str, str], assessment_id: str = "ready") -> Artifact:
    body: dict[str, Any] = {
        "kind": "wr.assessment",
        "assessmentId": assessment_id,
        "dimensions": dimensions,
    }
    return Artifact(kind="wr.assessment", digest=digest(body), body=body)


@pytest.mark.parametrize(
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
    gated = through_gates(step("a", gates=(GATE,)), (told(dimensions),))

    assert [check.result for check in gated.checks] == [result]
    assert said in "".join(reason.message for reason in gated.reasons)
    assert bool(gated.reasons) == (result == "invalid")
    assert len(gated.passed) == (1 if result == "valid" else 0)


def test_a_follow_up_gives_the_authors_guidance() -> None:
    (reason,) = through_gates(step("a", gates=(GATE,)), (told({"tests": "all", "docs": "old"}),)).reasons

    assert reason.fix.startswith("Update the page.")


def test_an_assessment_of_something_else_does_not_count() -> None:
    gated = through_gates(step("a", gates=(GATE,)), (told({"tests": "all", "docs": "current"}, "other"),))

    assert [reason.name for reason in gated.reasons] == ["contract_violation:missing_required_output"]
    assert [check.result for check in gated.checks] == ["missing"]


def test_the_example_passes_its_own_gate() -> None:
    example = assessment_example(GATE)

    gated = through_gates(step("a", gates=(GATE,)), (told(example["dimensions"]),))

    assert example["dimensions"] == {"tests": "some", "docs": "current"}
    assert gated.reasons == ()


def test_a_step_without_gates_wants_no_assessment() -> None:
    assert through_gates(step("a"), ()).checks == ()
