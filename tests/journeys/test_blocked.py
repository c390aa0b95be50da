"""What happens when a step is not done yet: blocked where somebody can be asked, disclosed where not."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.runtime.runtime import Runtime
from tests.journeys.conversation import (
    advance,
    answer,
    commits_of,
    rehydrate,
)
from tests.journeys.given_workflows import (
    A_DECISION,
    NEVER_STOP,
    STOP_ON_USER,
    WITH_DECISION,
    begin,
    choice,
    option,
    step,
)

NO_FIELDS: dict[str, Any] = {}


def report(runtime: Runtime, token: str, *artifacts: dict[str, Any], notes: str = "", **params: Any) -> Any:
    output: dict[str, Any] = {"artifacts": list(artifacts)} | ({"notesMarkdown": notes} if notes else {})
    return answer(runtime, "run.continue", ackToken=token, output=output, **params)


def shown(runtime: Runtime, reply: dict[str, Any]) -> Any:
    """The one run of the reply's session as `session show` tells it."""
    return answer(runtime, "session.show", sessionId=reply["session"]["sessionId"])["runs"][0]


@pytest.mark.promise("blocked.retry")
def test_missing_artifact_needs_one_corrected_call(runtime: Runtime) -> None:
    first = begin(runtime, step("decide", **WITH_DECISION), step("do"), fields=NO_FIELDS)

    blocked = report(runtime, first["ackToken"], notes="I thought about it.")
    after = report(runtime, blocked["retryAckToken"], A_DECISION)

    assert (blocked["kind"], blocked["nextIntent"]) == ("blocked", "perform_pending_then_continue")
    assert blocked["pending"]["stepId"] == first["pending"]["stepId"]
    assert set(blocked["pending"]) == {"stepId", "title", "requireConfirmation"}
    assert rehydrate(runtime, blocked)["pending"]["prompt"].startswith("Do decide.")
    (blocker,) = blocked["blockers"]
    assert blocker["code"] == "MISSING_REQUIRED_OUTPUT"
    assert blocker["pointer"] == {"kind": "output_contract", "contractRef": "wr.contracts.decision"}
    assert blocked["example"]["kind"] == "wr.decision"
    assert blocked["nextCall"]["params"]["ackToken"] == blocked["retryAckToken"]
    assert after["pending"]["stepId"] == "do"
    assert "recap" not in after


@pytest.mark.promise("blocked.retry")
def test_blocked_reply_says_that_a_repeat_is_not_judged_again(runtime: Runtime) -> None:
    first = begin(runtime, step("decide", **WITH_DECISION), step("do"), fields=NO_FIELDS)

    blocked = report(runtime, first["ackToken"], notes="I thought about it.")
    repeated = report(runtime, first["ackToken"], notes="I thought about it.")

    assert repeated == blocked
    assert "Fix the report and send it with nextCall;" in blocked["judged"]
    assert blocked["nextCall"]["params"]["ackToken"] not in ("", first["ackToken"])


def test_other_content_with_a_used_token_names_what_differs(runtime: Runtime) -> None:
    first = begin(runtime, step("decide", **WITH_DECISION), step("do"), fields=NO_FIELDS)
    report(runtime, first["ackToken"], notes="I thought about it.")

    again = report(runtime, first["ackToken"], A_DECISION, notes="I thought about it.")

    (warning,) = again["warnings"]
    assert warning["details"] == {"differsIn": ["artifact wr.decision"]}
    assert "It differs in: artifact wr.decision." in warning["message"]
    assert warning["purpose"] == "retry"
    assert warning["nextCall"]["params"]["output"]["artifacts"] == [A_DECISION]


@pytest.mark.promise("blocked.retry")
def test_a_retry_need_not_send_again_what_came_before(runtime: Runtime) -> None:
    rule = {"type": "contains", "value": "measured", "message": "Say what you measured."}
    first = begin(runtime, step("decide", validation=[rule], **WITH_DECISION), step("do"), fields=NO_FIELDS)

    without_artifact = report(runtime, first["ackToken"], notes="measured 4 ms")
    after = report(runtime, without_artifact["retryAckToken"], A_DECISION)

    assert without_artifact["kind"] == "blocked"
    assert after["pending"]["stepId"] == "do"
    assert [entry["notes"] for entry in rehydrate(runtime, after)["recap"]["entries"]] == ["measured 4 ms"]


