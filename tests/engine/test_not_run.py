"""How much did not run, from a trace that names all of it, or some of it."""

from __future__ import annotations

from handrail.engine.history import (
    Attached,
    not_run_by_move,
)
from handrail.engine.navigate import EnteredLoop, ExitedLoop, SelectedStep, SkippedStep, TraceEntry
from handrail.engine.progress import describe_not_run


def skips(number: int) -> tuple[TraceEntry, ...]:
    return tuple(SkippedStep(step_id=f"s{place}", condition_id="c") for place in range(number))


def test_skipped_steps_and_loops_without_a_round_did_not_run() -> None:
    trace: tuple[TraceEntry, ...] = (
        EnteredLoop(loop_id="made", iteration=0),
        ExitedLoop(loop_id="made", iterations=1, reason="condition_false"),
        *skips(1),
        ExitedLoop(loop_id="none", iterations=0, reason="items_exhausted"),
        SelectedStep(step_id="z"),
    )

    found = not_run_by_move(Attached(trace=trace))

    assert [(part.part_id, part.condition_id) for part in found.parts] == [("s0", "c"), ("none", "")]
    assert describe_not_run(found) == "2 parts did not run"


def test_a_count_that_cannot_be_is_not_believed() -> None:
    full = (*skips(24), SelectedStep(step_id="z"))

    assert not_run_by_move(Attached(trace=full, trace_omitted=5, passed_omitted=-9)).total == 24
    assert not_run_by_move(Attached(trace=full, trace_omitted=5, passed_omitted=900)).total == 29
