"""Work belongs to a project: found there first, marked elsewhere, never offered as if it were here."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.runtime.runtime import Runtime
from handrail.surfaces.cli.hook import answer_hook
from handrail.surfaces.mcp.resources import list_resources, read_resource
from tests.conftest import THREE_STEPS, library_of, workspace_of
from tests.journeys.conversation import advance, answer, start
from tests.journeys.interfaces import command, tool_call
from tests.surfaces.cli.here import run_here

HERE, THERE = "/home/me/shop", "/home/me/blog"


@pytest.fixture
def shop(runtime: Runtime) -> Runtime:
    """A caller who stands in one of two projects, neither of which is a git repository."""
    workspace_of(runtime).directory = HERE
    workspace_of(runtime).seen = {}
    return runtime


def resumed(runtime: Runtime, **params: Any) -> tuple[str, dict[str, Any]]:
    rendered = tool_call(runtime, "resume_session", **params)
    return rendered.text, rendered.structured


def hook(runtime: Runtime) -> str:
    return answer_hook(lambda: runtime, "SessionStart", b"", lambda _: 0).out


def test_older_work_of_this_project_comes_first(shop: Runtime) -> None:
    mine = start(shop, goal="mend the till")["session"]["sessionId"]
    theirs = start(shop, goal="mend the feed", project=THERE)["session"]["sessionId"]

    text, found = resumed(shop)
    asked_text, asked = resumed(shop, query="mend")
    _, printed = command(shop, "session", "resume", "mend")

    for items in (found["items"], asked["items"], printed["data"]["items"]):
        places = [(item["sessionId"], item["isHere"], item["project"]) for item in items]
        assert places == [(mine, True, "shop"), (theirs, False, "blog")]
    for told in (text, asked_text):
        before, _, after = told.partition(theirs)
        assert "Not of this project" not in before
        assert "Not of this project but of blog: ask the user" in after


def test_start_is_no_repeat_of_one_in_another_project(shop: Runtime) -> None:
    start(shop, goal="the same", project=THERE)

    elsewhere = start(shop, goal="the same")
    again = start(shop, goal="the same")

    assert "warnings" not in elsewhere or all(
        held["code"] != "DUPLICATE_START" for held in elsewhere["warnings"]
    )
    assert elsewhere["session"]["sessionId"] in str(again["warnings"])


def test_hook_is_silent_about_another_project_without_git(shop: Runtime) -> None:
    start(shop, project=THERE)
    before = hook(shop)

    mine = start(shop)["session"]["sessionId"]

    assert before == ""
    assert mine in hook(shop)


def test_that_nothing_matched_is_said_before_recent_work(shop: Runtime) -> None:
    session_id = start(shop, goal="mend the till")["session"]["sessionId"]

    text, found = resumed(shop, query="zeppelin")
    page = run_here(shop, ("session", "resume", "zeppelin", "--human")).out.decode()

    assert found["matched"] is False
    assert text.startswith("Nothing matches")
    assert [item["sessionId"] for item in found["items"]] == [session_id]
    assert page.index("Nothing matches") < page.index(session_id)
    assert resumed(shop, query="till")[1]["matched"] is True
    assert resumed(shop)[1]["matched"] is True


def test_finished_work_comes_last_and_only_to_be_read(shop: Runtime) -> None:
    older = start(shop, goal="still to do")["session"]["sessionId"]
    reply = start(shop, goal="all done")
    for _ in range(3):
        reply = advance(shop, reply)
    done = reply["session"]["sessionId"]

    text, found = resumed(shop)
    page = run_here(shop, ("session", "resume", "--human")).out.decode()

    assert [item["sessionId"] for item in found["items"]] == [older, done]
    assert "Continue: " in text.partition(done)[0]
    assert "Continue: " not in text.partition(done)[2]
    assert "Finished; to read it: " in text.partition(done)[2]
    assert "Read it" in page.partition(done)[2]


def test_only_the_last_finished_work_is_listed_unasked(
    shop: Runtime,
) -> None:
    waiting = start(shop, goal="still to do")["session"]["sessionId"]
    done = []
    for _ in range(3):
        reply = start(shop, goal="all done")
        for _ in range(3):
            reply = advance(shop, reply)
        done.append(reply["session"]["sessionId"])

    _, found = resumed(shop)
    _, asked = resumed(shop, query="all done")

    assert [item["sessionId"] for item in found["items"]] == [waiting, done[-1]]
    assert found["scope"].endswith("; other finished runs are found by a query")
    assert [item["sessionId"] for item in asked["items"]] == done[::-1]


def test_a_step_that_is_read_again_names_its_project(shop: Runtime) -> None:
    mine = start(shop)
    theirs = start(shop, project=THERE)

    at_home = tool_call(shop, "continue_workflow", stateToken=mine["stateToken"])
    away = tool_call(shop, "continue_workflow", stateToken=theirs["stateToken"])
    page = run_here(shop, ("run", "continue", "--state", theirs["stateToken"], "--human")).out.decode()

    assert at_home.structured["project"] == HERE
    assert "readIn" not in at_home.structured["recap"]
    assert away.structured["project"] == "blog"
    assert away.structured["recap"]["readIn"] == HERE
    assert f"This run belongs to the project blog, not to {HERE}" in away.text
    assert "This run belongs to the project blog, not to this one." in page


def test_branch_is_found_in_any_case_and_exact_names_first(shop: Runtime) -> None:
    found_at = {}
    for branch in ("Feature/Login", "feature/login-page"):
        workspace_of(shop).seen = {"git_branch": branch}
        found_at[branch] = start(shop)["session"]["sessionId"]
    workspace_of(shop).seen = {}

    _, by_query = resumed(shop, query="FEATURE/LOGIN")
    _, by_flag = command(shop, "session", "resume", "--branch", "feature/LOGIN")

    for items in (by_query["items"], by_flag["data"]["items"]):
        assert [item["sessionId"] for item in items] == [
            found_at["Feature/Login"],
            found_at["feature/login-page"],
        ]


def test_lists_name_the_project_and_the_log_has_no_path(shop: Runtime) -> None:
    session_id = start(shop)["session"]["sessionId"]

    listed = answer(shop, "session.list")["items"][0]
    by_project = answer(shop, "session.list", query="shop")
    shown = answer(shop, "session.show", sessionId=session_id)
    _, resources = [row["description"] for row in list_resources(shop, None)["resources"]][-2:]
    loaded = shop.log.load(listed["id"])

    assert (listed["project"], shown["project"]) == ("shop", "shop")
    assert by_project["count"] == 1
    assert resources.endswith("project shop")
    assert "Project shop." in read_resource(shop, f"handrail://sessions/{session_id}").text
    assert "shop" in run_here(shop, ("session", "show", session_id, "--human")).out.decode()
    assert loaded is not None
    assert all(b"/home" not in record.body for record in loaded.records)


def test_the_tags_of_a_workflow_find_its_runs(shop: Runtime) -> None:
    tagged = json.loads(THREE_STEPS) | {"id": "project.tagged", "tags": ["zeppelin", "night shift"]}
    library_of(shop).add(json.dumps(tagged).encode(), "tagged.json")
    start(shop)
    session_id = start(shop, workflowId="project.tagged")["session"]["sessionId"]

    _, found = resumed(shop, query="Shift zeppelin")
    listed = answer(shop, "session.list", query="zeppelin")

    assert [item["sessionId"] for item in found["items"]] == [session_id]
    assert found["items"][0]["whyMatched"] == ["workflow"]
    assert [row["id"] for row in listed["items"]] == [session_id]


def test_people_see_notes_and_checkpoints_of_a_session(shop: Runtime) -> None:
    first = start(shop)
    reply = advance(shop, first, "The till rounds twice.")
    save = ("run", "checkpoint", "--checkpoint", reply["checkpointToken"], "--human", "--notes")

    saved = run_here(shop, (*save, "Half way.")).out.decode()
    again = run_here(shop, (*save, "Half way.")).out.decode()
    other = run_here(shop, (*save, "Something else.")).out.decode()
    page = run_here(shop, ("session", "show", first["session"]["sessionId"], "--human")).out.decode()

    assert saved.startswith("Saved.")
    assert again == saved
    assert other.startswith("Nothing was saved")
    assert page.index("The till rounds twice.") < page.index("Half way.")
    assert "Something else." not in page
