"""One question to a person, whatever it asks for: what blocks, what passes, and what holds where."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from handrail.contract.outcome import Failure
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from tests.conftest import memory_runtime
from tests.journeys.at_a_form import Desk, ack, answers_in, reported
from tests.journeys.at_a_terminal import Person, seat
from tests.journeys.conversation import advance, answer, rehydrate
from tests.journeys.given_workflows import NEVER_STOP, STOP_ON_USER, begin, choice, option, step
from tests.journeys.interfaces import events_of, of_kind
from tests.journeys.rich_session import report
from tests.journeys.test_confirmations import at_console, at_third, claims_of, insist
from tests.journeys.test_moving_sessions import exported, imported


def checkpoint(runtime: Runtime, reply: dict[str, Any], notes: str) -> dict[str, Any]:
    token = reply["checkpointToken"]
    return answer(runtime, "run.checkpoint", checkpointToken=token, output={"notesMarkdown": notes})


SAYS = "the agent says that the user agreed"
REGION = {"inputs": {"region": {"type": "string", "enum": ["eu", "us"]}}}
USERS_REGION = {"reason": "needs_user_choice", "choiceKind": "scope_boundary", "input": "region"}


def at_confirm(runtime: Runtime, **params: Any) -> dict[str, Any]:
    return begin(runtime, step("ask", requireConfirmation=True), step("go"), fields={}, **params)


def at_choose(runtime: Runtime, **params: Any) -> dict[str, Any]:
    ways = (option("left", way="left"), option("right", way="right"))
    return begin(
        runtime, choice("ask", *ways, nonAssumable="scope_boundary"), step("go"), fields={}, **params
    )


def at_give(runtime: Runtime, **params: Any) -> dict[str, Any]:
    return begin(runtime, step("ask", userOnly=USERS_REGION), step("go"), fields=REGION, **params)


def at_done(runtime: Runtime, **params: Any) -> dict[str, Any]:
    needed = {"reason": "needs_user_account_access"}
    return begin(runtime, step("ask", userOnly=needed), step("go"), fields={}, **params)


SAID = {"kind": "wr.user_input", "answer": "It is done.", "givenBy": "user"}


def say_so(runtime: Runtime, reply: dict[str, Any]) -> dict[str, Any]:
    """The call of an agent that says what the user answered, by the frame of its step."""
    pending = reply["pending"]
    if pending.get("choices"):
        return advance(runtime, {"ackToken": pending["choices"][0]["token"]})
    token = reply.get("retryAckToken") or reply["ackToken"]
    needed = "region" in json.dumps(pending)
    sent: dict[str, Any] = {"context": {"region": "eu"}} if needed else {}
    artifacts = [SAID] if "wr.user_input" in pending["prompt"] else []
    return answer(
        runtime,
        "run.continue",
        ackToken=token,
        output={"notesMarkdown": "The user agreed.", "artifacts": artifacts},
        **sent,
    )


def go_on(runtime: Runtime, reply: dict[str, Any], option_id: str = "") -> dict[str, Any]:
    """The call that a blocked reply offers, as it stands."""
    call = reply["nextCall"]
    if call.get("options"):
        (call,) = [one for one in call["options"] if one["id"] == option_id]
    return answer(runtime, "run.continue", **call["params"])


KINDS = {
    "confirm": (at_confirm, "y"),
    "choose": (at_choose, "left"),
    "give": (at_give, "eu"),
    "done": (at_done, "y"),
}
each_kind = pytest.mark.parametrize(("begun", "typed"), KINDS.values(), ids=KINDS)


@each_kind
@pytest.mark.parametrize("preferences", [{}, STOP_ON_USER], ids=["guided", "stop on user"])
def test_every_kind_of_question_blocks_until_a_person_answers(
    runtime: Runtime, begun: Callable[..., dict[str, Any]], typed: str, preferences: dict[str, str]
) -> None:
    insist(runtime)
    first = begun(runtime, preferences=preferences)

    blocked = say_so(runtime, first)
    again = go_on(runtime, blocked, typed)
    (blocker,) = again["blockers"]
    told = answer(seat(runtime, Person(typed)), "run.answer", session=first["session"]["sessionId"])
    passed = go_on(runtime, again, typed)

    assert (blocked["kind"], again["kind"]) == ("blocked", "blocked")
    assert f"`handrail run answer --session {told['session_id']}`" in blocker["suggestedFix"]
    assert (told["answer"], told["is_new"]) == ("confirmed", True)
    assert passed["pending"]["stepId"] == "go"
    assert claims_of(runtime, first)[-1]["level"] == "confirmed"


@each_kind
def test_agents_word_is_a_claim_where_it_counts(
    runtime: Runtime, begun: Callable[..., dict[str, Any]], typed: str
) -> None:
    first = begun(runtime)

    passed = say_so(runtime, first)

    assert passed["pending"]["stepId"] == "go"
    (claim,) = [one for one in claims_of(runtime, first) if one["check"] == "person"]
    assert (claim.get("level", "claimed"), claim["fact"]) == ("claimed", SAYS)
    assert answers_in(runtime, first) == []


@each_kind
def test_never_stop_run_has_one_critical_gap_per_kind(
    runtime: Runtime, begun: Callable[..., dict[str, Any]], typed: str
) -> None:
    first = begun(runtime, preferences=NEVER_STOP)
    choices = first["pending"].get("choices")
    token = choices[0]["token"] if choices else first["ackToken"]

    passed = answer(runtime, "run.continue", ackToken=token, output={"notesMarkdown": "Assumed."})

    assert passed["pending"]["stepId"] == "go"
    gaps = [event["data"] for event in of_kind(events_of(runtime, first), "gap_recorded")]
    assert [gap["severity"] for gap in gaps] == ["critical"]
    assert gaps[0]["reason"].startswith("user_only_dependency:")
    assert "NOT_ASKED" in [warning["code"] for warning in passed["warnings"]]


def test_value_of_a_person_is_not_replaced_by_context(runtime: Runtime) -> None:
    insist(runtime)
    first = at_give(runtime)
    answer(seat(runtime, Person("nowhere", "eu")), "run.answer", session=first["session"]["sessionId"])

    refused = perform(runtime, "run.continue", {"ackToken": first["ackToken"], "context": {"region": "us"}})
    passed = advance(runtime, first)
    later = perform(runtime, "run.continue", {"ackToken": passed["ackToken"], "context": {"region": "us"}})

    for told in (refused, later):
        assert isinstance(told, Failure)
        assert told.kind.code == "VALIDATION_ERROR"
        assert "by a person" in told.message
    assert passed["pending"]["stepId"] == "go"
    (said,) = answers_in(runtime, first)
    assert (said["asked"], said["value"]) == ("give", "eu")
    owned = [event["data"] for event in of_kind(events_of(runtime, first), "context_set")]
    assert owned[-1]["owners"] == {"region": "person"}


def test_a_secret_is_asked_for_as_done_and_never_for_its_value(runtime: Runtime) -> None:
    insist(runtime)
    needed = {"reason": "needs_user_secret_or_token", "input": "region"}
    first = begin(runtime, step("ask", userOnly=needed), step("go"), fields=REGION)
    person = Person("eu", "y")

    told = answer(seat(runtime, person), "run.answer", session=first["session"]["sessionId"])
    passed = advance(runtime, first)

    assert len(person.shown) == 2
    assert "Never type a secret" in person.shown[0]
    assert (told["answer"], told["value"]) == ("confirmed", "")
    assert passed["pending"]["stepId"] == "go"


@pytest.mark.thorough
@pytest.mark.parametrize("era", ["legacy", "auto"])
def test_value_in_the_form_is_a_persons_answer(runtime: Runtime, era: str) -> None:
    first = at_give(runtime)

    (going,) = reported(runtime, era, Desk(("accept", {"region": "eu"})), ack(first))

    assert going["pending"]["stepId"] == "go"
    (said,) = answers_in(runtime, first)
    assert (said["door"], said["asked"], said["value"]) == ("elicitation", "give", "eu")
    assert claims_of(runtime, first)[-1]["level"] == "confirmed"


@pytest.mark.parametrize(("begun", "typed"), [(at_give, "eu"), (at_choose, "left")], ids=["give", "choose"])
def test_the_console_takes_what_the_terminal_takes(
    runtime: Runtime, begun: Callable[..., dict[str, Any]], typed: str
) -> None:
    insist(runtime)
    first = begun(runtime)
    session = first["session"]["sessionId"]
    question = answer(at_console(runtime), "run.answer", session=session, show=True)
    given = {"answer": typed, "whatDigest": question["what_digest"]}

    told = answer(at_console(runtime), "run.answer", session=session, given=given)

    assert (told["source"], told["answer"], told["asked"]) == ("console", "confirmed", question["asked"])
    assert question["takes_value"] is (typed == "eu")


# A yes is about what was shown


def test_seen_report_passes_whatever_checkpoint_came_between(runtime: Runtime) -> None:
    insist(runtime)
    third = at_third(runtime)
    session = third["session"]["sessionId"]
    blocked = report(runtime, third["ackToken"], notes="Shipped to staging.")
    saved = checkpoint(runtime, blocked, "Waiting.")
    person = Person("y")
    answer(seat(runtime, person), "run.answer", session=session)
    later = checkpoint(runtime, saved, "Still waiting.")

    fresh = rehydrate(runtime, later)
    passed = report(runtime, fresh["ackToken"], notes="Shipped to staging.")

    assert "Shipped to staging." in person.shown[0]
    assert passed["isComplete"] is True
    assert claims_of(runtime, third)[-1]["level"] == "confirmed"


@pytest.mark.parametrize("setting", ["person", "claimed"])
def test_other_report_asks_again_once(runtime: Runtime, setting: Any) -> None:
    insist(runtime)
    third = at_third(runtime)
    session = third["session"]["sessionId"]
    blocked = report(runtime, third["ackToken"], notes="One file.")
    answer(seat(runtime, Person("y")), "run.answer", session=session)
    if setting == "claimed":
        third = at_claimed(runtime)
        session = third["session"]["sessionId"]
        blocked = third

    other = report(runtime, token_of(blocked), notes="Two files.")
    again = report(runtime, token_of(other), notes="One file.")

    assert other["kind"] == "blocked"
    assert again["isComplete"] is True
    assert claims_of(runtime, third)[-1]["level"] == "confirmed"


def token_of(reply: dict[str, Any]) -> str:
    return str(reply.get("retryAckToken") or reply["ackToken"])


def at_claimed(runtime: Runtime, typed: str = "y") -> dict[str, Any]:
    """A step whose report a form showed to a person, where the agent's word would do; its call was lost."""
    insist(runtime, "claimed")
    first = at_third(runtime, goal="another")
    asking = msgspec.structs.replace(runtime, can_ask=True)
    blocked = report(asking, first["ackToken"], notes="One file.")
    answer(seat(runtime, Person(typed)), "run.answer", session=first["session"]["sessionId"])
    return {**blocked, "session": first["session"]}


