"""Artifacts on the command line, and how people see a blocked step and a choice."""

from __future__ import annotations

import pytest

from handrail.contract.outcome import Json
from handrail.surfaces.cli.rendering.human import human_text
from handrail.surfaces.cli.rendering.text import Page
from tests.surfaces.cli.tool import Tool, checked_document

ACK = "ak1" + "0" * 53


@pytest.mark.parametrize("value", ["{}", "7", "[", "[1,]"])
def test_artifacts_that_are_no_json_array_are_refused(fresh_tool: Tool, value: str) -> None:
    ran = fresh_tool.run("run", "continue", "--ack", ACK, "--artifacts", value)

    assert ran.status == 2
    (problem,) = checked_document(ran)["error"]["details"]["problems"]
    assert problem["param"] == "--artifacts"
    assert problem["expected"] == "a JSON array or @FILE"


def reply(**more: Json) -> dict[str, Json]:
    pending = {"stepId": "a", "title": "A", "prompt": "Do it.", "requireConfirmation": False}
    return {"pending": pending, "nextIntent": "perform_pending_then_continue", "stateToken": "st1x"} | more


def test_a_blocked_step_shows_its_reasons_an_example_and_the_way_on() -> None:
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
