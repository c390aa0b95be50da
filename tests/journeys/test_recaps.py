"""What an agent that lost its context reads again: at a tip, in a new chat, and when there is much of it."""

from __future__ import annotations

import json

import pytest

from handrail.runtime.runtime import Runtime
from tests.filled_in import filled_in
from tests.journeys.conversation import advance, answer, rehydrate, start
from tests.journeys.given_workflows import begin, step
from tests.journeys.interfaces import tool_call


@pytest.mark.promise("recap.tip")
def test_recap_at_a_tip_is_the_way_so_far_without_branches(runtime: Runtime) -> None:
    second = advance(runtime, start(runtime), "looked")

    recap = rehydrate(runtime, second)["recap"]

    assert [entry["notes"] for entry in recap["entries"]] == ["looked"]
    assert recap.get("children", []) == []
    assert recap.get("downstream", []) == []


@pytest.mark.promise("recap.budget")
def test_long_recap_keeps_the_newest_and_counts_the_rest(runtime: Runtime) -> None:
    reply = begin(runtime, *(step(f"s{number}") for number in range(8)), fields={})
    for number in range(7):
        reply = advance(runtime, reply, f"notes {number} " + "x" * 2_700)

    rendered = tool_call(runtime, "continue_workflow", stateToken=reply["stateToken"])

    recap = rendered.structured["recap"]
    kept = [entry["stepId"] for entry in recap["entries"]]
    assert kept == [
        "s3",
        "s4",
        "s5",
        "s6",
    ]  # 4 entries of about 2 700 bytes fit into 12 288 with their frames, 5 do not
    assert (recap["truncated"], recap["omitted"]) == (True, 3)
    assert recap["policy"] == "kept the most recent entries"
    assert "3" in rendered.text
    assert "kept the most recent" in rendered.text
    assert "notes 2" not in rendered.text


@pytest.mark.parametrize(
    ("count", "notes"), [(200, "n"), (80, "n" * 100), (12, "\n" * 900), (6, "é" * 1_990)]
)
@pytest.mark.thorough
def test_budget_holds_for_structure_and_text(runtime: Runtime, count: int, notes: str) -> None:
    reply = begin(runtime, step("one"), step("two"), fields={})
    for number in range(count):
        token = reply["checkpointToken"]
        output = {"notesMarkdown": f"{notes}{number}"}
        reply = tool_call(runtime, "checkpoint_workflow", checkpointToken=token, output=output).structured

    rendered = tool_call(runtime, "continue_workflow", stateToken=reply["stateToken"])

    recap = rendered.structured["recap"]
    assert recap["omitted"] + len(recap["entries"]) == count
    assert len(json.dumps(recap, ensure_ascii=False, separators=(",", ":")).encode()) <= 12_288
    assert len(rendered.text.partition("Recap")[2].encode()) <= 12_288


@pytest.mark.promise("recap.budget")
def test_a_short_recap_is_whole_and_says_nothing_of_a_cut(runtime: Runtime) -> None:
    second = advance(runtime, start(runtime), "short")

    recap = rehydrate(runtime, second)["recap"]

    assert (recap.get("truncated", False), recap.get("omitted", 0)) == (False, 0)


@pytest.mark.promise("resume.new-chat")
def test_a_chat_that_knows_nothing_finds_the_tip_and_goes_on(runtime: Runtime) -> None:
    first = start(runtime, goal="mend the parser")
    advance(runtime, first, "an old branch")
    tip = advance(runtime, rehydrate(runtime, first), "the new branch")

    found = tool_call(runtime, "resume_session").structured["items"][0]
    again = tool_call(runtime, found["nextCall"]["tool"], **found["nextCall"]["params"]).structured
    following = filled_in(again["nextCall"]["params"])
    after = tool_call(runtime, again["nextCall"]["tool"], **following).structured

    assert found["sessionId"] == first["session"]["sessionId"]
    assert again["stateToken"] == tip["stateToken"]
    assert [entry["notes"] for entry in again["recap"]["entries"]] == ["the new branch"]
    assert after["pending"]["stepId"] == "third"


@pytest.mark.promise("notes.without-contract")
def test_step_without_a_contract_takes_notes_only(runtime: Runtime) -> None:
    first = start(runtime)

    second = advance(runtime, first, "| file | risk |\n|---|---|\n| a.py | high |")

    session = answer(runtime, "session.show", sessionId=first["session"]["sessionId"])
    assert second["pending"]["stepId"] == "second"
    assert session["runs"][0]["artifacts"] == []
    assert session["runs"][0]["gaps"] == []
