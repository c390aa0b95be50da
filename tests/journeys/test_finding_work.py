"""Finding workflows and sessions: lists, pages, resuming, and calls that do not fit."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.runtime.runtime import Runtime
from tests.conftest import THREE_STEPS, FixedClock, GivenFiles
from tests.journeys.conversation import advance, answer, refusal, rehydrate, start


def add(runtime: Runtime, content: bytes, name: str) -> None:
    assert isinstance(runtime.library, GivenFiles)
    runtime.library.add(content, name)


def named(workflow_id: str) -> bytes:
    return json.dumps(json.loads(THREE_STEPS) | {"id": workflow_id}).encode()


@pytest.mark.promise("workflows.broken-file")
def test_one_broken_file_is_listed_with_its_problems_and_hides_nothing(runtime: Runtime) -> None:
    add(runtime, b'{"id": "project.broken", "steps": []}', "broken.json")
    add(runtime, b"", "empty.json")
    add(runtime, named("project.whole"), "whole.json")

    items = answer(runtime, "workflow.list")["items"]

    assert {item["id"]: len(item.get("problems", [])) for item in items} == {
        "broken.json": 3,
        "empty.json": 1,
        "project.three_steps": 0,
        "project.whole": 0,
    }
    assert refusal(runtime, "run.start", workflowId="broken.json").kind.code == "WORKFLOW_INVALID"


@pytest.mark.promise("workflows.reserved")
def test_a_project_can_neither_define_nor_shadow_a_reserved_workflow(runtime: Runtime) -> None:
    add(runtime, named("wr.mine"), "mine.json")
    add(runtime, named("project.three_steps"), "twin.json")

    reserved = refusal(runtime, "run.start", workflowId="wr.mine")
    problems = [item for item in answer(runtime, "workflow.list")["items"] if item.get("problems")]

    assert reserved.kind.code == "WORKFLOW_ID_RESERVED"
    assert [item["problems"][0]["code"] for item in problems] == ["shadowed_id", "reserved_id"]


def test_a_misspelt_workflow_gets_the_right_name(runtime: Runtime) -> None:
    failure = refusal(runtime, "workflow.inspect", workflowId="project.three_stesp")

    assert failure.kind.code == "WORKFLOW_NOT_FOUND"
    assert failure.details["did_you_mean"] == ["project.three_steps"]


def test_a_workflow_without_a_namespace_runs_with_a_warning(runtime: Runtime) -> None:
    add(runtime, named("three-steps"), "legacy.json")

    reply = start(runtime, workflowId="three-steps", requestId="legacy")
    again = start(runtime, workflowId="three-steps", requestId="legacy")

    assert [warning["code"] for warning in reply["warnings"]] == ["WORKFLOW_ID_LEGACY"]
    assert "project.three_steps" in reply["warnings"][0]["message"]
    assert again == reply


def test_inspecting_shows_titles_but_no_prompts(runtime: Runtime) -> None:
    detail = answer(runtime, "workflow.inspect", workflowId="project.three_steps", part="steps")["workflow"]

    assert [step["title"] for step in detail["steps"]] == ["First", "Second", "Third"]
    assert "Do the first thing" not in json.dumps(detail)


@pytest.mark.promise("resume.by-id")
def test_a_session_or_run_id_leads_back_to_the_pending_step(runtime: Runtime) -> None:
    second = advance(runtime, start(runtime, goal="mend it"), "found the cause")

    for query in (second["session"]["sessionId"], second["session"]["runId"]):
        found = answer(runtime, "session.resume", query=query)["items"]
        back = answer(runtime, "run.continue", **found[0]["nextCall"]["params"])

        assert len(found) == 1
        assert (found[0]["goal"], found[0]["pendingTitle"]) == ("mend it", "Second")
        assert found[0]["_untrusted"] == ["goal", "snippet"]
        assert back["pending"] == second["pending"]


@pytest.mark.promise("resume.latest")
def test_without_a_query_the_latest_sessions_are_offered_five_at_most(runtime: Runtime) -> None:
    replies = [start(runtime, goal=f"goal {number}") for number in range(7)]
    advance(runtime, replies[0])

    found = answer(runtime, "session.resume")["items"]

    assert [item["goal"] for item in found] == ["goal 0", "goal 6", "goal 5", "goal 4", "goal 3"]
    assert answer(runtime, "session.resume", query="no such words")["items"] == []


@pytest.mark.promise("sessions.paging")
def test_pages_of_two_joined_are_the_whole_list(runtime: Runtime) -> None:
    started = [start(runtime)["session"]["sessionId"] for _ in range(5)]

    seen: list[str] = []
    params: dict[str, Any] = {"limit": 2}
    while True:
        page = answer(runtime, "session.list", **params)
        seen += [item["id"] for item in page["items"]]
        if not page["has_more"]:
            break
        params["cursor"] = page["next_cursor"]

    assert seen == started[::-1]
    assert [item["id"] for item in answer(runtime, "session.list")["items"]] == seen


@pytest.mark.promise("sessions.paging")
def test_a_cursor_of_another_query_or_hour_is_refused(runtime: Runtime) -> None:
    for _ in range(3):
        start(runtime)
    cursor = answer(runtime, "session.list", limit=1)["next_cursor"]
    assert isinstance(runtime.clock, FixedClock)

    filtered = refusal(runtime, "session.list", limit=1, status="complete", cursor=cursor)
    made_up = refusal(runtime, "session.list", limit=1, cursor="cu1AAAA")
    runtime.clock.seconds += 3_601
    late = refusal(runtime, "session.list", limit=1, cursor=cursor)

    assert filtered.kind.code == "TOKEN_SCOPE_MISMATCH"
    assert made_up.kind.code == "INVALID_TOKEN"
    assert late.kind.code == "TOKEN_EXPIRED"


def test_sessions_can_be_filtered_by_status_and_workflow(runtime: Runtime) -> None:
    reply = start(runtime)
    for _ in range(3):
        reply = advance(runtime, reply)
    other = start(runtime)

    complete = answer(runtime, "session.list", status="complete")["items"]
    running = answer(runtime, "session.list", status="in_progress", workflow="project.three_steps")["items"]

    assert [item["id"] for item in complete] == [reply["session"]["sessionId"]]
    assert [item["id"] for item in running] == [other["session"]["sessionId"]]
    assert answer(runtime, "session.list", workflow="wr.none")["count"] == 0


@pytest.mark.promise("input.all-problems")
def test_every_problem_of_a_call_is_reported_at_once(runtime: Runtime) -> None:
    failure = refusal(runtime, "run.start", workflowid="x", goal=7, bogus=1, requestId="no spaces")

    problems = {problem["param"]: problem for problem in failure.details["problems"]}
    assert failure.kind.code == "VALIDATION_ERROR"
    assert set(problems) == {"workflowid", "goal", "bogus", "requestId"}
    assert problems["workflowid"]["did_you_mean"] == "workflowId"
    assert failure.next_call is None


@pytest.mark.promise("input.all-problems")
def test_a_call_whose_names_alone_are_wrong_is_repaired(runtime: Runtime) -> None:
    failure = refusal(runtime, "run.start", workflow_id="project.three_steps", request_id="a-1")

    assert failure.next_call is not None
    assert failure.next_call.params == {"workflowId": "project.three_steps", "requestId": "a-1"}
    assert answer(runtime, failure.next_call.operation, **failure.next_call.params)["kind"] == "ok"


def test_an_unknown_session_is_not_found_with_a_suggestion(runtime: Runtime) -> None:
    session_id = start(runtime)["session"]["sessionId"]

    failure = refusal(runtime, "session.show", sessionId=session_id[:-1] + "0")

    assert failure.kind.code == "SESSION_NOT_FOUND"
    assert failure.details["did_you_mean"] == [session_id]


def test_a_finished_run_can_still_be_read(runtime: Runtime) -> None:
    reply = start(runtime)
    for number in range(3):
        reply = advance(runtime, reply, f"notes {number}")

    shown = rehydrate(runtime, reply)

    assert shown["isComplete"] is True
    assert [entry["notes"] for entry in shown["recap"]["entries"]] == ["notes 0", "notes 1", "notes 2"]
