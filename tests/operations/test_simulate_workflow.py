"""`workflow.simulate`: coverage, dead steps and prompt sizes; a real run as a regression case."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.runtime.runtime import Runtime
from tests.operations.asked import answered, refused, text, workflow

ALWAYS = {"id": "work", "title": "Work", "prompt": "Do the work and say what you saw."}
NEVER = {"id": "dead", "title": "Dead", "prompt": "Nobody comes here.", "when": "no"}
WITH_DEAD_STEP = workflow(conditions=[{"id": "no", "kind": "always_false"}], steps=[ALWAYS, NEVER])


def finished_run(rt: Runtime) -> str:
    """The session of a run of the three steps, all done."""
    started = answered(rt, "run.start", workflowId="project.three_steps", requestId="simulated")
    reply: Any = started
    while not reply["isComplete"]:
        reply = answered(rt, "run.continue", ackToken=reply["ackToken"], output={"notesMarkdown": "Done."})
    session_id: str = started["session"]["sessionId"]
    return session_id


def test_every_step_of_a_linear_workflow_is_reached_in_every_mode(runtime: Runtime) -> None:
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


@pytest.mark.promise("cli.verdict")
def test_a_report_only_is_an_answer(runtime: Runtime) -> None:
    data = answered(runtime, "workflow.simulate", document=text(WITH_DEAD_STEP), reportOnly=True)

    assert data["ok"] is False


def test_a_recorded_run_replays_on_its_own_workflow(runtime: Runtime) -> None:
    recorded = answered(runtime, "workflow.simulate", record=finished_run(runtime))

    data = answered(
        runtime,
        "workflow.simulate",
        workflowId="project.three_steps",
        replay=json.dumps(recorded["case"]),
    )

    assert [report["step"] for report in recorded["case"]["reports"]] == ["first", "second", "third"]
    assert data["ok"] is True
    assert data["replay"]["is_same"] is True
    assert data["replay"]["expected"] == data["replay"]["actual"]


def test_a_recorded_run_that_goes_another_way_now_fails(runtime: Runtime) -> None:
    recorded = answered(runtime, "workflow.simulate", record=finished_run(runtime))

    failure = refused(
        runtime, "workflow.simulate", document=text(workflow()), replay=json.dumps(recorded["case"])
    )

    assert failure.kind.code == "WORKFLOW_INVALID"
    assert failure.details["report"]["replay"]["is_same"] is False
    assert "another way" in failure.message


def test_a_run_can_be_named_by_its_own_id(runtime: Runtime) -> None:
    session = finished_run(runtime)
    run_id = answered(runtime, "session.show", sessionId=session)["runs"][0]["id"]

    by_run = answered(runtime, "workflow.simulate", record=run_id)

    assert by_run == answered(runtime, "workflow.simulate", record=session)


def test_what_cannot_be_recorded_or_replayed_is_refused(runtime: Runtime) -> None:
    session = finished_run(runtime)
    cases: list[tuple[dict[str, Any], str]] = [
        ({"record": "run_000000000000"}, "SESSION_NOT_FOUND"),
        ({"record": "nonsense"}, "SESSION_NOT_FOUND"),
        ({"record": session, "workflowId": "project.other"}, "VALIDATION_ERROR"),
        ({"workflowId": "project.three_steps", "replay": "{}"}, "VALIDATION_ERROR"),
        ({"workflowId": "project.three_steps", "replay": "{"}, "E_VALIDATION"),
        ({"workflowId": "project.three_steps", "maxPaths": 0}, "VALIDATION_ERROR"),
    ]

    codes = [refused(runtime, "workflow.simulate", **params).kind.code for params, _ in cases]

    assert codes == [code for _, code in cases]
