"""Forks and checkpoints as an agent meets them: told from whichever node they come, and never in the way."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.runtime.runtime import Runtime
from handrail.surfaces.mcp.results import Rendered
from tests.journeys.conversation import advance, answer, rehydrate, save, start
from tests.journeys.given_workflows import A_DECISION, WITH_DECISION, begin, choice, option, step
from tests.journeys.interfaces import command, events_of, of_kind, tool_call
from tests.journeys.test_blocked import report
from tests.surfaces.cli.here import run_here


def shown_run(runtime: Runtime, reply: dict[str, Any]) -> dict[str, Any]:
    (run,) = answer(runtime, "session.show", sessionId=reply["session"]["sessionId"])["runs"]
    return dict(run)


def check_late(rendered: Rendered, read: dict[str, Any], status: str) -> None:
    """A late checkpoint says where the run stands, as reading its step does, in both forms."""
    current = rendered.structured["recap"]["current"]
    assert current == read["recap"]["current"]
    assert current["status"] == status
    assert "The run has moved on since this step" in rendered.text
    assert json.dumps(current["nextCall"]["params"], separators=(",", ":")) in rendered.text


@pytest.mark.parametrize("steps", [1, 3])
def test_late_checkpoint_and_its_repeat_say_where_the_run_is(runtime: Runtime, steps: int) -> None:
    first = reply = start(runtime)
    for _ in range(steps):
        reply = advance(runtime, reply)
    read = rehydrate(runtime, first)
    call = {"checkpointToken": first["checkpointToken"], "output": {"notesMarkdown": "an afterthought"}}

    saved = tool_call(runtime, "checkpoint_workflow", **call)
    if not reply["isComplete"]:
        advance(runtime, advance(runtime, reply))
    again = tool_call(runtime, "checkpoint_workflow", **call)
    words = ("--checkpoint", call["checkpointToken"], "--notes", "an afterthought", "--human")
    human = run_here(runtime, ("run", "checkpoint", *words)).out.decode()

    check_late(saved, read, "complete" if steps == 3 else "in_progress")
    assert again == saved
    assert human.startswith("Saved.")
    assert "The run has moved on since this step and is now at" in " ".join(human.split())


def test_checkpoint_at_a_closed_run_says_that_it_is_closed(runtime: Runtime) -> None:
    first = start(runtime)
    second = advance(runtime, first)
    answer(runtime, "run.close", run=first["stateToken"], reason="superseded", note="Begun twice.")

    at_tip, before = save(runtime, second, "late"), save(runtime, first, "later")
    advance(runtime, second)

    read = {"reason": "superseded", "note": "Begun twice."}
    assert at_tip["recap"]["closed"].items() >= read.items()
    assert "current" not in at_tip["recap"]
    assert before["recap"]["closed"].items() >= read.items()
    assert before["recap"]["current"]["status"] == "closed"
    assert (save(runtime, second, "late"), save(runtime, first, "later")) == (at_tip, before)
    assert "recap" not in save(runtime, rehydrate(runtime, advance(runtime, start(runtime))), "in time")


def test_report_that_reopens_a_run_says_so_once(runtime: Runtime) -> None:
    first = start(runtime)
    answer(runtime, "run.close", run=first["stateToken"], reason="superseded")
    saved = save(runtime, first, "late")

    second = advance(runtime, first)
    third = advance(runtime, second)

    told = [[one["code"] for one in held.get("warnings", [])] for held in (saved, second, third)]
    assert [codes.count("RUN_REOPENED") for codes in told] == [0, 1, 0]
    assert "This run was closed as superseded" in second["warnings"][-1]["message"]
    assert advance(runtime, first) == second


def test_pending_step_lists_checkpoints_and_no_branch(runtime: Runtime) -> None:
    first = start(runtime)
    save(runtime, first, "half way")

    rendered = tool_call(runtime, "continue_workflow", stateToken=first["stateToken"])

    recap = rendered.structured["recap"]
    assert [entry["notes"] for entry in recap["entries"]] == ["half way"]
    assert "children" not in recap
    assert "Branches that exist" not in rendered.text


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


def test_fork_says_where_the_run_was(runtime: Runtime) -> None:
    first = start(runtime)
    fresh = rehydrate(runtime, first)
    second = advance(runtime, first, "one")
    call = {"ackToken": fresh["ackToken"], "output": {"notesMarkdown": "one again"}}

    rendered = tool_call(runtime, "continue_workflow", **call)

    stood = rendered.structured["recap"]["stoodAt"]
    assert [child["isPreferred"] for child in rendered.structured["recap"]["children"]] == [False]
    assert "preferred" not in rendered.text
    assert "current" not in rendered.structured["recap"]
    assert "It stands at" not in rendered.text
    assert "the run continues on it. Before, it was at node" in rendered.text
    assert stood["nextCall"]["params"] == {"stateToken": second["stateToken"]}
    assert shown_run(runtime, first)["preferred_tip"] != stood["nodeId"]
    human = run_here(
        runtime, ("run", "continue", "--ack", call["ackToken"], "--notes", "one again", "--human")
    )
    read = " ".join(human.out.decode().split())
    assert "stands at" not in read
    assert "This is a fork, and the run continues on it; before, it was at: Second" in read


def first_line(text: str) -> str:
    return text.splitlines()[0]


def test_used_ack_with_other_content_offers_a_call_that_forks(runtime: Runtime) -> None:
    first = start(runtime)
    second = advance(runtime, first, "one")
    call = {"ackToken": first["ackToken"], "output": {"notesMarkdown": "better"}, "context": {"size": 2}}

    rendered = tool_call(runtime, "continue_workflow", **call)
    again = tool_call(runtime, "continue_workflow", **call)
    offered = rendered.structured["warnings"][0]["nextCall"]
    forked = tool_call(runtime, offered["tool"], **offered["params"])

    assert again == rendered
    assert next(iter(rendered.structured)) == "warnings"
    assert first_line(rendered.text).startswith(
        "Warning REPLAY_INPUT_MISMATCH: Nothing of this call was stored: its token was answered before"
    )
    assert json.dumps(offered["params"], separators=(",", ":")) in first_line(rendered.text)
    assert rendered.structured["stateToken"] == second["stateToken"]
    assert offered["params"] | {"ackToken": ""} == call | {"ackToken": ""}
    assert [child["notes"] for child in forked.structured["recap"]["children"]] == ["one"]
    read = rehydrate(runtime, forked.structured)
    assert [entry["notes"] for entry in read["recap"]["entries"]] == ["better"]
    assert shown_run(runtime, first)["fork_count"] == 1
    assert tool_call(runtime, offered["tool"], **offered["params"]) == forked


def test_correction_with_a_used_ack_gets_the_accepted_call(
    runtime: Runtime,
) -> None:
    first = begin(runtime, step("decide", **WITH_DECISION), step("do"), fields={})
    report(runtime, first["ackToken"])

    refused = report(runtime, first["ackToken"], A_DECISION)
    offered = refused["warnings"][0]
    accepted = answer(runtime, "run.continue", **offered["nextCall"]["params"])

    assert offered["purpose"] == "retry"
    assert accepted["pending"]["stepId"] == "do"
    assert shown_run(runtime, first)["fork_count"] == 0


def test_other_option_of_an_answered_choice_offers_its_call(
    runtime: Runtime,
) -> None:
    way = choice("way", option("left", way="left"), option("right", way="right"))
    first = begin(runtime, way, step("go"), fields={})
    left, right = (one["token"] for one in first["pending"]["choices"])
    answer(runtime, "run.continue", ackToken=left)

    refused = answer(runtime, "run.continue", ackToken=right)
    forked = answer(runtime, "run.continue", **refused["warnings"][0]["nextCall"]["params"])

    assert refused["warnings"][0]["code"] == "REPLAY_INPUT_MISMATCH"
    assert "the choice was answered before, with another option" in refused["warnings"][0]["message"]
    assert "its token was answered" not in refused["warnings"][0]["message"]
    assert forked["recap"]["stoodAt"]["pendingStepId"] == "go"
    answers = of_kind(events_of(runtime, first), "advance_recorded")
    assert [one["data"]["outcome"]["optionId"] for one in answers] == ["left", "right"]


def test_other_notes_with_a_used_token_are_kept_by_the_offer(runtime: Runtime) -> None:
    first = start(runtime)
    save(runtime, first, "one")

    refused = save(runtime, first, "two")
    offered = refused["warnings"][0]["nextCall"]
    tool_call(runtime, offered["tool"], **offered["params"])

    assert offered["tool"] == "checkpoint_workflow"
    read = rehydrate(runtime, first)
    assert [entry["notes"] for entry in read["recap"]["entries"]] == ["one", "two"]


@pytest.mark.parametrize(
    ("output", "context"),
    [({"notesMarkdown": "x" * 5_000}, {}), ({"notesMarkdown": "x"}, {"api_key": "0123456789"})],
)
def test_what_is_long_or_secret_is_not_said_again(
    runtime: Runtime, output: dict[str, Any], context: dict[str, Any]
) -> None:
    first = start(runtime)
    advance(runtime, first, "one")

    refused = answer(runtime, "run.continue", ackToken=first["ackToken"], output=output, context=context)

    warning = refused["warnings"][0]
    assert set(warning["nextCall"]["params"]) == {"ackToken"}
    assert "To store it, put what you sent into the call that is offered here." in warning["message"]


def test_checkpoint_without_notes_names_the_flags(runtime: Runtime) -> None:
    token = start(runtime)["checkpointToken"]

    status, told = command(runtime, "run", "checkpoint", "--checkpoint", token)
    by_value = command(runtime, "run", "checkpoint", "--input", json.dumps({"checkpointToken": token}))[1]

    assert (status, told["error"]["code"]) == (2, "E_VALIDATION")
    assert told["error"]["message"] == "The call does not fit: --notes or --notes-file: missing."
    assert [one["param"] for one in told["error"]["details"]["problems"]] == ["--notes or --notes-file"]
    assert [one["param"] for one in by_value["error"]["details"]["problems"]] == ["output"]