@pytest.mark.promise("blocked.invalid")
def test_an_artifact_that_does_not_fit_is_told_where(runtime: Runtime) -> None:
    first = begin(runtime, step("decide", **WITH_DECISION), fields=NO_FIELDS)
    broken = {key: value for key, value in A_DECISION.items() if key != "rationale"} | {"decidedBy": "dice"}

    blocked = report(runtime, first["ackToken"], broken)

    (blocker,) = blocked["blockers"]
    assert blocker["code"] == "INVALID_REQUIRED_OUTPUT"
    assert "rationale" in blocker["message"]
    assert "decidedBy" in blocker["message"]


@pytest.mark.promise("blocked.invalid")
def test_notes_that_break_a_rule_are_told_what_is_missing(runtime: Runtime) -> None:
    rules = [
        {"type": "contains", "value": "evidence", "message": "Name the evidence."},
        {"type": "length", "minimum": 30, "message": "Write a whole sentence."},
    ]
    first = begin(runtime, step("look", validation=rules), step("do"), fields=NO_FIELDS)

    blocked = advance(runtime, first, "done")
    after = report(runtime, blocked["retryAckToken"], notes="The evidence is in a.py, line 41.")

    (blocker,) = blocked["blockers"]
    assert blocker["pointer"] == {"kind": "workflow_step", "stepId": "look"}
    assert "Name the evidence.; Write a whole sentence." in blocker["message"]
    assert after["pending"]["stepId"] == "do"


@pytest.mark.promise("blocked.replay")
def test_blocked_reply_is_replayed_byte_for_byte(runtime: Runtime) -> None:
    first = begin(runtime, step("decide", **WITH_DECISION), step("do"), fields=NO_FIELDS)
    call = {"ackToken": first["ackToken"], "output": {"notesMarkdown": "thought"}}

    blocked = answer(runtime, "run.continue", **call)
    report(runtime, blocked["retryAckToken"], A_DECISION)
    before = commits_of(runtime)
    again = [answer(runtime, "run.continue", **call) for _ in range(3)]
    other = answer(runtime, "run.continue", **call | {"output": {"notesMarkdown": "thought again"}})

    assert again == [blocked] * 3
    assert other["pending"] == blocked["pending"]
    assert commits_of(runtime) == before


def test_blocked_attempts_are_nodes_and_no_forks(runtime: Runtime) -> None:
    first = begin(runtime, step("decide", **WITH_DECISION), step("do"), fields=NO_FIELDS)
    report(runtime, first["ackToken"])
    for _ in range(3):
        report(runtime, rehydrate(runtime, first)["ackToken"])

    blocked = shown(runtime, first)
    graph = answer(runtime, "run.graph", sessionId=first["session"]["sessionId"])
    waiting = [row["id"] for row in answer(runtime, "session.list", status="blocked")["items"]]
    after = report(runtime, rehydrate(runtime, first)["ackToken"], A_DECISION)
    done = shown(runtime, first)

    assert [node["kind"] for node in graph["nodes"]] == ["step", *["blocked_attempt"] * 4]
    assert (blocked["status"], blocked["fork_count"]) == ("blocked", 0)
    assert waiting == [first["session"]["sessionId"]]
    assert (done["status"], done["fork_count"]) == ("in_progress", 0)
    assert "recap" not in after


@pytest.mark.promise("gaps.never-stop")
def test_never_stop_goes_on_and_records_a_critical_gap_instead(runtime: Runtime) -> None:
    first = begin(runtime, step("decide", **WITH_DECISION), fields=NO_FIELDS, preferences=NEVER_STOP)

    end = report(runtime, first["ackToken"], notes="no time")
    run = shown(runtime, first)

    assert (end["kind"], end["isComplete"]) == ("ok", True)
    assert run["status"] == "complete_with_gaps"
    (gap,) = run["gaps"]
    assert (gap["severity"], gap["reason"]) == ("critical", "contract_violation:missing_required_output")
    assert gap["is_open"]


@pytest.mark.promise("gaps.resolved")
def test_a_later_gap_resolves_an_earlier_one_by_link(runtime: Runtime) -> None:
    first = begin(runtime, step("decide"), step("mend"), fields=NO_FIELDS, preferences=NEVER_STOP)
    missing = {"kind": "wr.gap", "severity": "warning", "summary": "Nobody wrote the decision down."}
    second = report(runtime, first["ackToken"], missing)
    gap_id = shown(runtime, first)["gaps"][0]["id"]
    resolving = {
        "kind": "wr.gap",
        "severity": "info",
        "summary": "The decision is in ADR 7.",
        "resolvesGapId": gap_id,
    }

    report(runtime, second["ackToken"], resolving)
    run = shown(runtime, first)

    assert run["status"] == "complete"
    assert [(gap["reason"], gap["is_open"]) for gap in run["gaps"]] == [("reported", False)] * 2


