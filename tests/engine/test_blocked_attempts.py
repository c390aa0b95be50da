"""Blocked attempts as plans: what is written, in which order, and what a retry takes over."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from handrail.engine.decide import decide_advance
from handrail.engine.events import (
    PlannedEvent,
)
from handrail.engine.facts import KeptWork, update_kept
from handrail.engine.history import Node
from handrail.engine.judge.artifacts import Place, subject_of
from handrail.workflows.conditions import AlwaysFalse
from tests.engine.contracts import CONTRACTS, FINDING, finding
from tests.engine.written_log import WrittenLog, attempt, step, tried, work, workflow_of


def asking(**fields: Any) -> WrittenLog:
    held = step("a", contract=FINDING, **fields)
    return WrittenLog(workflow=workflow_of(held, step("b"), contracts=CONTRACTS))


def plan_of(log: WrittenLog, node: Node, **report: Any) -> list[PlannedEvent]:
    return decide_advance(log.history, *tried(log.workflow, node, attempt(77), work(**report)))


def test_blocked_attempt_and_advance_share_only_the_anchor() -> None:
    """So a second append of the same attempt is recognised whichever way it was decided."""
    log = asking()
    first = log.start()

    blocked = plan_of(log, first)
    advanced = plan_of(log, first, artifacts=[finding()])

    shared = {planned.dedupe_key for planned in blocked} & {planned.dedupe_key for planned in advanced}
    assert shared == {
        f"advance_recorded:{first.node_id}:{attempt(77)}",
        f"validation_performed:{first.node_id}:{attempt(77)}:1",
    }


@pytest.mark.parametrize(
    ("brought", "kept", "expected"),
    [
        ([], [{"kind": "x"}], [{"kind": "x"}]),
        ([{"kind": "x", "n": 2}], [{"kind": "x", "n": 1}], [{"kind": "x", "n": 2}]),
        (
            [{"kind": "wr.assessment", "assessmentId": "a"}],
            [{"kind": "wr.assessment", "assessmentId": "b"}],
            [{"kind": "wr.assessment", "assessmentId": "b"}, {"kind": "wr.assessment", "assessmentId": "a"}],
        ),
    ],
)
def test_an_artifact_replaces_one_about_the_same_thing(
    brought: list[dict[str, Any]], kept: list[dict[str, Any]], expected: list[dict[str, Any]]
) -> None:
    subject = partial(subject_of, Place(workflow=workflow_of(step("a"))))

    assert list(update_kept(KeptWork(artifacts=tuple(kept)), "", brought, subject).artifacts) == expected


def test_long_trace_keeps_both_ends_and_counts_the_rest() -> None:
    skipped = [step(f"s{number}", when="never") for number in range(30)]
    log = WrittenLog(workflow=workflow_of(*skipped, step("z"), conditions={"never": AlwaysFalse()}))
    first = log.start()

    trace = log.history.attached[first.node_id].trace

    assert len(trace) == 25
    assert [getattr(entry, "step_id", "") for entry in trace[:2]] == ["s0", "s1"]
    assert getattr(trace[-1], "step_id", "") == "z"
