"""Receipts in the log: what a history keeps of them, which command one is of, and what counts as passed."""

from __future__ import annotations

import pytest

from handrail.contract.ids import receipt_id_for
from handrail.engine.events import ReceiptRecorded
from handrail.engine.folding import fold
from handrail.engine.history import Node, list_receipts
from handrail.engine.plans import plan_receipt
from handrail.engine.receipts import (
    MOST_RECEIPTS,
    Counts,
    Exited,
    ReceiptSource,
    RunOutcome,
    Signalled,
    StatusUnknown,
    TimedOut,
    describe_outcome,
    digest_argv,
    has_passed,
)
from handrail.engine.tips import find_tip
from handrail.runtime.history_cache import decode_history, encode_history
from tests.cases import every_case
from tests.engine.written_log import RUN_ID, SESSION_ID, WrittenLog


def receipt(node: Node, key: str, by: ReceiptSource = "handrail", status: int = 0) -> ReceiptRecorded:
    return ReceiptRecorded(
        receipt_id=receipt_id_for(node.node_id, key),
        node_id=node.node_id,
        by=by,
        argv=("pytest", "-q"),
        argv_digest=digest_argv(("pytest", "-q")),
        outcome=Exited(status=status),
    )


def test_receipts_of_a_run_come_in_the_order_of_the_log() -> None:
    log = WrittenLog("a", "b")
    first = log.start()
    log.take([plan_receipt(first, receipt(first, "one", status=1))])
    second = log.advance(first, "did a")
    log.take([plan_receipt(second, receipt(second, "two"))])
    log.take([plan_receipt(first, receipt(first, "three", by="client_hook"))])

    held = list_receipts(log.history, RUN_ID)

    assert [(one.fact.node_id, one.fact.by) for one in held] == [
        (first.node_id, "handrail"),
        (second.node_id, "handrail"),
        (first.node_id, "client_hook"),
    ]
    assert [one.index for one in held] == sorted(one.index for one in held)


def test_a_receipt_moves_no_tip_and_opens_no_ledger_entry() -> None:
    log = WrittenLog("a", "b")
    first = log.start()
    second = log.advance(first, "did a")
    anchors = list(log.history.anchors[RUN_ID])

    log.take([plan_receipt(first, receipt(first, "late"))])

    assert find_tip(log.history, RUN_ID).node_id == second.node_id
    assert list(log.history.anchors[RUN_ID]) == anchors


@pytest.mark.parametrize("by", ["handrail", "client_hook"])
def test_the_newest_receipts_of_a_node_are_kept_by_source(by: ReceiptSource) -> None:
    log = WrittenLog("a")
    first = log.start()
    log.take([plan_receipt(first, receipt(first, "other", by=_other(by)))])
    most = MOST_RECEIPTS[by]

    for number in range(most + 3):
        log.take([plan_receipt(first, receipt(first, str(number), by=by))])

    held = [one.fact.receipt_id for one in list_receipts(log.history, RUN_ID)]
    expected = [receipt_id_for(first.node_id, str(number)) for number in range(3, most + 3)]
    assert held == [receipt_id_for(first.node_id, "other"), *expected]


def _other(by: ReceiptSource) -> ReceiptSource:
    return "client_hook" if by == "handrail" else "handrail"


def test_history_with_receipts_survives_the_cache() -> None:
    log = WrittenLog("a")
    first = log.start()
    log.take([plan_receipt(first, receipt(first, "one"))])

    assert decode_history(encode_history(log.history)) == log.history
    assert fold(SESSION_ID, log.records) == log.history


def test_the_words_of_a_command_say_which_it_is() -> None:
    assert digest_argv(("pytest -q",)) != digest_argv(("pytest", "-q"))


@every_case(
    ("outcome", "counts", "passed"),
    [
        (Exited(status=0), None, True),
        (Exited(status=0), Counts(passed=3, skipped=1), True),
        (Exited(status=0), Counts(), False),
        (Exited(status=0), Counts(skipped=4), False),
        (Exited(status=0), Counts(passed=3, failed=1), False),
        (Exited(status=0), Counts(passed=3, errors=1), False),
        (Exited(status=5), None, False),
        (Signalled(signal="SIGKILL"), None, False),
        (TimedOut(seconds=1), None, False),
        (StatusUnknown(), None, False),
    ],
)
def test_runner_passes_only_if_it_ran_something(
    outcome: RunOutcome, counts: Counts | None, passed: bool
) -> None:
    assert has_passed(outcome, counts) is passed
    assert describe_outcome(outcome)
