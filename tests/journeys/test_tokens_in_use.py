"""What agents do to tokens, and what they get back."""

from __future__ import annotations

import msgspec
import pytest

from handrail.event_log.memory import MemoryLog
from handrail.runtime.runtime import Runtime
from tests.conftest import FixedKeys
from tests.journeys.conversation import advance, answer, refusal, start


def changed(token: str, *places: int) -> str:
    """The token with other characters at these places."""
    characters = list(token)
    for place in places:
        characters[place] = "7" if characters[place] != "7" else "8"
    return "".join(characters)


@pytest.mark.promise("tokens.scope")
def test_tokens_of_different_replies_are_refused_together(runtime: Runtime) -> None:
    first = start(runtime)
    second = advance(runtime, first)
    elsewhere = start(runtime)

    steps = refusal(runtime, "run.continue", ackToken=second["ackToken"], stateToken=first["stateToken"])
    sessions = refusal(
        runtime, "run.continue", ackToken=second["ackToken"], stateToken=elsewhere["stateToken"]
    )
    agreeing = answer(runtime, "run.continue", ackToken=second["ackToken"], stateToken=second["stateToken"])

    assert (steps.kind.code, sessions.kind.code) == ("TOKEN_SCOPE_MISMATCH", "TOKEN_SCOPE_MISMATCH")
    assert sessions.next_call is not None
    assert sessions.next_call.params == {"query": second["session"]["sessionId"]}
    assert agreeing["pending"]["stepId"] == "third"


@pytest.mark.promise("tokens.repair")
def test_one_wrong_character_is_repaired_and_two_are_refused(runtime: Runtime) -> None:
    first = start(runtime)

    repaired = answer(runtime, "run.continue", ackToken=changed(first["ackToken"], 20))
    refused = refusal(runtime, "run.continue", ackToken=changed(first["ackToken"], 20, 30))

    assert repaired["warnings"][0]["code"] == "TOKEN_REPAIRED"
    assert repaired["warnings"][0]["correctedToken"] == first["ackToken"]
    assert repaired["pending"]["stepId"] == "second"
    assert refused.kind.code == "TOKEN_BAD_SIGNATURE"
    assert first["ackToken"] not in str(refused)


@pytest.mark.promise("tokens.glued")
def test_a_state_and_an_ack_pasted_together_are_told_apart(runtime: Runtime) -> None:
    first = start(runtime)
    other = start(runtime)

    reply = answer(runtime, "run.continue", ackToken=first["stateToken"] + first["ackToken"])
    mixed = refusal(runtime, "run.continue", ackToken=other["stateToken"] + first["ackToken"])

    assert reply["pending"]["stepId"] == "second"
    assert mixed.kind.code == "TOKEN_SCOPE_MISMATCH"


@pytest.mark.promise("tokens.wrong-field")
def test_a_token_in_the_wrong_field_is_refused_and_named(runtime: Runtime) -> None:
    first = start(runtime)

    as_ack = refusal(runtime, "run.continue", ackToken=first["stateToken"])
    as_state = refusal(runtime, "run.continue", stateToken=first["ackToken"])

    assert (as_ack.kind.code, as_state.kind.code) == ("TOKEN_SCOPE_MISMATCH", "TOKEN_SCOPE_MISMATCH")
    assert "stateToken" in as_ack.message
    assert "ackToken" in as_state.message


@pytest.mark.promise("tokens.lost-history")
def test_a_token_proves_that_acknowledged_history_was_cut_off(runtime: Runtime) -> None:
    first = start(runtime, requestId="same")
    second = advance(runtime, first)
    restored = msgspec.structs.replace(runtime, log=MemoryLog())
    start(restored, requestId="same")

    lost = refusal(restored, "run.continue", ackToken=second["ackToken"])
    gone = refusal(
        msgspec.structs.replace(runtime, log=MemoryLog()), "run.continue", ackToken=second["ackToken"]
    )

    assert lost.kind.code == "STORE_HISTORY_LOST"
    assert gone.kind.code == "TOKEN_UNKNOWN_NODE"


@pytest.mark.promise("tokens.rotation")
def test_tokens_of_the_previous_key_work_and_those_of_an_older_one_do_not(runtime: Runtime) -> None:
    old, new, newest = b"o" * 32, b"n" * 32, b"x" * 32
    before = msgspec.structs.replace(runtime, keys=FixedKeys(old))
    rotated = msgspec.structs.replace(runtime, keys=FixedKeys(new, old))
    twice = msgspec.structs.replace(runtime, keys=FixedKeys(newest, new))
    first = start(before)

    second = advance(rotated, first)
    refused = refusal(twice, "run.continue", ackToken=first["ackToken"])
    found = answer(twice, "session.resume", query=first["session"]["sessionId"])["items"][0]

    assert second["pending"]["stepId"] == "second"
    assert refused.kind.code == "TOKEN_BAD_SIGNATURE"
    assert answer(twice, "run.continue", **found["nextCall"]["params"])["pending"]["stepId"] == "second"


@pytest.mark.promise("input.nothing-stored")
def test_output_without_an_ack_is_refused_with_the_call_that_stores_it(runtime: Runtime) -> None:
    first = start(runtime)

    failure = refusal(
        runtime, "run.continue", stateToken=first["stateToken"], output={"notesMarkdown": "worth keeping"}
    )
    assert failure.next_call is not None
    stored = answer(runtime, failure.next_call.operation, **failure.next_call.params)

    assert failure.kind.code == "VALIDATION_ERROR"
    assert "nothing was stored" in failure.message
    assert stored["pending"]["stepId"] == "second"


@pytest.mark.promise("input.nothing-stored")
def test_a_large_output_without_an_ack_is_not_echoed(runtime: Runtime) -> None:
    first = start(runtime)

    failure = refusal(
        runtime, "run.continue", stateToken=first["stateToken"], output={"notesMarkdown": "x" * 5_000}
    )

    assert failure.next_call is not None
    assert failure.next_call.params == {"stateToken": first["stateToken"]}


@pytest.mark.promise("input.nothing-stored")
def test_output_for_a_finished_run_is_refused_and_nothing_is_offered(runtime: Runtime) -> None:
    reply = start(runtime)
    for _ in range(3):
        reply = advance(runtime, reply)

    failure = refusal(
        runtime, "run.continue", stateToken=reply["stateToken"], output={"notesMarkdown": "late"}
    )

    assert failure.kind.code == "VALIDATION_ERROR"
    assert failure.next_call is None
    assert "complete" in failure.hint


@pytest.mark.parametrize("notes", ["\ud800", "x" * 5_000 + "\udfff"])
def test_notes_that_are_not_unicode_are_refused(runtime: Runtime, notes: str) -> None:
    first = start(runtime)

    failure = refusal(runtime, "run.continue", ackToken=first["ackToken"], output={"notesMarkdown": notes})

    assert failure.kind.code == "VALIDATION_ERROR"
    assert failure.details["problems"][0]["param"] == "output.notesMarkdown"


def test_a_continue_without_any_token_says_what_is_missing(runtime: Runtime) -> None:
    failure = refusal(runtime, "run.continue")

    assert failure.kind.code == "CONTEXT_MISSING"
    assert failure.next_call is not None
    assert failure.next_call.operation == "session.resume"
