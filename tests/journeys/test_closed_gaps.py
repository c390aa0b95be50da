"""Gaps that a person resolves: at a terminal or in the Console, and nowhere else."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from msgspec.structs import replace

from handrail.contract.outcome import Failure
from handrail.engine.events import GapReason, GapRecorded
from handrail.engine.judge.resolving import describe_resolution, is_evidence_gap
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from tests.cases import every_case
from tests.conftest import memory_runtime
from tests.journeys.at_a_terminal import Person, seat
from tests.journeys.conversation import advance, answer
from tests.journeys.given_workflows import NEVER_STOP, begin, step
from tests.journeys.interfaces import command, events_of, of_kind
from tests.journeys.test_confirmations import at_console
from tests.journeys.test_facts_of_every_call import REPORTING
from tests.journeys.test_facts_of_every_call import report as verified
from tests.journeys.test_moving_sessions import exported, imported
from tests.journeys.test_what_counts import begun, sent
from tests.journeys.test_where_facts_hold import words_of


def ended_with_gap(runtime: Runtime) -> tuple[dict[str, Any], str]:
    """A finished run with one critical gap."""
    first = begin(runtime, step("ask", requireConfirmation=True), fields={}, preferences=NEVER_STOP)
    done = advance(runtime, first)
    assert done["isComplete"] is True
    (gap,) = of_kind(events_of(runtime, first), "gap_recorded")
    return first, gap["data"]["gapId"]


def status_of(runtime: Runtime, reply: dict[str, Any]) -> str:
    shown = answer(runtime, "session.show", sessionId=reply["session"]["sessionId"])
    return str(shown["runs"][0]["status"])


@pytest.mark.parametrize("source", ["terminal", "console"])
def test_a_person_resolves_a_gap_and_the_run_is_complete(runtime: Runtime, source: str) -> None:
    first, gap_id = ended_with_gap(runtime)
    before = answer(runtime, "session.inbox")["items"]
    page = f"/sessions/{first['session']['sessionId']}"
    assert "resolve" in words_of(runtime, page).lower(), "the page of the run has a form for it too"
    person = Person("y")
    at_source = at_console(runtime) if source == "console" else seat(runtime, person)

    told = answer(at_source, "session.resolve_gap", gap=gap_id, note="I looked at it.")
    again = answer(at_source, "session.resolve_gap", gap=gap_id, note="Twice.")

    assert [need["gap_ids"] for need in before] == [[gap_id]]
    assert (told["source"], told["who"], told["status"]) == (source, runtime.workspace.account(), "complete")
    assert again == told | {"is_new": False}
    resolved = [event["data"] for event in of_kind(events_of(runtime, first), "gap_recorded")][-1]
    assert (resolved["severity"], resolved["reason"], resolved["resolvesGapId"], resolved["summary"]) == (
        "info",
        "settled_by_person",
        gap_id,
        "I looked at it.",
    )
    assert answer(runtime, "session.inbox")["items"] == []
    assert status_of(runtime, first) == "complete"
    assert "Resolve it" not in words_of(runtime, page)
    assert "resolved by a person I looked at it." in words_of(runtime, page)
    assert source == "console" or gap_id not in person.shown[0]
    ledger = answer(runtime, "ledger.show", runId=first["session"]["runId"])
    assert ledger["entries"][-1]["operation"] == "session.resolve_gap"


def test_without_a_person_nothing_is_resolved(runtime: Runtime) -> None:
    first, gap_id = ended_with_gap(runtime)

    status, document = command(runtime, "session", "resolve", gap_id, "--note", "Fine.")
    refused = perform(seat(runtime, Person("n")), "session.resolve_gap", {"gap": gap_id, "note": "Fine."})

    assert (status, document["error"]["code"]) == (9, "E_HUMAN_REQUIRED")
    assert isinstance(refused, Failure)
    assert refused.kind.code == "E_HUMAN_REQUIRED"
    assert status_of(runtime, first) == "complete_with_gaps"


def test_a_gap_that_is_not_there_is_refused(runtime: Runtime) -> None:
    refused = perform(at_console(runtime), "session.resolve_gap", {"gap": "gap_1", "note": "Fine."})

    assert isinstance(refused, Failure)
    assert refused.kind.code == "E_NOT_FOUND"


def test_what_a_person_resolved_travels_in_a_bundle(runtime: Runtime) -> None:
    first, gap_id = ended_with_gap(runtime)
    answer(at_console(runtime), "session.resolve_gap", gap=gap_id, note="I looked at it.")
    other = memory_runtime()

    made = imported(other, exported(runtime, first["session"]["sessionId"]))

    shown = answer(other, "session.show", sessionId=made["session_id"])
    assert shown["runs"][0]["status"] == "complete"


def test_an_agents_sentence_resolves_no_gap_that_evidence_opened(runtime: Runtime) -> None:
    first = begun(runtime, step("check", **REPORTING))
    done = sent(runtime, first["ackToken"], verified("failed"))
    assert done["isComplete"] is True
    (gap,) = [event["data"] for event in of_kind(events_of(runtime, first), "gap_recorded")]
    resolving = {
        "kind": "wr.gap",
        "severity": "info",
        "summary": "It is fine.",
        "resolvesGapId": gap["gapId"],
    }

    refused = perform(
        runtime,
        "run.checkpoint",
        {"checkpointToken": done["checkpointToken"], "output": {"artifacts": [resolving]}},
    )

    assert isinstance(refused, Failure)
    assert f"only evidence or a person resolves {gap['gapId']}" in refused.message


@pytest.mark.parametrize(
    "asked",
    [
        {"output": {"contractRef": "wr.contracts.cause"}},
        {"output": {"contractRef": "wr.contracts.verification_report"}},
        {"userOnly": {"reason": "needs_user_approval"}},
    ],
    ids=["judged", "missing, and would be judged", "of the user"],
)
def test_agents_sentence_closes_nothing_that_was_judged(runtime: Runtime, asked: dict[str, Any]) -> None:
    first = begin(runtime, step("do", **asked), step("end"), fields={}, preferences=NEVER_STOP)
    ghost = {"kind": "wr.cause", "cause": "It rounds twice.", "place": "../ghost.py:1"}
    second = sent(runtime, first["ackToken"], *([ghost] if "cause" in str(asked) else []))
    (gap,) = [event["data"] for event in of_kind(events_of(runtime, first), "gap_recorded")]
    resolving = {"kind": "wr.gap", "severity": "info", "summary": "Fine.", "resolvesGapId": gap["gapId"]}

    refused = perform(
        runtime,
        "run.checkpoint",
        {"checkpointToken": second["checkpointToken"], "output": {"artifacts": [resolving]}},
    )

    assert isinstance(refused, Failure)
    assert f"only evidence or a person resolves {gap['gapId']}" in refused.message
    assert any(f"handrail session resolve {gap['gapId']}" in told["message"] for told in second["warnings"])


def test_what_was_missing_is_resolved_when_it_comes(runtime: Runtime) -> None:
    first = begin(
        runtime, step("check", **REPORTING), step("again", **REPORTING), fields={}, preferences=NEVER_STOP
    )
    second = sent(runtime, first["ackToken"])
    (gap,) = [event["data"] for event in of_kind(events_of(runtime, first), "gap_recorded")]

    sent(runtime, second["ackToken"], verified("passed"))

    resolving = [event["data"] for event in of_kind(events_of(runtime, first), "gap_recorded")][1:]
    assert [(one["resolvesGapId"], one["reason"]) for one in resolving] == [(gap["gapId"], "reported")]


BY_A_SENTENCE = {
    "reported",
    "loop_limit_reached",
    "items_dropped",
    "settled_by_person",
}
"""What the agent told itself, and what it did not work on; everything else is evidence's or a person's."""


@every_case("reason", [one for part in get_args(GapReason) for one in get_args(part) or [part]])
def test_each_reason_of_a_gap_says_who_resolves_it(reason: GapReason) -> None:
    gap = GapRecorded(gap_id="gap_x_1", severity="critical", reason=reason, summary="It is missing.")
    assert is_evidence_gap(gap) == (reason not in BY_A_SENTENCE)
    assert is_evidence_gap(replace(gap, gap_id="gap_x_evidence1"))
    assert ("only evidence or a person" in describe_resolution(gap)) == is_evidence_gap(gap)
