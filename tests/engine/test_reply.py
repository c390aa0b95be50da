"""The reply at a node: what is pending, what to do next, and the exact next call."""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.engine.events import GapRecorded
from handrail.engine.history import Node
from handrail.engine.reply import Recap, Reply, ReplyWarning, Tokens, reply_at
from handrail.engine.standing import standing_at
from tests.engine.written_log import WrittenLog

TOKENS = Tokens(state="st1state", ack="ak1ack", checkpoint="ck1check")


def reply_of(log: WrittenLog, node: Node, tokens: Tokens = TOKENS, **options: Any) -> Reply:
    standing = standing_at(log.history, log.workflow, node, "reply")
    return reply_at(standing, "ses_000000000001", tokens, **options)


def test_ordinary_advance_leaves_out_unchanged_preferences() -> None:
    log = WrittenLog()
    second = log.advance(log.start(), "did a")

    advanced = msgspec.to_builtins(reply_of(log, second))
    read_again = msgspec.to_builtins(reply_of(log, second, recap=Recap(entries=[])))
    saved = msgspec.to_builtins(reply_of(log, log.checkpoint(second, "half way")))

    assert "preferences" not in advanced
    for whole in (read_again, saved):
        assert whole["preferences"] == {"autonomy": "guided", "riskPolicy": "conservative"}


def test_three_gaps_are_shown_and_the_others_counted() -> None:
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


def test_ten_warnings_are_shown_and_the_last_counts_others() -> None:
    log = WrittenLog()
    many = [ReplyWarning(code="TOKEN_REPAIRED", message=f"Number {number}.") for number in range(13)]
    first = ReplyWarning(code="SESSION_UNSOUND", message="Damaged.")

    told = reply_of(log, log.start(), warnings=(*many, first)).warnings

    assert [warning.message for warning in told] == [
        "Damaged.",
        *(f"Number {number}." for number in range(8)),
        "Number 8. 4 more warnings are left out.",
    ]


def test_ten_warnings_are_all_shown() -> None:
    log = WrittenLog()
    ten = [ReplyWarning(code="TOKEN_REPAIRED", message=f"Number {number}.") for number in range(10)]

    shown = reply_of(log, log.start(), warnings=tuple(ten)).warnings

    assert [warning.message for warning in shown] == [f"Number {number}." for number in range(10)]


def test_three_gaps_need_no_count() -> None:
    log = WrittenLog()
    first = log.start()
    standing = standing_at(log.history, log.workflow, first, "reply")
    gaps = tuple(
        GapRecorded(gap_id=f"gap_{number}", severity="warning", reason="reported", summary="No logs.")
        for number in range(3)
    )

    shown = reply_at(msgspec.structs.replace(standing, passed_over=gaps), "ses_000000000001", TOKENS).warnings

    assert ["more gaps" in warning.message for warning in shown] == [False] * 3
