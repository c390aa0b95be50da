"""Whose word a value is: an agent's context replaces no result, no option and no person's answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.contract.outcome import Failure
from handrail.runtime.runtime import Runtime
from tests.journeys.at_a_terminal import Person, seat
from tests.journeys.code_project import CodeProject
from tests.journeys.conversation import advance, refusal
from tests.journeys.given_workflows import (
    NEVER_STOP,
    begin,
    choice,
    declared,
    equals,
    give,
    option,
    rounds,
    step,
)
from tests.journeys.interfaces import command, events_of, of_kind, tool_call
from tests.journeys.test_code_workflows import DECIDE, FIND, PREVIEW, WRITE, code, start
from tests.surfaces.cli.here import run_here

__all__ = ["code"]

NOTE = {"id": "note", "title": "Note it", "prompt": "Write down what was decided."}
USERS = {"nonAssumable": "irreversible_action"}


def refuse(runtime: Runtime, operation: str, **params: Any) -> dict[str, str]:
    """The keys that a call is refused for, with what stands in their way."""
    return problems_of(refusal(runtime, operation, **params))


def problems_of(failure: Failure) -> dict[str, str]:
    assert failure.kind.code == "VALIDATION_ERROR"
    rows: Any = failure.details["problems"]
    return {row["param"]: f"{row['problem']}; {row['expected']}" for row in rows}


def decide(code: CodeProject, reply: dict[str, Any], option_id: str, *, by_person: bool) -> dict[str, Any]:
    """Take an option of the pending choice, as an agent or, at a terminal first, as a person."""
    if by_person:
        seated = seat(code.runtime, Person(option_id))
        assert run_here(seated, ["run", "answer", "--state", reply["stateToken"]]).status == 0
    (token,) = [one["token"] for one in reply["pending"]["choices"] if one["id"] == option_id]
    return tool_call(code.runtime, "continue_workflow", ackToken=token).structured


@pytest.mark.parametrize("by_person", [False, True], ids=["an agent's option", "a person's option"])
@pytest.mark.parametrize("mode", [{}, NEVER_STOP], ids=["guided", "never stop"])
def test_context_does_not_turn_a_no_into_a_yes(
    code: CodeProject, by_person: bool, mode: dict[str, str]
) -> None:
    began = start(code, FIND, PREVIEW, DECIDE | USERS, NOTE, WRITE, preferences=mode)
    before = code.texts()
    noted = decide(code, began, "no", by_person=by_person)
    report = {"output": {"notesMarkdown": "Noted."}}
    events = len(events_of(code.runtime, began))

    refused = refuse(
        code.runtime, "run.continue", ackToken=noted["ackToken"], context={"apply": True}, **report
    )
    written = len(events_of(code.runtime, began))
    same = tool_call(
        code.runtime, "continue_workflow", ackToken=noted["ackToken"], context={"apply": False}, **report
    ).structured

    (problem,) = refused.items()
    assert problem[0] == "context.apply"
    assert ("a person took" in problem[1]) is by_person
    assert "decide" in problem[1]
    assert written == events
    assert (same["isComplete"], same.get("ran", []), code.texts()) == (True, [], before)


def test_a_result_is_saved_under_a_name_that_no_option_sets(runtime: Runtime) -> None:
    ways = choice("way", option("here", found="a.js"), option("there", found="b.js"))
    given = give(runtime, ways, FIND, PREVIEW)

    refused = refusal(runtime, "run.start", workflowId=given)

    assert refused.kind.code == "WORKFLOW_INVALID"
    told = json.dumps(refused.details)
    assert "/steps/1/saveAs" in told
    assert "a result never replaces it" in told


def test_other_comparison_of_a_guard_asks_somebody(code: CodeProject) -> None:
    either = {
        "kind": "or",
        "of": [
            {"kind": "compare", "input": "apply", "op": "equals", "value": True},
            {"kind": "compare", "input": "urgent", "op": "equals", "value": True},
        ],
    }
    sent = {"output": {"notesMarkdown": "Hurry."}, "context": {"urgent": True}}
    steps = (FIND, PREVIEW, DECIDE, NOTE, WRITE | {"when": either})
    began = begin(code.runtime, *steps, fields=declared("urgent"))
    noted = decide(code, began, "no", by_person=False)
    before = code.texts()

    waiting = tool_call(code.runtime, "continue_workflow", ackToken=noted["ackToken"], **sent).structured

    assert (waiting["pending"]["stepId"], waiting["nextIntent"]) == ("write", "await_user_confirmation")
    assert code.texts() == before


@pytest.mark.parametrize("is_early", [True, False], ids=["it comes later", "it is left out"])
def test_context_decides_nothing_for_an_unmet_choice(runtime: Runtime, *, is_early: bool) -> None:
    asking = choice("ask", option("yes", close=True), option("no", close=False)) | USERS
    closing = step("shut", when=equals("close", True))
    asking |= {} if is_early else {"when": equals("mood", "calm")}
    parts = [step("look"), closing, asking, step("end")] if is_early else [step("look"), asking, closing]
    workflow_id = give(runtime, *parts, **declared("mood"))
    sent = {"close": True, "mood": "busy"}

    at_start = refuse(runtime, "run.start", workflowId=workflow_id, context=sent)
    began = begin(runtime, *parts, fields=declared("mood"), context={"mood": "busy"})
    later = refuse(runtime, "run.continue", ackToken=began["ackToken"], context={"close": True})
    report = {"notesMarkdown": "Looked."}
    done = tool_call(runtime, "continue_workflow", ackToken=began["ackToken"], output=report).structured

    assert at_start == later
    assert "only a person decides there" in at_start["context.close"]
    assert done["isComplete"] if not is_early else done["pending"]["stepId"] == "ask"


@pytest.mark.parametrize("name", ["found.first.id", "found[first]", "found/first", "1st", "a b", ""])
def test_a_context_key_is_a_plain_name_at_every_door(code: CodeProject, name: str) -> None:
    began = start(code, NOTE, FIND, PREVIEW, DECIDE)
    sent = {name: "other.js#other"}

    starting = refuse(code.runtime, "run.start", workflowId="project.my_refactor", context=sent)
    going_on = refuse(code.runtime, "run.continue", ackToken=began["ackToken"], context=sent)
    status, printed = command(
        code.runtime, "run", "continue", "--ack", began["ackToken"], "--context", json.dumps(sent)
    )
    filed = code.line(f"js-tools --workflow my-refactor.json --context '{json.dumps(sent)}'")[1]

    assert list(starting) == list(going_on) == [f"context.{name}"]
    assert (status != 0, printed["error"]["code"], filed["code"]) == (
        True,
        "E_VALIDATION",
        "VALIDATION_ERROR",
    )


def test_a_dotted_key_is_answered_with_the_object_that_was_meant(runtime: Runtime) -> None:
    first = begin(runtime, step("a"), step("b"), fields={"inputs": {"plan": {"type": "object"}}})
    second = advance(runtime, first, context={"plan": {"size": "large"}})

    refused = refuse(runtime, "run.continue", ackToken=second["ackToken"], context={"plan.risk": "low"})
    done = advance(runtime, second, context={"plan": {"size": "large", "risk": "low"}})

    assert '{"plan":{"size":"large","risk":"low"}}' in refused["context.plan.risk"]
    assert done["isComplete"] is True


def test_a_refused_start_offers_the_start_that_was_meant(runtime: Runtime) -> None:
    given = give(runtime, step("a"), **declared("plan"))

    refused = refusal(runtime, "run.start", workflowId=given, context={"plan.size": "large", "x": 1})

    assert refused.next_call is not None
    assert refused.next_call.params["context"] == {"plan": {"size": "large"}, "x": 1}


def test_what_a_person_is_shown_is_what_the_preview_says(code: CodeProject) -> None:
    began = start(code, FIND, PREVIEW, NOTE, DECIDE)

    for name in ("shown.edit_count", "shown"):
        refused = refuse(
            code.runtime, "run.continue", ackToken=began["ackToken"], context={name: "1 comment"}
        )
        assert "preview" in refused[f"context.{name}"]
    shown = tool_call(
        code.runtime, "continue_workflow", ackToken=began["ackToken"], output={"notesMarkdown": "Noted."}
    ).structured

    assert shown["pending"]["prompt"].startswith("Edits: 7. Files: 3.")


@pytest.mark.parametrize("name", ["it.risk", "it", "place"])
def test_a_loop_variable_is_nobodys_to_send(runtime: Runtime, name: str) -> None:
    risky = {"kind": "compare", "input": "it.risk", "op": "equals", "value": "high"}
    loop = rounds(
        "each",
        {"forEach": {"input": "all", "as": "it", "indexAs": "place"}},
        step("look"),
        step("review", when=risky),
    )
    first = begin(runtime, loop, fields=declared("all"), context={"all": [{"risk": "high"}]})

    refused = refuse(runtime, "run.continue", ackToken=first["ackToken"], context={name: "low"})
    second = advance(runtime, first)

    assert "each" in refused[f"context.{name}"]
    assert second["pending"]["stepId"].endswith("review")


def token(reply: dict[str, Any], option_id: str) -> str:
    (found,) = [one["token"] for one in reply["pending"]["choices"] if one["id"] == option_id]
    assert isinstance(found, str)
    return found


def take(runtime: Runtime, reply: dict[str, Any], option_id: str) -> dict[str, Any]:
    return tool_call(runtime, "continue_workflow", ackToken=token(reply, option_id)).structured


@pytest.mark.parametrize("is_loop", [False, True], ids=["a parameter", "a loop"])
def test_what_only_an_action_gives_is_not_asked_of_the_agent(code: CodeProject, is_loop: bool) -> None:
    each = {"type": "loop", "loopId": "each", "forEach": {"input": "found.first.names", "as": "it"}}
    nothing = FIND | {"params": {"search": "nobody_has_this_name"}}
    loop = each | {"maxIterations": 2, "body": [NOTE | {"id": "other"}]}
    first = start(code, NOTE, nothing, loop if is_loop else PREVIEW, DECIDE | {"prompt": "Go on?"})

    reply = tool_call(
        code.runtime, "continue_workflow", ackToken=first["ackToken"], output={"notesMarkdown": "Noted."}
    ).structured

    (blocker,) = reply["blockers"]
    assert "the action find" in blocker["suggestedFix"]
    assert "context" not in blocker["suggestedFix"]
    assert "found." not in json.dumps(reply["nextCall"])
    assert reply["retryable"] is False


def test_a_list_inside_an_object_is_asked_for_as_that_object(runtime: Runtime) -> None:
    loop = {"type": "loop", "loopId": "each", "forEach": {"input": "plan.parts", "as": "it"}}
    first = begin(
        runtime, step("a"), loop | {"maxIterations": 2, "body": [step("b")]}, fields=declared("plan")
    )

    blocked = advance(runtime, first)

    assert blocked["nextCall"]["params"]["context"] == {"plan": {"parts": "…"}}
    assert "context.plan.parts" not in blocked["blockers"][0]["suggestedFix"]
    call = blocked["nextCall"]["params"] | {"context": {"plan": {"parts": [1]}}}
    going = tool_call(runtime, "continue_workflow", **call).structured
    assert going["pending"]["stepId"] == "each@0::b"


def test_input_from_the_goal_is_filled_if_nothing_else_is(runtime: Runtime) -> None:
    goal = "Round the total once. " * 60
    fields = {"inputs": {"request": {"type": "string", "required": True, "fromGoal": True}}}
    one = step("one", prompt="Do this: {{request}}")

    filled = begin(runtime, one, fields=fields, goal=goal)
    given = begin(runtime, one, fields=fields, goal=goal, context={"request": "Only this."})

    assert filled["pending"]["prompt"].startswith(f"Do this: {goal.strip()}")
    assert given["pending"]["prompt"].startswith("Do this: Only this.")
    (first,) = of_kind(events_of(runtime, filled), "context_set")
    assert first["data"]["owners"] == {"request": "goal"}
    assert len(filled["session"]["goal"]) == 200
    refused = refusal(runtime, "run.start", workflowId=filled["session"]["workflowId"], goal="ä" * 2_049)
    assert refused.kind.code == "VALIDATION_ERROR"
