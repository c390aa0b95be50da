"""Forks and checkpoints as an agent meets them: told from whichever node they come, and never in the way."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.runtime.runtime import Runtime
from tests.journeys.conversation import advance, answer, rehydrate, start
from tests.journeys.doors import command, events_of, of_kind, tool_call
from tests.journeys.given_workflows import A_DECISION, WITH_DECISION, begin, step
from tests.journeys.test_blocked import report
from tests.surfaces.cli.here import run_here


def save(runtime: Runtime, reply: dict[str, Any], notes: str) -> dict[str, Any]:
    return answer(
        runtime,
        "run.checkpoint",
        checkpointToken=reply["checkpointToken"],
        output={"notesMarkdown": notes},
    )


def shown_run(runtime: Runtime, reply: dict[str, Any]) -> dict[str, Any]:
    (run,) = answer(runtime, "session.show", sessionId=reply["session"]["sessionId"])["runs"]
    return dict(run)


@pytest.mark.promise("forks.any-node")
def test_an_ack_of_a_checkpoint_forks_when_its_step_was_left_by_another_ack(runtime: Runtime) -> None:
    first = start(runtime)
    saved = save(runtime, first, "half way")
    advance(runtime, first, "one way")

    rendered = tool_call(
        runtime,
        "continue_workflow",
        ackToken=saved["ackToken"],
        output={"notesMarkdown": "another way"},
    )

    recap = rendered.structured["recap"]
    assert [child["notes"] for child in recap["children"]] == ["one way"]
    assert [entry["notes"] for entry in recap["downstream"]] == ["half way", "one way"]
    assert "This is a fork" in rendered.text
    assert shown_run(runtime, first)["fork_count"] == 1
    edges = of_kind(events_of(runtime, first), "edge_created")
    assert [edge["data"]["cause"] for edge in edges] == ["checkpoint_created", "advance", "non_tip_advance"]


@pytest.mark.promise("forks.any-node")
def test_a_retry_forks_when_the_step_was_left_beside_the_blocked_attempt(runtime: Runtime) -> None:
    first = begin(runtime, step("decide", **WITH_DECISION), step("do"), fields={})
    blocked = report(runtime, first["ackToken"])
    report(runtime, rehydrate(runtime, first)["ackToken"], A_DECISION)

    before = rehydrate(runtime, blocked)["recap"]
    status, document = command(
        runtime,
        "run",
        "continue",
        "--ack",
        blocked["retryAckToken"],
        "--notes",
        "again",
        "--artifacts",
        json.dumps([A_DECISION]),
    )

    assert len(before["children"]) == 1  # told before anything is forked, from the blocked attempt too
    assert before["current"]["doneSince"] == ["decide"]
    assert status == 0
    assert len(document["data"]["recap"]["children"]) == 1
    assert shown_run(runtime, first)["fork_count"] == 1


@pytest.mark.promise("checkpoints.own-step")
def test_a_late_checkpoint_neither_reopens_a_finished_run_nor_moves_its_tip(runtime: Runtime) -> None:
    first = start(runtime)
    done = advance(runtime, advance(runtime, advance(runtime, first)))
    before = shown_run(runtime, first)

    save(runtime, first, "an afterthought about the first step")

    after = shown_run(runtime, first)
    assert done["isComplete"]
    assert (after["status"], after["preferred_tip"], after["pending_step"]) == (
        *("complete", before["preferred_tip"], None),
    )
    assert answer(runtime, "session.list")["items"][0]["status"] == "complete"
    ledger = answer(runtime, "ledger.show", runId=first["session"]["runId"], view="state")
    assert ledger["state"]["status"] == "complete"


@pytest.mark.promise("checkpoints.own-step")
def test_what_a_rewound_chat_saves_does_not_hide_the_work_that_followed(runtime: Runtime) -> None:
    first = start(runtime)
    second = advance(runtime, first, "found it")

    save(runtime, first, "saved by a chat that was rewound")

    (found,) = answer(runtime, "session.resume", query=first["session"]["sessionId"])["items"]
    assert found["pendingTitle"] == "Second"
    assert found["nextCall"]["params"] == {"stateToken": second["stateToken"]}


@pytest.mark.promise("checkpoints.kept")
def test_notes_saved_by_a_hook_are_told_though_the_agent_went_on_with_its_older_ack(runtime: Runtime) -> None:
    first = start(runtime)
    save(runtime, rehydrate(runtime, first), "saved before a compaction")
    second = advance(runtime, first, "did the first")

    rendered = tool_call(runtime, "continue_workflow", stateToken=second["stateToken"])

    notes = [entry["notes"] for entry in rendered.structured["recap"]["entries"]]
    assert notes == ["saved before a compaction", "did the first"]
    assert "saved before a compaction" in rendered.text
    assert "children" not in rendered.structured["recap"]


@pytest.mark.promise("checkpoints.kept")
def test_a_step_that_is_still_pending_tells_its_checkpoints_and_claims_no_branch(runtime: Runtime) -> None:
    first = start(runtime)
    save(runtime, first, "half way")

    rendered = tool_call(runtime, "continue_workflow", stateToken=first["stateToken"])

    recap = rendered.structured["recap"]
    assert [entry["notes"] for entry in recap["entries"]] == ["half way"]
    assert "children" not in recap
    assert "Branches that exist" not in rendered.text


@pytest.mark.promise("checkpoints.after-the-end")
def test_a_finished_run_takes_notes_and_stays_finished(runtime: Runtime) -> None:
    reply = begin(runtime, step("only"), fields={})
    done = tool_call(
        runtime, "continue_workflow", ackToken=reply["ackToken"], output={"notesMarkdown": "did it"}
    )
    token = done.structured["checkpointToken"]

    status, saved = command(runtime, "run", "checkpoint", "--checkpoint", token, "--notes", "shipped as 1.2")

    assert token in done.text
    assert status == 0
    assert saved["data"]["isComplete"]
    assert saved["data"]["nextIntent"] == "complete"
    read = rehydrate(runtime, saved["data"])
    assert [(entry["title"], entry["notes"]) for entry in read["recap"]["entries"]] == [
        ("Only", "did it"),
        ("After the end", "shipped as 1.2"),
    ]
    again = save(runtime, read, "and 1.3 after it")
    assert shown_run(runtime, again)["status"] == "complete"
    told = answer(runtime, "session.export", sessionId=reply["session"]["sessionId"], **{"as": "markdown"})
    assert "shipped as 1.2" in told["content"]
    entries = answer(runtime, "ledger.show", runId=reply["session"]["runId"])["entries"]
    assert [entry["operation"] for entry in entries] == [
        *("run.start", "run.continue", "run.checkpoint", "run.checkpoint")
    ]


@pytest.mark.promise("forks.true-place")
def test_a_fork_says_where_the_run_stood_and_not_that_it_stands_there(runtime: Runtime) -> None:
    first = start(runtime)
    fresh = rehydrate(runtime, first)
    second = advance(runtime, first, "one")
    call = {"ackToken": fresh["ackToken"], "output": {"notesMarkdown": "one again"}}

    rendered = tool_call(runtime, "continue_workflow", **call)

    stood = rendered.structured["recap"]["stoodAt"]
    assert "current" not in rendered.structured["recap"]
    assert "It stands at" not in rendered.text
    assert "the run goes on with it. Before, it stood at node" in rendered.text
    assert stood["nextCall"]["params"] == {"stateToken": second["stateToken"]}
    assert shown_run(runtime, first)["preferred_tip"] != stood["nodeId"]
    human = run_here(
        runtime, ("run", "continue", "--ack", call["ackToken"], "--notes", "one again", "--human")
    )
    read = " ".join(human.out.decode().split())
    assert "stands at" not in read
    assert "This is a fork, and the run goes on with it; before, it stood at: Second" in read
