"""The reply at a node: what is pending, what to do next, and the exact next call."""

from __future__ import annotations

import msgspec
import pytest

from handrail.engine.reply import (
    Pending,
    Recap,
    RecapEntry,
    ReplyWarning,
    Tokens,
    next_intent,
    reply_at,
)
from tests.engine.written_log import WrittenLog, compiled

TOKENS = Tokens(state="st1state", ack="ak1ack", checkpoint="ck1check")


def pending(*, require_confirmation: bool) -> Pending:
    return Pending(step_id="a", title="A", prompt="Do a.", require_confirmation=require_confirmation)


def test_a_reply_says_what_is_pending_and_how_to_go_on() -> None:
    log = WrittenLog()
    first = log.start()

    reply = reply_at(first, "ses_000000000001", log.workflow, TOKENS, project="/p")

    assert msgspec.to_builtins(reply) == {
        "kind": "ok",
        "pending": {"stepId": "a", "title": "A", "prompt": "Do a.", "requireConfirmation": False},
        "isComplete": False,
        "nextIntent": "perform_pending_then_continue",
        "nextCall": {"tool": "continue_workflow", "params": {"ackToken": "ak1ack"}},
        "session": {"sessionId": "ses_000000000001", "runId": "run_000000000001"},
        "preferences": {"autonomy": "guided", "riskPolicy": "conservative"},
        "project": "/p",
        "stateToken": "st1state",
        "ackToken": "ak1ack",
        "checkpointToken": "ck1check",
    }


def test_the_key_order_is_that_of_the_contract() -> None:
    log = WrittenLog()
    entry = RecapEntry(node_id="nod_1", step_id="a", title="A", notes="did a")
    warning = ReplyWarning(code="INPUT_REPAIRED", message="A name was corrected.")

    reply = reply_at(
        log.start(),
        "ses_1",
        log.workflow,
        TOKENS,
        recap=Recap(entries=[entry]),
        warnings=(warning,),
        project="/p",
    )

    assert list(msgspec.to_builtins(reply)) == [
        "kind",
        "pending",
        "isComplete",
        "nextIntent",
        "nextCall",
        "warnings",
        "recap",
        "session",
        "preferences",
        "project",
        "stateToken",
        "ackToken",
        "checkpointToken",
    ]


def test_a_finished_run_has_nothing_pending_and_no_next_call() -> None:
    log = WrittenLog("a")
    end = log.advance(log.start())

    reply = reply_at(end, "ses_1", log.workflow, Tokens(state="st1state"))

    assert (reply.pending, reply.is_complete, reply.next_intent, reply.next_call) == (
        None,
        True,
        "complete",
        None,
    )
    written = msgspec.to_builtins(reply)
    assert written["pending"] is None
    assert "ackToken" not in written
    assert "checkpointToken" not in written


def test_a_step_that_needs_a_person_waits_for_one() -> None:
    log = WrittenLog("a")
    workflow = compiled("a", confirmed=["a"])

    reply = reply_at(log.start(), "ses_1", workflow, TOKENS)

    assert reply.next_intent == "await_user_confirmation"
    assert reply.next_call is not None
    assert reply.next_call.params == {"ackToken": "ak1ack"}


def test_a_session_that_is_not_sound_can_only_be_read() -> None:
    log = WrittenLog()

    reply = reply_at(log.start(), "ses_1", log.workflow, TOKENS, is_healthy=False)

    assert reply.next_intent == "rehydrate_only"
    assert reply.next_call is not None
    assert reply.next_call.params == {"stateToken": "st1state"}


@pytest.mark.parametrize(
    ("needs_person", "is_healthy", "expected"),
    [
        (False, True, "perform_pending_then_continue"),
        (True, True, "await_user_confirmation"),
        (False, False, "rehydrate_only"),
        (True, False, "rehydrate_only"),
    ],
)
def test_the_next_intent_is_a_table(needs_person: bool, is_healthy: bool, expected: str) -> None:
    assert next_intent(pending(require_confirmation=needs_person), is_healthy) == expected


@pytest.mark.parametrize("is_healthy", [True, False])
def test_complete_wins_over_everything(is_healthy: bool) -> None:
    assert next_intent(None, is_healthy) == "complete"


def test_a_checkpoint_repeats_the_pending_step() -> None:
    log = WrittenLog()
    second = log.advance(log.start())
    saved = log.checkpoint(second, "half")

    replies = [reply_at(node, "ses_1", log.workflow, TOKENS).pending for node in (second, saved)]

    assert replies[0] == replies[1]
    assert replies[0] is not None
    assert replies[0].step_id == "b"


def test_what_says_nothing_is_left_out() -> None:
    warning = ReplyWarning(code="NOTES_TRUNCATED", message="Long.")
    entry = RecapEntry(node_id="n", step_id="a", title="A", notes="x")

    assert msgspec.to_builtins(warning) == {"code": "NOTES_TRUNCATED", "message": "Long."}
    assert msgspec.to_builtins(entry) == {"nodeId": "n", "stepId": "a", "title": "A", "notes": "x"}
    assert msgspec.to_builtins(Recap(entries=[])) == {"entries": []}
