"""Blockers are closed data: their shape, their order and their size, whatever an agent sent."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.runtime.runtime import Runtime
from tests.journeys.given_workflows import WITH_DECISION, begin, step
from tests.journeys.test_blocked import report

CODES = {
    "USER_ONLY_DEPENDENCY",
    "MISSING_REQUIRED_OUTPUT",
    "INVALID_REQUIRED_OUTPUT",
    "REQUIRED_CAPABILITY_UNKNOWN",
    "REQUIRED_CAPABILITY_UNAVAILABLE",
    "INVARIANT_VIOLATION",
    "STORAGE_CORRUPTION_DETECTED",
}
POINTERS = {
    "context_key": {"kind", "key"},
    "context_budget": {"kind"},
    "output_contract": {"kind", "contractRef"},
    "capability": {"kind", "capability"},
    "workflow_step": {"kind", "stepId"},
}
"""Typed in from the contract: `blockers[].pointer`."""

RULES = [{"type": "contains", "value": "evidence", "message": "Name the evidence."}]
ASSESSMENTS = [
    {"id": f"a{number}", "purpose": "Ready?", "dimensions": {"tests": ["none", "all"]}}
    for number in range(12)
]
GATES = [{"assessmentId": f"a{number}", "followups": {"none": "Write a test."}} for number in range(12)]


def blockers(runtime: Runtime, *artifacts: dict[str, Any], **fields: Any) -> list[dict[str, Any]]:
    """What a step that asks for many things says to this report."""
    asking = step("look", validation=RULES, userOnly={"reason": "needs_user_approval"}, **fields)
    workflow: dict[str, Any] = {"assessments": ASSESSMENTS} if "gates" in fields else {}
    first = begin(runtime, asking, fields=workflow)
    blocked = report(runtime, first["ackToken"], *artifacts)
    assert blocked["kind"] == "blocked"
    found: list[dict[str, Any]] = blocked["blockers"]
    return found


@pytest.mark.promise("blocked.shape")
def test_blocker_has_code_pointer_message_and_fix(runtime: Runtime) -> None:
    found = blockers(runtime, {"kind": "wr.capability_observation", "status": "?"}, **WITH_DECISION)

    assert len(found) == 4
    for blocker in found:
        assert set(blocker) == {"code", "pointer", "message", "suggestedFix", "waitsFor"}
        assert blocker["code"] in CODES
        assert set(blocker["pointer"]) == POINTERS[blocker["pointer"]["kind"]]
        assert blocker["message"].strip()


@pytest.mark.promise("blocked.order")
def test_blockers_are_ordered_and_at_most_ten(runtime: Runtime) -> None:
    few = blockers(runtime, {"kind": "wr.capability_observation", "status": "?"}, **WITH_DECISION)
    many = blockers(runtime, gates=GATES, **WITH_DECISION)

    for found in (few, many):
        order = [
            (held["code"], held["pointer"]["kind"], *list(held["pointer"].values())[1:]) for held in found
        ]
        assert order == sorted(order)
    assert [held["code"] for held in few] == [
        "INVALID_REQUIRED_OUTPUT",
        "MISSING_REQUIRED_OUTPUT",
        "MISSING_REQUIRED_OUTPUT",
        "USER_ONLY_DEPENDENCY",
    ]
    assert len(many) == 10


@pytest.mark.promise("blocked.order")
def test_the_order_does_not_depend_on_the_order_of_what_was_sent(runtime: Runtime) -> None:
    one = {"kind": "wr.capability_observation", "status": "?"}
    two = {"kind": "wr.workflow_divergence", "reason": "?"}

    assert blockers(runtime, one, two, **WITH_DECISION) == blockers(runtime, two, one, **WITH_DECISION)


@pytest.mark.promise("blocked.bounds")
@pytest.mark.parametrize("text", ["x" * 20_000, "ä" * 9_000, "🎏" * 4_000])
def test_no_blocker_is_longer_than_its_bounds_whatever_was_sent(runtime: Runtime, text: str) -> None:
    broken = {"kind": "wr.decision", "question": text, "chosen": text, text[:2_000]: text[:100]}

    found = blockers(runtime, broken, **WITH_DECISION)

    assert found
    for blocker in found:
        assert len(blocker["message"].encode()) <= 512
        assert len(blocker["suggestedFix"].encode()) <= 1_024
