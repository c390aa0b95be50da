"""What a node takes over from its ancestors: shared while nothing changes, and fixed once others followed."""

from __future__ import annotations

from typing import Any

from handrail.engine.events import Artifact, ContextSet, Scope
from handrail.engine.facts import facts_at
from handrail.engine.folding import grow_context
from handrail.engine.history import (
    NOTHING_INHERITED,
    Decided,
    add_artifact,
    context_at,
    merge_context,
)
from handrail.engine.navigate import LoopFrame
from handrail.engine.plans import plan_event
from tests.cases import every_case
from tests.engine.contracts import FINDING, LOOP, decision, finding
from tests.engine.written_log import RUN_ID, WrittenLog

FRAMES = (LoopFrame(loop_id="fix", iteration=2),)


def artifact(body: dict[str, Any], contract_ref: str) -> Artifact:
    return Artifact(kind=body["kind"], digest="sha256:1", body=body, contract_ref=contract_ref)


@every_case(
    ("context", "delta", "expected"),
    [
        ({}, {"a": 1}, {"a": 1}),
        ({"a": 1}, {"a": 2, "b": []}, {"a": 2, "b": []}),
        ({"a": {"x": 1}}, {"a": {"y": 2}}, {"a": {"y": 2}}),
        ({"a": 1, "b": 2}, {"a": None, "absent": None}, {"b": 2}),
        ({"a": {"x": None}}, {}, {"a": {"x": None}}),
    ],
)
def test_context_is_merged_at_its_top_level_and_null_deletes(
    context: dict[str, Any], delta: dict[str, Any], expected: dict[str, Any]
) -> None:
    before = dict(context)

    assert merge_context(context, delta) == expected
    assert list(grow_context(context, delta).items()) == list(merge_context(context, delta).items())
    assert context == before


def test_only_a_validated_artifact_is_taken_over() -> None:
    taken = add_artifact(NOTHING_INHERITED, artifact(finding(), FINDING), (), 7)
    left = add_artifact(taken, artifact(finding(file="b.py"), ""), (), 8)

    assert taken.artifacts == {"project.finding": finding()}
    assert left is taken


def test_newest_decision_about_a_loop_counts() -> None:
    first = add_artifact(NOTHING_INHERITED, artifact(decision("continue", loopId="fix"), LOOP), FRAMES, 5)
    second = add_artifact(first, artifact(decision("stop", loopId="fix"), LOOP), FRAMES, 9)
    unnamed = add_artifact(second, artifact(decision("continue"), LOOP), FRAMES, 11)
    outside = add_artifact(second, artifact(decision("continue"), LOOP), (), 12)

    assert second.decisions == {"fix": Decided(decision="stop", frames=FRAMES, index=9)}
    assert set(unnamed.decisions) == {"fix", ""}
    assert set(outside.decisions) == {"fix"}


def test_a_node_without_a_change_shares_what_its_parent_has() -> None:
    log = WrittenLog()
    first = log.start(context={"a": 1})
    second = log.advance(first)

    assert log.history.inherited[second.node_id] is log.history.inherited[first.node_id]


def test_addition_to_an_older_node_does_not_reach_later_ones() -> None:
    """Their replies were given already, and a replay must say the same."""
    log = WrittenLog()
    first = log.start(context={"a": 1})
    second = log.advance(first)
    later = ContextSet(context={"a": 2}, source="agent_delta")

    log.take([plan_event("context_set:later", Scope(run_id=RUN_ID, node_id=first.node_id), later)])
    third = log.advance(first)

    assert context_at(log.history, second.node_id) == {"a": 1}
    assert context_at(log.history, third.node_id) == {"a": 2}
    assert facts_at(log.history, log.workflow, second.node_id).values == {"a": 1}
