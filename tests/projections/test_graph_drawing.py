"""The run graph in a terminal: the preferred path straight down, other branches beside it."""

from __future__ import annotations

import pytest

from handrail.engine.history import Node
from handrail.engine.navigate import Running
from handrail.projections.run_graph import draw_run, run_graph
from tests.engine.contracts import CONTRACTS, FINDING, finding
from tests.engine.written_log import RUN_ID, WrittenLog, step, work, workflow_of


def label(node: Node) -> str:
    return node.state.step_id if isinstance(node.state, Running) else "done"


def check_drawing(log: WrittenLog, *expected: str) -> None:
    assert draw_run(run_graph(log.history, RUN_ID), label) == list(expected)


def test_a_branch_that_was_left_stands_beside_the_line() -> None:
    log = WrittenLog("a", "b", "c", "d")
    second = log.advance(log.start())
    log.walk(second, "left", "left")
    log.walk(second, "right", "right", "right")

    check_drawing(
        log,
        "o a",
        "o b",
        "|\\ o c",
        "|  o d",
        "o c",
        "o d",
        "* done",
    )


def test_three_branches_are_drawn_in_the_order_of_making() -> None:
    log = WrittenLog()
    first = log.start()
    log.advance(log.advance(first))
    log.advance(first)
    log.checkpoint(first)
    log.advance(first)

    check_drawing(
        log,
        "o a",
        "|\\ o b",
        "|  o c",
        "|\\ o b",
        "|\\ # a",
        "* b",
    )


def test_a_fork_inside_a_branch_is_drawn_inside_it() -> None:
    log = WrittenLog("a", "b", "c")
    first = log.start()
    side = log.advance(first)
    log.advance(side)
    log.advance(side)
    log.advance(first)

    check_drawing(
        log,
        "o a",
        "|\\ o b",
        "|  |\\ o c",
        "|  o c",
        "* b",
    )


def test_a_checkpoint_on_the_line_has_its_own_mark() -> None:
    log = WrittenLog("a", "b")
    log.advance(log.checkpoint(log.start()))

    check_drawing(
        log,
        "o a",
        "# a",
        "* b",
    )


@pytest.mark.thorough
def test_a_long_run_needs_no_deep_stack() -> None:
    log = WrittenLog(*(f"s{number}" for number in range(1_000)))
    log.walk(log.start(), *["x"] * 999)

    lines = draw_run(run_graph(log.history, RUN_ID), label)

    assert len(lines) == 1_000
    assert lines[-1] == "* s999"


def test_a_blocked_attempt_has_its_own_mark() -> None:
    held = step("a", contract=FINDING)
    log = WrittenLog(workflow=workflow_of(held, step("b"), contracts=CONTRACTS))
    blocked = log.report(log.start(), work())
    log.report(blocked, work(artifacts=[finding()]))

    check_drawing(
        log,
        "o a",
        "x a",
        "* b",
    )
