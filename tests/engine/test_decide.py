"""Plans: what each decision writes, in which order, under which keys, and when a second step is a fork."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from handrail.engine.decide import decide_advance, decide_checkpoint, decide_start
from handrail.engine.events import (
    NodeCreated,
    PlannedEvent,
)
from handrail.engine.facts import excerpt
from handrail.engine.folding import fold
from handrail.engine.history import Node
from tests.cases import every_case
from tests.engine.written_log import (
    SESSION_ID,
    WrittenLog,
    attempt,
    start_facts,
    tried,
    work,
)

KEY = re.compile(r"[a-z0-9_:>-]{1,256}", re.ASCII)


def check_keys(plan: Sequence[PlannedEvent]) -> None:
    """Dedupe keys are safe to store anywhere, and no two events of a plan share one."""
    keys = [planned.dedupe_key for planned in plan]
    assert all(KEY.fullmatch(key) for key in keys), keys
    assert len(set(keys)) == len(keys)


def advance_plan(log: WrittenLog, node: Node, number: int = 99, notes: str = "") -> list[PlannedEvent]:
    return decide_advance(log.history, *tried(log.workflow, node, attempt(number), work(notes)))


def test_same_attempt_plans_the_same_events() -> None:
    log = WrittenLog()
    first = log.start()

    same = [advance_plan(log, first, 1, "x") for _ in range(2)]
    other = advance_plan(log, first, 2, "x")

    assert same[0] == same[1]
    assert {planned.dedupe_key for planned in same[0]}.isdisjoint(planned.dedupe_key for planned in other)


@pytest.mark.parametrize("use", ["start", "advance", "checkpoint"])
def test_another_salt_renames_the_new_node_and_keeps_the_anchor(use: str) -> None:
    log = WrittenLog()
    first = log.start()

    def plan(salt: int) -> list[PlannedEvent]:
        match use:
            case "start":
                return decide_start(fold(SESSION_ID, ()), start_facts(log.workflow), salt)
            case "advance":
                return decide_advance(log.history, *tried(log.workflow, first, attempt(1), work()), salt)
            case _:
                return decide_checkpoint(log.history, *tried(log.workflow, first, attempt(1), work()), salt)

    nodes = {
        planned.scope.node_id
        for salt in range(4)
        for planned in plan(salt)
        if isinstance(planned.data, NodeCreated)
    }

    assert len(nodes) == 4
    if use == "advance":
        assert plan(0)[0].dedupe_key == plan(3)[0].dedupe_key


def test_advance_and_checkpoint_of_an_attempt_make_two_nodes() -> None:
    log = WrittenLog()
    first = log.start()

    advanced = advance_plan(log, first, 1)
    saved = decide_checkpoint(log.history, *tried(log.workflow, first, attempt(1), work()))

    assert {planned.dedupe_key for planned in advanced}.isdisjoint(planned.dedupe_key for planned in saved)


def test_a_finished_run_cannot_be_acknowledged() -> None:
    log = WrittenLog("a")
    end = log.advance(log.start())

    with pytest.raises(AssertionError, match="pending step"):
        advance_plan(log, end)


@every_case(
    ("notes", "limit", "expected"),
    [
        ("abcdef", 4, "abcd"),
        ("abc", 4, "abc"),
        ("", 4, ""),
        ("aéé", 4, "aé"),
        ("🧭🧭", 7, "🧭"),
        ("🧭", 3, ""),
    ],
)
def test_an_excerpt_is_cut_between_characters(notes: str, limit: int, expected: str) -> None:
    assert excerpt(notes, limit) == expected


def test_the_longest_names_still_fit_into_a_key() -> None:
    """Node ids have 16 characters and attempts 7, so the longest key is far below 256."""
    log = WrittenLog("s" * 64)
    first = log.start(context={"x": 1})

    for plan in (
        advance_plan(log, first, notes="n"),
        decide_checkpoint(log.history, *tried(log.workflow, first, attempt(1), work("n"))),
    ):
        check_keys(plan)
        assert max(len(planned.dedupe_key) for planned in plan) < 128
