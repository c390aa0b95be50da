"""The reply at a node: what is pending, what to do next, and the exact next call."""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.contract.ids import NodeId
from handrail.engine.events import Blocked, GapRecorded
from handrail.engine.history import Node
from handrail.engine.progress import RecapEntry
from handrail.engine.reasons import Blocker, BlockerCode, WorkflowStep
from handrail.engine.reply import Recap, Reply, ReplyWarning, Tokens, reply_at
from handrail.engine.standing import standing_at
from handrail.workflows.compiled import Choice, Option
from tests.engine.written_log import WrittenLog, workflow_of

TOKENS = Tokens(state="st1state", ack="ak1ack", checkpoint="ck1check")
OPTIONS = (Option(id="left", label="Left"), Option(id="right", label="Right", description="The long way."))
CHOICE_TOKENS = Tokens(state="st1state", checkpoint="ck1check", choices=("ch1left", "ch1right"))


WHOLE_CALL = {"ackToken": "ak1ack", "output": {"notesMarkdown": "…"}}


def reply_of(log: WrittenLog, node: Node, tokens: Tokens = TOKENS, **options: Any) -> Reply:
    standing = standing_at(log.history, log.workflow, node, "reply")
    return reply_at(standing, "ses_000000000001", tokens, **options)


def refusal(code: BlockerCode = "MISSING_REQUIRED_OUTPUT", *, retryable: bool = True) -> Blocked:
    blocker = Blocker(
        code=code, pointer=WorkflowStep(step_id="a"), message="Not yet.", suggested_fix="Do it."
    )
    return Blocked(
        to_node_id=NodeId("nod_1"), blockers=(blocker,), retryable=retryable, example={"kind": "x"}
    )


def test_a_reply_says_what_is_pending_and_how_to_go_on() -> None:
    log = WrittenLog()

    reply = reply_of(log, log.start(), project="/p")

    assert msgspec.to_builtins(reply) == {
        "kind": "ok",
        "pending": {"stepId": "a", "title": "A", "prompt": "Do a.", "requireConfirmation": False},
        "isComplete": False,
        "nextIntent": "perform_pending_then_continue",
        "nextCall": {"tool": "continue_workflow", "params": WHOLE_CALL},
        "progress": {"done": 0, "atLeast": 3},
        "session": {
            "sessionId": "ses_000000000001",
            "runId": "run_000000000001",
            "workflowId": "project.test",
        },
        "preferences": {"autonomy": "guided", "riskPolicy": "conservative"},
        "project": "/p",
        "stateToken": "st1state",
        "ackToken": "ak1ack",
        "checkpointToken": "ck1check",
    }


def test_an_ordinary_advance_leaves_out_preferences_that_are_as_they_were() -> None:
    log = WrittenLog()
    second = log.advance(log.start(), "did a")

    advanced = msgspec.to_builtins(reply_of(log, second))
    read_again = msgspec.to_builtins(reply_of(log, second, recap=Recap(entries=[])))
    saved = msgspec.to_builtins(reply_of(log, log.checkpoint(second, "half way")))

    assert "preferences" not in advanced
    for whole in (read_again, saved):
        assert whole["preferences"] == {"autonomy": "guided", "riskPolicy": "conservative"}


def test_of_many_gaps_the_first_three_are_told_and_the_others_counted() -> None:
    log = WrittenLog()
    first = log.start()
    standing = standing_at(log.history, log.workflow, first, "reply")
    missed = tuple(
        GapRecorded(
            gap_id=f"gap_{number}",
            severity="critical",
            reason="contract_violation:missing_required_output",
            summary="No evidence.",
        )
        for number in range(5)
    )

    reply = reply_at(msgspec.structs.replace(standing, passed_over=missed), "ses_000000000001", TOKENS)

    assert {warning.code for warning in reply.warnings} == {"GAP_RECORDED"}
    told = [warning.message for warning in reply.warnings]
    assert ["gap_0" in told[0], "gap_1" in told[1], "gap_2" in told[2]] == [True, True, True]
    assert told[3:] == ["2 more gaps were recorded at this step: gap_3, gap_4. The session shows them."]


def test_the_key_order_is_that_of_the_contract() -> None:
    log = WrittenLog()
    entry = RecapEntry(node_id="nod_1", step_id="a", title="A", notes="did a")
    warning = ReplyWarning(code="INPUT_REPAIRED", message="A name was corrected.")
    recap = Recap(entries=[entry])

    accepted = reply_of(log, log.start(), recap=recap, warnings=(warning,), project="/p")
    blocked = reply_of(log, log.start(), recap=recap, warnings=(warning,), blocked=refusal())

    assert list(msgspec.to_builtins(accepted)) == [
        "kind", "pending", "isComplete", "nextIntent", "nextCall", "warnings", "progress", "recap", "session",
        "preferences", "project", "stateToken", "ackToken", "checkpointToken",
    ]  # fmt: skip
    assert list(msgspec.to_builtins(blocked)) == [
        "kind", "pending", "isComplete", "nextIntent", "nextCall", "blockers", "retryable", "judged",
        "example", "warnings", "recap", "preferences", "stateToken", "retryAckToken",
        "checkpointToken",
    ]  # fmt: skip


