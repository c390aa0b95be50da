"""A session that begins without a workflow: notes first, a run later."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from handrail.runtime.runtime import Runtime
from tests.conftest import memory_runtime, settings_of
from tests.journeys.conversation import (
    advance,
    answer,
    commits_of,
    refusal,
    save,
    start,
)
from tests.journeys.test_moving_sessions import exported, imported, told


@pytest.fixture
def switched_on(runtime: Runtime) -> Runtime:
    settings_of(runtime).settings = msgspec.structs.replace(settings_of(runtime).settings, start_session=True)
    return runtime


def begin(runtime: Runtime, **params: Any) -> dict[str, Any]:
    return answer(runtime, "session.start", **{"goal": "look around"} | params)


def note(runtime: Runtime, reply: dict[str, Any], text: str) -> dict[str, Any]:
    return save(runtime, reply, text)


@pytest.mark.promise("session.without-run")
def test_a_shell_needs_no_setting_for_it(runtime: Runtime) -> None:
    assert begin(runtime, requestId="k")["session"]["goal"] == "look around"


@pytest.mark.promise("session.without-run")
def test_a_session_begins_once_per_request_id(switched_on: Runtime) -> None:
    first = begin(switched_on, requestId="chat-7")
    note(switched_on, first, "something")
    start(switched_on, session=first["sessionToken"], goal="another goal")
    before = commits_of(switched_on)

    again = begin(switched_on, requestId="chat-7")
    other = refusal(switched_on, "session.start", requestId="chat-7", goal="other words")

    assert list(first) == [
        *("kind", "sessionToken", "checkpointToken", "session", "nextCall", "project", "_untrusted")
    ]
    assert first["session"]["goal"] == "look around"
    assert again == first
    assert (other.kind.code, other.details["session_id"]) == ("E_CONFLICT", first["session"]["sessionId"])
    assert commits_of(switched_on) == before


@pytest.mark.promise("session.without-run")
def test_its_notes_are_kept_once_per_token_and_come_back(switched_on: Runtime) -> None:
    session = begin(switched_on)
    first = note(switched_on, session, "Read the parser.")
    before = commits_of(switched_on)
    replayed = note(switched_on, session, "Read the parser.")
    other = note(switched_on, session, "Something else.")
    emptied = note(switched_on, session, "")  # refused if it were new
    assert commits_of(switched_on) == before

    note(switched_on, first, "Read the lexer.")
    shown = answer(switched_on, "run.continue", stateToken=session["sessionToken"])

    assert replayed == first
    assert [reply["warnings"][0]["code"] for reply in (other, emptied)] == ["REPLAY_INPUT_MISMATCH"] * 2
    assert [reply["checkpointToken"] for reply in (other, emptied)] == [first["checkpointToken"]] * 2
    assert "nextCall" not in emptied["warnings"][0]  # there is nothing that a call could keep
    assert [entry["notes"] for entry in shown["recap"]["entries"]] == ["Read the parser.", "Read the lexer."]
    assert shown["recap"]["entries"][0]["_untrusted"] == ["notes"]
    assert first["checkpointToken"] != session["checkpointToken"]


@pytest.mark.promise("session.without-run")
def test_a_run_joins_it_and_is_shown_with_the_call_that_goes_on(switched_on: Runtime) -> None:
    session = begin(switched_on)
    run = start(switched_on, session=session["sessionToken"])
    second = advance(switched_on, run)

    shown = answer(switched_on, "run.continue", stateToken=session["sessionToken"])
    (place,) = shown["runs"]
    back = answer(switched_on, "run.continue", **place["nextCall"]["params"])

    assert run["session"]["sessionId"] == session["session"]["sessionId"]
    assert run["session"]["goal"] == "look around"
    assert back["stateToken"] == second["stateToken"]


@pytest.mark.promise("session.without-run")
def test_resume_and_the_list_find_it(switched_on: Runtime) -> None:
    session = begin(switched_on)
    note(switched_on, session, "The lexer drops tabs.")

    (found,) = answer(switched_on, "session.resume", query="lexer tabs")["items"]
    (row,) = answer(switched_on, "session.list")["items"]
    back = answer(switched_on, "run.continue", **found["nextCall"]["params"])

    assert (found["status"], found["whyMatched"]) == ("notes_only", ["newest notes"])
    assert "runId" not in found
    assert (row["status"], row["goal"]) == ("notes_only", "look around")
    assert back["recap"]["entries"][0]["notes"] == "The lexer drops tabs."
    assert answer(switched_on, "session.show", sessionId=row["id"])["runs"] == []


@pytest.mark.promise("session.without-run")
def test_what_cannot_be_kept_without_a_run_is_refused(switched_on: Runtime) -> None:
    session = begin(switched_on)
    token = session["checkpointToken"]

    empty = refusal(switched_on, "run.checkpoint", checkpointToken=token, output={})
    artifact = refusal(
        switched_on,
        "run.checkpoint",
        checkpointToken=token,
        output={"notesMarkdown": "x", "artifacts": [{"kind": "wr.gap", "summary": "x"}]},
    )
    output = refusal(
        switched_on,
        "run.continue",
        stateToken=session["sessionToken"],
        output={"notesMarkdown": "x"},
    )
    foretold = answer(
        switched_on,
        "run.checkpoint",
        checkpointToken=token,
        output={"notesMarkdown": "x"},
        dryRun=True,
    )

    assert {failure.kind.code for failure in (empty, artifact, output)} == {"VALIDATION_ERROR"}
    assert "output.notesMarkdown" in empty.message
    assert "notes only" in artifact.message
    assert foretold["verdict"] == "would_save"
    assert answer(switched_on, "session.list")["items"][0]["status"] == "empty"


@pytest.mark.promise("session.without-run")
def test_its_tokens_beside_those_of_a_run_are_told_apart(switched_on: Runtime) -> None:
    session = begin(switched_on)
    run = start(switched_on)

    failure = refusal(
        switched_on, "run.continue", ackToken=run["ackToken"], stateToken=session["sessionToken"]
    )

    assert failure.kind.code == "TOKEN_SCOPE_MISMATCH"
    assert f"session {session['session']['sessionId']}" in failure.message


@pytest.mark.promise("session.without-run", "bundle.round-trip")
def test_it_moves_with_its_notes_and_takes_more(switched_on: Runtime) -> None:
    session = begin(switched_on)
    session_id = session["session"]["sessionId"]
    first = note(switched_on, session, "Read the parser.")
    long = "The lexer drops tabs. " * 400
    note(switched_on, first, long)
    elsewhere = memory_runtime()

    made = imported(elsewhere, exported(switched_on, session_id))
    (found,) = answer(elsewhere, "session.resume", query="parser")["items"]
    back = answer(elsewhere, "run.continue", **found["nextCall"]["params"])
    note(elsewhere, back, "Wrote a test.")

    assert (made["session_id"], made["run_count"]) == (session_id, 0)
    assert [entry["notes"][:20] for entry in back["recap"]["entries"]] == [
        "Read the parser.",
        "The lexer drops tabs",
    ]
    texts = [kept["text"] for kept in told(elsewhere, session_id)["notes"]]
    assert texts == ["Read the parser.", long[:500], "Wrote a test."]
    assert told(switched_on, session_id)["status"] == "notes_only"
    assert long.strip() in answer(elsewhere, "session.export", sessionId=session_id, **{"as": "markdown"})[
        "content"
    ].replace("> ", "")


@pytest.mark.promise("session.without-run", "bundle.import-as-new")
def test_with_a_later_run_it_gets_another_id_and_goes_on(switched_on: Runtime) -> None:
    session = begin(switched_on)
    session_id = session["session"]["sessionId"]
    first = note(switched_on, session, "Read the parser.")
    advance(switched_on, start(switched_on, session=session["sessionToken"]))
    note(switched_on, first, "A run is on its way.")

    copy = imported(switched_on, exported(switched_on, session_id))["session_id"]
    (found,) = answer(switched_on, "session.resume", query=copy)["items"]
    reply = answer(switched_on, "run.continue", **found["nextCall"]["params"])

    assert copy != session_id
    assert told(switched_on, copy) == told(switched_on, session_id)
    assert reply["pending"]["stepId"] == "second"
    assert refusal(
        switched_on,
        "run.continue",
        stateToken=reply["stateToken"],
        ackToken=first["checkpointToken"],
    ).kind.code.startswith("TOKEN_")


@pytest.mark.promise("session.without-run")
def test_its_summary_lists_the_newest_notes_and_counts_others(switched_on: Runtime) -> None:
    reply = begin(switched_on)
    session_id = reply["session"]["sessionId"]
    for number in range(23):
        reply = note(switched_on, reply, f"note {number} " + "x" * 480)

    shown = answer(switched_on, "session.show", sessionId=session_id)

    assert shown["notes_omitted"] > 3
    assert [kept["text"].split(" x")[0] for kept in shown["notes"]] == [
        f"note {number}" for number in range(shown["notes_omitted"], 23)
    ]
    assert shown["notes"][0]["_untrusted"] == ["text"]
    assert not shown["notes"][0]["is_cut"]


def test_notes_with_a_key_begin_a_session_once_and_are_kept_once(switched_on: Runtime) -> None:
    asked = {"requestId": "chat-8", "notes": "Read the parser."}
    first = begin(switched_on, **asked)
    before = commits_of(switched_on)

    again = begin(switched_on, **asked)

    assert (again["session"], commits_of(switched_on)) == (first["session"], before)
    shown = answer(switched_on, "session.show", sessionId=first["session"]["sessionId"])
    assert [one["text"] for one in shown["notes"]] == ["Read the parser."]


def test_notes_by_session_id_are_a_checkpoint_of_its_run(runtime: Runtime) -> None:
    reply = start(runtime)
    asked = {"session": reply["session"]["sessionId"], "requestId": "k", "notes": "Half of it is done."}
    first = answer(runtime, "session.start", **asked)
    before = commits_of(runtime)

    again = answer(runtime, "session.start", **asked)
    other = refusal(runtime, "session.start", **asked | {"notes": "Other words."})
    answer(runtime, "session.start", **asked | {"requestId": "k2", "notes": "Three quarters."})

    assert first["pending"]["stepId"] == reply["pending"]["stepId"]
    assert again["checkpointToken"] == first["checkpointToken"]
    assert (other.kind.code, other.details["resource"]) == ("E_CONFLICT", "note")
    assert commits_of(runtime) == before + 1
    shown = answer(runtime, "run.continue", stateToken=reply["stateToken"])
    assert [entry["notes"] for entry in shown["recap"]["entries"]] == [
        "Half of it is done.",
        "Three quarters.",
    ]


def test_notes_for_an_existing_session_take_no_goal(runtime: Runtime) -> None:
    session_id = start(runtime)["session"]["sessionId"]

    for given in ({}, {"notes": "x", "goal": "another"}):
        failure = refusal(runtime, "session.start", session=session_id, requestId="k", **given)
        assert failure.kind.code == "VALIDATION_ERROR"
