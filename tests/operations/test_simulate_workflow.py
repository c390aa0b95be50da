"""`workflow.simulate`: coverage, dead steps and prompt sizes."""

from __future__ import annotations

from handrail.runtime.runtime import Runtime
from tests.operations.asked import answered, refused, text, workflow

ALWAYS = {"id": "work", "title": "Work", "prompt": "Do the work and say what you saw."}
NEVER = {"id": "dead", "title": "Dead", "prompt": "Nobody comes here.", "when": "no"}
WITH_DEAD_STEP = workflow(conditions=[{"id": "no", "kind": "always_false"}], steps=[ALWAYS, NEVER])


def test_every_step_of_a_line_is_reached_in_every_mode(runtime: Runtime) -> None:
    data = answered(runtime, "workflow.simulate", workflowId="project.three_steps")

    assert data["ok"] is True
    assert data["coverage"] == {"reached": 3, "total": 3}
    assert set(data["by_mode"]) == {"guided", "full_auto_stop_on_user_deps", "full_auto_never_stop"}
    assert (data["dead_steps"], data["problems"], data["truncated"]) == ([], [], False)
    assert [row["step_id"] for row in data["prompts"]] == ["first", "second", "third"]
    assert all(row["size_bytes"] > 0 and row["tokens"] > 0 for row in data["prompts"])


def test_one_mode_can_be_chosen(runtime: Runtime) -> None:
    data = answered(runtime, "workflow.simulate", workflowId="project.three_steps", mode="guided")

    assert list(data["by_mode"]) == ["guided"]


def test_a_dead_step_is_a_negative_verdict_with_the_report(runtime: Runtime) -> None:
    failure = refused(runtime, "workflow.simulate", document=text(WITH_DEAD_STEP))

    assert (failure.kind.code, failure.kind.exit_status) == ("WORKFLOW_INVALID", 2)
    assert failure.details["report"]["coverage"] == {"reached": 1, "total": 2}
    assert failure.details["report"]["dead_steps"][0]["step_id"] == "dead"


def test_a_report_only_is_an_answer(runtime: Runtime) -> None:
    data = answered(runtime, "workflow.simulate", document=text(WITH_DEAD_STEP), reportOnly=True)

    assert data["ok"] is False