def test_no_and_option_hold_on_every_branch_and_a_yes_does_not(runtime: Runtime) -> None:
    ways = (option("left", way="left"), option("right", way="right"))
    first = begin(
        runtime,
        step("before"),
        choice("way", *ways, nonAssumable="scope_boundary"),
        step("ask", requireConfirmation=True),
        fields={},
    )
    session = first["session"]["sessionId"]
    way = advance(runtime, first, "First.")
    answer(seat(runtime, Person("right")), "run.answer", session=session)
    ask = answer(runtime, "run.continue", ackToken=way["pending"]["choices"][1]["token"])
    insist(runtime)
    report(runtime, ask["ackToken"], notes="Done.")
    answer(seat(runtime, Person("n")), "run.answer", session=session)
    insist(runtime, "claimed")

    other = advance(runtime, rehydrate(runtime, first), "Second.")
    refused = answer(runtime, "run.continue", ackToken=other["pending"]["choices"][0]["token"])
    taken = answer(runtime, "run.continue", ackToken=refused["nextCall"]["options"][1]["params"]["ackToken"])
    declined = report(runtime, taken["ackToken"], notes="Done.")
    better = report(runtime, declined["retryAckToken"], notes="Done better.")
    person = Person("y")
    answer(seat(runtime, person), "run.answer", session=session)
    agreed = report(runtime, better["retryAckToken"], notes="Done better.")
    third = advance(runtime, rehydrate(runtime, first), "Third.")
    third = answer(runtime, "run.continue", ackToken=third["pending"]["choices"][1]["token"])
    claimed = report(runtime, third["ackToken"], notes="Done otherwise.")

    assert "a person chose right" in refused["blockers"][0]["message"]
    assert "a person declined it" in declined["blockers"][0]["message"]
    assert "has not seen this report" in better["blockers"][0]["message"]
    assert "> Done better." in person.shown[0]
    assert (agreed["isComplete"], agreed["evidence"]) == (True, agreed["evidence"] | {"approved": 2})
    assert (claimed["isComplete"], claimed["evidence"]["approved"]) == (True, 1)  # the option of a person


