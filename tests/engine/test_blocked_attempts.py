"""Blocked attempts as plans: what is written, in which order, and what a retry takes over."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from handrail.engine.decide import decide_advance
from handrail.engine.events import (
    AdvanceRecorded,
    Blocked,
    EdgeCreated,
    GapRecorded,
    NodeCreated,
    PlannedEvent,
    PreferencesDelta,
    ValidationPerformed,
)
from handrail.engine.facts import KeptWork, collect_kept, update_kept
from handrail.engine.history import Node, steps_after
from handrail.engine.judge.artifacts import Place, subject_of
from handrail.engine.navigate import Running
from handrail.workflows.compiled import Choice, ContainsRule, Option
from handrail.workflows.conditions import AlwaysFalse
from tests.engine.contracts import CONTRACTS, FINDING, PROBE, finding, seen
from tests.engine.written_log import WrittenLog, attempt, step, tried, work, workflow_of

NEVER = PreferencesDelta(autonomy="full_auto_never_stop")


def asking(**fields: Any) -> WrittenLog:
    held = step("a", contract=FINDING, **fields)
    return WrittenLog(workflow=workflow_of(held, step("b"), contracts=CONTRACTS))


def plan_of(log: WrittenLog, node: Node, **report: Any) -> list[PlannedEvent]:
    return decide_advance(log.history, *tried(log.workflow, node, attempt(77), work(**report)))


def kept_of(log: WrittenLog, node: Node) -> KeptWork:
    return collect_kept(log.history, node, partial(subject_of, Place(workflow=log.workflow)))


def kinds(plan: list[PlannedEvent]) -> list[str]:
    return [type(planned.data).__name__ for planned in plan]


def test_the_answer_comes_first_then_what_was_checked_then_the_node() -> None:
    log = asking()
    first = log.start()

    plan = plan_of(log, first, notes="half", context={"k": 1}, artifacts=[finding(file="")])

    assert kinds(plan) == [
        "AdvanceRecorded",
        "ValidationPerformed",
        "NodeCreated",
        "EdgeCreated",
        "ContextSet",
        "NodeOutputAppended",
        "NodeOutputAppended",
    ]
    answer, checked, created, edge = (planned.data for planned in plan[:4])
    assert isinstance(answer, AdvanceRecorded)
    assert isinstance(answer.outcome, Blocked)
    assert isinstance(checked, ValidationPerformed)
    assert (checked.attempt_id, checked.contract_ref, checked.result) == (attempt(77), FINDING, "invalid")
    assert created == NodeCreated(
        node_kind="blocked_attempt", parent_node_id=first.node_id, state=Running(step_id="a")
    )
    assert isinstance(edge, EdgeCreated)
    assert (edge.edge_kind, edge.cause) == ("blocked", "validation_blocked")
    assert len({planned.dedupe_key for planned in plan}) == len(plan)


def test_a_blocked_attempt_and_an_advance_of_one_attempt_share_only_the_anchor() -> None:
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


def test_the_answer_keeps_everything_that_its_reply_says() -> None:
    log = asking()
    first = log.start()
    log.report(first, work())

    recorded = log.history.advances[(first.node_id, attempt(1))]

    assert recorded.blocked is not None
    assert [blocker.code for blocker in recorded.blocked.blockers] == ["MISSING_REQUIRED_OUTPUT"]
    assert recorded.blocked.example == finding()
    assert recorded.blocked.retryable


def test_one_thing_that_no_call_can_mend_makes_the_whole_attempt_final() -> None:
    held = step(
        "a",
        contract=PROBE,
        capability="web_browsing",
        rules=(ContainsRule(value="seen", message="Say seen."),),
    )
    workflow = workflow_of(held, contracts=CONTRACTS, capabilities={"web_browsing": "required"})
    log = WrittenLog(workflow=workflow)
    first = log.start()
    log.report(first, work("no", artifacts=[seen("unavailable")]))

    refused = log.history.advances[(first.node_id, attempt(1))].blocked

    assert refused is not None
    assert len(refused.blockers) == 2
    assert not refused.retryable


def test_a_node_with_only_blocked_attempts_below_it_is_not_forked_by_an_advance() -> None:
    log = asking()
    first = log.start()
    blocked = log.report(first, work())
    log.checkpoint(log.report(blocked, work()))

    assert steps_after(log.history, first.node_id) == ()
    after = log.report(first, work(artifacts=[finding()]))
    assert log.history.causes[after.node_id] == "advance"


def test_a_retry_takes_over_what_came_before_and_its_own_parts_win() -> None:
    log = asking(rules=(ContainsRule(value="seen", message="Say seen."),))
    first = log.start()
    one = log.report(first, work(notes="seen", artifacts=[finding(file=""), {"kind": "extra", "n": 1}]))
    two = log.report(one, work(artifacts=[finding(severity="awful")]))

    kept = kept_of(log, two)
    after = log.report(two, work(artifacts=[finding(file="b.py")]))

    assert kept.notes == "seen"
    assert {str(body) for body in kept.artifacts} == {
        str(finding(severity="awful")),
        str({"kind": "extra", "n": 1}),
    }
    assert after.state == Running(step_id="b")
    recorded = {held.artifact.kind: held.artifact for held in log.history.attached[after.node_id].artifacts}
    assert recorded["project.finding"].body["file"] == "b.py"
    assert recorded["extra"].body == {"kind": "extra", "n": 1}


def test_a_checkpoint_keeps_what_the_attempts_before_it_brought() -> None:
    log = asking()
    blocked = log.report(log.start(), work(notes="n"))
    saved = log.checkpoint(blocked)

    assert kept_of(log, saved) == KeptWork(notes="n")


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


def test_never_stop_writes_a_critical_gap_and_moves() -> None:
    log = asking()
    first = log.start(preferences=NEVER)

    plan = plan_of(log, first)

    (gap,) = [planned.data for planned in plan if isinstance(planned.data, GapRecorded)]
    assert (gap.severity, gap.reason) == ("critical", "contract_violation:missing_required_output")
    assert gap.gap_id.startswith("gap_")
    created = next(planned.data for planned in plan if isinstance(planned.data, NodeCreated))
    assert created.state == Running(step_id="b")


def test_a_choice_writes_what_its_option_sets_and_which_one_it_was() -> None:
    options = (Option(id="left", label="L", sets={"way": "left"}), Option(id="right", label="R"))
    choice = Choice(id="way", title="Way", prompt="?", options=options)
    log = WrittenLog(workflow=workflow_of(choice, step("b")))
    first = log.start()

    after = log.report(first, work(context={"mine": 1}, option=0))

    assert log.history.context[after.node_id] == {"mine": 1, "way": "left"}
    assert log.history.advances[(first.node_id, attempt(1))].option_id == "left"


def test_a_long_trace_keeps_what_was_passed_by_at_both_ends_and_counts_the_rest() -> None:
    skipped = [step(f"s{number}", when="never") for number in range(30)]
    log = WrittenLog(workflow=workflow_of(*skipped, step("z"), conditions={"never": AlwaysFalse()}))
    first = log.start()

    trace = log.history.attached[first.node_id].trace

    assert len(trace) == 25
    assert [getattr(entry, "step_id", "") for entry in trace[:2]] == ["s0", "s1"]
    assert getattr(trace[-1], "step_id", "") == "z"
