"""Is a report enough: contracts, rules, capabilities, the user's part, and what else was told."""

from __future__ import annotations

from typing import Any

from handrail.engine.artifact_shapes import ReportedGap
from handrail.engine.events import CapabilityObserved, DivergenceRecorded
from handrail.engine.judge.assess import Verdict, assess, place_of
from handrail.engine.navigate import LoopFrame, Running
from handrail.engine.reasons import CapabilityPointer, ContextKey, OutputContract, WorkflowStep
from handrail.workflows.compiled import CompiledWorkflow, ContainsRule, Loop, Step, UserOnly, While
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


def test_a_step_that_asks_for_nothing_accepts_everything() -> None:
    verdict = judged(step("a"), {"kind": "any.thing", "n": 1})

    assert (verdict.reasons, verdict.checks) == ((), ())
    assert [(held.kind, held.contract_ref) for held in verdict.artifacts] == [("any.thing", "")]


def test_a_contract_without_its_artifact_is_missing() -> None:
    verdict = judged(step("a", contract=FINDING), {"kind": "other"})

    (reason,) = verdict.reasons
    assert reason.name == "contract_violation:missing_required_output"
    assert reason.pointer == OutputContract(contract_ref=FINDING)
    assert reason.example == finding()
    assert reason.fix == "Add it to output.artifacts."
    assert [(check.contract_ref, check.result) for check in verdict.checks] == [(FINDING, "missing")]


def test_an_artifact_that_fits_is_credited_to_its_contract() -> None:
    verdict = judged(step("a", contract=FINDING), finding())

    assert verdict.reasons == ()
    assert [held.contract_ref for held in verdict.artifacts] == [FINDING]
    assert [check.result for check in verdict.checks] == ["valid"]


def test_an_artifact_that_does_not_fit_is_told_by_place() -> None:
    verdict = judged(step("a", contract=FINDING), finding(severity="awful", extra=1))

    (reason,) = verdict.reasons
    assert reason.name == "contract_violation:invalid_required_output"
    assert "/severity" in reason.message
    assert "/extra" in reason.message
    assert len(reason.message.encode()) <= 512
    assert [held.contract_ref for held in verdict.artifacts] == [""]
    assert [len(check.issues) for check in verdict.checks] == [2]


def test_an_artifact_of_another_embedded_contract_is_checked_though_nobody_asked() -> None:
    """Conditions may look at it later, so it counts only when it fits."""
    right, wrong = judged(step("a"), finding()), judged(step("a"), finding(file=""))

    assert [held.contract_ref for held in right.artifacts] == [FINDING]
    assert names(wrong) == ["contract_violation:invalid_required_output"]


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


def test_two_different_decisions_in_one_report_are_none() -> None:
    verdict = judged(step("a", contract=LOOP), decision("stop"), decision("continue"), state=IN_LOOP)

    assert names(verdict) == ["contract_violation:invalid_required_output"]
    assert verdict.is_undecided


def test_the_example_of_a_decision_names_the_loop_at_hand() -> None:
    (reason,) = judged(step("a", contract=LOOP), state=IN_LOOP).reasons

    assert reason.example == {"kind": "wr.loop_control", "decision": "stop", "loopId": "fix"}


def test_rules_about_the_notes_are_told_in_the_authors_words() -> None:
    rules = (
        ContainsRule(value="proof", message="Give the proof."),
        ContainsRule(value="b", message="And b."),
    )

    empty, wrong, right = (judged(step("a", rules=rules), notes=notes) for notes in ("", "proof", "PROOF b"))

    assert names(empty) == ["contract_violation:missing_required_output"]
    assert names(wrong) == ["contract_violation:invalid_required_output"]
    assert wrong.reasons[0].pointer == WorkflowStep(step_id="a")
    assert wrong.reasons[0].message.endswith("And b.")
    assert right.reasons == ()
    assert [check.result for check in right.checks] == ["valid"]


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


def test_a_missing_capability_is_nothing_a_corrected_call_can_mend() -> None:
    (reason,) = judged(PROBING, seen("unavailable"), capabilities={"web_browsing": "required"}).reasons

    assert reason.pointer == CapabilityPointer(capability="web_browsing")
    assert not reason.is_retryable


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


def test_a_divergence_names_its_step_and_must_have_a_known_reason() -> None:
    told = {"kind": "wr.workflow_divergence", "reason": "safety_stop", "summary": "Live data."}

    right, wrong = judged(step("a"), told), judged(step("a"), told | {"reason": "boredom"})

    assert right.divergences == (
        DivergenceRecorded(reason="safety_stop", summary="Live data.", related_step_id="a"),
    )
    assert wrong.divergences == ()
    assert wrong.reasons[0].pointer == OutputContract(contract_ref="wr.contracts.workflow_divergence")


def test_a_gap_the_agent_reports_is_taken_over() -> None:
    verdict = judged(step("a"), {"kind": "wr.gap", "severity": "critical", "summary": "No logs."})

    assert verdict.gaps == (ReportedGap(severity="critical", summary="No logs."),)


def test_everything_that_stands_in_the_way_is_told_at_once() -> None:
    held = step(
        "a",
        contract=FINDING,
        rules=(ContainsRule(value="x", message="Say x."),),
        user_only=UserOnly(reason="needs_user_approval"),
    )

    assert sorted(names(judged(held, notes="y"))) == [
        "contract_violation:invalid_required_output",
        "contract_violation:missing_required_output",
        "user_only_dependency:needs_user_approval",
    ]
