"""What plans keep at their limits: entries of a trace, and names of helpers."""

from __future__ import annotations

import msgspec
import pytest

from handrail.engine.events import DecisionTraceAppended, Scope
from handrail.engine.facts import Helper
from handrail.engine.navigate import EvaluatedCondition, SkippedStep, TraceEntry
from handrail.engine.plans import plan_helper, plan_trace
from tests.engine.written_log import RUN_ID, WrittenLog


@pytest.mark.parametrize(
    ("skipped", "conditions", "kept"), [(24, 1, 25), (25, 1, 25), (25, 0, 25), (30, 0, 25)]
)
def test_trace_keeps_25_entries_and_skipped_steps_first(skipped: int, conditions: int, kept: int) -> None:
    entries: tuple[TraceEntry, ...] = (
        *(SkippedStep(step_id=f"s{number}", condition_id="never") for number in range(skipped)),
        *(EvaluatedCondition(condition_id=f"c{number}", holds=False) for number in range(conditions)),
    )

    (planned,) = plan_trace(Scope(run_id=RUN_ID), entries)

    assert isinstance(planned.data, DecisionTraceAppended)
    assert (len(planned.data.entries), planned.data.omitted) == (kept, skipped + conditions - kept)
    assert isinstance(planned.data.entries[-1], EvaluatedCondition) is (
        skipped + conditions == 25 and conditions > 0
    )


@pytest.mark.parametrize(("held", "is_recorded"), [(7, True), (8, False)])
def test_work_keeps_the_names_of_eight_helpers(held: int, is_recorded: bool) -> None:
    log = WrittenLog()
    node = log.start()
    names = tuple(f"helper-{number}" for number in range(held))
    run = msgspec.structs.replace(log.history.runs[RUN_ID], workers=names)
    history = msgspec.structs.replace(log.history, runs={RUN_ID: run})

    assert bool(plan_helper(history, node, Helper(worker="another"))) is is_recorded
