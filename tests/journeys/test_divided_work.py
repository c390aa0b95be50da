"""The bundled workflows that hand out work, done by one agent alone: the same road as with helpers."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from handrail.runtime.runtime import Runtime
from tests.journeys.conversation import answer
from tests.journeys.test_answering_agents import report_on
from tests.surfaces.mcp.scripted_agents import needed_by

MOST_CALLS = 40


def walk_alone(runtime: Runtime, reply: dict[str, Any], slices: list[str]) -> tuple[dict[str, Any], int]:
    """Make the call of each reply; when a child is done, come back to the step that waits."""
    waiting: list[str] = []
    for calls in range(MOST_CALLS):
        if reply["pending"] is None and not waiting:
            return reply, calls
        if reply["pending"] is None:
            reply = answer(runtime, "run.continue", stateToken=waiting.pop())
        elif reply.get("children") and "ackToken" not in reply:
            waiting.append(reply["stateToken"])
            reply = answer(runtime, "run.continue", **reply["nextCall"]["params"])
        else:
            params = report_on(reply)
            if reply["pending"]["stepId"] == "divide":
                params = params | {"context": {"slices": slices}}
            reply = answer(runtime, "run.continue", **params)
    raise AssertionError(f"not done in {MOST_CALLS} calls")


@pytest.mark.parametrize(
    ("workflow_id", "context", "children"),
    [
        ("wr.review_from_several_sides", {"risk": "high"}, ["correctness", "tests", "safety"]),
        ("wr.review_from_several_sides", {}, ["correctness", "tests"]),
        ("wr.divided_feature", {}, ["slice_1", "slice_2"]),
    ],
)
def test_one_agent_alone_takes_the_children_one_after_the_other(
    runtime: Runtime, workflow_id: str, context: dict[str, Any], children: list[str]
) -> None:
    runtime = msgspec.structs.replace(runtime, library=needed_by(workflow_id))
    first = answer(
        runtime,
        "run.start",
        workflowId=workflow_id,
        context=context,
        preferences={"autonomy": "full_auto_never_stop"},
    )

    end, _ = walk_alone(runtime, first, ["Write a.py.", "Write b.py."])

    shown = answer(runtime, "session.show", sessionId=first["session"]["sessionId"])
    handed = [run["child_id"] for run in shown["runs"] if run.get("child_id")]
    assert end["isComplete"]
    assert sorted(handed) == sorted(children), json.dumps(shown)[:500]
