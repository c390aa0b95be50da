"""A session's title is its first goal until a person changes it: at a terminal or in the Console."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.contract.outcome import Failure
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from tests.conftest import memory_runtime
from tests.journeys.at_a_terminal import Person, seat
from tests.journeys.conversation import answer, start
from tests.journeys.interfaces import command, events_of, of_kind
from tests.journeys.test_confirmations import at_console
from tests.journeys.test_moving_sessions import exported, imported

GOAL = "Repair the parser"
TITLE = "Release 7, the last bug"


def renamed(runtime: Runtime) -> tuple[dict[str, Any], str]:
    """A run with a goal whose session a person renamed in the Console."""
    first = start(runtime, goal=GOAL)
    session_id: str = first["session"]["sessionId"]
    answer(at_console(runtime), "session.rename", session=session_id, title=TITLE)
    return first, session_id


@pytest.mark.parametrize("source", ["terminal", "console"])
def test_a_person_renames_a_session_once(runtime: Runtime, source: str) -> None:
    first = start(runtime, goal=GOAL)
    session_id = first["session"]["sessionId"]
    at_source = at_console(runtime) if source == "console" else seat(runtime, Person("y"))

    told = answer(at_source, "session.rename", session=session_id, title="  Release 7,\n the last bug ")
    again = answer(at_source, "session.rename", session=session_id, title=TITLE)

    assert told.pop("_untrusted") == again.pop("_untrusted") == ["title", "before"]
    assert told == {"session_id": session_id, "title": TITLE, "before": GOAL, "is_new": True}
    assert again == {"session_id": session_id, "title": TITLE, "before": TITLE, "is_new": False}
    (event,) = [
        one["data"]
        for one in of_kind(events_of(runtime, first), "observation_recorded")
        if "who" in one["data"]
    ]
    assert event == {
        "kind": "observation_recorded",
        "key": "goal",
        "value": GOAL,  # an older version reads this and shows the goal
        "title": TITLE,
        "door": source,
        "who": runtime.workspace.account(),
    }


def test_the_title_stands_wherever_the_session_is_named(runtime: Runtime) -> None:
    _, session_id = renamed(runtime)

    (listed,) = answer(runtime, "session.list")["items"]
    (resumed,) = answer(runtime, "session.resume", query="release")["items"]
    report = answer(runtime, "session.export", sessionId=session_id, **{"as": "markdown"})["content"]
    happened = answer(runtime, "session.timeline", sessionId=session_id)["items"]

    assert listed["goal"] == TITLE
    assert answer(runtime, "session.show", sessionId=session_id)["goal"] == TITLE
    assert (resumed["title"], resumed["goal"], resumed["whyMatched"]) == (TITLE, GOAL, ["title"])
    assert report.startswith(f"# {TITLE}\n")
    assert happened[0]["what"] == "renamed"


@pytest.mark.parametrize("words", ["release bug", "repair parser"])
def test_a_renamed_session_is_found_by_its_title_and_by_its_goal(runtime: Runtime, words: str) -> None:
    _, session_id = renamed(runtime)

    assert [row["id"] for row in answer(runtime, "session.list", query=words)["items"]] == [session_id]
    assert [row["sessionId"] for row in answer(runtime, "session.resume", query=words)["items"]] == [
        session_id
    ]


def test_a_later_run_keeps_the_title_and_has_its_own_goal(runtime: Runtime) -> None:
    first, session_id = renamed(runtime)

    start(runtime, session=first["stateToken"], goal="Then the lexer", requestId="second")

    assert answer(runtime, "session.show", sessionId=session_id)["goal"] == TITLE
    found = answer(runtime, "session.resume", query="lexer")["items"]
    assert [row["goal"] for row in found] == ["Then the lexer"]


def test_without_a_person_the_title_stays(runtime: Runtime) -> None:
    session_id = start(runtime, goal=GOAL)["session"]["sessionId"]

    status, document = command(runtime, "session", "rename", session_id, TITLE)
    refused = perform(seat(runtime, Person("n")), "session.rename", {"session": session_id, "title": TITLE})

    assert (status, document["error"]["code"]) == (9, "E_HUMAN_REQUIRED")
    assert isinstance(refused, Failure)
    assert refused.kind.code == "E_HUMAN_REQUIRED"
    assert answer(runtime, "session.show", sessionId=session_id)["goal"] == GOAL


@pytest.mark.parametrize("title", ["", " \n ", "x" * 201])
def test_a_title_that_shows_nothing_or_too_much_is_refused(runtime: Runtime, title: str) -> None:
    session_id = start(runtime, goal=GOAL)["session"]["sessionId"]

    refused = perform(at_console(runtime), "session.rename", {"session": session_id, "title": title})

    assert isinstance(refused, Failure)
    assert refused.kind.code == "VALIDATION_ERROR"


def test_a_title_travels_in_a_bundle(runtime: Runtime) -> None:
    _, session_id = renamed(runtime)
    other = memory_runtime()

    made = imported(other, exported(runtime, session_id))

    assert answer(other, "session.show", sessionId=made["session_id"])["goal"] == TITLE
