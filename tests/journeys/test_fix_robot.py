"""A robot makes the call that each refusal names, word by word: it leads on, ends, and destroys nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from handrail.contract.outcome import Failure, NextCall, Success
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail.wiring import registry
from tests.conftest import memory_runtime
from tests.journeys.conversation import advance, start
from tests.journeys.writes import IN_A_DATABASE

MOST_CALLS = 4
WRONG: dict[str, Any] = {
    "sessionId": "ses_nobody000001",
    "session": "ses_nobody000001",
    "run": "run_nobody000001",
    "workflowId": "wr.smal_change",
    "ackToken": "ak1nothing",
    "stateToken": "st1nothing",
    "checkpointToken": "ck1nothing",
    "confirm": "ct_nothing",
    "context": {"a.b": 1},
    "ids": ["ses_nobody000001"],
    "limit": 0,
    "cursor": "cu1nothing",
}
LEFT_OUT = frozenset({"program.update", "store.selftest", "self.conformance"})
"""They take long, or have no way back to show."""


def list_calls(known: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every operation without anything, with each value wrong, and with one that it does not have."""
    for held in registry().operations():
        if held.effect == "process" or held.name in IN_A_DATABASE | LEFT_OUT:
            continue
        fields = msgspec.structs.fields(held.input)
        names = {one.encode_name for one in fields}
        right = {name: value for name, value in known.items() if name in names}
        required = {one.encode_name: "x" for one in fields if one.required}
        yield held.name, {}
        yield held.name, {**required, "unheardOf": 1}
        for name in sorted(names & WRONG.keys()):
            yield held.name, {**required, **right, name: WRONG[name]}


def follow(runtime: Runtime, failure: Failure) -> tuple[list[NextCall], Success | Failure]:
    """Make the call that a refusal names, and the one that this one names, until there is none."""
    made: list[NextCall] = []
    told: Any = failure
    while isinstance(told, Failure) and told.next_call is not None and len(made) < MOST_CALLS:
        made.append(told.next_call)
        told = perform(runtime, told.next_call.operation, dict(told.next_call.params))
    return made, told


def is_same(one: Failure, other: Failure) -> bool:
    """Whether the robot is where it was: what is refused for another reason has led on."""
    return (one.kind, one.message) == (other.kind, other.message)


def is_harmless(call: NextCall) -> bool:
    """It reads, it shows what it would do, or it is the agent's own next report."""
    effect = registry().operation(call.operation).effect
    return effect in ("read", "ack") or call.params.get("dryRun") is True or effect == "create"


@pytest.mark.thorough
@pytest.mark.promise("errors.next-call-leads-on")
def test_every_call_that_a_refusal_names_leads_on_and_harms_nothing() -> None:
    runtime = memory_runtime()
    reply = advance(runtime, start(runtime))
    known = {"sessionId": reply["session"]["sessionId"], "session": reply["session"]["sessionId"]}
    bad: list[str] = []
    followed = 0

    for operation, params in list_calls(known):
        told = perform(runtime, operation, params)
        if not isinstance(told, Failure) or told.next_call is None:
            continue
        made, end = follow(runtime, told)
        followed += 1
        said = [json.dumps([one.operation, one.params], sort_keys=True) for one in made]
        if not all(map(is_harmless, made)):
            bad.append(f"harm: {operation} {params}: {said}")
        elif isinstance(end, Failure) and (is_same(told, end) or len(made) == MOST_CALLS or not end.hint):
            bad.append(f"no way on: {operation} {params}: {told.message} -> {said}: {end.message}")

    assert followed > 40
    assert not bad, "\n".join(bad)
