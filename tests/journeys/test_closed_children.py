"""Work that was delegated and closed: what the step says, what it offers, and what nobody loses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.runtime.runtime import Runtime
from tests.journeys.conversation import advance, answer, refusal, rehydrate
from tests.journeys.given_workflows import begin, step
from tests.journeys.interfaces import command, events_of, of_kind, tool_call
from tests.journeys.test_delegation import arrive, child, finish, handing_out, read, take


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
    assert refused[0].details["children"][1]["workToken"] == waiting["children"][1]["workToken"]
    assert refused[0].next_call is not None
    offered = answer(runtime, "run.continue", **refused[0].next_call.params)
    assert len(events_of(runtime, waiting)) == before
    assert take(runtime, offered, "without")["pending"]["stepId"] == "conclude"


def test_a_closed_child_is_told_at_once_wherever_the_run_is_read(runtime: Runtime) -> None:
    waiting = arrive(runtime, child("a"), child("b"))
    a, b = waiting["children"]
    answer(runtime, "run.close", run=read(runtime, a)["session"]["runId"], reason="done_elsewhere")

    early, needed = rehydrate(runtime, waiting), answer(runtime, "session.inbox")["items"]
    finish(runtime, b)
    late = rehydrate(runtime, waiting)
    still = answer(runtime, "session.inbox")["items"]
    take(runtime, late, "without")

    assert [(one["status"], one.get("closed", "")) for one in early["children"]] == [
        ("closed", "done_elsewhere"),
        ("open", ""),
    ]
    assert "a, which was closed (done elsewhere)." in early["pending"]["prompt"]
    assert "Once nobody is at work" in early["pending"]["prompt"]
    assert "all of them are done" not in late["pending"]["prompt"]
    assert "again: Delegate the closed work again;" in late["pending"]["prompt"]
    parent = waiting["session"]["runId"]
    assert [(one["kind"], one["run_id"]) for one in (*needed, *still)] == [("blocked", parent)] * 2
    assert needed[0]["why"] == "Review waits for a, which was closed (done elsewhere)."
    assert [one["kind"] for one in answer(runtime, "session.inbox")["items"]] == ["gap"]


def test_late_work_that_was_delegated_again_says_so(runtime: Runtime) -> None:
    waiting = arrive(runtime, child("a", step("look"), step("sum")), child("b"))
    a, b = waiting["children"]
    early = read(runtime, a)
    answer(runtime, "run.close", run=early["session"]["runId"], reason="abandoned")
    finish(runtime, b)
    again = take(runtime, rehydrate(runtime, waiting), "again")

    seen = read(runtime, a)
    reported = advance(runtime, early, notes="late")
    ended, replayed = (advance(runtime, reported, notes="later") for _ in range(2))
    finish(runtime, again["children"][0])
    joined = advance(runtime, rehydrate(runtime, again))

    told = [one["warnings"][0] for one in (seen, reported, ended)]
    assert {one["code"] for one in told} == {"NOBODY_WAITS"}
    assert all("delegated again" in one["message"] for one in told)
    assert (ended["pending"], ended) == (None, replayed)
    assert again["nextCall"]["params"] == {"stateToken": again["children"][0]["workToken"]}
    assert again["progress"] == waiting["progress"]
    found = of_kind(events_of(runtime, joined), "context_set")[-1]["data"]["context"]["findings"]
    assert [(row["child"], row["notes"]) for row in found] == [("a", "a-2 did sum"), ("b", "b did look")]
    assert advance(runtime, joined)["closing"].startswith("Done: 3 steps.")


def test_a_result_can_be_taken_from_the_text_alone(runtime: Runtime) -> None:
    steps = (step("plan"), handing_out(child("a"), child("b"), collect="findings"), step("conclude"))
    begun = begin(runtime, *steps, fields={})
    finish(runtime, advance(runtime, begun)["children"][0])
    params = {"ackToken": rehydrate(runtime, begun)["ackToken"], "output": {"notesMarkdown": "anew"}}

    arrived = tool_call(runtime, "continue_workflow", **params)
    token = arrived.structured["pending"]["choices"][0]["token"]
    _, shown = command(runtime, "run", "continue", "--ack", params["ackToken"], "--notes", "anew")
    taken = answer(runtime, "run.continue", ackToken=token)
    found = answer(
        runtime, "session.export", **{"sessionId": taken["session"]["sessionId"], "as": "markdown"}
    )

    assert "# Given\n" in str(found["content"])
    assert arrived.structured["pending"]["prompt"].startswith("This work is handed out: ")
    assert arrived.structured["nextCall"]["options"] == [{"id": "take:a", "params": {"ackToken": token}}]
    for call in ({"ackToken": token}, {"stateToken": arrived.structured["children"][0]["workToken"]}):
        assert f"continue_workflow {json.dumps(call, separators=(',', ':'))}" in arrived.text
    lines = [one["command"] for one in shown["meta"]["notices"] if one["type"] == "next_command"]
    assert [token in lines[0], "--state wk1" in lines[1]] == [True, True]
    assert taken["nextCall"]["params"] == {"stateToken": arrived.structured["children"][1]["workToken"]}


def test_child_with_a_question_is_listed_after_the_others(runtime: Runtime) -> None:
    asking = step("ask", requireConfirmation=True)
    waiting = arrive(runtime, child("a", asking), child("b"))

    told = rehydrate(runtime, waiting)
    found = answer(runtime, "session.resume")["items"][0]["children"]
    needed = answer(runtime, "session.inbox")["items"]

    assert [one["status"] for one in told["children"]] == ["needs_person", "open"]
    assert [one["status"] for one in found] == ["needs_person", "open"]
    assert told["nextCall"]["params"] == {"stateToken": waiting["children"][1]["workToken"]}
    assert [one["title"] for one in needed] == ["a: Ask"]


def test_tokens_of_two_children_lead_to_the_named_work(runtime: Runtime) -> None:
    a, b = arrive(runtime, child("a"), child("b"))["children"]
    ack = read(runtime, b)["ackToken"]

    mixed = refusal(runtime, "run.continue", ackToken=ack, stateToken=a["workToken"], output={})

    assert mixed.kind.code == "TOKEN_SCOPE_MISMATCH"
    assert mixed.next_call is not None
    assert mixed.next_call.params == {"stateToken": a["workToken"]}
    assert read(runtime, b)["ackToken"] == ack
