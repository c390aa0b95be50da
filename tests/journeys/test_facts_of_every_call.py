"""Gaps, observations, divergences and verifications mean the same, whichever call brings them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from handrail.runtime.runtime import Runtime
from handrail.workflows.builtins.registry import find_contract
from tests.filled_in import in_own_words
from tests.journeys.doors import command, events_of, of_kind, tool_call
from tests.journeys.given_workflows import NEVER_STOP, WITH_DECISION, choice, option, step
from tests.journeys.test_what_counts import Reply, begun, results, seen, sent

A_GAP = {"kind": "wr.gap", "severity": "warning", "summary": "No logs were kept."}
LEFT_OUT = {"kind": "wr.workflow_divergence", "reason": "efficiency_skip", "summary": "Read half of it."}
FACTS = [A_GAP, LEFT_OUT, seen("delegation", "unavailable")]
REPORTING = {"output": {"contractRef": "wr.contracts.verification_report"}}


def saved(runtime: Runtime, reply: Reply, *artifacts: dict[str, Any]) -> Any:
    """What a checkpoint at the reply's step answers."""
    output = {"notesMarkdown": "half way", "artifacts": list(artifacts)}
    return tool_call(runtime, "checkpoint_workflow", checkpointToken=reply["checkpointToken"], output=output)


def by_checkpoint(runtime: Runtime, first: Reply) -> Reply:
    return sent(runtime, saved(runtime, first, *FACTS).structured["ackToken"])


def by_checkpoint_left_aside(runtime: Runtime, first: Reply) -> Reply:
    saved(runtime, first, *FACTS)
    return sent(runtime, first["ackToken"])


def by_continue(runtime: Runtime, first: Reply) -> Reply:
    return sent(runtime, first["ackToken"], *FACTS)


def by_retry(runtime: Runtime, first: Reply) -> Reply:
    blocked = sent(runtime, first["ackToken"], {"kind": "wr.gap"})
    return sent(runtime, blocked["retryAckToken"], *FACTS)


def before_a_retry(runtime: Runtime, first: Reply) -> Reply:
    blocked = sent(runtime, first["ackToken"], {"kind": "wr.plan"}, *FACTS)
    return sent(runtime, blocked["retryAckToken"])


def shown(runtime: Runtime, reply: Reply) -> dict[str, Any]:
    _, told = command(runtime, "session", "show", reply["session"]["sessionId"])
    run: dict[str, Any] = told["data"]["runs"][0]
    return run


def report(verdict: str) -> dict[str, Any]:
    contract = find_contract("wr.contracts.verification_report")
    assert contract is not None
    own: dict[str, Any] = in_own_words(contract.example)
    return own | {"verdict": verdict}


@pytest.mark.promise("truth.facts.every-call")
@pytest.mark.parametrize(
    "bring", [by_continue, by_checkpoint, by_checkpoint_left_aside, by_retry, before_a_retry]
)
def test_facts_count_whichever_call_brings_them_at_a_step(
    runtime: Runtime, bring: Callable[[Runtime, Reply], Reply]
) -> None:
    done = bring(runtime, begun(runtime, step("a")))

    run = shown(runtime, done)
    assert done["isComplete"] is True
    assert run["status"] == "complete_with_gaps"
    assert [gap["summary"] for gap in run["gaps"]] == ["No logs were kept."]
    assert [told["summary"] for told in run["divergences"]] == ["Read half of it."]
    assert run["capabilities"] == {"delegation": "unavailable"}


@pytest.mark.promise("truth.facts.every-call")
@pytest.mark.parametrize("pending", ["choice", "action"])
def test_facts_count_at_a_choice_and_at_an_action(runtime: Runtime, pending: str) -> None:
    action = {"type": "action", "id": "act", "title": "Act", "operation": "workflow.list", "params": {}}
    part = choice("way", option("left"), option("right")) if pending == "choice" else action
    first = begun(runtime, part)
    token = first["pending"]["choices"][0]["token"] if pending == "choice" else first["ackToken"]

    done = sent(runtime, token, *FACTS)

    run = shown(runtime, done)
    assert (run["status"], len(run["gaps"]), len(run["divergences"])) == ("complete_with_gaps", 1, 1)
    assert run["capabilities"] == {"delegation": "unavailable"}


@pytest.mark.promise("truth.facts.every-call")
def test_a_checkpoint_with_a_fact_that_does_not_fit_is_refused_and_can_be_sent_again(
    runtime: Runtime,
) -> None:
    first = begun(runtime, step("a"))

    refused = saved(runtime, first, {"kind": "wr.gap", "severity": "huge"}, LEFT_OUT)
    accepted = saved(runtime, first, A_GAP, LEFT_OUT)

    assert refused.is_error
    assert "/severity" in refused.text
    assert "nothing was stored" in refused.text
    assert not accepted.is_error
    assert len(of_kind(events_of(runtime, first), "gap_recorded")) == 1


