"""A person says no, or nothing: the run is never at a dead end, and the agent reads why."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest

from handrail.contract.ids import Confirmations
from handrail.contract.outcome import Failure
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from tests.journeys.at_a_form import answers_in
from tests.journeys.at_a_terminal import Person, seat
from tests.journeys.conversation import advance, answer, rehydrate, start
from tests.journeys.given_workflows import NEVER_STOP, STOP_ON_USER, begin, step
from tests.journeys.interfaces import command, events_of, of_kind, tool_call
from tests.journeys.rich_session import report
from tests.journeys.test_confirmations import (
    RELEASE,
    at_console,
    at_release,
    at_third,
    claims_of,
    insist,
)
from tests.journeys.test_one_question import USERS_REGION, at_choose, at_give, say_so
from tests.journeys.test_where_facts_hold import words_of

NOTE = "Name the two files that changed."


def say(runtime: Runtime, reply: dict[str, Any], *typed: str, **params: Any) -> dict[str, Any]:
    session = reply["session"]["sessionId"]
    return answer(seat(runtime, Person(*typed)), "run.answer", session=session, **params)


def needed(runtime: Runtime) -> dict[str, Any]:
    (need,) = answer(runtime, "session.inbox")["items"]
    return dict(need)


@pytest.mark.parametrize("preferences", [{}, STOP_ON_USER], ids=["guided", "stop on user"])
def test_other_report_after_a_no_asks_again_and_passes_by_a_yes(
    runtime: Runtime, preferences: dict[str, str]
) -> None:
    insist(runtime)
    third = at_third(runtime, preferences=preferences)
    first = report(runtime, third["ackToken"], notes="Changed things.")
    say(runtime, third, "n", note=NOTE)
    declined = needed(runtime)

    same = report(runtime, first["retryAckToken"], notes="Changed things.")
    other = report(runtime, same["retryAckToken"], notes="Changed a.py and b.py.")
    asked = needed(runtime)
    say(runtime, third, "y")
    done = report(runtime, other["retryAckToken"], notes="Changed a.py and b.py.")

    session = third["session"]["sessionId"]
    assert (declined["is_answered"], asked["is_answered"]) == (True, False)
    assert declined["command"] == asked["command"] == f"handrail run answer --session {session}"
    assert "a person declined it" in same["blockers"][0]["message"]
    (blocker,) = other["blockers"]
    assert "state" not in blocker["waitsFor"]
    assert "has not seen this report" in blocker["message"]
    assert (asked["kind"], asked["asked"]) == ("person", "confirm")
    assert (done["isComplete"], done["evidence"]["approved"]) == (True, 1)


@pytest.mark.parametrize("is_early", [True, False], ids=["before a report", "to another report"])
def test_no_fork_makes_a_person_agree_who_said_no(runtime: Runtime, is_early: bool) -> None:
    second = advance(runtime, start(runtime))
    third = advance(runtime, second)
    if not is_early:
        insist(runtime)
        report(runtime, third["ackToken"], notes="Changed things.")
        insist(runtime, "claimed")
    said = say(runtime, third, "n")

    forked = advance(runtime, rehydrate(runtime, second), "Another way.")
    blocked = report(runtime, forked["ackToken"], notes="Changed a.py and b.py.")
    say(runtime, third, "y")
    done = report(runtime, blocked["retryAckToken"], notes="Changed a.py and b.py.")

    assert "you are asked again" in said["next"]
    assert "has not seen this report" in blocked["blockers"][0]["message"]
    assert (done["isComplete"], done["evidence"]["approved"]) == (True, 1)


def test_note_of_a_no_reaches_the_next_reply_and_the_resume(runtime: Runtime) -> None:
    insist(runtime)
    third = at_third(runtime)
    blocked = report(runtime, third["ackToken"], notes="Changed things.")
    say(runtime, third, "n", note=NOTE)

    found = answer(runtime, "session.resume", query=third["session"]["sessionId"])
    same = report(runtime, blocked["retryAckToken"], notes="Changed things.")
    other = report(runtime, same["retryAckToken"], notes="Changed a.py and b.py.")

    assert NOTE in found["items"][0]["personAnswer"]
    assert NOTE in same["blockers"][0]["message"]
    assert NOTE in other["blockers"][0]["message"]


def test_empty_line_is_no_answer_and_allowed_values_are_shown(runtime: Runtime) -> None:
    insist(runtime)
    first = at_give(runtime)
    person = Person("")

    refused = perform(seat(runtime, person), "run.answer", {"session": first["session"]["sessionId"]})

    assert isinstance(refused, Failure)
    assert "No answer was given" in refused.message
    assert answers_in(runtime, first) == []
    assert "Allowed: eu, us." in person.shown[0]


def test_a_value_with_a_key_that_stands_twice_is_no_answer(runtime: Runtime) -> None:
    insist(runtime)
    steps = step("ask", userOnly=USERS_REGION), step("go")
    first = begin(runtime, *steps, fields={"inputs": {"region": {"type": "object"}}})
    call = {"session": first["session"]["sessionId"]}

    refused = perform(seat(runtime, Person('{"at":"eu","at":"us"}')), "run.answer", call)

    assert isinstance(refused, Failure)
    assert answers_in(runtime, first) == []
    assert answer(seat(runtime, Person('{"at":"eu"}')), "run.answer", **call)["answer"] == "confirmed"


def test_wrong_value_in_the_console_is_refused_in_plain_words(runtime: Runtime) -> None:
    insist(runtime)
    first = at_give(runtime)
    session = first["session"]["sessionId"]
    question = answer(at_console(runtime), "run.answer", session=session, show=True)
    given = {"answer": "mars", "whatDigest": question["what_digest"]}

    refused = perform(at_console(runtime), "run.answer", {"session": session, "given": given})

    assert isinstance(refused, Failure)
    assert "Allowed: eu, us." in refused.message
    assert "details.problems" not in (refused.hint or "")


def test_need_for_a_value_does_not_send_a_person_to_the_chat(runtime: Runtime) -> None:
    insist(runtime)
    say_so(runtime, at_give(runtime))

    need = needed(runtime)

    assert (need["kind"], need["asked"]) == ("person", "give")
    assert "Give it to the agent" not in need["fix"]
    assert need["command"].startswith("handrail run answer --session ")


def test_hint_names_its_own_run_and_a_question_those_waiting(
    runtime: Runtime,
) -> None:
    insist(runtime)
    waiting = at_third(runtime, goal="one")
    idle = answer(runtime, "run.start", workflowId="project.three_steps", goal="two")
    blocked = tool_call(
        runtime, "continue_workflow", ackToken=waiting["ackToken"], output={"notesMarkdown": "Done."}
    ).structured
    status, shell = command(runtime, "run", "continue", "--state", waiting["stateToken"])

    refused = perform(seat(runtime, Person("y")), "run.answer", {})

    own, other = waiting["session"]["sessionId"], idle["session"]["sessionId"]
    line = f"handrail run answer --session {own}"
    assert f"`{line}`" in blocked["blockers"][0]["suggestedFix"]
    assert status == 0
    assert f"`{line}`" in str(rehydrate(runtime, blocked)["recap"]["blockedBy"])
    assert isinstance(refused, Failure)
    assert f"Waiting for a person: {own}. Others: {other}." in refused.message
    assert refused.next_call is not None
    assert (refused.next_call.operation, refused.next_call.params) == ("run.answer", {"session": own})
    assert shell["ok"] is True


def test_kept_report_is_shown_whole_with_its_claims(
    runtime: Runtime,
) -> None:
    first = at_release(runtime)
    session, run = first["session"]["sessionId"], first["session"]["runId"]
    blocked = report(runtime, first["ackToken"], RELEASE, notes="Ready to go.")
    sent = needed(runtime)["node_id"]
    kept = answer(runtime, "run.continue", ackToken=blocked["retryAckToken"])

    card = words_of(runtime, "/inbox")
    page = words_of(runtime, f"/sessions/{session}/runs/{run}/nodes/{sent}")
    person = Person("y")
    answer(seat(runtime, person), "run.answer", session=session)

    assert kept["kind"] == "blocked"
    assert "reported nothing" not in card
    assert "Ready to go." in card
    assert "2.0.0" in card
    assert "All of it is stated by the agent" in card
    for told in ("Ready to go.", "2.0.0"):
        assert told in person.shown[0]
    assert "well-formed" in page
    assert "no contract asks for it" not in page


def test_story_names_who_gave_and_who_chose(runtime: Runtime) -> None:
    insist(runtime)
    given, chosen = at_give(runtime), at_choose(runtime)
    numbered = msgspec.structs.replace(runtime, workspace=Numbered(runtime.workspace))
    say(runtime, given, "eu")
    told = say(numbered, chosen, "left")

    stories = [story_of(runtime, reply) for reply in (given, chosen)]

    assert told["who"] == "somebody at the terminal"
    assert f"A person gave eu at a terminal, as {runtime.workspace.account()}" in stories[0]
    assert "A person chose “Left” at a terminal" in stories[1]
    session = chosen["session"]["sessionId"]
    assert "A person chose “Left” at Ask" in words_of(runtime, f"/sessions/{session}/timeline")


def story_of(runtime: Runtime, reply: dict[str, Any]) -> str:
    session = reply["session"]["sessionId"]
    return str(answer(runtime, "session.export", sessionId=session, **{"as": "markdown"})["content"])


class Numbered:
    """A workspace of an account that has a number and no name."""

    def __init__(self, workspace: Any) -> None:
        self._workspace = workspace

    def __getattr__(self, name: str) -> Any:
        return getattr(self._workspace, name)

    def account(self) -> str:
        return "0"


def test_gaps_of_a_run_are_one_item_and_each_is_resolved_by_name(runtime: Runtime) -> None:
    two = (step("one", requireConfirmation=True), step("two", requireConfirmation=True))
    first = begin(runtime, *two, fields={}, preferences=NEVER_STOP)
    advance(runtime, advance(runtime, first))
    (item,) = answer(runtime, "session.inbox")["items"]
    gaps = item["gap_ids"]

    answer(seat(runtime, Person("y")), "session.resolve_gap", gap=gaps[0], note="I looked at it.")

    settler = f"{runtime.workspace.account()} at a terminal"
    assert (len(set(gaps)), item["count"]) == (2, 2)
    assert f"I looked at it. (by {settler})" in words_of(runtime, "/gaps")
    assert f"Gap resolved by {settler}: I looked at it." in story_of(runtime, first)
    assert needed(runtime)["command"].startswith(f"handrail session resolve {gaps[1]} --session ses_")


# A run that asks nobody, after a person said no to the same step in another run of the session


def join(runtime: Runtime, first: dict[str, Any], **params: Any) -> dict[str, Any]:
    """Another run of the same workflow in the session, which never stops."""
    session = first["session"]["sessionId"]
    workflow = of_kind(events_of(runtime, first), "run_started")[0]["data"]["workflowId"]
    return answer(
        runtime, "run.start", workflowId=workflow, session=session, preferences=NEVER_STOP, **params
    )


def list_gaps(runtime: Runtime, reply: dict[str, Any]) -> list[tuple[str, str]]:
    gaps = [event["data"] for event in of_kind(events_of(runtime, reply), "gap_recorded")]
    return [(gap["severity"], gap["summary"]) for gap in gaps]


@pytest.mark.parametrize("on", get_args(Confirmations))
def test_never_stop_run_names_the_option_a_person_took(runtime: Runtime, on: Confirmations) -> None:
    insist(runtime, on)
    first = at_choose(runtime)
    options = [one["id"] for one in first["pending"]["choices"]]
    say(runtime, first, options[1])
    against = join(runtime, first)["pending"]["choices"][0]["token"]

    passed = answer(runtime, "run.continue", ackToken=against, output={"notesMarkdown": "Assumed."})

    told = f"takes {options[0]} for ask, but a person chose {options[1]}."
    assert passed["kind"] == "ok"
    ((severity, summary),) = list_gaps(runtime, first)
    assert severity == "critical"
    assert told in summary
    assert told in str(passed["warnings"])
    assert [one["verdict"] for one in claims_of(runtime, passed) if one["check"] == "person"] == [
        "contradicted"
    ]
    same = join(runtime, first)["pending"]["choices"][1]["token"]
    kept = answer(runtime, "run.continue", ackToken=same, output={"notesMarkdown": "As they said."})
    assert kept["kind"] == "ok"
    assert len(list_gaps(runtime, first)) == 2
    assert told not in str(kept["warnings"])


def test_never_stop_run_names_the_no_to_a_report(
    runtime: Runtime,
) -> None:
    insist(runtime)
    third = at_third(runtime)
    report(runtime, third["ackToken"], notes="Changed things.")
    say(runtime, third, "n", note=NOTE)
    joined = advance(runtime, advance(runtime, join(runtime, third)))

    done = report(runtime, joined["ackToken"], notes="Changed a.py and b.py.")

    assert done["isComplete"]
    ((severity, summary),) = list_gaps(runtime, third)
    assert severity == "critical"
    assert "a person declined it before, and has not seen this report" in summary
    assert NOTE in summary


def test_where_people_are_asked_a_second_run_asks_them_anew(runtime: Runtime) -> None:
    insist(runtime)
    third = at_third(runtime)
    report(runtime, third["ackToken"], notes="Changed things.")
    say(runtime, third, "n", note=NOTE)
    session = third["session"]["sessionId"]
    again = answer(runtime, "run.start", workflowId="project.three_steps", session=session)
    joined = advance(runtime, advance(runtime, again))

    blocked = report(runtime, joined["ackToken"], notes="Changed things.")

    assert blocked["kind"] == "blocked"
    assert NOTE not in str(blocked["blockers"])
