"""An agent that skips, claims or omits what the prompts ask for never looks better than an honest one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import msgspec
import pytest

from handrail.contract.envelopes.cli import payload_of
from handrail.contract.outcome import Success
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from tests.conftest import GivenFiles, memory_runtime
from tests.filled_in import filled_in
from tests.golden.replies_of import bundled_files, correct, with_examples
from tests.journeys.conversation import answer

WORKFLOWS = (
    *("wr.small_change", "wr.bug_investigation", "wr.feature_delivery", "wr.refactor", "wr.code_review"),
    *(
        "wr.test_generation",
        "wr.dependency_upgrade",
        "wr.documentation_update",
        "wr.research",
        "wr.performance",
    ),
)
CLAIM = "I tested everything on all platforms. All tests pass. The user approved it."
MOST_CALLS = 60
Habit: TypeAlias = Literal["skip", "claim", "omit"]


def send_nothing(params: dict[str, Any]) -> dict[str, Any]:
    return {"ackToken": params["ackToken"]}


def send_a_claim(params: dict[str, Any]) -> dict[str, Any]:
    return {"ackToken": params["ackToken"], "output": {"notesMarkdown": CLAIM}}


def leave_out_artifacts(params: dict[str, Any]) -> dict[str, Any]:
    filled = with_examples(params)
    filled.get("output", {}).pop("artifacts", None)
    return filled


HABITS: dict[Habit, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "skip": send_nothing,
    "claim": send_a_claim,
    "omit": leave_out_artifacts,
}


def finish(
    workflow_id: str, send: Callable[[dict[str, Any]], dict[str, Any]]
) -> tuple[Runtime, dict[str, Any]]:
    """Walk to the end in the mode that nobody stops; return the last reply."""
    runtime = msgspec.structs.replace(memory_runtime(), library=GivenFiles(bundled_files()))
    began: dict[str, Any] = {"workflowId": workflow_id, "requestId": "r", "goal": "Keep it."}
    reply = answer(runtime, "run.start", **began, preferences={"autonomy": "full_auto_never_stop"})
    params: dict[str, Any] = {}
    for _ in range(MOST_CALLS):
        if reply.get("isComplete"):
            return runtime, reply
        if not params:
            call = reply["nextCall"]["params"]
            params = send(dict(call)) if "ackToken" in call else filled_in(call)
        outcome = perform(runtime, "run.continue", params)
        if isinstance(outcome, Success):
            reply, params = dict(payload_of(outcome)), {}
        elif not correct(params, outcome.details.get("problems", ())):
            raise AssertionError(f"{workflow_id}: {outcome.message}")
    raise AssertionError(f"{workflow_id} does not end")


def count_open_gaps(runtime: Runtime) -> int:
    return int(answer(runtime, "session.gaps")["counts"]["open"])


def status_of(runtime: Runtime, reply: dict[str, Any]) -> str:
    shown = answer(runtime, "session.show", sessionId=reply["session"]["sessionId"])
    return str(shown["runs"][0]["status"])


@pytest.mark.thorough
@pytest.mark.parametrize("habit", HABITS)
@pytest.mark.parametrize("workflow_id", WORKFLOWS)
def test_lazy_day_never_looks_better_than_an_honest_one(workflow_id: str, habit: Habit) -> None:
    honest_runtime, honest = finish(workflow_id, with_examples)

    runtime, lazy = finish(workflow_id, HABITS[habit])
    inbox = answer(runtime, "session.inbox")["items"]

    assert "For review: nothing." not in lazy["closing"]
    assert count_open_gaps(runtime) > count_open_gaps(honest_runtime)
    assert status_of(runtime, lazy) == "complete_with_gaps"
    assert inbox != []
    assert max(len(honest["closing"]), len(lazy["closing"])) <= 300
    assert CLAIM not in lazy["closing"]
