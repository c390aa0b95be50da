"""Finding workflows and sessions: lists, pages, resuming, and calls that do not fit."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.host.workflow_library import list_bundled_files
from handrail.runtime.runtime import Runtime
from tests.conftest import THREE_STEPS, FixedClock, GivenFiles, GivenWorkspace
from tests.journeys.conversation import advance, answer, refusal, save, start
from tests.journeys.interfaces import tool_call


def add(runtime: Runtime, content: bytes, name: str) -> None:
    assert isinstance(runtime.library, GivenFiles)
    runtime.library.add(content, name)


def named(workflow_id: str) -> bytes:
    return json.dumps(json.loads(THREE_STEPS) | {"id": workflow_id}).encode()


def test_broken_file_is_listed_and_hides_nothing(runtime: Runtime) -> None:
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
def test_project_cannot_define_or_shadow_a_reserved_workflow(runtime: Runtime) -> None:
    add(runtime, named("wr.mine"), "mine.json")
    add(runtime, named("project.three_steps"), "twin.json")

    reserved = refusal(runtime, "run.start", workflowId="wr.mine")
    problems = [item for item in answer(runtime, "workflow.list")["items"] if item.get("problems")]

    assert reserved.kind.code == "WORKFLOW_ID_RESERVED"
    assert [item["problems"][0]["code"] for item in problems] == ["shadowed_id", "shadowed_id", "reserved_id"]


@pytest.mark.promise("resume.by-id")
def test_a_session_or_run_id_leads_back_to_the_pending_step(runtime: Runtime) -> None:
    first = start(runtime, goal="mend it")
    second = advance(runtime, first, "found the cause")

    for query in (first["session"]["sessionId"], first["session"]["runId"]):
        found = answer(runtime, "session.resume", query=query)["items"]
        back = answer(runtime, "run.continue", **found[0]["nextCall"]["params"])

        assert len(found) == 1
        assert (found[0]["goal"], found[0]["pendingTitle"]) == ("mend it", "Second")
        assert found[0]["_untrusted"] == ["project", "goal", "snippet", "pendingTitle"]
        assert second["pending"].items() <= back["pending"].items()


@pytest.mark.promise("resume.latest")
def test_no_query_offers_the_latest_five_sessions(runtime: Runtime) -> None:
    replies = [start(runtime, goal=f"goal {number}") for number in range(7)]
    advance(runtime, replies[0])

    found = answer(runtime, "session.resume")["items"]

    assert [item["goal"] for item in found] == ["goal 0", "goal 6", "goal 5", "goal 4", "goal 3"]
    assert {item["whyMatched"][-1] for item in found} == {"recent activity"}


@pytest.mark.promise("resume.latest")
def test_unknown_words_get_the_latest_sessions_and_say_so(runtime: Runtime) -> None:
    start(runtime, goal="mend it")

    by_words = answer(runtime, "session.resume", query="no such words")
    by_id = answer(runtime, "session.resume", query="ses_000000000000")
    by_branch = answer(runtime, "session.resume", branch="no-such-branch")

    assert by_words["scope"].startswith("nothing matches in 1 of 1 sessions")
    assert [item["whyMatched"] for item in by_words["items"]] == [["recent activity"]]
    assert (by_id["items"], by_branch["items"]) == ([], [])


def workspace(runtime: Runtime) -> GivenWorkspace:
    assert isinstance(runtime.workspace, GivenWorkspace)
    return runtime.workspace


def test_the_more_certain_match_comes_first_and_says_why(runtime: Runtime) -> None:
    seen = workspace(runtime).seen
    head = "0123456789abcdef0123456789abcdef01234567"
    oldest = advance(runtime, start(runtime, goal="rename things"), "Traced PARSER-7 to the reader.")
    advance(runtime, oldest, "Nothing else.")
    seen["git_branch"] = "parser-7-fix"
    on_branch = start(runtime, goal="other")
    seen["git_branch"], seen["git_head_sha"] = "main", head
    at_head = start(runtime, goal="third")
    in_notes = advance(runtime, start(runtime, goal="fourth"), "Parser-7 is done.")
    in_goal = start(runtime, goal="mend parser-7 now")

    found = answer(runtime, "session.resume", query="parser-7")["items"]
    by_head = answer(runtime, "session.resume", query=head)["items"]
    by_flags = answer(runtime, "session.resume", head=head.upper(), branch="parser-")["items"]

    sessions = [reply["session"]["sessionId"] for reply in (on_branch, in_goal, in_notes, oldest)]
    assert [item["sessionId"] for item in found] == sessions
    assert [item["whyMatched"] for item in found] == [
        ["git branch"],
        ["goal"],
        ["newest notes"],
        ["earlier output"],
    ]
    assert found[3]["snippet"] == "Traced PARSER-7 to the reader."
    assert at_head["session"]["sessionId"] in [item["sessionId"] for item in by_head]
    assert {tuple(item["whyMatched"]) for item in by_head} == {("git head",)}
    assert [item["whyMatched"] for item in by_flags][-1] == ["git branch"]


def test_work_of_this_branch_comes_before_newer_work(runtime: Runtime) -> None:
    seen = workspace(runtime).seen
    seen |= {"repo_root_hash": "a" * 32, "git_branch": "feature"}
    here = start(runtime, goal="here")
    seen |= {"repo_root_hash": "b" * 32}
    start(runtime, goal="same branch name, other repository")
    seen |= {"repo_root_hash": "a" * 32, "git_branch": "main"}
    start(runtime, goal="newest")
    seen |= {"git_branch": "feature"}

    found = answer(runtime, "session.resume")["items"]

    assert found[0]["sessionId"] == here["session"]["sessionId"]
    assert found[0]["whyMatched"] == ["git branch of this project", "recent activity"]
    assert [item["goal"] for item in found[1:]] == ["newest", "same branch name, other repository"]


def test_a_branch_that_changed_on_the_way_finds_the_run_too(runtime: Runtime) -> None:
    seen = workspace(runtime).seen
    first = start(runtime)
    seen["git_branch"] = "late-branch"
    second = advance(runtime, first)
    save(runtime, second, "x")

    found = answer(runtime, "session.resume", query="late-branch")["items"]
    recorded = events_of(runtime, first, "observation_recorded")

    assert [item["runId"] for item in found] == [first["session"]["runId"]]
    assert recorded == [("git_branch", "main", False), ("git_branch", "late-branch", True)]


def events_of(runtime: Runtime, reply: dict[str, Any], kind: str) -> list[tuple[str, str, bool]]:
    """Observations as key, value and whether a node is named."""
    loaded = runtime.log.load(reply["session"]["sessionId"])
    assert loaded is not None
    bodies = [json.loads(record.body) for record in loaded.records]
    return [
        (body["data"]["key"], body["data"]["value"], "nodeId" in body["scope"])
        for body in bodies
        if body["data"]["kind"] == kind
    ]


def test_every_run_of_a_session_is_a_candidate_of_its_own(runtime: Runtime) -> None:
    add(runtime, named("project.other"), "other.json")
    outer = start(runtime, goal="outer")
    inner = start(runtime, workflowId="project.other", goal="inner", session=outer["session"]["sessionId"])

    found = answer(runtime, "session.resume", query=outer["session"]["sessionId"])["items"]
    by_name = answer(runtime, "session.resume", query="project.other")["items"]

    assert [(item["runId"], item["goal"]) for item in found] == [
        (inner["session"]["runId"], "inner"),
        (outer["session"]["runId"], "outer"),
    ]
    assert by_name[0]["runId"] == inner["session"]["runId"]
    assert by_name[0]["whyMatched"] == ["workflow"]


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


MOST_LIST_TEXT = 3_500
"""Characters of the list of bundled workflows (agent-experience, section 5)."""


def test_every_bundled_workflow_stands_in_one_short_list(runtime: Runtime) -> None:
    assert isinstance(runtime.library, GivenFiles)
    runtime.library.held[:] = list_bundled_files()

    listed = tool_call(runtime, "list_workflows")
    ranked = tool_call(runtime, "list_workflows", query="find and fix the cause of a bug")

    assert listed.structured["has_more"] is False
    assert len(listed.structured["items"]) == listed.structured["total"] > 25
    assert len(listed.text) <= MOST_LIST_TEXT
    assert ranked.structured["items"][0]["id"] == "wr.bug_investigation"