def test_agents_sentence_leaves_a_missing_output_open(runtime: Runtime) -> None:
    first = begin(
        runtime, step("decide", **WITH_DECISION), step("mend"), fields=NO_FIELDS, preferences=NEVER_STOP
    )
    second = report(runtime, first["ackToken"])
    gap_id = shown(runtime, first)["gaps"][0]["id"]
    resolving = {
        "kind": "wr.gap",
        "severity": "info",
        "summary": "The decision is in ADR 7.",
        "resolvesGapId": gap_id,
    }

    report(runtime, second["ackToken"], resolving)

    assert shown(runtime, first)["status"] == "complete_with_gaps"


@pytest.mark.promise("user-only.answer")
@pytest.mark.parametrize("mode", [{}, STOP_ON_USER], ids=["guided", "stop on user"])
def test_what_only_the_user_can_give_waits_for_the_users_answer(
    runtime: Runtime, mode: dict[str, str]
) -> None:
    asking = step("sign", userOnly={"reason": "needs_user_approval"})
    first = begin(runtime, asking, step("do"), fields=NO_FIELDS, preferences=mode)

    blocked = advance(runtime, first, "I would approve it.")
    after = report(
        runtime, blocked["retryAckToken"], {"kind": "wr.user_input", "answer": "yes", "givenBy": "user"}
    )

    assert blocked["blockers"][0]["code"] == "USER_ONLY_DEPENDENCY"
    assert blocked["nextIntent"] == "await_user_confirmation"
    assert blocked["example"] == {
        "kind": "wr.user_input",
        "answer": "<what the user said>",
        "givenBy": "user",
    }
    assert after["pending"]["stepId"] == "do"


def test_assessment_below_its_gate_blocks_with_guidance(runtime: Runtime) -> None:
    fields = {
        "assessments": [
            {"id": "ready", "purpose": "Is it ready?", "dimensions": {"tests": ["none", "some", "all"]}}
        ]
    }
    gate = {"assessmentId": "ready", "followups": {"none": "Write one test that fails without the fix."}}
    first = begin(runtime, step("judge", gates=[gate]), step("ship"), fields=fields)

    def judged(level: str) -> dict[str, Any]:
        return {"kind": "wr.assessment", "assessmentId": "ready", "dimensions": {"tests": level}}

    missing = report(runtime, first["ackToken"])
    low = report(runtime, missing["retryAckToken"], judged("none"))
    wrong = report(runtime, low["retryAckToken"], judged("plenty"))
    fine = report(runtime, wrong["retryAckToken"], judged("some"))

    assert [reply["blockers"][0]["code"] for reply in (missing, low, wrong)] == [
        "MISSING_REQUIRED_OUTPUT",
        "INVALID_REQUIRED_OUTPUT",
        "INVALID_REQUIRED_OUTPUT",
    ]
    assert "Write one test that fails without the fix." in low["blockers"][0]["suggestedFix"]
    assert "none, some, all" in wrong["blockers"][0]["message"]
    assert missing["example"]["dimensions"] == {"tests": "some"}
    assert fine["pending"]["stepId"] == "ship"


@pytest.mark.promise("capabilities.required")
def test_required_capability_is_probed_first_and_can_stop(
    runtime: Runtime,
) -> None:
    first = begin(runtime, step("research"), fields={"capabilities": {"web_browsing": "required"}})

    def seen(status: str) -> dict[str, Any]:
        return {
            "kind": "wr.capability_observation",
            "capability": "web_browsing",
            "status": status,
            "summary": "Tried to fetch a page.",
        }

    unknown = report(runtime, first["ackToken"], seen("unknown"))
    missing = report(runtime, unknown["retryAckToken"], seen("unavailable"))
    back = rehydrate(runtime, missing)
    there = report(runtime, back["ackToken"], seen("available"))

    assert unknown["blockers"][0]["code"] == "REQUIRED_CAPABILITY_UNKNOWN"
    assert missing["blockers"][0]["code"] == "REQUIRED_CAPABILITY_UNAVAILABLE"
    assert missing["blockers"][0]["pointer"] == {"kind": "capability", "capability": "web_browsing"}
    assert (missing["retryable"], missing["nextIntent"]) == (False, "rehydrate_only")
    assert missing["nextCall"]["params"] == {"stateToken": missing["stateToken"]}
    assert there["pending"]["stepId"] == "research"
    assert shown(runtime, first)["capabilities"] == {"web_browsing": "available"}


