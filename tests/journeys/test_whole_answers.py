"""What a reply to a report says is the whole of it, and true: every reason, every id, what was kept."""

from __future__ import annotations

import json
from typing import Any

from handrail.runtime.runtime import Runtime
from tests.journeys.conversation import answer
from tests.journeys.given_workflows import A_DECISION, NEVER_STOP, WITH_DECISION, step
from tests.journeys.interfaces import command, tool_call
from tests.journeys.test_what_counts import begun, seen, sent
from tests.surfaces.cli.here import run_here

GATES = [f"as{number:02}" for number in range(14)]
ASSESSMENTS = [{"id": name, "purpose": "Judge.", "dimensions": {"d": ["low", "high"]}} for name in GATES]
EVERYTHING = WITH_DECISION | {
    "userOnly": {"reason": "needs_user_approval"},
    "gates": [{"assessmentId": name, "followups": {"low": "Look again."}} for name in GATES],
    "validation": [{"type": "contains", "value": "zebra", "message": "Name the zebra."}],
}
WRONG = A_DECISION | {"chosen": 7}


def filled_in(call: dict[str, Any]) -> dict[str, Any]:
    """The parameters of an offered call as an honest agent completes them."""
    params: dict[str, Any] = json.loads(json.dumps(call["params"]))
    output = params.get("output", {})
    if "notesMarkdown" in output:
        output["notesMarkdown"] = "The zebra was seen."
    answers: dict[str, dict[str, Any]] = {
        "wr.assessment": {"dimensions": {"d": "high"}},
        "wr.user_input": {"answer": "Yes."},
        "wr.capability_observation": {"status": "available", "summary": "Fetched a page."},
        "wr.decision": A_DECISION,
    }
    output["artifacts"] = [held | answers[held["kind"]] for held in output.get("artifacts", [])]
    return params


def report_of(runtime: Runtime, reply: dict[str, Any]) -> str:
    line = ("session", "export", reply["session"]["sessionId"], "--as", "markdown", "--format", "raw")
    return run_here(runtime, line).out.decode()


def test_offered_call_is_enough_for_more_than_ten_blockers(
    runtime: Runtime,
) -> None:
    first = begun(runtime, step("a", **EVERYTHING), step("b"), assessments=ASSESSMENTS)

    blocked = tool_call(
        runtime, "continue_workflow", ackToken=first["ackToken"], output={"notesMarkdown": "n"}
    )
    told = blocked.structured
    after = tool_call(runtime, "continue_workflow", **filled_in(told["nextCall"]))

    assert len(told["blockers"]) == 10
    for named in (*GATES, "wr.decision", "Only the user"):
        assert named in json.dumps([told["blockers"], told["issues"]])
        assert named in blocked.text.partition("\nStep: ")[0]
    assert told["nextIntent"] == "await_user_confirmation"
    assert after.structured["pending"]["stepId"] == "b", after.text


def test_blocked_step_read_again_offers_the_same_call(
    runtime: Runtime,
) -> None:
    first = begun(runtime, step("a", **EVERYTHING), step("b"), assessments=ASSESSMENTS)
    blocked = sent(runtime, first["ackToken"], notes="n")

    again = tool_call(runtime, "continue_workflow", stateToken=blocked["stateToken"]).structured

    assert again["recap"]["issues"] == blocked["issues"]
    assert again["nextCall"]["params"].keys() == blocked["nextCall"]["params"].keys()
    assert again["nextCall"]["params"]["output"] == blocked["nextCall"]["params"]["output"]


def test_capability_to_try_again_is_in_the_offered_call(runtime: Runtime) -> None:
    first = begun(runtime, step("a"), step("b"), capabilities={"web_browsing": "required"})
    probe = first["pending"]["stepId"]

    blocked = sent(runtime, first["ackToken"], seen("web_browsing", "unknown"))
    after = tool_call(runtime, "continue_workflow", **filled_in(blocked["nextCall"])).structured

    assert [held["code"] for held in blocked["blockers"]] == ["REQUIRED_CAPABILITY_UNKNOWN"]
    assert (after["kind"], after["pending"]["stepId"] != probe) == ("ok", True)


def test_rejected_artifact_is_no_output_of_a_never_stop_run(runtime: Runtime) -> None:
    first = begun(runtime, step("a", **WITH_DECISION), step("b"), preferences=NEVER_STOP)

    output = {"notesMarkdown": "n", "artifacts": [WRONG]}
    reply = tool_call(runtime, "continue_workflow", ackToken=first["ackToken"], output=output)
    _, shown = command(runtime, "session", "show", first["session"]["sessionId"])
    read = tool_call(runtime, "continue_workflow", stateToken=reply.structured["stateToken"])
    report = report_of(runtime, first)

    assert "was rejected:" in reply.text
    assert shown["data"]["runs"][0]["artifacts"] == []
    assert "artifacts" not in read.structured["recap"]
    assert "was rejected, so it is not among the outputs" in report.replace("\\", "")
    assert "no contract asks for it" not in report
    assert "Question: Which cache?" not in report


