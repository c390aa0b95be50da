"""Work that was handed out and closed: what the step says, what it offers, and what nobody loses."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.runtime.runtime import Runtime
from tests.journeys.conversation import advance, answer, refusal, rehydrate
from tests.journeys.doors import events_of, of_kind, tool_call
from tests.journeys.given_workflows import step
from tests.journeys.test_delegation import arrive, child, finish, handing_out, read, take


@pytest.mark.promise("delegation.closed")
def test_a_run_that_was_stopped_says_so_and_hands_out_nothing(runtime: Runtime) -> None:
    waiting = arrive(runtime, child("a"), child("b", step("look"), handing_out(child("c"))))
    a, b = waiting["children"]
    handed = advance(runtime, read(runtime, b))
    answer(runtime, "run.close", run=read(runtime, a)["session"]["runId"], reason="abandoned")
    answer(runtime, "run.close", run=handed["session"]["runId"], reason="abandoned")
    offered = rehydrate(runtime, waiting)

    stopped, replayed = (take(runtime, offered, "stop") for _ in range(2))
    text = tool_call(runtime, "continue_workflow", ackToken=offered["pending"]["choices"][2]["token"]).text
    told = [read(runtime, one)["warnings"][0] for one in (a, b, handed["children"][0])]
    reopened = take(runtime, rehydrate(runtime, stopped), "again")

    assert stopped == replayed
    assert not {"children", "ackToken", "choices"} & (stopped.keys() | stopped["pending"].keys())
    assert (stopped["nextIntent"], stopped["nextCall"], stopped["isComplete"]) == (
        "rehydrate_only",
        None,
        False,
    )
    assert stopped["pending"]["prompt"].startswith("This run is closed")
    assert stopped["recap"]["closed"]["reason"] == "abandoned"
    assert "This run was closed as abandoned" in text
    assert {one["code"] for one in told} == {"NOBODY_WAITS"}
    assert all("was closed" in one["message"] for one in told)
    assert [one["childId"] for one in reopened["children"]] == ["a-2", "b-2"]
    assert "warnings" not in read(runtime, reopened["children"][0])


@pytest.mark.promise("delegation.closed")
@pytest.mark.parametrize("needs", ["all", {"atLeast": 3}])
def test_no_result_of_a_child_that_still_works_is_left_behind(runtime: Runtime, needs: Any) -> None:
    waiting = arrive(runtime, child("a"), child("b"), child("c"), needs=needs)
    a, b, c = waiting["children"]
    finish(runtime, c)
    answer(runtime, "run.close", run=read(runtime, a)["session"]["runId"], reason="abandoned")

    still = rehydrate(runtime, waiting)
    finish(runtime, b)
    joined = take(runtime, rehydrate(runtime, waiting), "without")

    assert "choices" not in still["pending"]
    assert still["nextCall"]["params"] == {"stateToken": b["workToken"]}
    found = of_kind(events_of(runtime, joined), "context_set")[-1]["data"]["context"]["findings"]
    assert [row["child"] for row in found] == ["b", "c"]


@pytest.mark.promise("delegation.opened-once")
def test_an_older_token_of_the_step_hands_nothing_out_twice(runtime: Runtime) -> None:
    waiting = arrive(runtime, child("a"), child("b"))
    finish(runtime, waiting["children"][1])
    stale, tried = [], []
    for _ in range(4):
        now = rehydrate(runtime, waiting)
        answer(
            runtime,
            "run.close",
            run=read(runtime, now["children"][0])["session"]["runId"],
            reason="abandoned",
        )
        offered, other = (rehydrate(runtime, waiting) for _ in range(2))
        tried.append(now["children"][0]["childId"])
        if "again" in [one["id"] for one in offered["pending"]["choices"]]:
            take(runtime, offered, "again")
            stale += [one["token"] for one in other["pending"]["choices"]]
    before = len(events_of(runtime, waiting))

    refused = [refusal(runtime, "run.continue", ackToken=token) for token in stale]
    at_end = rehydrate(runtime, waiting)

    assert tried == ["a", "a-2", "a-3", "a-4"]
    assert [one["id"] for one in at_end["pending"]["choices"]] == ["without", "stop"]
    assert len(stale) == 9
    assert {one.kind.code for one in refused} == {"STEP_WAITS"}
    assert [one["childId"] for one in refused[0].details["children"]] == ["a-4", "b"]
    assert refused[0].next_call is not None
    offered = answer(runtime, "run.continue", **refused[0].next_call.params)
    assert len(events_of(runtime, waiting)) == before
    assert take(runtime, offered, "without")["pending"]["stepId"] == "conclude"


@pytest.mark.promise("delegation.closed")
def test_a_closed_child_is_told_at_once_wherever_the_run_is_read(runtime: Runtime) -> None:
    waiting = arrive(runtime, child("a"), child("b"))
    a, b = waiting["children"]
    answer(runtime, "run.close", run=read(runtime, a)["session"]["runId"], reason="done_elsewhere")

    early, needed = rehydrate(runtime, waiting), answer(runtime, "session.needs")["items"]
    finish(runtime, b)
    late = rehydrate(runtime, waiting)
    still = answer(runtime, "session.needs")["items"]
    take(runtime, late, "without")

    assert [(one["status"], one.get("closed", "")) for one in early["children"]] == [
        ("closed", "done_elsewhere"),
        ("open", ""),
    ]
    assert "a, which was closed (done elsewhere)." in early["pending"]["prompt"]
    assert "Once nobody is at work" in early["pending"]["prompt"]
    assert "all of them are done" not in late["pending"]["prompt"]
    assert "again: Hand the closed work out once more;" in late["pending"]["prompt"]
    parent = waiting["session"]["runId"]
    assert [(one["kind"], one["run_id"]) for one in (*needed, *still)] == [("blocked", parent)] * 2
    assert needed[0]["why"] == "Review waits for a, which was closed (done elsewhere)."
    assert [one["kind"] for one in answer(runtime, "session.needs")["items"]] == ["gap"]