def test_a_session_that_is_not_sound_can_only_be_read() -> None:
    log = WrittenLog()

    reply = reply_of(log, log.start(), is_healthy=False)

    assert reply.next_intent == "rehydrate_only"
    assert reply.next_call is None
    assert (reply.state_token, reply.ack_token, reply.checkpoint_token) == ("st1state", "", "")


def test_the_options_of_a_session_that_is_not_sound_have_no_token() -> None:
    log = WrittenLog(workflow=workflow_of(Choice(id="way", title="Way", prompt="Which?", options=OPTIONS)))

    reply = reply_of(log, log.start(), CHOICE_TOKENS, is_healthy=False)

    assert reply.pending is not None
    assert [choice.token for choice in reply.pending.choices] == ["", ""]


def test_at_most_ten_warnings_are_told_and_the_last_counts_the_others() -> None:
    log = WrittenLog()
    many = [ReplyWarning(code="TOKEN_REPAIRED", message=f"Number {number}.") for number in range(13)]
    first = ReplyWarning(code="SESSION_UNSOUND", message="Damaged.")

    told = reply_of(log, log.start(), warnings=(*many, first)).warnings

    assert [warning.message for warning in told] == [
        "Damaged.",
        *(f"Number {number}." for number in range(8)),
        "Number 8. 4 more warnings are left out.",
    ]


def test_a_choice_has_a_token_and_a_call_per_option_and_no_ack() -> None:
    log = WrittenLog(workflow=workflow_of(Choice(id="way", title="Way", prompt="Which?", options=OPTIONS)))

    reply = msgspec.to_builtins(reply_of(log, log.start(), CHOICE_TOKENS))

    assert reply["pending"]["choices"] == [
        {"id": "left", "label": "Left", "token": "ch1left"},
        {"id": "right", "label": "Right", "description": "The long way.", "token": "ch1right"},
    ]
    assert reply["nextIntent"] == "perform_pending_then_continue"
    assert reply["nextCall"] == {
        "tool": "continue_workflow",
        "params": {},
        "options": [
            {"id": "left", "params": {"ackToken": "ch1left"}},
            {"id": "right", "params": {"ackToken": "ch1right"}},
        ],
    }
    assert "ackToken" not in reply


def test_a_blocked_reply_keeps_the_step_and_says_how_to_get_on() -> None:
    log = WrittenLog()
    first = log.start()

    reply = msgspec.to_builtins(reply_of(log, first, blocked=refusal()))

    assert (reply["kind"], reply["nextIntent"]) == ("blocked", "perform_pending_then_continue")
    assert reply["pending"]["stepId"] == "a"
    assert reply["blockers"] == [
        {
            "code": "MISSING_REQUIRED_OUTPUT",
            "pointer": {"kind": "workflow_step", "stepId": "a"},
            "message": "Not yet.",
            "suggestedFix": "Do it.",
        }
    ]
    assert (reply["retryable"], reply["example"]) == (True, {"kind": "x"})
    assert reply["nextCall"]["params"] == WHOLE_CALL
    assert reply["retryAckToken"] == "ak1ack"
    assert "ackToken" not in reply


def test_what_no_call_can_mend_can_only_be_read() -> None:
    log = WrittenLog()

    reply = msgspec.to_builtins(reply_of(log, log.start(), blocked=refusal(retryable=False)))

    assert (reply["kind"], reply["nextIntent"], reply["retryable"]) == ("blocked", "rehydrate_only", False)
    assert reply["nextCall"]["params"] == {"stateToken": "st1state"}
    assert "retryAckToken" not in reply
    assert "ackToken" not in reply


def test_what_says_nothing_is_left_out() -> None:
    warning = ReplyWarning(code="NOTES_TRUNCATED", message="Long.")
    entry = RecapEntry(node_id="n", step_id="a", title="A", notes="x")

    assert msgspec.to_builtins(warning) == {"code": "NOTES_TRUNCATED", "message": "Long."}
    assert msgspec.to_builtins(entry) == {"nodeId": "n", "stepId": "a", "title": "A", "notes": "x"}
    assert msgspec.to_builtins(Recap(entries=[])) == {"entries": []}
