"""Whether the base of an overlay changed since the overlay last ran, and in which steps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from handrail.contract.ids import WorkflowHash
from handrail.contract.outcome import Fault
from handrail.operations.replies import load_pinned_workflow
from handrail.operations.stored_sessions import Sessions, ask_sessions
from handrail.projections.workflow_diff import StepDifference, list_step_differences
from handrail.runtime.runtime import ReadPorts
from handrail.workflows.compiled import CompiledWorkflow, walk_parts

_MOST_STEPS = 10
"""That are named."""


class LastRun(NamedTuple):
    run_id: str
    workflow: CompiledWorkflow


def explain_changed_base(rt: ReadPorts, workflow: CompiledWorkflow) -> str:
    """What changed in the base since the last run of this overlay; empty where nothing did or none ran."""
    last = None if workflow.base is None else _find_last(rt, workflow.id)
    if last is None or workflow.base is None or last.workflow.base is None:
        return ""
    if last.workflow.base.hash == workflow.base.hash:
        return ""
    found = _of_base(last.workflow, workflow)
    differing = [f"{one.step_id} {one.change}" for one in found]
    listed = ", ".join(differing[:_MOST_STEPS]) + (" and others" if len(differing) > _MOST_STEPS else "")
    return (
        f"{workflow.base.id} changed since this overlay last ran ({listed or 'beside its steps'}). See all: "
        f"handrail workflow inspect {workflow.id} --part diff --run {last.run_id}"
    )


def _of_base(before: CompiledWorkflow, after: CompiledWorkflow) -> Iterator[StepDifference]:
    """What differs, without what the overlay itself added or no longer adds."""
    parts = walk_parts((*before.steps, *after.steps))
    own = {part.id for part in parts if part.provenance.kind == "overlay"}
    for one in list_step_differences(before, after):
        if one.change == "changed" or one.step_id not in own:
            yield one


def _find_last(rt: ReadPorts, workflow_id: str) -> LastRun | None:
    def look(sessions: Sessions) -> LastRun | None:
        for stamp in sessions.stamps:
            facts = sessions.facts(stamp.session_id)
            if facts.workflow_id == workflow_id:
                with suppress(Fault):  # a workflow that is lost says nothing, and stops nobody
                    pinned = load_pinned_workflow(rt.log, WorkflowHash(facts.workflow_hash))
                    return LastRun(facts.run_id, pinned)
        return None

    return ask_sessions(rt, look)