@pytest.mark.parametrize(
    ("typed", "kind", "fact"), [("y", "ok", "confirmed elsewhere"), ("n", "blocked", "a person declined it")]
)
def test_an_import_keeps_a_no_and_makes_a_yes_a_claim(
    runtime: Runtime, typed: str, kind: str, fact: str
) -> None:
    blocked = at_claimed(runtime, typed)
    other = memory_runtime()
    made = imported(other, exported(runtime, blocked["session"]["sessionId"]))

    found = answer(other, "session.resume", query=made["session_id"])
    state = found["items"][0]["nextCall"]["params"]["stateToken"]
    fresh = answer(other, "run.continue", stateToken=state)
    told = report(other, fresh["ackToken"], notes="One file.")

    assert (told["kind"], claims_of(other, told)[-1]["fact"]) == (kind, fact)


# What waits is derived from the step


@each_kind
def test_waiting_question_is_listed_before_any_attempt(
    runtime: Runtime, begun: Callable[..., dict[str, Any]], typed: str
) -> None:
    first = begun(runtime)

    before = answer(runtime, "session.inbox")["items"]
    checkpoint(runtime, first, "Saved.")
    after = answer(runtime, "session.inbox")["items"]

    for needs in (before, after):
        (need,) = needs
        assert (need["kind"], need["is_answered"]) == ("person", False)
        assert "handrail run answer" in need["command"]


