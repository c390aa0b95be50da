"""Gaps, observations, divergences and verifications mean the same, whichever call brings them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from handrail.operations.handles import read_state
from handrail.runtime.runtime import Runtime
from handrail.workflows.builtins.templates import find_contract
from tests.journeys.given_workflows import A_DECISION, NEVER_STOP, WITH_DECISION, choice, option, step
from tests.journeys.interfaces import command, events_of, of_kind, tool_call
from tests.journeys.test_what_counts import Reply, begun, reread, results, seen, sent

A_GAP = {"kind": "wr.gap", "severity": "warning", "summary": "No logs were kept."}
LEFT_OUT = {"kind": "wr.workflow_divergence", "reason": "efficiency_skip", "summary": "Read half of it."}
A_LOSS = {"kind": "wr.gap", "severity": "critical", "summary": "The table was dropped."}
NOTED = A_GAP | {"severity": "info"}
LOST = seen("web_browsing", "unavailable")
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


def session_of(runtime: Runtime, reply: Reply) -> str:
    """The session of any reply; one that is blocked does not name it again."""
    return read_state(runtime.keys, reply["stateToken"]).claims.session_id


def shown(runtime: Runtime, reply: Reply) -> dict[str, Any]:
    _, told = command(runtime, "session", "show", session_of(runtime, reply))
    run: dict[str, Any] = told["data"]["runs"][0]
    return run


def report(verdict: str) -> dict[str, Any]:
    contract = find_contract("wr.contracts.verification_report")
    assert contract is not None
    own: dict[str, Any] = contract.example
    return own | {"verdict": verdict}


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


def refused_at_a_step(runtime: Runtime, facts: list[dict[str, Any]]) -> Reply:
    return sent(runtime, begun(runtime, step("a", **WITH_DECISION))["ackToken"], *facts)


def refused_at_a_retry(runtime: Runtime, facts: list[dict[str, Any]]) -> Reply:
    blocked = refused_at_a_step(runtime, [])
    return sent(runtime, blocked["retryAckToken"], *facts)


def refused_after_a_checkpoint(runtime: Runtime, facts: list[dict[str, Any]]) -> Reply:
    half = saved(runtime, begun(runtime, step("a", **WITH_DECISION)), NOTED).structured
    return sent(runtime, half["ackToken"], *facts)


def refused_at_a_choice(runtime: Runtime, facts: list[dict[str, Any]]) -> Reply:
    first = begun(runtime, choice("way", option("left"), option("right")))
    return sent(runtime, first["pending"]["choices"][0]["token"], {"kind": "wr.plan"}, *facts)


def refused_before_a_loop(runtime: Runtime, facts: list[dict[str, Any]]) -> Reply:
    loop = {"type": "loop", "loopId": "each", "maxIterations": 2, "body": [step("one")]}
    listed = loop | {"forEach": {"input": "parts", "as": "part"}}
    first = begun(runtime, step("a"), listed, inputs={"parts": {"type": "array"}})
    return sent(runtime, first["ackToken"], *facts)


@pytest.mark.parametrize(
    "refuse",
    [
        refused_at_a_step,
        refused_at_a_retry,
        refused_after_a_checkpoint,
        refused_at_a_choice,
        refused_before_a_loop,
    ],
)
def test_facts_of_a_blocked_attempt_count_at_once(
    runtime: Runtime, refuse: Callable[[Runtime, list[dict[str, Any]]], Reply]
) -> None:
    blocked = refuse(runtime, [A_LOSS, LEFT_OUT, seen("delegation", "unavailable")])

    run = shown(runtime, blocked)
    _, ledger = command(runtime, "ledger", "show", run["id"])
    _, needs = command(runtime, "session", "inbox")
    command(runtime, "run", "close", session_of(runtime, blocked), "--reason", "abandoned")
    _, gaps = command(runtime, "session", "inbox", "--gaps")
    assert (blocked["kind"], run["status"]) == ("blocked", "blocked")
    assert [gap["summary"] for gap in run["gaps"] if gap["is_open"]] == ["The table was dropped."]
    assert [told["summary"] for told in run["divergences"]] == ["Read half of it."]
    assert run["capabilities"] == {"delegation": "unavailable"}
    (warned,) = [told for told in blocked["warnings"] if told["code"] == "GAP_RECORDED"]
    assert warned["details"]["gapId"] in [gap["id"] for gap in run["gaps"]]
    assert [need["why"] for need in needs["data"]["items"] if need["kind"] == "gap"] == [
        "The table was dropped."
    ]
    assert "The table was dropped." in str(ledger["data"])
    assert [gap["summary"] for gap in gaps["data"]["items"] if gap["state"] == "open"] == [
        "The table was dropped."
    ]


def retried(runtime: Runtime, first: Reply, blocked: Reply) -> Reply:
    return sent(runtime, blocked["retryAckToken"], A_DECISION)


def retried_with_the_same(runtime: Runtime, first: Reply, blocked: Reply) -> Reply:
    return sent(runtime, blocked["retryAckToken"], A_DECISION, *FACTS)


def retried_twice(runtime: Runtime, first: Reply, blocked: Reply) -> Reply:
    again = sent(runtime, blocked["retryAckToken"], *FACTS)
    return sent(runtime, again["retryAckToken"], A_DECISION)


def retried_after_a_checkpoint_with_the_same(runtime: Runtime, first: Reply, blocked: Reply) -> Reply:
    half = saved(runtime, blocked, A_GAP, LEFT_OUT).structured
    return sent(runtime, half["ackToken"], A_DECISION)


def begun_anew(runtime: Runtime, first: Reply, blocked: Reply) -> Reply:
    return sent(runtime, reread(runtime, first)["ackToken"], A_DECISION)


def begun_anew_with_the_same(runtime: Runtime, first: Reply, blocked: Reply) -> Reply:
    return sent(runtime, reread(runtime, first)["ackToken"], A_DECISION, *FACTS)


@pytest.mark.parametrize(
    "go_on",
    [
        retried,
        retried_with_the_same,
        retried_twice,
        retried_after_a_checkpoint_with_the_same,
        begun_anew,
        begun_anew_with_the_same,
    ],
)
def test_facts_of_a_blocked_attempt_are_recorded_once(
    runtime: Runtime, go_on: Callable[[Runtime, Reply, Reply], Reply]
) -> None:
    first = begun(runtime, step("a", **WITH_DECISION))
    blocked = sent(runtime, first["ackToken"], *FACTS)

    done = go_on(runtime, first, blocked)

    run, events = shown(runtime, done), events_of(runtime, done)
    assert run["status"] == "complete_with_gaps"
    assert len(of_kind(events, "gap_recorded")) == len(run["gaps"]) == 1
    assert len(of_kind(events, "divergence_recorded")) == len(run["divergences"]) == 1
    assert run["capabilities"] == {"delegation": "unavailable"}
    assert sent(runtime, first["ackToken"], *FACTS) == blocked
    assert "complete_with_gaps" in str(command(runtime, "ledger", "show", run["id"]))


def test_closed_gap_stays_closed_until_reported_again(
    runtime: Runtime,
) -> None:
    first = begun(runtime, step("a", **WITH_DECISION), step("b"))
    blocked = sent(runtime, first["ackToken"], A_GAP)
    (gap,) = [told["details"]["gapId"] for told in blocked["warnings"] if told["code"] == "GAP_RECORDED"]
    half = saved(runtime, blocked, A_GAP | {"severity": "info", "resolvesGapId": gap}).structured

    at_b = sent(runtime, half["ackToken"], A_DECISION)
    settled = [held["is_open"] for held in shown(runtime, at_b)["gaps"]]
    again = sent(runtime, reread(runtime, half)["ackToken"], A_DECISION, A_GAP)

    assert True not in settled
    assert [held["is_open"] for held in shown(runtime, again)["gaps"]].count(True) == 1


def test_dry_run_names_the_gaps_of_a_refused_report(runtime: Runtime) -> None:
    first = begun(runtime, step("a", **WITH_DECISION))
    artifacts = json.dumps([A_GAP])

    _, foretold = command(
        runtime, "run", "continue", "--ack", first["ackToken"], "--artifacts", artifacts, "--dry-run"
    )

    assert (foretold["data"]["verdict"], foretold["data"]["gaps"]) == ("would_block", ["No logs were kept."])


def test_checkpoint_with_a_wrong_fact_can_be_sent_again(
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


def test_unfinished_work_in_a_checkpoint_counts_for_nothing(runtime: Runtime) -> None:
    first = begun(runtime, step("a", **WITH_DECISION), step("b"))

    half = saved(runtime, first, {"kind": "wr.decision", "question": "Which?"}).structured

    assert half["pending"]["stepId"] == "a"
    assert results(runtime, half) == []
    assert sent(runtime, half["ackToken"])["kind"] == "blocked"


def test_lost_capability_in_a_checkpoint_is_a_gap(runtime: Runtime) -> None:
    first = begun(runtime, step("a"), step("b"), capabilities={"web_browsing": "required"})
    at_a = sent(runtime, first["ackToken"], seen("web_browsing", "available"))

    half = saved(runtime, at_a, seen("web_browsing", "unavailable")).structured

    assert [told["details"]["reason"] for told in half["warnings"] if told["code"] == "GAP_RECORDED"] == [
        "capability_missing:required_capability_unavailable"
    ]
    assert half["pending"]["stepId"] == "a"


def lost_in_a_checkpoint(runtime: Runtime, at_a: Reply) -> str:
    return str(saved(runtime, at_a, LOST).structured["ackToken"])


def lost_in_a_checkpoint_left_aside(runtime: Runtime, at_a: Reply) -> str:
    saved(runtime, at_a, LOST)
    return str(at_a["ackToken"])


def lost_in_an_attempt_left_aside(runtime: Runtime, at_a: Reply) -> str:
    sent(runtime, at_a["ackToken"], LOST)
    return str(reread(runtime, at_a)["ackToken"])


@pytest.mark.parametrize(
    "lose", [lost_in_a_checkpoint, lost_in_a_checkpoint_left_aside, lost_in_an_attempt_left_aside]
)
def test_no_way_leads_round_the_loss_of_a_required_capability(
    runtime: Runtime, lose: Callable[[Runtime, Reply], str]
) -> None:
    first = begun(runtime, step("a"), capabilities={"web_browsing": "required"})
    at_a = sent(runtime, first["ackToken"], seen("web_browsing", "available"))

    stopped = sent(runtime, lose(runtime, at_a))
    cured = sent(runtime, reread(runtime, stopped)["ackToken"], seen("web_browsing", "available"))
    fork = sent(runtime, reread(runtime, at_a)["ackToken"])

    assert [told["code"] for told in stopped["blockers"]] == ["REQUIRED_CAPABILITY_UNAVAILABLE"]
    assert cured["isComplete"] is True
    assert "gap" not in cured["closing"]
    assert fork["isComplete"] is True


@pytest.mark.parametrize("lose", [lost_in_a_checkpoint, lost_in_a_checkpoint_left_aside])
def test_lost_capability_is_one_gap_where_nothing_stops(
    runtime: Runtime, lose: Callable[[Runtime, Reply], str]
) -> None:
    first = begun(runtime, step("a"), preferences=NEVER_STOP, capabilities={"web_browsing": "required"})
    at_a = sent(runtime, first["ackToken"], seen("web_browsing", "available"))

    done = sent(runtime, lose(runtime, at_a))

    assert shown(runtime, done)["status"] == "complete_with_gaps"
    assert len(shown(runtime, done)["gaps"]) == 1


def test_working_capability_in_a_checkpoint_unblocks_the_step(runtime: Runtime) -> None:
    first = begun(runtime, step("a"), step("b"), capabilities={"web_browsing": "required"})
    at_a = sent(runtime, first["ackToken"], seen("web_browsing", "available"))
    blocked = sent(runtime, at_a["ackToken"], LOST)

    half = saved(runtime, blocked, seen("web_browsing", "available")).structured
    at_b = sent(runtime, half["ackToken"])

    assert at_b["pending"]["stepId"] == "b"
    assert shown(runtime, at_b)["capabilities"] == {"web_browsing": "available"}


def test_otherwise_blocked_attempt_closes_the_capability_gap(
    runtime: Runtime,
) -> None:
    web = {"capabilities": {"web_browsing": "required"}}
    first = begun(runtime, step("a", **WITH_DECISION), **web)
    at_a = sent(runtime, first["ackToken"], seen("web_browsing", "available"))
    half = saved(runtime, at_a, LOST).structured

    blocked = sent(runtime, half["ackToken"], seen("web_browsing", "available"))

    assert [told["code"] for told in blocked["blockers"]] == ["MISSING_REQUIRED_OUTPUT"]
    assert [gap["is_open"] for gap in shown(runtime, blocked)["gaps"]] == [False, False]


def test_a_gap_that_nobody_recorded_cannot_be_resolved(runtime: Runtime) -> None:
    first = begun(runtime, step("a"), step("b"), step("c"), preferences=NEVER_STOP)
    at_b = sent(runtime, first["ackToken"], A_GAP)
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


def test_gap_of_a_checkpoint_is_resolved_by_a_later_step(runtime: Runtime) -> None:
    first = begun(runtime, step("a"))
    saved(runtime, first, A_GAP)
    (recorded,) = of_kind(events_of(runtime, first), "gap_recorded")

    done = sent(runtime, first["ackToken"], A_GAP | {"resolvesGapId": recorded["data"]["gapId"]})

    assert shown(runtime, done)["status"] == "complete"


@pytest.mark.parametrize(("verdict", "severity"), [("failed", "critical"), ("incomplete", "warning")])
def test_run_that_ends_unverified_is_not_plain_complete(
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


def test_a_later_verification_that_passed_makes_the_end_plain(runtime: Runtime) -> None:
    first = begun(runtime, step("check", **REPORTING), step("again", **REPORTING))
    at_again = sent(runtime, first["ackToken"], report("failed"))

    done = sent(runtime, at_again["ackToken"], report("passed"))

    assert shown(runtime, done)["status"] == "complete"


def test_late_verification_closes_the_gap_by_link(runtime: Runtime) -> None:
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