@pytest.mark.promise("capabilities.preferred")
def test_a_preferred_capability_that_is_missing_is_a_warning(runtime: Runtime) -> None:
    first = begin(
        runtime, step("review"), step("merge"), fields={"capabilities": {"delegation": "preferred"}}
    )
    seen = {
        "kind": "wr.capability_observation",
        "capability": "delegation",
        "status": "unavailable",
        "summary": "No tool starts a subagent.",
    }

    after = report(runtime, first["ackToken"], seen)

    assert after["pending"]["stepId"] == "merge"
    assert [warning["code"] for warning in after["warnings"]] == ["CAPABILITY_UNAVAILABLE"]


@pytest.mark.promise("blocked.retry")
def test_long_notes_of_a_blocked_attempt_count_for_its_retry(runtime: Runtime) -> None:
    """Longer than an event holds: what the rule asks for stands only in the blob."""
    rule = {"type": "contains", "value": "the very end", "message": "Say how it ends."}
    asked = step("decide", validationCriteria=[rule], **WITH_DECISION)
    first = begin(runtime, asked, step("do"), fields=NO_FIELDS)

    blocked = report(runtime, first["ackToken"], notes="word " * 2_000 + "the very end")
    after = report(runtime, blocked["retryAckToken"], A_DECISION)

    assert len(blocked["blockers"]) == 1
    assert after["pending"]["stepId"] == "do"


DIVERGED = {"kind": "wr.workflow_divergence", "reason": "efficiency_skip", "summary": "Took the short way."}


@pytest.mark.promise("divergence.told")
def test_divergence_counts_at_a_choice_and_at_a_checkpoint(runtime: Runtime) -> None:
    steps = (choice("way", option("left"), option("right")), step("do"))
    first = begin(runtime, *steps, fields=NO_FIELDS)
    token = first["pending"]["choices"][0]["token"]

    second = report(runtime, token, DIVERGED)
    output = {"notesMarkdown": "half way", "artifacts": [DIVERGED]}
    answer(runtime, "run.checkpoint", checkpointToken=second["checkpointToken"], output=output)

    told = shown(runtime, first)["divergences"]
    assert [(row["reason"], row["step_id"]) for row in told] == [
        ("efficiency_skip", "way"),
        ("efficiency_skip", "do"),
    ]


@pytest.mark.promise("divergence.told")
def test_divergence_on_purpose_is_recorded_and_shown(runtime: Runtime) -> None:
    first = begin(runtime, step("migrate"), fields=NO_FIELDS)
    told = {"kind": "wr.workflow_divergence", "reason": "safety_stop", "summary": "The database is live."}

    untrue = report(runtime, first["ackToken"], told | {"reason": "lazy"})
    report(runtime, untrue["retryAckToken"], told)

    assert untrue["blockers"][0]["pointer"]["contractRef"] == "wr.contracts.workflow_divergence"
    assert shown(runtime, first)["divergences"] == [
        {
            "reason": "safety_stop",
            "step_id": "migrate",
            "summary": "The database is live.",
            "_untrusted": ["summary"],
        }
    ]


@pytest.mark.parametrize(
    ("artifacts", "param"),
    [
        ([{"text": "no kind"}], "output.artifacts[0].kind"),
        ([{"kind": "x", "text": "y" * 65_536}], "output.artifacts[0]"),
        ([{"kind": "x", "n": number} for number in range(33)], "output.artifacts"),
        ([{"kind": "x", "n": number, "text": "y" * 60_000} for number in range(5)], "output.artifacts"),
    ],
    ids=["kind", "one too large", "too many", "too much together"],
)
def test_artifacts_over_a_limit_are_refused_and_not_stored(
    runtime: Runtime, artifacts: list[dict[str, Any]], param: str
) -> None:
    from tests.journeys.conversation import refusal

    first = begin(runtime, step("do"), fields=NO_FIELDS)
    before = commits_of(runtime)

    failure = refusal(runtime, "run.continue", ackToken=first["ackToken"], output={"artifacts": artifacts})

    assert failure.kind.code == "VALIDATION_ERROR"
    assert failure.details["problems"][0]["param"] == param
    assert commits_of(runtime) == before
