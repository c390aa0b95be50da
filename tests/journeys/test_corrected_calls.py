"""A blocked attempt and what follows it: every fault told, the good kept, one corrected call enough."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.runtime.runtime import Runtime
from tests.journeys.given_workflows import A_DECISION, NEVER_STOP, WITH_DECISION, choice, option, rounds, step
from tests.journeys.interfaces import command, tool_call
from tests.journeys.test_what_counts import begun, decision, sent

RULE = {"type": "contains", "value": "measured", "message": "Say what you measured."}
A_GAP = {"kind": "wr.gap", "severity": "warning", "summary": "No logs were kept."}


def test_several_facts_of_one_kind_all_survive_a_blocked_attempt(runtime: Runtime) -> None:
    first = begun(runtime, step("a", **WITH_DECISION), step("b"))

    blocked = sent(runtime, first["ackToken"], A_GAP, A_GAP | {"summary": "No backup was made."})
    after = sent(runtime, blocked["retryAckToken"], A_DECISION)

    _, shown = command(runtime, "session", "show", after["session"]["sessionId"])
    told = sorted(gap["summary"] for gap in shown["data"]["runs"][0]["gaps"])
    assert told == ["No backup was made.", "No logs were kept."]


def test_unnamed_decision_replaces_the_kept_one_of_its_loop(runtime: Runtime) -> None:
    body = [step("look", validation=[RULE])]
    loop = rounds("fix", {"while": {"kind": "loop_control"}}, *body)
    first = begun(runtime, loop, step("end"))

    blocked = sent(runtime, first["ackToken"], decision("continue", loopId="fix"), notes="nothing")
    after = sent(runtime, blocked["retryAckToken"], decision("stop"), notes="measured 4 ms")

    assert blocked["kind"] == "blocked"
    assert after["pending"]["stepId"] == "end"


def test_a_blocked_reply_lists_every_fault_of_artifact_and_notes(runtime: Runtime) -> None:
    first = begun(runtime, step("a", validation=[RULE], **WITH_DECISION), step("b"))
    broken = {"kind": "wr.decision", "extra": 1}

    answered = tool_call(
        runtime,
        "continue_workflow",
        ackToken=first["ackToken"],
        output={"notesMarkdown": "looked", "artifacts": [broken]},
    )
    again = sent(runtime, first["ackToken"], broken, notes="looked")

    blocked = answered.structured
    assert len(blocked["blockers"]) == 2
    places = {issue["pointer"] for issue in blocked["issues"]}
    assert places == {
        "/notesMarkdown",
        *("/question", "/options", "/chosen", "/rationale", "/decidedBy", "/revisitWhen", "/extra"),
    }
    assert all(issue["message"] for issue in blocked["issues"])
    assert "/revisitWhen" in answered.text
    assert again == blocked


def test_faults_beyond_the_tenth_are_told_by_their_place(runtime: Runtime) -> None:
    first = begun(runtime, step("a", **WITH_DECISION), step("b"))
    broken = A_DECISION | {f"extra{number:02d}": 1 for number in range(14)}

    blocked = sent(runtime, first["ackToken"], broken)

    (blocker,) = blocked["blockers"]
    assert len(blocker["message"].encode()) <= 512
    assert ["message" in issue for issue in blocked["issues"]] == [True] * 10 + [False] * 4
    assert [issue["pointer"] for issue in blocked["issues"]] == [
        f"/extra{number:02d}" for number in range(14)
    ]


def test_retry_replaces_what_was_kept_and_is_judged(runtime: Runtime) -> None:
    first = begun(runtime, step("a", validation=[RULE], **WITH_DECISION), step("b"))

    one = sent(runtime, first["ackToken"], A_DECISION, notes="nothing yet")
    two = sent(runtime, one["retryAckToken"], {"kind": "wr.decision"}, notes="measured 4 ms")
    three = sent(runtime, two["retryAckToken"], A_DECISION | {"chosen": "none"}, notes="")

    assert [blocker["pointer"]["kind"] for blocker in one["blockers"]] == ["workflow_step"]
    assert [blocker["pointer"]["kind"] for blocker in two["blockers"]] == ["output_contract"]
    assert three["pending"]["stepId"] == "b"
    reread = tool_call(runtime, "continue_workflow", stateToken=three["stateToken"]).structured
    assert [held["body"]["chosen"] for held in reread["recap"]["artifacts"]] == ["none"]
    assert [held["notes"] for held in reread["recap"]["entries"]][-1] == "measured 4 ms"


def test_blocked_choice_offers_its_options_again(runtime: Runtime) -> None:
    pick = choice("way", option("left"), option("right"))
    first = begun(runtime, pick, step("b"))

    blocked = sent(runtime, first["pending"]["choices"][0]["token"], {"kind": "wr.gap"})
    call = blocked["nextCall"]["options"][1]["params"]
    after = tool_call(runtime, "continue_workflow", **call).structured

    assert blocked["kind"] == "blocked"
    assert "retryAckToken" not in blocked
    assert after["pending"]["stepId"] == "b"


def test_blocked_run_set_to_never_stop_is_not_blocked_again(runtime: Runtime) -> None:
    first = begun(runtime, step("a", **WITH_DECISION), step("b"))
    blocked = sent(runtime, first["ackToken"])
    session = first["session"]["sessionId"]
    words = ("settings", "set", "--session", session, "--autonomy", "full_auto_never_stop")

    _, shown = command(runtime, *words, "--dry-run")
    command(runtime, *words, "--confirm", shown["data"]["confirm_token"])
    after = sent(runtime, blocked["retryAckToken"])

    assert after["kind"] == "ok"
    assert after["pending"]["stepId"] == "b"
    assert after["preferences"]["autonomy"] == "full_auto_never_stop"
    assert "retries" in str(shown["data"])


def test_run_set_to_guided_blocks_at_the_next_call(runtime: Runtime) -> None:
    first = begun(runtime, step("a", **WITH_DECISION), step("b"), preferences=NEVER_STOP)
    words = ("settings", "set", "--session", first["session"]["sessionId"], "--autonomy", "guided")

    _, shown = command(runtime, *words, "--dry-run")
    command(runtime, *words, "--confirm", shown["data"]["confirm_token"])
    blocked = sent(runtime, first["ackToken"])

    assert blocked["kind"] == "blocked"
    assert blocked["preferences"]["autonomy"] == "guided"


@pytest.mark.parametrize(
    "asks",
    [
        {"notesOptional": False},
        {"prompt": None, "promptBlocks": {"goal": "Look.", "outputRequired": {"notes": "What you saw."}}},
        {
            "prompt": None,
            "promptBlocks": {"goal": "Look.", "outputRequired": {"notesMarkdown": "All of it."}},
        },
    ],
    ids=["key", "block", "other spelling"],
)
def test_notes_that_a_step_calls_required_are_required(runtime: Runtime, asks: dict[str, Any]) -> None:
    asking = {name: value for name, value in (step("a") | asks).items() if value is not None}
    first = begun(runtime, asking, step("b"))

    blocked = sent(runtime, first["ackToken"], notes="  ")
    after = sent(runtime, blocked["retryAckToken"], notes="Saw a.py.")

    (blocker,) = blocked["blockers"]
    assert blocker["pointer"] == {"kind": "workflow_step", "stepId": "a"}
    assert "notes" in blocker["message"]
    assert after["pending"]["stepId"] == "b"


def test_step_silent_about_notes_may_end_without(runtime: Runtime) -> None:
    optional = {"goal": "Look.", "outputRequired": {"notes": "What you saw."}}
    steps = [
        step("a"),
        {"id": "b", "title": "B", "promptBlocks": optional, "notesOptional": True},
        step("c"),
    ]

    at_b = sent(runtime, begun(runtime, *steps)["ackToken"], notes="")

    assert sent(runtime, at_b["ackToken"], notes="")["pending"]["stepId"] == "c"
