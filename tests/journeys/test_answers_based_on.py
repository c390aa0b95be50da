"""Two people cannot overwrite each other: an answer names the answer that its giver had seen."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.contract.outcome import Failure
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from tests.journeys.conversation import answer
from tests.journeys.given_workflows import begin, choice
from tests.journeys.interfaces import events_of, of_kind
from tests.journeys.rich_session import report
from tests.journeys.test_confirmations import at_console, at_third, insist


def ask(runtime: Runtime) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """A report that waits for a person, and what the Console shows of it."""
    insist(runtime)
    third = at_third(runtime)
    session = third["session"]["sessionId"]
    report(runtime, third["ackToken"], notes="Shipped to staging.")
    return session, third, answer(at_console(runtime), "run.answer", session=session, show=True)


def give(runtime: Runtime, session: str, question: dict[str, Any], text: str) -> Any:
    given = {"answer": text, "whatDigest": question["what_digest"], "basedOn": question["answer_id"]}
    return perform(at_console(runtime), "run.answer", {"session": session, "given": given})


@pytest.mark.parametrize("second", ["yes", "no"])
def test_of_two_answers_to_one_question_one_counts(runtime: Runtime, second: str) -> None:
    session, third, question = ask(runtime)

    first = give(runtime, session, question, "no")
    refused = give(runtime, session, question, second)

    assert first.data["answer"] == "declined"
    assert isinstance(refused, Failure)
    assert refused.kind.code == "E_CONFLICT"
    assert refused.details["reason"] == "answered_meanwhile"
    assert refused.details["who"] == "tester"
    assert refused.message.startswith("tester said no at 2027-01-15T08:00:00.000Z")
    assert len(of_kind(events_of(runtime, third), "confirmation_recorded")) == 1


def test_an_answer_is_changed_by_whoever_has_seen_it(runtime: Runtime) -> None:
    session, third, question = ask(runtime)
    first = give(runtime, session, question, "no").data

    again = answer(at_console(runtime), "run.answer", session=session, show=True)
    changed = give(runtime, session, again, "yes").data

    assert again["answer_id"] == first["answer_id"] != ""
    assert (changed["answer"], changed["based_on"]) == ("confirmed", first["answer_id"])
    recorded = of_kind(events_of(runtime, third), "confirmation_recorded")
    assert [one["data"].get("basedOn", "") for one in recorded] == ["", first["answer_id"]]


def test_a_repeated_yes_is_recorded_once(runtime: Runtime) -> None:
    session, third, question = ask(runtime)

    first = give(runtime, session, question, "yes").data
    again = give(runtime, session, question, "yes").data

    assert (first["is_new"], again["is_new"]) == (True, False)
    assert len(of_kind(events_of(runtime, third), "confirmation_recorded")) == 1


def test_a_question_names_irreversible_options(runtime: Runtime) -> None:
    ways: list[dict[str, Any]] = [
        {"id": "drop", "label": "Drop", "irreversible": True},
        {"id": "keep", "label": "Keep"},
    ]
    first = begin(runtime, choice("which", *ways, nonAssumable="irreversible_action"), fields={})

    question = answer(at_console(runtime), "run.answer", session=first["session"]["sessionId"], show=True)

    assert [one["irreversible"] for one in question["options"]] == [True, False]
