"""Whose word a value is: in logs of versions that let any word replace another, and in conditions of ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from handrail.contract.ids import NodeId
from handrail.engine.events import ContextSet, PlannedEvent, RunStarted, Scope
from handrail.engine.facts import facts_at
from handrail.engine.history import Node
from handrail.engine.judge.actions import runs_unasked
from handrail.engine.navigate import Running
from handrail.engine.owners import is_imported, is_plain_name, is_unproven, owners_at
from handrail.engine.plans import plan_event
from handrail.ports.log import Record
from handrail.workflows.compiled import Action, Choice, Option
from handrail.workflows.conditions import (
    And,
    Compare,
    Condition,
    Facts,
    Not,
    Or,
    holds_by_options,
    named_value,
)
from tests.cases import every_case
from tests.engine.written_log import AT, RUN_ID, WrittenLog, step, work, workflow_of

YES, NO = 0, 1
ASK = Choice(
    id="ask",
    title="Ask",
    prompt="Apply it?",
    options=(
        Option(id="yes", label="Yes", sets={"apply": True}),
        Option(id="no", label="No", sets={"apply": False}),
    ),
)
WRITE = Action(id="write", title="Write", operation="code.edit", params={"fix": True}, when="wanted")
APPLY = Compare(input="apply", op="equals", value=True)
URGENT = Compare(input="urgent", op="equals", value=True)


class OldLog(WrittenLog):
    """A log of an older version: no rules, no owners, and whatever it let in."""

    def take(self, plan: Sequence[PlannedEvent], at: str = AT) -> list[Record]:
        older = []
        for planned in plan:
            fact = planned.data
            if isinstance(fact, RunStarted):
                fact = msgspec.structs.replace(fact, rules=1)
            elif isinstance(fact, ContextSet):
                fact = msgspec.structs.replace(fact, owners={})
            older.append(msgspec.structs.replace(planned, data=fact))
        return super().take(older, at)

    def set_unchecked(self, node: Node, context: dict[str, Any]) -> None:
        scope = Scope(run_id=RUN_ID, node_id=NodeId(node.node_id))
        delta = ContextSet(context=context, source="agent_delta")
        self.take([plan_event(f"context_set:{node.node_id}", scope, delta)])


def old_log(condition: Condition = APPLY) -> OldLog:
    steps = (ASK, step("between"), WRITE, step("after"))
    return OldLog(workflow=workflow_of(*steps, conditions={"wanted": condition}))


def at(node: Node) -> str:
    return node.state.step_id if isinstance(node.state, Running) else ""


@pytest.mark.parametrize(("option", "reached"), [(YES, "write"), (NO, "after")])
def test_option_replaced_in_an_older_log_opens_no_action(option: int, reached: str) -> None:
    log = old_log()
    asked = log.checkpoint(log.report(log.start(), work(option=option)), "saved")
    log.set_unchecked(asked, {"apply": option != YES})

    led = log.advance(asked, "done")

    assert facts_at(log.history, log.workflow, asked.node_id).values["apply"] is (option != YES)
    assert owners_at(log.history, log.workflow, asked.node_id)["apply"].owner == "agent"
    assert at(led) == reached


def test_dotted_key_of_an_older_log_is_read_except_for_actions() -> None:
    log = old_log(Compare(input="plan.apply", op="equals", value=True))
    first = log.start()
    log.set_unchecked(first, {"plan.apply": True})

    led = log.advance(log.report(first, work(option=YES)), "done")

    values = facts_at(log.history, log.workflow, led.node_id).values
    assert named_value(values, "plan.apply") is True
    assert at(led) == "after"


@every_case(
    ("condition", "chosen", "values", "expected"),
    [
        (APPLY, {"apply": True}, {"apply": False}, True),
        (APPLY, {}, {"apply": True}, False),
        (APPLY, {"apply": None}, {"apply": True}, False),
        (Not(of=APPLY), {}, {"apply": False}, False),
        (Not(of=APPLY), {"apply": False}, {"apply": True}, True),
        (Not(of=Not(of=APPLY)), {}, {"apply": True}, False),
        (Compare(input="apply", op="exists", value=False), {}, {}, False),
        (Or(of=(APPLY, URGENT)), {}, {"urgent": True}, True),
        (And(of=(APPLY, URGENT)), {"apply": True}, {"urgent": True}, True),
        (And(of=(APPLY, URGENT)), {}, {"apply": True, "urgent": True}, False),
    ],
)
def test_only_a_taken_option_speaks_for_what_options_set(
    condition: Condition, chosen: dict[str, Any], values: dict[str, Any], expected: bool
) -> None:
    facts = Facts(values=values, chosen=chosen)

    assert holds_by_options(condition, facts, {"apply"}) is expected


@pytest.mark.parametrize("option", [YES, NO])
def test_action_runs_unasked_only_because_of_an_option(option: int) -> None:
    for condition, expected in ((APPLY, option == YES), (Or(of=(APPLY, URGENT)), False)):
        log = old_log(condition)
        asked = log.report(log.start(context={"urgent": True}), work(option=option))

        led = log.advance(asked, "done")

        assert (at(led) == "write" and runs_unasked(log.history, log.workflow, led)) is expected


@every_case(
    ("name", "is_plain"),
    [
        ("a", True),
        ("_x-1", True),
        ("a" * 128, True),
        ("a" * 129, False),
        ("-a", False),
        ("é", False),
        ("a\n", False),
    ],
)
def test_a_name_is_plain(name: str, is_plain: bool) -> None:
    assert is_plain_name(name) is is_plain


@pytest.mark.parametrize(("index", "from_elsewhere", "from_before"), [(1, False, True), (2, True, False)])
def test_event_at_the_end_of_the_list_came_after_it(
    index: int, *, from_elsewhere: bool, from_before: bool
) -> None:
    log = WrittenLog("a", "b")
    log.advance(log.start(), "done")
    history = msgspec.structs.replace(log.history, listed=2, unsigned=(1, 2))

    assert is_imported(history, index) is from_elsewhere
    assert is_unproven(history, index) is from_before


def test_repeat_of_equal_rank_belongs_to_the_later_step() -> None:
    log = WrittenLog("a", "b", "c")
    second = log.advance(log.start(), "done", {"size": "small"})
    third = log.advance(second, "done", {"size": "small"})

    held = owners_at(log.history, log.workflow, third.node_id)["size"]

    assert (held.owner, held.step_id) == ("agent", "b")


def test_repeat_by_the_agent_leaves_an_option_its_value() -> None:
    log = WrittenLog(workflow=workflow_of(ASK, step("between"), step("after")))
    chosen = log.report(log.start(), work(option=YES))
    later = log.advance(chosen, "done", {"apply": True})

    held = owners_at(log.history, log.workflow, later.node_id)["apply"]

    assert (held.step_id, held.option_id) == ("ask", "yes")