@pytest.mark.parametrize("fields", [{}, {"requireConfirmation": True}], ids=["a value", "and a yes"])
def test_value_of_the_agent_leaves_the_persons_question_open(
    runtime: Runtime, fields: dict[str, Any]
) -> None:
    insist(runtime)
    asks = step("ask", userOnly=USERS_REGION, **fields)
    first = begin(runtime, asks, step("go"), fields=REGION, context={"region": "eu"})

    (need,) = answer(runtime, "session.inbox")["items"]
    told = answer(seat(runtime, Person("us")), "run.answer", session=need["session_id"])
    goes_on = report(runtime, first["ackToken"], notes="The user said so.")

    assert (need["kind"], need["is_answered"]) == ("person", False)
    assert (told["answer"], told["value"]) == ("confirmed", "us")
    assert goes_on["kind"] == ("blocked" if fields else "ok")


@each_kind
def test_answer_stays_listed_until_the_agent_takes_it_up(
    runtime: Runtime, begun: Callable[..., dict[str, Any]], typed: str
) -> None:
    insist(runtime)
    first = begun(runtime)
    session = first["session"]["sessionId"]
    blocked = say_so(runtime, first)
    answer(seat(runtime, Person(typed)), "run.answer", session=session)

    begun(runtime)
    listed = answer(runtime, "session.inbox")
    still, need = listed["items"]
    read = rehydrate(runtime, blocked)
    found = answer(runtime, "session.resume", query=session)
    go_on(runtime, blocked, typed)

    assert (still["is_answered"], "waits for my answer" in still["reply"]) == (False, True)
    asked = {"eu": "What is “region”?", "left": "Which one: Left, Right?"}.get(typed, "")
    assert still["why"].startswith(asked)
    assert (listed["total"], listed["answered"]) == (2, 1)
    assert need["is_answered"] is True
    assert f"handrail session resume {session}" in need["reply"]
    who = runtime.workspace.account()
    assert f"answered by {who}" in need["why"]
    assert f"answered by {who}" in read["recap"]["personAnswer"]["words"]
    assert f"answered by {who}" in found["items"][0]["personAnswer"]
    assert [one["session_id"] for one in answer(runtime, "session.inbox")["items"]] == [still["session_id"]]


