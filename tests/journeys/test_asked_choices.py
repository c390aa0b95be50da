"""Choices that belong to the user, asked through their agent's client, in both eras."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, get_args

import pytest

from handrail.runtime.runtime import Runtime
from handrail.workflows.compiled import ChoiceKind
from tests.journeys.at_a_form import (
    CANCEL,
    DECLINE,
    REPORT,
    Answer,
    Desk,
    answers_in,
    reported,
    talk,
)
from tests.journeys.at_a_terminal import Person, seat
from tests.journeys.conversation import advance, answer, rehydrate
from tests.journeys.given_workflows import NEVER_STOP, STOP_ON_USER, begin, choice, option, step
from tests.journeys.interfaces import command, tool_call
from tests.journeys.test_confirmations import claims_of
from tests.surfaces.mcp.protocol_client import ERAS


def at_choice(runtime: Runtime, **params: Any) -> dict[str, Any]:
    return begin(
        runtime,
        choice(
            "way",
            option("small", way="small"),
            option("thorough", way="thorough"),
            nonAssumable="preference_tradeoff",
        ),
        step("go"),
        fields={"inputs": {"way": {"type": "string"}}},
        **params,
    )


def take(reply: dict[str, Any], option_id: str) -> dict[str, Any]:
    (call,) = [one for one in reply["nextCall"]["options"] if one["id"] == option_id]
    params: dict[str, Any] = call["params"]
    return params


@pytest.mark.thorough
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("preferences", [{}, STOP_ON_USER], ids=["guided", "stop on user"])
def test_option_a_person_takes_is_the_option_of_the_run(
    runtime: Runtime, era: str, preferences: dict[str, str]
) -> None:
    first = at_choice(runtime, preferences=preferences)
    desk = Desk(("accept", {"choice": "thorough"}))
    call = take(first, "small") | {"output": REPORT, "context": {"way": "small"}}

    going, again = reported(runtime, era, desk, call, call)

    assert going["pending"]["stepId"] == "go"
    assert again == going
    assert reported(runtime, era, None, call) == [going]  # through a client that has no forms
    (form,) = desk.asked
    assert form.requested_schema["properties"]["choice"] == {
        "type": "string",
        "title": "Which option do you take?",
        "enum": ["small", "thorough"],
        "enumNames": ["Small", "Thorough"],
    }
    (said,) = answers_in(runtime, first)
    assert (said["door"], said["answer"], said["optionId"]) == ("elicitation", "confirmed", "thorough")
    recap = rehydrate(runtime, going)["recap"]
    assert recap["inputs"][0]["value"] == "thorough"
    assert [(one["stepId"], one["optionId"]) for one in recap["people"]] == [("way", "thorough")]
    text = tool_call(runtime, "continue_workflow", stateToken=going["stateToken"]).text
    assert f"- way: confirmed, answered by {runtime.workspace.account()}: Thorough" in text
    done = advance(runtime, going)
    assert done["evidence"]["approved"] == 1
    page = answer(runtime, "session.export", sessionId=first["session"]["sessionId"], **{"as": "markdown"})
    assert "chose “Thorough”" in json.dumps(page, ensure_ascii=False)


@pytest.mark.parametrize("era", ERAS)
def test_reply_says_who_took_another_option_and_goes_on(runtime: Runtime, era: str) -> None:
    first = at_choice(runtime)
    desk = Desk(("accept", {"choice": "thorough"}))
    calls = [take(first, "small"), take(first, "thorough")]

    going, taken, again = reported(runtime, era, desk, *calls, calls[0])

    (told,) = going["recap"]["people"]
    assert told == rehydrate(runtime, going)["recap"]["people"][0]
    assert f"- way: confirmed, answered by {runtime.workspace.account()}: Thorough" in going["text"]
    assert going == taken == again
    assert len(desk.asked) == 1


def test_tokens_of_other_options_are_refused_after_an_answer(runtime: Runtime) -> None:
    """The choice was recorded, and the call was lost before the run took it."""
    first = at_choice(runtime)
    (blocked,) = reported(runtime, "auto", Desk(CANCEL), take(first, "small"))
    answer(seat(runtime, Person("thorough")), "run.answer", session=first["session"]["sessionId"])

    older = tool_call(runtime, "continue_workflow", **take(first, "small"), output=REPORT).structured
    refused = tool_call(runtime, "continue_workflow", **take(blocked, "small")).structured
    going = tool_call(runtime, "continue_workflow", **take(refused, "thorough")).structured

    for reply in (older, refused):
        assert "a person chose thorough" in reply["blockers"][0]["message"]
    assert blocked["kind"] == older["kind"] == refused["kind"] == "blocked"
    assert going["pending"]["stepId"] == "go"


@pytest.mark.thorough
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    "unusable",
    [CANCEL, ("accept", {}), ("accept", {"choice": "other"}), ("accept", {"choice": ""})],
    ids=str,
)
def test_question_without_an_option_records_nothing(runtime: Runtime, era: str, unusable: Answer) -> None:
    first = at_choice(runtime)
    desk = Desk(unusable)

    async def ask(call: Callable[..., Any]) -> None:
        blocked = await call(**take(first, "small"))
        (blocker,) = blocked["blockers"]
        assert (blocker["code"], blocked["kind"]) == ("USER_ONLY_DEPENDENCY", "blocked")
        going = await call(**take(blocked, "small"))
        assert going["pending"]["stepId"] == "go"

    talk(runtime, era, desk, ask)

    assert answers_in(runtime, first) == []
    facts = [claim["fact"] for claim in claims_of(runtime, first)]
    assert facts[-1] == "the agent says that the user agreed"


@pytest.mark.parametrize("era", ERAS)
def test_declined_options_stop_the_agent_until_one_is_taken(runtime: Runtime, era: str) -> None:
    first = at_choice(runtime)
    desk = Desk(DECLINE, ("accept", {"choice": "thorough"}))

    async def ask(call: Callable[..., Any]) -> None:
        declined = await call(**take(first, "small"))
        (blocker,) = declined["blockers"]
        assert "a person declined it" in blocker["message"]
        assert await call(**take(first, "small")) == declined
        stubborn = await call(**take(declined, "small"))
        assert stubborn["kind"] == "blocked"
        assert len(desk.asked) == 1
        asked_again = await call(**take(stubborn, "small"), output={"notesMarkdown": "The large one costs."})
        assert asked_again["pending"]["stepId"] == "go"

    talk(runtime, era, desk, ask)

    answers = [(said["answer"], said.get("optionId", "")) for said in answers_in(runtime, first)]
    assert answers == [("declined", ""), ("confirmed", "thorough")]


@pytest.mark.parametrize("typed", ["thorough", "2"])
def test_at_a_terminal_a_person_takes_an_option_and_yes_is_none(runtime: Runtime, typed: str) -> None:
    first = at_choice(runtime)
    person = Person("y", typed)

    told = answer(seat(runtime, person), "run.answer", stateToken=first["stateToken"])
    refused = tool_call(runtime, "continue_workflow", **take(first, "small")).structured
    going = tool_call(runtime, "continue_workflow", **take(refused, "thorough")).structured

    assert told["answer"] == "confirmed"
    assert [said["optionId"] for said in answers_in(runtime, first)] == ["thorough"]
    assert "a person chose thorough" in refused["blockers"][0]["message"]
    assert going["pending"]["stepId"] == "go"


@pytest.mark.parametrize("era", ERAS)
def test_nobody_is_asked_where_the_agent_chooses(runtime: Runtime, era: str) -> None:
    never = at_choice(runtime, preferences=NEVER_STOP)
    free = begin(runtime, choice("way", option("left"), option("right")), step("go"), fields={})

    replies = reported(runtime, era, Desk(), take(never, "small") | {"output": REPORT}, take(free, "left"))

    assert [reply["pending"]["stepId"] for reply in replies] == ["go", "go"]


def test_closing_names_a_choice_stated_by_the_agent_alone(runtime: Runtime) -> None:
    first = at_choice(runtime)
    going = answer(runtime, "run.continue", **take(first, "small"), output=REPORT)

    done = advance(runtime, going, "Went.")

    assert "For review: 1 approval stated by the agent alone." in done["closing"]


@pytest.mark.parametrize("kind", get_args(ChoiceKind))
def test_a_choice_of_the_user_says_whose_it_is_and_why(runtime: Runtime, kind: str) -> None:
    ways = choice("way", option("small", way="small"), option("thorough", way="thorough"), nonAssumable=kind)

    first = begin(runtime, ways, step("go"), fields={"inputs": {"way": {"type": "string"}}})

    told = re.match(
        r"The user decides this, not you: (.+)\. Show them the question", first["pending"]["prompt"]
    )
    assert told is not None
    assert "_" not in told[1]


@pytest.mark.parametrize(
    ("kind", "when"), [("irreversible_action", "When the user chose"), (None, "To choose")]
)
def test_the_command_of_an_option_says_whose_choice_it_is(
    runtime: Runtime, kind: str | None, when: str
) -> None:
    own = {} if kind is None else {"nonAssumable": kind}
    ways = choice("way", option("small", way="small"), option("thorough", way="thorough"), **own)
    first = begin(runtime, ways, step("go"), fields={"inputs": {"way": {"type": "string"}}})

    _, document = command(runtime, "run", "continue", "--state", first["stateToken"])

    told = [notice["message"] for notice in document["meta"]["notices"] if notice["type"] == "next_command"]
    assert told == [f"{when} {one}, run the command." for one in ("small", "thorough")]
    assert ("The user decides this" in first["pending"]["prompt"]) is (kind is not None)
