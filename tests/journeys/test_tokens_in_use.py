"""What agents do to tokens, and what they get back."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable

import msgspec
import pytest

from handrail.event_log.memory import MemoryLog
from handrail.runtime.runtime import Runtime
from tests.conftest import FixedKeys
from tests.journeys.conversation import advance, answer, commits_of, refusal, start
from tests.journeys.interfaces import events_of


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
    assert sessions.next_call.params == {"stateToken": second["stateToken"]}
    assert agreeing["pending"]["stepId"] == "third"


def test_one_wrong_character_is_repaired_and_two_are_refused(runtime: Runtime) -> None:
    first = start(runtime)

    repaired = answer(runtime, "run.continue", ackToken=changed(first["ackToken"], 20))
    refused = refusal(runtime, "run.continue", ackToken=changed(first["ackToken"], 20, 30))

    assert repaired["warnings"][0]["code"] == "TOKEN_REPAIRED"
    assert repaired["warnings"][0]["correctedToken"] == first["ackToken"]
    assert repaired["pending"]["stepId"] == "second"
    assert refused.kind.code == "TOKEN_BAD_SIGNATURE"
    assert first["ackToken"] not in str(refused)


def test_a_repair_claims_no_more_than_one_place_was_wrong(runtime: Runtime) -> None:
    first = start(runtime)
    token = first["stateToken"]
    place = next(at for at in range(20, 40) if token[at] != token[at + 1])
    swapped = token[:place] + token[place + 1] + token[place] + token[place + 2 :]

    read = answer(runtime, "run.continue", stateToken=swapped)

    assert read["warnings"][0]["correctedToken"] == token
    assert "had a typo" in read["warnings"][0]["message"]
    assert "character" not in read["warnings"][0]["message"]


def test_a_state_and_an_ack_pasted_together_are_told_apart(runtime: Runtime) -> None:
    first = start(runtime)
    other = start(runtime)

    reply = answer(runtime, "run.continue", ackToken=first["stateToken"] + first["ackToken"])
    mixed = refusal(runtime, "run.continue", ackToken=other["stateToken"] + first["ackToken"])

    assert reply["pending"]["stepId"] == "second"
    assert mixed.kind.code == "TOKEN_SCOPE_MISMATCH"


def test_a_token_in_the_wrong_field_is_refused_and_named(runtime: Runtime) -> None:
    first = start(runtime)

    as_ack = refusal(runtime, "run.continue", ackToken=first["stateToken"])
    as_state = refusal(runtime, "run.continue", stateToken=first["ackToken"])

    assert (as_ack.kind.code, as_state.kind.code) == ("TOKEN_SCOPE_MISMATCH", "TOKEN_SCOPE_MISMATCH")
    assert "stateToken" in as_ack.message
    assert "ackToken" in as_state.message


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


def test_tokens_of_the_previous_key_work_and_older_do_not(runtime: Runtime) -> None:
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


def test_output_without_an_ack_gets_the_call_that_stores_it(runtime: Runtime) -> None:
    first = start(runtime)

    failure = refusal(
        runtime, "run.continue", stateToken=first["stateToken"], output={"notesMarkdown": "worth keeping"}
    )
    assert failure.next_call is not None
    stored = answer(runtime, failure.next_call.operation, **failure.next_call.params)

    assert failure.kind.code == "VALIDATION_ERROR"
    assert "nothing was stored" in failure.message
    assert stored["pending"]["stepId"] == "second"


def test_a_large_output_without_an_ack_is_not_echoed(runtime: Runtime) -> None:
    first = start(runtime)

    failure = refusal(
        runtime, "run.continue", stateToken=first["stateToken"], output={"notesMarkdown": "x" * 5_000}
    )

    assert failure.next_call is not None
    assert failure.next_call.params == {"stateToken": first["stateToken"]}


def test_output_for_a_finished_run_is_refused(runtime: Runtime) -> None:
    reply = start(runtime)
    for _ in range(3):
        reply = advance(runtime, reply)

    failure = refusal(
        runtime, "run.continue", stateToken=reply["stateToken"], output={"notesMarkdown": "late"}
    )

    assert failure.kind.code == "VALIDATION_ERROR"
    assert failure.next_call is None
    assert "complete" in failure.hint


@pytest.mark.promise("tokens.opaque")
def test_every_next_token_is_given_and_none_shows_the_run(runtime: Runtime) -> None:
    first = start(runtime, goal="secret goal", context={"ticket": "AUTH-1234"})
    second = advance(runtime, first)

    for reply in (first, second):
        tokens = [reply["stateToken"], reply["ackToken"], reply["checkpointToken"]]
        assert all(re.fullmatch(r"(st|ak|ck)1[0-9a-hjkmnp-tv-z]{20,53}", token) for token in tokens)
        assert reply["nextCall"]["params"]["ackToken"] == reply["ackToken"]
        for shown in ("first", "second", "three_steps", "AUTH", first["session"]["runId"]):
            assert shown not in "".join(tokens)


@pytest.mark.promise("tokens.checked")
@pytest.mark.parametrize(
    ("made", "code"),
    [
        (lambda token: "ak2" + changed(token, 30)[3:], "TOKEN_UNSUPPORTED_VERSION"),
        (lambda token: changed(token, 10, 30), "TOKEN_BAD_SIGNATURE"),
        (lambda token: "ak1" + "0" * (len(token) - 3), "TOKEN_BAD_SIGNATURE"),
        (lambda token: token[:30], "TOKEN_INVALID_FORMAT"),
        (lambda token: token + token[3:], "TOKEN_INVALID_FORMAT"),
        (lambda token: "the token of step 3", "TOKEN_INVALID_FORMAT"),
        (lambda token: "", "TOKEN_INVALID_FORMAT"),
        (lambda token: "ak1" + "é" * 53, "TOKEN_INVALID_FORMAT"),
    ],
)
def test_a_token_that_is_not_ours_is_refused_by_its_own_code(
    runtime: Runtime, made: Callable[[str], str], code: str
) -> None:
    first = start(runtime)

    failure = refusal(runtime, "run.continue", ackToken=made(first["ackToken"]))

    assert failure.kind.code == code
    assert commits_of(runtime) == 1


@pytest.mark.promise("tokens.crypto")
def test_token_is_signed_by_hmac_sha256_of_kind_and_payload(runtime: Runtime) -> None:
    """Read by hand: the last 26 characters are 130 bits of a MAC, in Crockford base32."""
    first = start(runtime)
    alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
    key = runtime.keys.signing_key("workflow")

    for name, kind in (("stateToken", "state"), ("ackToken", "ack"), ("checkpointToken", "checkpoint")):
        body, end = first[name][3:-26], first[name][-26:]
        signed = f"handrail.token\0{kind}\x001\0{body}".encode()
        bits = int.from_bytes(hmac.new(key, signed, hashlib.sha256).digest(), "big") >> 126
        assert end == "".join(alphabet[bits >> 5 * place & 31] for place in range(25, -1, -1))


@pytest.mark.promise("checkpoint.handle")
@pytest.mark.parametrize("field", ["stateToken", "ackToken"])
def test_only_an_unchanged_checkpoint_token_makes_a_checkpoint(runtime: Runtime, field: str) -> None:
    first = start(runtime)

    other_kind = refusal(runtime, "run.checkpoint", checkpointToken=first[field], output={})
    altered = refusal(
        runtime, "run.checkpoint", checkpointToken=changed(first["checkpointToken"], 8, 9), output={}
    )
    missing = refusal(runtime, "run.checkpoint", stateToken=first["stateToken"], output={})

    assert other_kind.kind.code == "TOKEN_SCOPE_MISMATCH"
    assert altered.kind.code == "TOKEN_BAD_SIGNATURE"
    assert missing.kind.code == "VALIDATION_ERROR"
    assert commits_of(runtime) == 1


@pytest.mark.promise("checkpoint.replay")
def test_a_repeated_checkpoint_adds_no_node_edge_or_output(runtime: Runtime) -> None:
    first = start(runtime)
    call = {"checkpointToken": first["checkpointToken"], "output": {"notesMarkdown": "half"}}

    replies = [answer(runtime, "run.checkpoint", **call) for _ in range(100)]

    assert all(reply == replies[0] for reply in replies)
    kinds = [event["kind"] for event in events_of(runtime, first)]
    assert (kinds.count("node_created"), kinds.count("edge_created")) == (2, 1)
    assert kinds.count("node_output_appended") == 1


@pytest.mark.promise("checkpoint.scope")
def test_a_checkpoint_token_works_at_its_own_node_of_its_own_run(runtime: Runtime) -> None:
    first = start(runtime)
    second = advance(runtime, first)
    beside = start(runtime, session=first["session"]["sessionId"])
    elsewhere = start(runtime)

    for other in (second, beside, elsewhere):
        failure = refusal(
            runtime,
            "run.checkpoint",
            checkpointToken=first["checkpointToken"],
            stateToken=other["stateToken"],
            output={"notesMarkdown": "x"},
        )
        assert failure.kind.code == "TOKEN_SCOPE_MISMATCH"
    own = answer(
        runtime,
        "run.checkpoint",
        checkpointToken=first["checkpointToken"],
        stateToken=first["stateToken"],
        output={"notesMarkdown": "x"},
    )
    assert own["pending"] == first["pending"]
    assert own["session"] == first["session"]
