"""Artifacts on the command line, and how people see a blocked step and a choice."""

from __future__ import annotations

from handrail.contract.outcome import Json
from handrail.surfaces.cli.rendering.human import human_text
from handrail.surfaces.cli.rendering.text import Page
from tests.surfaces.cli.tool import Tool, checked_document

ACK = "ak1" + "0" * 53


def test_artifacts_reach_the_step(fresh_tool: Tool) -> None:
    reply = fresh_tool.data("run", "start", "wr.small_change", "--request-id", "k")

    ran = fresh_tool.run("run", "continue", "--ack", reply["ackToken"], "--artifacts", '[{"no_kind":1}]')

    assert ran.status == 2
    assert "output.artifacts[0].kind" in checked_document(ran)["error"]["message"]


def reply(**more: Json) -> dict[str, Json]:
    pending = {"stepId": "a", "title": "A", "prompt": "Do it.", "requireConfirmation": False}
    return {"pending": pending, "nextIntent": "perform_pending_then_continue", "stateToken": "st1x"} | more


def test_blocked_step_shows_reasons_example_and_the_way_on() -> None:
    blocker = {
        "code": "MISSING_REQUIRED_OUTPUT",
        "pointer": {"kind": "output_contract", "contractRef": "wr.plan"},
        "message": "wr.plan is missing.",
        "suggestedFix": "Send it.",
    }
    following = {"tool": "continue_workflow", "params": {"ackToken": ACK}}
    blocked = reply(kind="blocked", blockers=[blocker], example={"kind": "wr.plan"}, nextCall=following)
    shown = human_text(blocked, Page())

    assert "Blocked: wr.plan is missing.\n  Fix: Send it.\n" in shown
    assert '\n  {\n    "kind": "wr.plan"\n  }\n' in shown
    assert f"When corrected: handrail run continue --ack {ACK}" in shown


def test_a_choice_shows_one_call_per_option() -> None:
    options = [{"id": "x", "params": {"ackToken": "ch1y"}}]
    blocked = reply(nextCall={"tool": "continue_workflow", "params": {}, "options": options})
    blocked["pending"]["choices"] = [{"id": "x", "label": "Go on", "token": "ch1y"}]

    assert "To choose Go on" in human_text(blocked, Page())
    assert "--ack ch1y" in human_text(blocked, Page())
