"""The gate's table: an attempt is open, answered, or refused because history was lost."""

from __future__ import annotations

import pytest

from handrail.contract.catalogue import STORE_HISTORY_LOST
from handrail.engine.gate import Answered, AttemptUse, Open, Refused, gate
from tests.cases import every_case
from tests.engine.written_log import WrittenLog, attempt


def answered_log() -> WrittenLog:
    """The first node was advanced with attempt 1 and checkpointed with attempt 2."""
    log = WrittenLog()
    first = log.start()
    log.advance(first, "did a")
    log.checkpoint(first, "half of a")
    return log


@every_case(
    ("number", "use", "is_answered"),
    [
        (1, "advance", True),
        (2, "checkpoint", True),
        (3, "advance", False),
        (3, "checkpoint", False),
        (1, "checkpoint", False),
        (2, "advance", False),
    ],
)
def test_an_attempt_is_answered_for_the_use_it_was_made_of(
    number: int, use: AttemptUse, is_answered: bool
) -> None:
    log = answered_log()
    first = next(iter(log.history.nodes.values()))

    verdict = gate(log.history, first.tag, attempt(number), use)

    assert isinstance(verdict, Answered if is_answered else Open)


def test_an_open_attempt_names_the_node_it_may_act_on() -> None:
    log = answered_log()
    first = next(iter(log.history.nodes.values()))

    assert gate(log.history, first.tag, attempt(9), "advance") == Open(node=first, attempt_id=attempt(9))


def test_an_answered_attempt_brings_the_recorded_fact() -> None:
    log = WrittenLog()
    first = log.start()
    second = log.advance(first, "did a")

    verdict = gate(log.history, first.tag, attempt(1), "advance")

    assert isinstance(verdict, Answered)
    assert verdict.recorded.to_node_id == second.node_id
    assert verdict.recorded.input_digest == "digest of did a"
    assert log.records[verdict.recorded.index].dedupe_key == f"advance_recorded:{first.node_id}:0000001"


def test_an_attempt_belongs_to_its_node() -> None:
    """The same attempt id at another node is another attempt."""
    log = WrittenLog()
    second = log.advance(log.start())

    assert isinstance(gate(log.history, second.tag, attempt(1), "advance"), Open)


@pytest.mark.parametrize("use", ["advance", "checkpoint"])
def test_a_node_that_the_log_does_not_hold_was_lost(use: AttemptUse) -> None:
    assert gate(answered_log().history, "zzzzzzzz", attempt(1), use) == Refused(kind=STORE_HISTORY_LOST)


def test_a_log_that_was_cut_off_refuses_the_token_of_a_later_node() -> None:
    whole = WrittenLog()
    first = whole.start()
    second = whole.advance(first)
    cut = WrittenLog()
    cut.start()

    assert isinstance(gate(whole.history, second.tag, attempt(1), "advance"), Open)
    assert isinstance(gate(cut.history, second.tag, attempt(1), "advance"), Refused)
    assert isinstance(gate(cut.history, first.tag, attempt(1), "advance"), Open)
