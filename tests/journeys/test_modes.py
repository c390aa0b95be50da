"""How much an agent may do on its own: modes, what only the user can give, and optional capabilities."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from handrail.contract.ids import Autonomy
from handrail.runtime.runtime import Runtime
from tests.journeys.conversation import advance, answer, refusal, rehydrate, start
from tests.journeys.given_workflows import (
    NEVER_STOP,
    STOP_ON_USER,
    WITH_DECISION,
    begin,
    choice,
    give,
    option,
    step,
)
from tests.journeys.interfaces import events_of, of_kind
from tests.journeys.test_blocked import report, shown

NO_FIELDS: dict[str, Any] = {}
STEP_REASONS = (
    "needs_user_secret_or_token",
    "needs_user_account_access",
    "needs_user_artifact",
    "needs_user_approval",
    "needs_user_environment_action",
)


def observed(status: str, **fields: Any) -> dict[str, Any]:
    return {
        "kind": "wr.capability_observation",
        "capability": "web_browsing",
        "status": status,
        "summary": "Tried to fetch a page.",
    } | fields


@pytest.mark.promise("preferences.closed-set")
@pytest.mark.parametrize(
    "asked",
    [
        {"autonomy": "yolo"},
        {"riskPolicy": "none"},
        {"verbosity": "high"},
        {"autonomy": 3},
        {"autonomy": None},
    ],
)
def test_preferences_are_two_names_with_closed_values(runtime: Runtime, asked: dict[str, Any]) -> None:
    failure = refusal(runtime, "run.start", workflowId="project.three_steps", preferences=asked)

    assert failure.kind.code == "VALIDATION_ERROR"
    assert get_args(Autonomy) == ("guided", "full_auto_stop_on_user_deps", "full_auto_never_stop")
    assert list(runtime.log.list_sessions()) == []


@pytest.mark.promise("preferences.own")
def test_what_one_start_asked_for_changes_no_other_run(runtime: Runtime) -> None:
    bold = start(runtime, preferences=NEVER_STOP)
    usual = start(runtime, session=bold["session"]["sessionId"])

    later = rehydrate(runtime, advance(runtime, bold))

    assert bold["preferences"]["autonomy"] == later["preferences"]["autonomy"] == "full_auto_never_stop"
    assert usual["preferences"] == {"autonomy": "guided", "riskPolicy": "conservative"}


@pytest.mark.promise("preferences.replayed")
def test_an_older_node_brings_back_its_own_preferences(runtime: Runtime) -> None:
    first = start(runtime, preferences=STOP_ON_USER)
    advance(runtime, first)
    start(runtime, session=first["session"]["sessionId"], preferences=NEVER_STOP)

    back = rehydrate(runtime, first)
    fork = advance(runtime, back)

    assert back["preferences"] == first["preferences"]
    assert fork["preferences"] == first["preferences"]


@pytest.mark.promise("modes.never-refused")
@pytest.mark.parametrize("autonomy", ["full_auto_stop_on_user_deps", "full_auto_never_stop"])
def test_mode_above_the_recommendation_brings_a_warning(runtime: Runtime, autonomy: str) -> None:
    fields = {"recommended": {"autonomy": "guided", "riskPolicy": "conservative"}}

    reply = begin(runtime, step("do"), fields=fields, preferences={"autonomy": autonomy})

    assert reply["preferences"]["autonomy"] == autonomy
    (warning,) = [told for told in reply["warnings"] if told["code"] == "MODE_ABOVE_RECOMMENDED"]
    assert "guided with riskPolicy conservative" in warning["message"]


@pytest.mark.promise("modes.stop-on-user")
def test_stop_on_user_waits_for_the_user_only(runtime: Runtime) -> None:
    steps = (
        step("drop", requireConfirmation=True),
        step("sign", userOnly={"reason": "needs_user_approval"}),
    )

    first = begin(runtime, *steps, fields=NO_FIELDS, preferences=STOP_ON_USER)
    sign = advance(runtime, first)
    blocked = advance(runtime, sign)

    assert first["nextIntent"] == "perform_pending_then_continue"
    assert (blocked["kind"], blocked["nextIntent"]) == ("blocked", "await_user_confirmation")


@pytest.mark.promise("user-only.reasons")
@pytest.mark.parametrize("reason", STEP_REASONS)
def test_each_reason_blocks_or_is_a_gap_of_its_name(runtime: Runtime, reason: str) -> None:
    steps = (step("ask", userOnly={"reason": reason}), step("do"))

    blocked = advance(runtime, begin(runtime, *steps, fields=NO_FIELDS))
    alone = begin(runtime, *steps, fields=NO_FIELDS, preferences=NEVER_STOP)
    went_on = advance(runtime, alone)

    assert [blocker["code"] for blocker in blocked["blockers"]] == ["USER_ONLY_DEPENDENCY"]
    assert (went_on["kind"], went_on["pending"]["stepId"]) == ("ok", "do")
    gaps = shown(runtime, alone)["gaps"]
    assert [(gap["severity"], gap["reason"]) for gap in gaps] == [
        ("critical", f"user_only_dependency:{reason}")
    ]
    (warning,) = went_on["warnings"]
    assert warning["code"] == "NOT_ASKED"
    assert f"user_only_dependency:{reason}" in warning["message"]
    assert gaps[0]["id"] in warning["message"]


@pytest.mark.promise("user-only.reasons")
def test_unasked_answer_of_an_agent_is_disclosed(runtime: Runtime) -> None:
    asking = step("sign", userOnly={"reason": "needs_user_approval"})
    first = begin(runtime, asking, step("do"), fields=NO_FIELDS, preferences=NEVER_STOP)
    said = {"kind": "wr.user_input", "answer": "yes", "givenBy": "user"}
    output = {"notesMarkdown": "Signed.", "artifacts": [said]}

    went_on = answer(runtime, "run.continue", ackToken=first["ackToken"], output=output)

    (gap,) = shown(runtime, first)["gaps"]
    assert (gap["severity"], gap["reason"]) == ("critical", "user_only_dependency:needs_user_approval")
    assert [warning["code"] for warning in went_on["warnings"]] == ["NOT_ASKED"]


@pytest.mark.promise("user-only.reasons")
def test_the_sixth_reason_is_a_choice_that_is_the_users(runtime: Runtime) -> None:
    ask = choice("way", option("left"), option("right"), nonAssumable="scope_boundary")

    guided = begin(runtime, ask, fields=NO_FIELDS)
    alone = begin(runtime, ask, fields=NO_FIELDS, preferences=NEVER_STOP)
    answer(runtime, "run.continue", ackToken=alone["pending"]["choices"][0]["token"])

    assert guided["nextIntent"] == "await_user_confirmation"
    assert [gap["reason"] for gap in shown(runtime, alone)["gaps"]] == [
        "user_only_dependency:needs_user_choice"
    ]


@pytest.mark.promise("user-only.reasons")
def test_a_workflow_cannot_invent_a_reason(runtime: Runtime) -> None:
    workflow_id = give(runtime, step("ask", userOnly={"reason": "needs_user_mood"}))

    failure = refusal(runtime, "run.start", workflowId=workflow_id)

    assert failure.kind.code == "WORKFLOW_INVALID"
    assert "needs_user_mood" in str(failure.details["problems"])


@pytest.mark.promise("blocked.or-gap")
def test_report_is_a_blocker_or_a_gap_for_the_same_reason(
    runtime: Runtime,
) -> None:
    steps = (step("decide", **WITH_DECISION), step("do"))
    wrong = {"kind": "wr.decision", "question": "?"}
    replies = {}

    for mode in get_args(Autonomy):
        first = begin(runtime, *steps, fields=NO_FIELDS, preferences={"autonomy": mode})
        replies[mode] = (report(runtime, first["ackToken"], wrong), shown(runtime, first)["gaps"])

    for mode in ("guided", "full_auto_stop_on_user_deps"):
        reply, gaps = replies[mode]
        assert (reply["kind"], reply["blockers"][0]["code"]) == ("blocked", "INVALID_REQUIRED_OUTPUT")
        assert gaps == []
    reply, gaps = replies["full_auto_never_stop"]
    assert (reply["kind"], reply["pending"]["stepId"]) == ("ok", "do")
    assert [gap["reason"] for gap in gaps] == ["contract_violation:invalid_required_output"]
    assert gaps[0]["summary"] == "What the agent delivered for the step “Decide” is not right yet: decision."


@pytest.mark.promise("full-auto.disclosed")
def test_full_auto_records_what_it_did_not_ask(runtime: Runtime) -> None:
    steps = (
        step("key", userOnly={"reason": "needs_user_secret_or_token"}),
        step("decide", **WITH_DECISION),
        choice("drop", option("yes"), option("no"), nonAssumable="irreversible_action"),
    )
    first = begin(runtime, *steps, fields=NO_FIELDS, preferences=NEVER_STOP)

    third = advance(runtime, advance(runtime, first, "assumed a test key"), "no decision was needed")
    end = answer(runtime, "run.continue", ackToken=third["pending"]["choices"][1]["token"])

    assert end["isComplete"]
    run = shown(runtime, first)
    assert run["status"] == "complete_with_gaps"
    assert [gap["reason"] for gap in run["gaps"]] == [
        "user_only_dependency:needs_user_secret_or_token",
        "contract_violation:missing_required_output",
        "user_only_dependency:needs_user_choice",
    ]
    notes = [entry["notes"] for entry in rehydrate(runtime, end)["recap"]["entries"]]
    assert notes == ["assumed a test key", "no decision was needed"]


@pytest.mark.promise("capabilities.closed-set")
def test_a_workflow_cannot_name_another_capability(runtime: Runtime) -> None:
    workflow_id = give(runtime, step("do"), capabilities={"telepathy": "preferred"})

    failure = refusal(runtime, "run.start", workflowId=workflow_id)

    assert failure.kind.code == "WORKFLOW_INVALID"
    assert "telepathy" in str(failure.details["problems"])
    for known in ("delegation", "web_browsing"):
        assert start(runtime, workflowId=give(runtime, step("do"), capabilities={known: "preferred"}))


@pytest.mark.promise("capabilities.hashed")
def test_what_a_workflow_requires_is_part_of_its_hash(runtime: Runtime) -> None:
    hashes = {
        shown(runtime, start(runtime, workflowId=give(runtime, step("do"), **fields)))["workflow_hash"]
        for fields in (
            {},
            {"capabilities": {"delegation": "preferred"}},
            {"capabilities": {"delegation": "required"}},
            {"capabilities": {"web_browsing": "required"}},
        )
    }

    assert len(hashes) == 4


@pytest.mark.promise("capabilities.recorded")
def test_observation_is_at_its_node_and_comes_back(runtime: Runtime) -> None:
    first = begin(runtime, step("research"), fields={"capabilities": {"web_browsing": "required"}})

    after = report(runtime, first["ackToken"], observed("available"))

    (event,) = of_kind(events_of(runtime, first), "capability_observed")
    assert (event["data"]["capability"], event["data"]["status"]) == ("web_browsing", "available")
    assert event["scope"]["nodeId"]
    assert shown(runtime, after)["capabilities"] == {"web_browsing": "available"}


@pytest.mark.promise("capabilities.tried")
def test_a_status_that_was_only_claimed_opens_nothing(runtime: Runtime) -> None:
    first = begin(runtime, step("research"), fields={"capabilities": {"web_browsing": "required"}})

    claimed = report(runtime, first["ackToken"], observed("available", provenance="manual_claim"))
    tried = report(runtime, claimed["retryAckToken"], observed("available", provenance="probe_step"))

    assert [blocker["code"] for blocker in claimed["blockers"]] == ["REQUIRED_CAPABILITY_UNKNOWN"]
    assert tried["pending"]["stepId"] == "research"


@pytest.mark.promise("capabilities.never-stop")
@pytest.mark.parametrize(
    ("status", "reason"),
    [("unknown", "required_capability_unknown"), ("unavailable", "required_capability_unavailable")],
)
def test_never_stop_goes_on_without_a_required_capability(runtime: Runtime, status: str, reason: str) -> None:
    fields = {"capabilities": {"web_browsing": "required"}}
    first = begin(runtime, step("research"), fields=fields, preferences=NEVER_STOP)

    after = report(runtime, first["ackToken"], observed(status))

    assert after["pending"]["stepId"] == "research"
    assert [(gap["severity"], gap["reason"]) for gap in shown(runtime, first)["gaps"]] == [
        ("critical", f"capability_missing:{reason}")
    ]


@pytest.mark.promise("signals.on-nodes")
def test_signals_are_recorded_at_the_node_where_they_occurred(runtime: Runtime) -> None:
    first = begin(runtime, step("one"), step("two"), fields={"capabilities": {"delegation": "preferred"}})
    told = [
        {"kind": "wr.workflow_divergence", "reason": "efficiency_skip", "summary": "It was done before."},
        observed("unavailable", capability="delegation"),
        {"kind": "wr.gap", "severity": "warning", "summary": "No benchmark."},
    ]

    report(runtime, first["ackToken"], *told)

    events = events_of(runtime, first)
    created = {event["scope"]["nodeId"] for event in of_kind(events, "node_created")}
    for kind in ("preferences_changed", "capability_observed", "divergence_recorded", "gap_recorded"):
        assert {event["scope"].get("nodeId") for event in of_kind(events, kind)} <= created
        assert of_kind(events, kind)
