"""Is a report enough: contracts, rules, capabilities, the user's part, and what else was told."""

from __future__ import annotations

from typing import Any

from handrail.engine.events import CapabilityObserved
from handrail.engine.judge.assess import Verdict, assess, place_of
from handrail.engine.navigate import LoopFrame, Running
from handrail.engine.reasons import ContextKey, WorkflowStep
from handrail.workflows.compiled import CompiledWorkflow, Loop, Step, UserOnly, While
from handrail.workflows.conditions import Facts, LoopControl
from tests.cases import every_case
from tests.engine.contracts import CONTRACTS, FINDING, LOOP, PROBE, decision, finding, seen
from tests.engine.written_log import step, workflow_of

AT_A = Running(step_id="a")
IN_LOOP = Running(step_id="a", loops=(LoopFrame(loop_id="fix", iteration=0),))


def flow(held: Step, **fields: Any) -> CompiledWorkflow:
    loop = Loop(id="fix", repeat=While(condition="keep"), max_iterations=3, body=(held,))
    return workflow_of(loop, contracts=CONTRACTS, conditions={"keep": LoopControl()}, **fields)


def judged(
    held: Step,
    *artifacts: dict[str, Any],
    notes: str = "",
    state: Running = AT_A,
    facts: Facts | None = None,
    **fields: Any,
) -> Verdict:
    return assess(place_of(flow(held, **fields), state, held), facts or Facts(), notes, artifacts)


def names(verdict: Verdict) -> list[str]:
    return [reason.name for reason in verdict.reasons]


def test_messages_stay_within_their_budget_however_much_is_wrong() -> None:
    artifact = finding(severity="x" * 2_000, **{f"extra{number}" * 20: 1 for number in range(30)})

    (reason,) = judged(step("a", contract=FINDING), artifact).reasons

    assert len(reason.message.encode()) <= 512
    assert len(reason.fix.encode()) <= 1_024


def test_artifacts_are_ordered_by_digest_and_each_is_kept_once() -> None:
    some = [{"kind": "k", "n": number} for number in range(5)]

    forward, backward = judged(step("a"), *some, some[0]), judged(step("a"), *reversed(some))

    digests = [held.digest for held in forward.artifacts]
    assert digests == sorted(digests)
    assert len(digests) == 5
    assert forward.artifacts == backward.artifacts


@every_case(
    ("artifact", "expected"),
    [
        (decision("continue"), []),
        (decision("stop", loopId="fix"), []),
        (decision("stop", loopId="other"), ["contract_violation:invalid_required_output"]),
        (decision("perhaps"), ["contract_violation:invalid_required_output"]),
        (None, ["contract_violation:missing_required_output"]),
    ],
)
def test_a_loop_wants_a_decision_about_itself(artifact: dict[str, Any] | None, expected: list[str]) -> None:
    artifacts = [artifact] if artifact else []

    verdict = judged(step("a", contract=LOOP), *artifacts, state=IN_LOOP)

    assert names(verdict) == expected
    assert verdict.is_undecided == bool(expected)


PROBING = step("a", contract=PROBE, capability="web_browsing")


@every_case(
    ("use", "status", "expected"),
    [
        ("required", "available", []),
        ("required", "unknown", ["capability_missing:required_capability_unknown"]),
        ("required", "unavailable", ["capability_missing:required_capability_unavailable"]),
        ("preferred", "unavailable", []),
        ("preferred", "unknown", []),
    ],
)
def test_only_a_required_capability_can_stand_in_the_way(use: str, status: str, expected: list[str]) -> None:
    verdict = judged(PROBING, seen(status), capabilities={"web_browsing": use})

    assert names(verdict) == expected
    assert [(held.status, held.provenance) for held in verdict.observed] == [(status, "probe_step")]


def test_an_observation_outside_a_probe_keeps_its_own_provenance() -> None:
    verdict = judged(
        step("a"), seen("available", "delegation"), seen("unavailable", provenance="manual_claim")
    )

    assert {(held.capability, held.provenance) for held in verdict.observed} == {
        ("delegation", "attempted_use"),
        ("web_browsing", "manual_claim"),
    }
    assert all(isinstance(held, CapabilityObserved) for held in verdict.observed)


ANSWER = {"kind": "wr.user_input", "answer": "yes", "givenBy": "user"}


@every_case(
    ("given", "values", "artifacts", "is_satisfied"),
    [
        ("", {}, [], False),
        ("", {}, [ANSWER], True),
        ("", {}, [ANSWER | {"givenBy": "agent"}], False),
        ("ticket", {"ticket": "A-1"}, [], True),
        ("ticket", {"ticket": None}, [], False),
        ("ticket", {}, [ANSWER], True),
        ("ticket", {"other": 1}, [], False),
    ],
)
def test_the_users_part_comes_from_context_or_as_the_users_own_answer(
    given: str, values: dict[str, Any], artifacts: list[dict[str, Any]], is_satisfied: bool
) -> None:
    asking = step("a", user_only=UserOnly(reason="needs_user_artifact", input=given))

    verdict = judged(asking, *artifacts, facts=Facts(values=values))

    wanted = "user_only_dependency:needs_user_artifact"
    assert (wanted not in names(verdict)) == is_satisfied


def test_what_the_user_must_give_is_pointed_at() -> None:
    by_input = judged(step("a", user_only=UserOnly(reason="needs_user_approval", input="ok"))).reasons[0]
    by_step = judged(step("a", user_only=UserOnly(reason="needs_user_approval"))).reasons[0]

    assert by_input.pointer == ContextKey(key="ok")
    assert "context.ok" in by_input.fix
    assert by_step.pointer == WorkflowStep(step_id="a")
