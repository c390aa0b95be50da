"""Helpers in any order: whatever they repeat or send late, the children end as one agent would end them.

The checker reads the log alone: every child was opened once and did each step once, and its parent went on
only after the last of them.
"""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
import pytest

from handrail.contract.outcome import Failure, Success
from handrail.contract.tokens.workflow import LAYOUT_BY_PREFIX
from handrail.runtime.hub import perform
from handrail.runtime.operation import TOKEN_PREFIXES, WORK_ARGUMENTS, WORKED_THROUGH
from handrail.runtime.refused_calls import MAY_DO
from handrail.runtime.runtime import Runtime
from handrail.wiring import registry
from tests.conftest import memory_runtime
from tests.journeys.conversation import advance, answer
from tests.journeys.given_workflows import begin, step
from tests.journeys.interfaces import events_of

CHILDREN = ("a", "b", "c")
STEPS = ("look", "sum")


def hand_out(runtime: Runtime) -> dict[str, Any]:
    children = [{"id": name, "steps": [step(one) for one in STEPS]} for name in CHILDREN]
    delegate = {"id": "review", "title": "Review", "delegate": {"children": children}}
    return advance(runtime, begin(runtime, step("plan"), delegate, step("conclude"), fields={}))


def list_closed_fields() -> list[tuple[str, str]]:
    """Every argument of every operation that takes no token of a child, from the table of operations."""
    return [
        (name, field.encode_name)
        for name in registry().names
        for field in msgspec.structs.fields(registry().operation(name).input)
        if name not in WORKED_THROUGH or field.encode_name not in WORK_ARGUMENTS
    ]


class _Crowd:
    """Helpers who share work tokens and everything that they were ever told."""

    def __init__(self, runtime: Runtime, random: Random) -> None:
        self.runtime = runtime
        self.random = random
        self.waiting = hand_out(runtime)
        self.acks: list[str] = []
        self.has_joined = False

    def act(self) -> None:
        """One call: read a child, report with any ack of the past, or try the join."""
        deed = self.random.randrange(10)
        if deed < 4 or not self.acks:
            self._read(self.random.choice(self.waiting["children"])["workToken"])
        elif deed < 9:
            notes = f"by helper {self.random.randrange(8)}"
            told = self._call(ackToken=self.random.choice(self.acks), output={"notesMarkdown": notes})
            self.acks += [told["ackToken"]] if told.get("ackToken") else []
        else:
            told = self._call(stateToken=self.waiting["stateToken"])
            self.acks += [told["ackToken"]] if told.get("ackToken") else []

    def finish(self) -> dict[str, Any]:
        """What an agent alone does in the end: the children that are left, then the join."""
        reply = self._call(stateToken=self.waiting["stateToken"])
        for handed in self.waiting["children"]:
            told = self._call(stateToken=handed["workToken"])
            while told["pending"]:
                told = advance(self.runtime, told)
        reply = self._call(stateToken=self.waiting["stateToken"])
        return advance(self.runtime, reply)

    def _read(self, token: str) -> None:
        told = self._call(stateToken=token)
        self.acks += [told["ackToken"]] if told.get("ackToken") else []

    def _call(self, **params: Any) -> dict[str, Any]:
        outcome = perform(self.runtime, "run.continue", params)
        assert isinstance(outcome, Success), outcome
        told: dict[str, Any] = msgspec.to_builtins(outcome.data)
        return told


def check(runtime: Runtime, waiting: dict[str, Any]) -> None:
    """The log is one that a single agent could have made."""
    events = events_of(runtime, waiting)
    parent = waiting["session"]["runId"]
    opened = [one for one in events if one["kind"] == "run_started" and "parent" in one["data"]]
    assert [one["data"]["parent"]["childId"] for one in opened] == list(CHILDREN)
    ends = []
    for run in opened:
        run_id = run["scope"]["runId"]
        made = [one for one in events if one["kind"] == "node_created" and one["scope"]["runId"] == run_id]
        states = [one["data"]["state"] for one in made]
        assert [state.get("stepId", "") for state in states] == [*STEPS, ""], states
        ends.append(made[-1]["index"])
    later = [one for one in events if one["index"] > opened[0]["index"]]
    left = [one for one in later if one["kind"] == "advance_recorded" and one["scope"]["runId"] == parent]
    assert left
    assert min(one["index"] for one in left) > max(ends), "the parent went on before its children were done"


def play(seed: int) -> None:
    random = Random(seed)
    crowd = _Crowd(memory_runtime(), random)
    for _ in range(random.randrange(60)):
        crowd.act()
    assert crowd.finish()["pending"]["stepId"] == "conclude"
    check(crowd.runtime, crowd.waiting)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.thorough
def test_helpers_in_any_order_end_as_one_agent_would(seed: int) -> None:
    play(seed)


@pytest.mark.thorough
def test_many_helpers_in_any_order_end_as_one_agent_would() -> None:
    for seed in range(100, 300):
        play(seed)


@pytest.mark.thorough
@pytest.mark.parametrize("named", ["workToken", "stateToken", "ackToken", "checkpointToken"])
def test_other_operations_refuse_a_token_of_a_child(named: str) -> None:
    runtime = memory_runtime()
    waiting = hand_out(runtime)
    work = waiting["children"][0]["workToken"]
    token = (waiting["children"][0] | answer(runtime, "run.continue", stateToken=work))[named]
    before = len(events_of(runtime, waiting))

    for name, field in list_closed_fields():
        outcome = perform(runtime, name, {field: token})
        assert isinstance(outcome, Failure), name
        assert (outcome.kind.code, outcome.hint) == ("TOKEN_SCOPE_MISMATCH", MAY_DO), (name, field)

    assert set(TOKEN_PREFIXES) == set(LAYOUT_BY_PREFIX)
    assert len(events_of(runtime, waiting)) == before
    assert answer(runtime, "run.continue", stateToken=work)["pending"]["stepId"] == "look"
