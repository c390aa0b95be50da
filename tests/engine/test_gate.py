"""The gate's table: an attempt is open, answered, or refused because history was lost."""

from __future__ import annotations

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


def test_no_checkpoint_is_answered_by_an_advance() -> None:
    log = WrittenLog()
    first = log.start()
    log.advance(first)

    assert isinstance(gate(log.history, first.tag, attempt(1), "advance"), Answered)
    assert isinstance(gate(log.history, first.tag, attempt(1), "checkpoint"), Open)


def test_cut_log_refuses_the_token_of_a_later_node() -> None:
    whole = WrittenLog()
    first = whole.start()
    second = whole.advance(first)
    cut = WrittenLog()
    cut.start()

    assert isinstance(gate(whole.history, second.tag, attempt(1), "advance"), Open)
    assert isinstance(gate(cut.history, second.tag, attempt(1), "advance"), Refused)
    assert isinstance(gate(cut.history, first.tag, attempt(1), "advance"), Open)