def read_from_resume(runtime: Runtime, session: str) -> dict[str, Any]:
    """The step as an agent reads it that knows only the session."""
    (found,) = answer(runtime, "session.resume", query=session)["items"]
    return answer(runtime, "run.continue", **found["nextCall"]["params"])


@each_kind
@pytest.mark.parametrize("preferences", [{}, STOP_ON_USER], ids=["guided", "stop on user"])
@pytest.mark.parametrize("is_saved", [False, True], ids=["", "checkpoint"])
def test_answered_step_read_again_asks_nobody(
    runtime: Runtime,
    begun: Callable[..., dict[str, Any]],
    typed: str,
    preferences: dict[str, str],
    is_saved: bool,
) -> None:
    insist(runtime)
    first = begun(runtime, preferences=preferences)
    session = first["session"]["sessionId"]
    blocked = say_so(runtime, first)
    waiting = read_from_resume(runtime, session)
    if is_saved:
        checkpoint(runtime, blocked, "Saved.")
    answer(seat(runtime, Person(typed)), "run.answer", session=session)

    read = read_from_resume(runtime, session)
    passed = go_on(runtime, read, typed)

    assert waiting["recap"]["blockedBy"]
    assert "answered" not in waiting["pending"]["prompt"]
    assert "blockedBy" not in read["recap"]
    assert read["nextIntent"] == "perform_pending_then_continue"
    assert "sk the user" not in json.dumps(read, ensure_ascii=False)
    assert read["pending"]["prompt"].startswith("A person has answered")
    assert "…" not in json.dumps(read["nextCall"], ensure_ascii=False)
    assert [one["id"] for one in read["nextCall"].get("options", [])] in ([], [typed])
    assert passed["pending"]["stepId"] == "go"
    assert claims_of(runtime, first)[-1]["level"] == "confirmed"


@pytest.mark.parametrize("kind", ["choose", "give", "done"])
def test_answer_before_any_attempt_is_not_asked_for_again(runtime: Runtime, kind: str) -> None:
    begun, typed = KINDS[kind]
    insist(runtime)
    session = begun(runtime)["session"]["sessionId"]
    answer(seat(runtime, Person(typed)), "run.answer", session=session)

    read = read_from_resume(runtime, session)
    call = read["nextCall"]["params"]
    if call:
        assert call.keys() == {"ackToken", "output"}
        assert call["output"] == {"notesMarkdown": "…"}
        call["output"]["notesMarkdown"] = "Looked at it."
    passed = go_on(runtime, read, typed)

    assert "sk the user" not in read["pending"]["prompt"]
    assert passed["pending"]["stepId"] == "go"


def test_authors_words_stay_after_an_answer(runtime: Runtime) -> None:
    insist(runtime)
    ways = (option("left", way="left"), option("right", way="right"))
    words = "The user decides this, not you: they know the road."
    asked = choice("ask", *ways, nonAssumable="scope_boundary", prompt=words)
    first = begin(runtime, asked, step("go"), fields={})
    session = first["session"]["sessionId"]
    answer(seat(runtime, Person("left")), "run.answer", session=session)

    read = read_from_resume(runtime, session)

    assert words in read["pending"]["prompt"]
    assert "make the call of the one that they take" not in read["pending"]["prompt"]