@pytest.mark.promise("truth.facts.every-call")
def test_unfinished_work_in_a_checkpoint_is_kept_and_counts_for_nothing(runtime: Runtime) -> None:
    first = begun(runtime, step("a", **WITH_DECISION), step("b"))

    half = saved(runtime, first, {"kind": "wr.decision", "question": "Which?"}).structured

    assert half["pending"]["stepId"] == "a"
    assert results(runtime, half) == []
    assert sent(runtime, half["ackToken"])["kind"] == "blocked"


@pytest.mark.promise("truth.counts.capability-lost")
def test_a_required_capability_that_is_lost_in_a_checkpoint_is_a_gap(runtime: Runtime) -> None:
    first = begun(runtime, step("a"), step("b"), capabilities={"web_browsing": "required"})
    at_a = sent(runtime, first["ackToken"], seen("web_browsing", "available"))

    half = saved(runtime, at_a, seen("web_browsing", "unavailable")).structured

    assert [told["details"]["reason"] for told in half["warnings"] if told["code"] == "GAP_RECORDED"] == [
        "capability_missing:required_capability_unavailable"
    ]
    assert half["pending"]["stepId"] == "a"


@pytest.mark.promise("truth.facts.known-gaps")
def test_a_gap_that_nobody_recorded_cannot_be_resolved(runtime: Runtime) -> None:
    first = begun(runtime, step("a", **WITH_DECISION), step("b"), step("c"), preferences=NEVER_STOP)
    at_b = sent(runtime, first["ackToken"])
    (gap,) = [told["details"]["gapId"] for told in at_b["warnings"]]
    guided = begun(runtime, step("a"), step("b"))

    blocked = sent(runtime, guided["ackToken"], A_GAP | {"resolvesGapId": "gap_nothing_1"})
    refused = saved(runtime, guided, A_GAP | {"resolvesGapId": gap})
    at_c = sent(runtime, at_b["ackToken"], A_GAP | {"resolvesGapId": gap})

    assert blocked["kind"] == "blocked"
    assert "/resolvesGapId" in blocked["blockers"][0]["message"]
    assert refused.is_error
    done = sent(runtime, at_c["ackToken"])
    assert shown(runtime, done)["status"] == "complete"


@pytest.mark.promise("truth.facts.known-gaps")
def test_a_gap_that_a_checkpoint_recorded_can_be_resolved_by_a_later_step(runtime: Runtime) -> None:
    first = begun(runtime, step("a"))
    saved(runtime, first, A_GAP)
    (recorded,) = of_kind(events_of(runtime, first), "gap_recorded")

    done = sent(runtime, first["ackToken"], A_GAP | {"resolvesGapId": recorded["data"]["gapId"]})

    assert shown(runtime, done)["status"] == "complete"


@pytest.mark.promise("truth.endings.verification")
@pytest.mark.parametrize(("verdict", "severity"), [("failed", "critical"), ("incomplete", "warning")])
def test_a_run_that_ends_on_a_verification_that_did_not_pass_is_not_plain_complete(
    runtime: Runtime, verdict: str, severity: str
) -> None:
    first = begun(runtime, step("check", **REPORTING), step("tell"))
    at_tell = sent(runtime, first["ackToken"], report(verdict))

    done = sent(runtime, at_tell["ackToken"])
    again = sent(runtime, at_tell["ackToken"])

    run = shown(runtime, done)
    assert run["status"] == "complete_with_gaps"
    ((told, reason, summary),) = [(gap["severity"], gap["reason"], gap["summary"]) for gap in run["gaps"]]
    assert (told, reason) == (severity, "reported")
    assert verdict in summary
    assert [warning["code"] for warning in done["warnings"]] == ["GAP_RECORDED"]
    assert again == done


@pytest.mark.promise("truth.endings.verification")
def test_a_later_verification_that_passed_makes_the_end_plain(runtime: Runtime) -> None:
    first = begun(runtime, step("check", **REPORTING), step("again", **REPORTING))
    at_again = sent(runtime, first["ackToken"], report("failed"))

    done = sent(runtime, at_again["ackToken"], report("passed"))

    assert shown(runtime, done)["status"] == "complete"


@pytest.mark.promise("truth.endings.verification")
def test_a_verification_that_passes_after_the_end_settles_the_gap_by_link(runtime: Runtime) -> None:
    first = begun(runtime, step("check", **REPORTING))
    done = sent(runtime, first["ackToken"], report("failed"))

    failed = saved(runtime, done, report("failed"))
    before = shown(runtime, done)["status"]
    later = saved(runtime, failed.structured, report("passed"))

    assert not later.is_error
    assert before == "complete_with_gaps"
    assert shown(runtime, done)["status"] == "complete"
    first_gap, settling = of_kind(events_of(runtime, done), "gap_recorded")
    assert settling["data"]["resolvesGapId"] == first_gap["data"]["gapId"]
    assert first_gap["data"]["gapId"].endswith("_verification")
