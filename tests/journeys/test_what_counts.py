"""What an artifact, an observation or a decision is worth: its own requirement, or nothing."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.runtime.runtime import Runtime
from tests.journeys.doors import tool_call
from tests.journeys.given_workflows import NEVER_STOP, WITH_DECISION, give, step

Reply = dict[str, Any]


def begun(
    runtime: Runtime, *steps: dict[str, Any], preferences: dict[str, str] | None = None, **fields: Any
) -> Reply:
    """The first reply of a run of these steps, through the MCP door."""
    params: dict[str, Any] = {"preferences": preferences} if preferences else {}
    return tool_call(
        runtime, "start_workflow", workflowId=give(runtime, *steps, **fields), **params
    ).structured


def sent(
    runtime: Runtime, token: str, *artifacts: dict[str, Any], notes: str = "done", **params: Any
) -> Reply:
    """The reply to a report."""
    output = {"notesMarkdown": notes, "artifacts": list(artifacts)}
    return tool_call(runtime, "continue_workflow", ackToken=token, output=output, **params).structured


@pytest.mark.promise("truth.warnings.fields")
def test_a_warning_carries_what_it_speaks_of_as_fields(runtime: Runtime) -> None:
    guided = {"recommended": {"autonomy": "guided", "riskPolicy": "conservative"}}
    first = begun(runtime, step("a", **WITH_DECISION), step("b"), preferences=NEVER_STOP, **guided)

    went_on = sent(runtime, first["ackToken"])

    (above,) = [told for told in first["warnings"] if told["code"] == "MODE_ABOVE_RECOMMENDED"]
    assert above["details"] == {"autonomy": "guided", "riskPolicy": "conservative"}
    (gap,) = [told for told in went_on["warnings"] if told["code"] == "GAP_RECORDED"]
    assert gap["details"]["reason"] == "contract_violation:missing_required_output"
    assert gap["details"]["gapId"] in gap["message"]