def test_confirmed_report_stands_in_the_call_of_its_step(
    runtime: Runtime,
) -> None:
    insist(runtime)
    first = at_confirm(runtime)
    say_so(runtime, first)
    answer(seat(runtime, Person("y")), "run.answer", session=first["session"]["sessionId"])

    read = rehydrate(runtime, first)
    passed = go_on(runtime, read)

    assert read["nextCall"]["params"]["output"] == {"notesMarkdown": "The user agreed."}
    assert passed["pending"]["stepId"] == "go"


def test_step_read_after_a_no_says_who_answered(runtime: Runtime) -> None:
    insist(runtime)
    first = at_confirm(runtime)
    say_so(runtime, first)
    answer(seat(runtime, Person("n")), "run.answer", session=first["session"]["sessionId"])

    read = read_from_resume(runtime, first["session"]["sessionId"])

    assert read["recap"]["personAnswer"]["answer"] == "declined"
    assert "blockedBy" not in read["recap"]
    assert read["nextIntent"] == "await_user_confirmation"
    assert read["nextCall"]["params"]["output"] == {"notesMarkdown": "…"}


def test_yes_to_an_incomplete_report_does_not_resend_it(runtime: Runtime) -> None:
    insist(runtime)
    wanted = step("ask", requireConfirmation=True, validationCriteria={"type": "contains", "value": "risk"})
    first = begin(runtime, wanted, step("go"), fields={})
    session = first["session"]["sessionId"]
    say_so(runtime, first)
    answer(seat(runtime, Person("y")), "run.answer", session=session)

    read = read_from_resume(runtime, session)

    assert "risk" in str(read["recap"]["blockedBy"])
    assert "handrail run answer" not in str(read["recap"]["blockedBy"])
    assert "A person has answered" not in read["pending"]["prompt"]
    assert read["nextIntent"] == "await_user_confirmation"
    assert read["nextCall"]["params"]["output"] == {"notesMarkdown": "…"}


def test_value_of_a_person_leaves_the_yes_to_be_asked_for(runtime: Runtime) -> None:
    insist(runtime)
    both = step("ask", userOnly=USERS_REGION, requireConfirmation=True)
    session = begin(runtime, both, step("go"), fields=REGION)["session"]["sessionId"]
    answer(seat(runtime, Person("eu")), "run.answer", session=session)

    read = read_from_resume(runtime, session)

    assert "the value of region is recorded" in read["pending"]["prompt"]
    assert "context" not in read["nextCall"]["params"]
    assert read["nextIntent"] == "await_user_confirmation"


NAMED = {"inputs": {"target": {"type": "string"}}}


@pytest.mark.parametrize(
    "asked",
    [
        step("ask", prompt="Drop the table {{target}} for good.", requireConfirmation=True),
        choice(
            "ask",
            option("y"),
            option("n"),
            prompt="Drop the table {{target}} for good.",
            nonAssumable="scope_boundary",
        ),
        step("ask", prompt="Drop the table {{target}} for good.", userOnly={"reason": "needs_user_approval"}),
    ],
    ids=["confirm", "choose", "give"],
)
def test_question_is_shown_with_its_values(runtime: Runtime, asked: dict[str, Any]) -> None:
    insist(runtime)
    first = begin(runtime, asked, step("go"), fields=NAMED, context={"target": "customers"})
    person = Person("n")

    perform(seat(runtime, person), "run.answer", {"session": first["session"]["sessionId"]})

    shown = "\n".join(person.shown)
    assert "> Drop the table customers for good." in shown
    assert "{{" not in shown


def test_value_of_the_agent_is_shown_as_its_own_word(runtime: Runtime) -> None:
    insist(runtime)
    asked = step("ask", prompt="Ask.", requireConfirmation=True)
    first = begin(runtime, asked, step("go"), fields=NAMED)
    answer(
        runtime,
        "run.continue",
        ackToken=first["ackToken"],
        output={"notesMarkdown": "done"},
        context={"target": "yes"},
    )
    person = Person("n")

    perform(seat(runtime, person), "run.answer", {"session": first["session"]["sessionId"]})

    shown = "\n".join(person.shown)
    assert "The agent sets, by its own word:\n> - Target: yes" in shown
