"""Sessions as people and agents find them again: work under way is seen, and so is damage and origin."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from handrail.runtime.runtime import Runtime
from tests.conftest import THREE_STEPS, FixedClock, GivenWorkspace, library_of
from tests.journeys.conversation import advance, answer, refusal, start
from tests.journeys.given_workflows import begin, give, step
from tests.journeys.interfaces import tool_call
from tests.journeys.test_moving_sessions import exported, imported
from tests.journeys.unproven_log import UnprovenLog
from tests.surfaces.cli.here import run_here

HEAD = "4f1c2a9be07d5533aa61c0de9b8a7f6e5d4c3b2a"
NO_FIELDS: dict[str, Any] = {}


class LaterClock(FixedClock):
    """Years after everything was recorded."""

    def now(self) -> str:
        return "2031-01-01T00:00:00.000Z"


def human(runtime: Runtime, *line: str) -> str:
    return run_here(runtime, (*line, "--human")).out.decode()


def session_of(reply: dict[str, Any]) -> str:
    return str(reply["session"]["sessionId"])


@pytest.mark.parametrize("ended", ["complete", "closed"])
def test_a_run_inside_another_that_is_over_does_not_hide_it(runtime: Runtime, ended: str) -> None:
    outer = start(runtime, goal="outer")
    inner = start(runtime, workflowId=give(runtime, step("only")), session=session_of(outer))
    if ended == "complete":
        advance(runtime, inner)
    else:
        answer(runtime, "run.close", run=inner["stateToken"], reason="abandoned")

    (listed,) = answer(runtime, "session.list")["items"]
    shown = answer(runtime, "session.show", sessionId=session_of(outer))
    report = answer(runtime, "session.export", sessionId=session_of(outer), **{"as": "markdown"})
    closed = answer(runtime, "run.close", run=session_of(outer), reason="abandoned")

    assert sorted(run["status"] for run in shown["runs"]) == sorted([ended, "in_progress"])
    assert listed["status"] == shown["status"] == "in_progress"
    assert (listed["run_id"], listed["pending_step"]) == (outer["session"]["runId"], "first")
    assert "Status: **in progress**" in report["content"]
    assert closed["run_id"] == outer["session"]["runId"]


def test_finished_session_is_not_offered_to_go_on_with(runtime: Runtime) -> None:
    first = begin(runtime, step("only"), fields=NO_FIELDS)
    going_on = human(runtime, "session", "show", session_of(first))
    advance(runtime, first)

    finished = human(runtime, "session", "show", session_of(first))

    assert "Continue it" in going_on
    assert "Continue it" not in finished
    assert "As a report: handrail session export" in finished


def test_people_see_project_damage_and_origin_in_a_list(runtime: Runtime) -> None:
    here = start(runtime, goal="here")
    start(runtime, goal="away", project="/elsewhere/Müller und Söhne")
    copy = imported(runtime, exported(runtime, session_of(here)))["session_id"]
    doubted: Any = msgspec.structs.replace(runtime, log=UnprovenLog(runtime.log))

    rows = human(runtime, "session", "list").splitlines()
    damaged = human(doubted, "session", "list")
    shown = human(runtime, "session", "show", copy)
    found = human(runtime, "session", "resume", copy)

    by_id = {row.split()[0]: about for row, about in pairwise(rows) if row.startswith("ses_")}
    assert "Müller und Söhne" in "\n".join(rows)
    assert "in progress, damaged" in damaged
    assert "in progress" in by_id[session_of(here)]
    assert "imported" not in by_id[session_of(here)]
    assert "imported" in by_id[copy]
    assert f"from session {session_of(here)} in bundle " in " ".join(shown.split())
    assert f"from {session_of(here)}" in found


def test_people_see_why_the_instructions_were_left(runtime: Runtime) -> None:
    left = {"kind": "workflow_divergence", "reason": "safety_stop", "summary": "Did not touch the live one."}
    gap = {"kind": "wr.gap", "severity": "warning", "summary": "Found later."}
    first = begin(runtime, step("only"), fields=NO_FIELDS)
    output = {"notesMarkdown": "n", "artifacts": [left]}
    ended = answer(runtime, "run.continue", ackToken=first["ackToken"], output=output)
    answer(
        runtime,
        "run.checkpoint",
        checkpointToken=ended["checkpointToken"],
        output={"notesMarkdown": "n", "artifacts": [gap]},
    )

    shown = human(runtime, "session", "show", session_of(first))

    assert "Left the instructions at only (safety_stop): Did not touch the live one." in shown


@pytest.mark.promise("finding.branch-among-equals")
def test_checked_out_branch_comes_first_at_one_commit(runtime: Runtime) -> None:
    workspace = runtime.workspace
    assert isinstance(workspace, GivenWorkspace)
    workspace.seen = {"repo_root_hash": "r" * 64, "git_head_sha": HEAD, "git_branch": "login"}
    here = start(runtime, goal="on login")
    workspace.seen |= {"git_branch": "other"}
    other = start(runtime, goal="on other")
    workspace.seen |= {"git_branch": "login"}

    found = tool_call(runtime, "resume_session").structured["items"]

    assert [item["sessionId"] for item in found] == [session_of(here), session_of(other)]


@pytest.mark.parametrize("asked", [HEAD[:7], HEAD[:7].upper(), HEAD[:12], HEAD])
def test_a_commit_is_found_by_its_beginning(runtime: Runtime, asked: str) -> None:
    workspace = runtime.workspace
    assert isinstance(workspace, GivenWorkspace)
    workspace.seen |= {"git_head_sha": HEAD}
    here = start(runtime)
    workspace.seen |= {"git_head_sha": HEAD[::-1]}
    start(runtime)

    found = tool_call(runtime, "resume_session", query=asked).structured
    shorter = tool_call(runtime, "resume_session", query=HEAD[:6]).structured

    assert [item["sessionId"] for item in found["items"]] == [session_of(here)]
    assert found["items"][0]["whyMatched"] == ["git head"]
    assert shorter["matched"] is False


def test_resume_says_in_its_text_that_the_file_of_a_run_changed(runtime: Runtime) -> None:
    start(runtime, goal="drifter")
    held = json.loads(THREE_STEPS)
    held["steps"][0]["prompt"] = "Something else."
    (file,) = library_of(runtime).held
    library_of(runtime).held[:] = [msgspec.structs.replace(file, content=json.dumps(held).encode())]

    found = tool_call(runtime, "resume_session", query="drifter")

    assert found.structured["items"][0]["warnings"][0]["code"] == "WORKFLOW_SOURCE_DIFFERS"
    assert "Warning WORKFLOW_SOURCE_DIFFERS" in found.text
    assert "Warning: The " in human(runtime, "session", "resume", "drifter")


def test_two_runs_of_one_session_are_not_two_sessions(runtime: Runtime) -> None:
    first = start(runtime)
    one = tool_call(runtime, "resume_session")
    start(runtime, session=session_of(first))

    two = tool_call(runtime, "resume_session")

    assert one.text.startswith("1 session ")
    assert two.text.startswith("2 runs of 1 session ")
    assert "2 runs of 1 session found." in human(runtime, "session", "resume")


def test_resume_says_in_its_text_that_more_may_match(runtime: Runtime) -> None:
    for number in range(5):
        start(runtime, goal=f"goal {number}")
    whole, whole_read = tool_call(runtime, "resume_session"), human(runtime, "session", "resume")
    start(runtime, goal="goal 5")

    found = tool_call(runtime, "resume_session")

    assert (whole.structured["has_more"], found.structured["has_more"]) == (False, True)
    assert f'"cursor":"{found.structured["next_cursor"]}"' in found.text
    assert "--cursor cu1" in human(runtime, "session", "resume")
    for text in (whole.text, whole_read):
        assert "cursor" not in text


def test_a_list_of_workflows_shows_an_edit_as_json(runtime: Runtime) -> None:
    library_of(runtime).add(json.dumps(json.loads(THREE_STEPS) | {"id": "wr.mine"}).encode(), "mine.json")

    listed = tool_call(runtime, "list_workflows")

    assert 'edit [{"op":"replace","path":"/id"' in listed.text
    assert "{'op'" not in listed.text


@pytest.mark.promise("finding.same-state-same-bytes")
@pytest.mark.parametrize("form", ["bundle", "markdown", "html"])
def test_exports_of_one_state_are_the_same_bytes(runtime: Runtime, form: str) -> None:
    first = start(runtime)
    advance(runtime, first)
    later = msgspec.structs.replace(runtime, clock=LaterClock())

    one = answer(runtime, "session.export", sessionId=session_of(first), **{"as": form})
    two = answer(later, "session.export", sessionId=session_of(first), **{"as": form})
    start(runtime, session=session_of(first))
    three = answer(runtime, "session.export", sessionId=session_of(first), **{"as": form})

    assert one == two
    assert two != three


@pytest.mark.promise("finding.one-suggestion-per-file")
def test_no_two_files_are_told_to_take_the_same_id(runtime: Runtime) -> None:
    for name in ("bug-hunt", "bug_hunt", "a-b_c", "a_b-c", "lone-one"):
        content = json.dumps(json.loads(THREE_STEPS) | {"id": name}).encode()
        library_of(runtime).add(content, f"{name}.json")

    rows = answer(runtime, "workflow.list")["items"]
    told = {row["id"]: row["suggestedId"] for row in rows if "suggestedId" in row}
    checked = answer(
        runtime,
        "workflow.validate",
        documents=[
            {"source": file.source_ref, "text": file.content.decode()}
            for file in library_of(runtime).held[1:]
        ],
    )

    assert len(set(told.values())) == len(told) == 5
    assert told["bug_hunt"] == "project.bug_hunt"
    assert told["bug-hunt"] == "project.bug-hunt"
    assert told["lone-one"] == "project.lone-one"
    fixes = [problem["fix"] for item in checked["items"] for problem in item["problems"]]
    assert sorted(fixes) == sorted(f"Name it {better}." for better in told.values())


@pytest.mark.parametrize(
    "wrong",
    [
        {"workflowId": "project.three_stesp", "gaol": "x"},
        {"workflow_id": "project.three_stesp", "Goal": "x"},
        {"workflowId": "project.three_steps", "preferences": {"autonomy": "guidd"}},
    ],
    ids=["both", "both names", "a mode"],
)
def test_a_call_that_is_offered_works_as_it_stands(runtime: Runtime, wrong: dict[str, Any]) -> None:
    refused = tool_call(runtime, "start_workflow", **wrong)
    call = refused.structured["details"]["next_call"]
    accepted = tool_call(runtime, call["tool"], **call["params"])

    assert refused.is_error
    assert not accepted.is_error, accepted.text
    assert accepted.structured["session"]["workflowId"] == "project.three_steps"


def test_no_call_is_offered_where_nobody_can_tell_what_is_meant(runtime: Runtime) -> None:
    unknown = tool_call(runtime, "start_workflow", workflowId="wr.zeppelin", gaol="x")
    bold = tool_call(
        runtime,
        "start_workflow",
        workflowId="project.three_steps",
        preferences={"autonomy": "full_auto"},
    )

    for refused in (unknown, bold):
        assert refused.is_error
        assert refused.structured["details"].get("next_call") is None
    assert [problem["param"] for problem in unknown.structured["details"]["problems"]] == [
        "gaol",
        "workflowId",
    ]


def test_preview_of_preferences_refuses_what_the_call_would(runtime: Runtime) -> None:
    first = start(runtime)
    doubted: Any = msgspec.structs.replace(runtime, log=UnprovenLog(runtime.log))

    failure = refusal(doubted, "preferences.set", session=session_of(first), autonomy="guided", dryRun=True)

    assert failure.kind.code == "SESSION_NOT_HEALTHY"


@pytest.mark.parametrize(("kind", "meant"), [("wr.plam", "wr.plan"), ("wr.gat", "wr.gap"), ("plam", "")])
def test_one_wrong_letter_in_a_reserved_kind_gets_a_did_you_mean(
    runtime: Runtime, kind: str, meant: str
) -> None:
    first = start(runtime)

    reply = tool_call(
        runtime,
        "continue_workflow",
        ackToken=first["ackToken"],
        output={"notesMarkdown": "n", "artifacts": [{"kind": kind}]},
    )

    suggested = [held["details"].get("suggestion", "") for held in reply.structured.get("warnings", [])]
    assert suggested == ([meant] if meant else [])