def test_report_says_what_became_of_each_artifact(runtime: Runtime) -> None:
    gap = {"kind": "wr.gap", "severity": "warning", "summary": "No logs were kept."}
    first = begun(runtime, step("a", **WITH_DECISION), step("b"))

    blocked = sent(runtime, first["ackToken"], WRONG, gap)
    refused = report_of(runtime, first).replace("\\", "")
    sent(runtime, blocked["retryAckToken"], A_DECISION)
    accepted = report_of(runtime, first).replace("\\", "")

    assert "Decision was rejected, so it is not among the outputs." in refused
    assert "Gap, brought by the blocked attempt:" in refused
    assert "replaced later" not in refused + accepted
    assert "Delivered: Decision, shown among the outputs." in accepted
    assert "Delivered: Gap, shown among the outputs." in accepted


def test_reported_gaps_return_the_ids_that_close_them(runtime: Runtime) -> None:
    gaps = [
        {"kind": "wr.gap", "severity": "critical", "summary": f"Limit {n} is unproven."} for n in range(5)
    ]
    first = begun(runtime, step("a"), step("b"))

    output = {"notesMarkdown": "n", "artifacts": gaps}
    second = tool_call(runtime, "continue_workflow", ackToken=first["ackToken"], output=output)
    _, shown = command(runtime, "session", "show", first["session"]["sessionId"])
    ids = [gap["id"] for gap in shown["data"]["runs"][0]["gaps"]]
    settled = [
        {"kind": "wr.gap", "severity": "info", "summary": "Proven.", "resolvesGapId": held} for held in ids
    ]
    third = sent(runtime, second.structured["ackToken"], *settled)

    assert len(ids) == 5
    for held in ids:
        assert held in second.text
        assert held in json.dumps([warning["details"] for warning in second.structured["warnings"]])
    assert third["kind"] == "ok"
    assert "warnings" not in third


def test_allowed_values_are_whole_in_a_refusal(runtime: Runtime) -> None:
    first = begun(runtime, step("a"))
    wrong = {"kind": "wr.workflow_divergence", "reason": "bored", "summary": "x"}

    blocked = tool_call(
        runtime,
        "continue_workflow",
        ackToken=first["ackToken"],
        output={"notesMarkdown": "n", "artifacts": [wrong]},
    )

    (blocker,) = blocked.structured["blockers"]
    assert "policy_constraint" in blocker["message"]
    assert "All problems" not in blocked.text


def test_fault_without_room_in_a_blocker_is_in_the_text(runtime: Runtime) -> None:
    long = {"kind": "wr.workflow_divergence", "reason": "bored " * 60, "summary": 7, "relatedStepId": 7}
    first = begun(runtime, step("a", **WITH_DECISION))

    output = {"notesMarkdown": "n", "artifacts": [long]}
    blocked = tool_call(runtime, "continue_workflow", ackToken=first["ackToken"], output=output)

    for issue in blocked.structured["issues"]:
        assert issue["message"] in blocked.text
    assert all(len(held["message"].encode()) <= 512 for held in blocked.structured["blockers"])


def test_the_gap_of_a_broken_contract_names_the_artifact(runtime: Runtime) -> None:
    first = begun(runtime, step("a", **WITH_DECISION), step("b"), preferences=NEVER_STOP)

    reply = sent(runtime, first["ackToken"], WRONG)
    _, shown = command(runtime, "session", "show", first["session"]["sessionId"])

    (gap,) = shown["data"]["runs"][0]["gaps"]
    assert gap["summary"] == "What the agent delivered for the step “A” is not right yet: decision."
    assert "wr.decision" in reply["warnings"][0]["message"]


def test_a_prompt_whose_example_stands_beside_it_says_so(runtime: Runtime) -> None:
    first = begun(runtime, step("a", userOnly={"reason": "needs_user_approval"}), step("b"))

    blocked = sent(runtime, first["ackToken"], notes="n")

    assert first["pending"]["prompt"].count("Give the answer as an artifact:\n\nExample:") == 1
    back = answer(runtime, "run.continue", stateToken=blocked["stateToken"])
    assert "Give the answer as an artifact like the example." in back["pending"]["prompt"]
    assert blocked["example"]["kind"] == "wr.user_input"
