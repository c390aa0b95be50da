"""An agent with several runs at hand, or with a token of three steps ago, finds its way back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.runtime.runtime import Runtime
from tests.conftest import THREE_STEPS, library_of, workspace_of
from tests.journeys.conversation import advance, answer, refusal, rehydrate, start


def add_other(runtime: Runtime) -> None:
    other = json.dumps(json.loads(THREE_STEPS) | {"id": "project.other"}).encode()
    library_of(runtime).add(other, "other.json")


def codes(reply: dict[str, Any]) -> list[str]:
    return [warning["code"] for warning in reply.get("warnings", [])]


def follow(runtime: Runtime, call: dict[str, Any]) -> dict[str, Any]:
    """Make a call exactly as a reply gave it."""
    assert call["tool"] == "continue_workflow"
    return answer(runtime, "run.continue", **call["params"])


def test_every_reply_names_its_workflow_and_run(
    runtime: Runtime,
) -> None:
    add_other(runtime)
    outer = start(runtime, goal="ship it", requestId="outer")
    inner = start(runtime, workflowId="project.other", goal="x" * 200, session=outer["session"]["sessionId"])

    second = advance(runtime, outer)
    again = start(runtime, goal="ship it", requestId="outer")

    assert second["session"] == {
        "sessionId": outer["session"]["sessionId"],
        "runId": outer["session"]["runId"],
        "workflowId": "project.three_steps",
    }
    assert [told["session"]["goal"] for told in (outer, rehydrate(runtime, second))] == ["ship it", "ship it"]
    assert inner["session"]["workflowId"] == "project.other"
    assert inner["session"]["goal"] == "x" * 200
    assert again == outer  # a later goal of the session does not reach an earlier run


def test_tokens_of_two_runs_are_told_apart_and_nothing_is_done(runtime: Runtime) -> None:
    add_other(runtime)
    left = advance(runtime, start(runtime, goal="left work"))
    right = start(runtime, workflowId="project.other", goal='right "work"')

    failure = refusal(runtime, "run.continue", ackToken=left["ackToken"], stateToken=right["stateToken"])

    assert failure.kind.code == "TOKEN_SCOPE_MISMATCH"
    assert 'step "Second" of project.three_steps, goal "left work"' in failure.message
    assert 'step "First" of project.other, goal "right \'work\'"' in failure.message
    assert all(one["session"]["runId"] in failure.message for one in (left, right))
    assert failure.next_call is not None
    shown = answer(runtime, failure.next_call.operation, **failure.next_call.params)
    assert shown["pending"]["stepId"] == "second"
    assert advance(runtime, right)["pending"]["stepId"] == "second"


def test_older_state_token_gets_the_call_without_it(runtime: Runtime) -> None:
    first = start(runtime)
    second = advance(runtime, first)
    report = {"notesMarkdown": "Done the second."}

    failure = refusal(
        runtime,
        "run.continue",
        ackToken=second["ackToken"],
        stateToken=first["stateToken"],
        output=report,
    )
    overtaken = refusal(runtime, "run.continue", ackToken=first["ackToken"], stateToken=second["stateToken"])

    assert failure.next_call is not None
    assert failure.next_call.params == {"ackToken": second["ackToken"], "output": report}
    assert answer(runtime, "run.continue", **failure.next_call.params)["pending"]["stepId"] == "third"
    assert overtaken.next_call is not None
    assert overtaken.next_call.params == {"stateToken": second["stateToken"]}


def test_outdated_state_token_leads_to_the_tip(runtime: Runtime) -> None:
    first = start(runtime)
    second = advance(runtime, first, "one")
    third = advance(runtime, second, "two")

    shown = rehydrate(runtime, first)
    current = shown["recap"]["current"]
    back = follow(runtime, current["nextCall"])

    assert shown["pending"]["stepId"] == "first"
    assert (current["title"], current["pendingStepId"], current["status"]) == (
        "Third",
        "third",
        "in_progress",
    )
    assert current["doneSince"] == ["first", "second"]
    assert back["stateToken"] == third["stateToken"]
    assert "current" not in back["recap"]


def test_a_used_ack_with_new_content_tells_what_happened_since(runtime: Runtime) -> None:
    first = start(runtime)
    second = advance(runtime, first, "one")
    report = {"ackToken": first["ackToken"], "output": {"notesMarkdown": "other words"}}

    at_once = answer(runtime, "run.continue", **report)
    advance(runtime, second, "two")
    later = answer(runtime, "run.continue", **report)
    same = answer(runtime, "run.continue", ackToken=first["ackToken"], output={"notesMarkdown": "one"})

    assert same == second  # byte for byte: what happened since is told only beside other content
    assert codes(at_once) == codes(later) == ["REPLAY_INPUT_MISMATCH"]
    assert "recap" not in at_once
    assert "has advanced by 1 step (second); now pending: Third (third)" in later["warnings"][0]["message"]
    assert follow(runtime, later["recap"]["current"]["nextCall"])["pending"]["stepId"] == "third"
    assert {**at_once, "warnings": []} == {**second, "warnings": []}


def test_fork_and_its_replay_say_where_the_run_was(runtime: Runtime) -> None:
    first = start(runtime)
    fresh = rehydrate(runtime, first)
    second = advance(runtime, first, "one")

    forked = advance(runtime, fresh, "one again")
    advance(runtime, second, "two")
    replayed = advance(runtime, fresh, "one again")

    assert "current" not in forked["recap"]
    assert forked["recap"]["stoodAt"]["pendingStepId"] == "second"
    assert follow(runtime, forked["recap"]["stoodAt"]["nextCall"])["stateToken"] == second["stateToken"]
    assert replayed == forked


def test_a_finished_run_says_so_to_an_outdated_token(runtime: Runtime) -> None:
    first = reply = start(runtime)
    for _ in range(3):
        reply = advance(runtime, reply)

    current = rehydrate(runtime, first)["recap"]["current"]

    assert (current["status"], current["pendingStepId"]) == ("complete", None)
    assert follow(runtime, current["nextCall"])["isComplete"] is True


def test_equal_start_names_the_untouched_one(runtime: Runtime) -> None:
    first = start(runtime, goal="mend it")

    second = start(runtime, goal="mend it")
    other = start(runtime, goal="mend something else")
    advance(runtime, first)
    advance(runtime, second)
    third = start(runtime, goal="mend it")

    assert codes(second) == ["DUPLICATE_START"]
    assert first["session"]["runId"] in second["warnings"][0]["message"]
    assert second["session"]["runId"] != first["session"]["runId"]
    assert "warnings" not in other
    assert "warnings" not in third  # both twins have moved on by then


def test_the_call_of_a_duplicate_leads_to_the_first_run(runtime: Runtime) -> None:
    first = start(runtime)

    call = start(runtime)["warnings"][0]["nextCall"]

    assert follow(runtime, call)["session"] == first["session"]


def test_a_request_id_or_another_repository_makes_no_duplicate(runtime: Runtime) -> None:
    start(runtime)
    keyed = start(runtime, requestId="mine")
    workspace_of(runtime).seen["repo_root_hash"] = "f" * 32
    workspace_of(runtime).directory = "/elsewhere"

    elsewhere = start(runtime)

    assert "warnings" not in keyed
    assert "warnings" not in elsewhere


def test_first_run_of_a_project_file_is_announced(runtime: Runtime) -> None:
    first = start(runtime, requestId="one")
    replayed = start(runtime, requestId="one")
    second = start(runtime, requestId="two")

    assert codes(first) == ["WORKFLOW_FIRST_RUN"]
    assert first["workflow"] == {
        "sourceKind": "project",
        "sourceRef": "three_steps.json",
        "workflowHash": first["workflow"]["workflowHash"],
    }
    assert first["workflow"]["workflowHash"] in first["warnings"][0]["message"]
    assert replayed == first
    assert "warnings" not in second
    assert second["workflow"] == first["workflow"]
    assert "workflow" not in advance(runtime, second)


def test_a_changed_file_is_announced_again(runtime: Runtime) -> None:
    start(runtime)
    library_of(runtime).held.clear()
    library_of(runtime).add(THREE_STEPS.replace(b"first thing", b"worst thing"), "three_steps.json")

    assert codes(start(runtime, requestId="changed")) == ["WORKFLOW_FIRST_RUN"]


@pytest.mark.promise("source.differs")
def test_rehydrate_says_that_the_file_changed(
    runtime: Runtime,
) -> None:
    first = start(runtime)
    unchanged = rehydrate(runtime, first)
    library_of(runtime).held.clear()
    library_of(runtime).add(THREE_STEPS.replace(b"second thing", b"new thing"), "three_steps.json")

    changed = rehydrate(runtime, first)
    second = advance(runtime, first)
    library_of(runtime).held.clear()
    vanished = rehydrate(runtime, second)

    assert "warnings" not in unchanged
    assert codes(changed) == codes(second) == codes(vanished) == ["WORKFLOW_SOURCE_DIFFERS"]
    assert "changed since" in changed["warnings"][0]["message"]
    assert "no longer there" in vanished["warnings"][0]["message"]
    assert second["pending"]["prompt"] == "Do the second thing."


@pytest.mark.promise("source.differs")
def test_caller_in_another_repository_hears_of_no_file(runtime: Runtime) -> None:
    first = start(runtime)
    library_of(runtime).held.clear()
    workspace_of(runtime).seen["repo_root_hash"] = "f" * 32
    workspace_of(runtime).directory = "/elsewhere"

    assert "warnings" not in rehydrate(runtime, first)
