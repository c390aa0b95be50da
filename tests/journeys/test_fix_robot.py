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
from tests.journeys.given_workflows import choice, equals, option, rounds, step
from tests.journeys.test_fixes import after_its_edits, problems_of, workflow
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
def test_call_of_every_refusal_leads_on_and_harms_nothing() -> None:
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


NOT_LOW = {"kind": "not", "of": equals("severity", "low")}
CLEAN = workflow(
    step("look", output={"contractRef": "wr.contracts.decision"}, requireConfirmation=True),
    step("judge", gates=[{"assessmentId": "fit", "followups": {"weak": "Look again."}}], when="urgent"),
    step("tell", prompt="Tell {{severity}}.", validation=[{"type": "contains", "value": "Result:"}]),
    choice("pick", option("left", way="left"), option("right", way="right"), nonAssumable="scope_boundary"),
    step("turn", when={"kind": "and", "of": [equals("way", "left"), NOT_LOW]}),
    rounds("each", {"forEach": {"input": "items", "as": "item"}}, step("do", prompt="Do {{item}}.")),
    inputs={
        "severity": {"type": "string", "enum": ["low", "high"], "default": "low"},
        "way": {"type": "string", "enum": ["left", "right"]},
        "items": {"type": "array", "default": ["one"]},
    },
    conditions=[{"id": "urgent", **equals("severity", "high")}],
    assessments=[{"id": "fit", "purpose": "Is it fit?", "dimensions": {"it": ["weak", "strong"]}}],
    recommended={"autonomy": "guided"},
)
"""A workflow with a little of everything, about which nothing is said."""


def misspell(word: str) -> str:
    """The last two letters change places, or the last one is there twice."""
    swapped = word[:-2] + word[-1] + word[-2]
    return swapped if swapped != word else word + word[-1]


def mistaken(value: Any, way: str = "") -> Iterator[tuple[str, Any]]:
    """Every document with one word of this one misspelt, and the place of that word."""
    held = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in held:
        place = f"{way}/{key}"
        if isinstance(key, str) and len(key) > 3:
            made = {misspell(one) if one == key else one: rest for one, rest in value.items()}
            yield f"{place} (key)", made
        if isinstance(inner, str) and len(inner) > 3 and inner.replace("_", "").replace(".", "").isalpha():
            yield place, _put(value, key, misspell(inner))
        for further, whole in mistaken(inner, place):
            yield further, _put(value, key, whole)


def _put(value: Any, key: Any, made: Any) -> Any:
    if isinstance(value, dict):
        return value | {key: made}
    return [made if at == key else one for at, one in enumerate(value)]


@pytest.mark.thorough
def test_edit_of_a_misspelt_word_ends_its_problem() -> None:
    runtime = memory_runtime()
    assert problems_of(runtime, CLEAN) == []
    bad, mended = [], 0

    for place, document in mistaken(CLEAN):
        found = problems_of(runtime, document)
        if not any("edit" in one for one in found):
            bad += [f"no fix: {place}: {one}" for one in found if not one.get("fix")]
            continue
        known = {(one["code"], one["pointer"]) for one in found if "edit" not in one}
        left = problems_of(runtime, after_its_edits(runtime, document))
        mended += not left
        bad += [f"{place}: {one}" for one in left if (one["code"], one["pointer"]) not in known]

    assert not bad, "\n".join(bad)
    assert mended > 40
