"""`workflow diff`: what two workflows do differently, step by step."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta

from handrail.contract.disclosure.fields import Shape
from handrail.contract.disclosure.newest import take_first
from handrail.contract.outcome import Answer, make_from
from handrail.contract.parameters import ProjectPath
from handrail.operations.workflows.examine_workflows import (
    WorkflowChoice,
    WorkflowText,
    load_chosen_workflow,
)
from handrail.operations.workflows.source_changes import MOST_CHANGES, PART_BYTES, describe_change
from handrail.projections.workflow_diff import (
    list_differences,
    list_step_differences,
    make_readable,
)
from handrail.runtime.operation import Input, Maybe, Operation
from handrail.runtime.runtime import ReadPorts
from handrail.views.workflows import SourceChange
from handrail.workflows.compiled import (
    CompiledWorkflow,
    Pinned,
)


class DiffWorkflows(Input, frozen=True, kw_only=True):
    """Two workflows, each by its id or as the text of a file."""

    workflows: Annotated[
        list[WorkflowText | str],
        Meta(description="Two workflows: files or ids, the older first.", min_length=2, max_length=2),
    ]
    project: Maybe[ProjectPath] = UNSET


class ComparedWorkflow(Answer, frozen=True, kw_only=True):
    """One of the two compared workflows."""

    workflow_id: str
    workflow_hash: str


class StepChange(Answer, frozen=True, kw_only=True):
    """One step.

    For a changed step, `places` has the changes by pointers into it; long values are left out.
    """

    step_id: str
    change: str
    title: str
    places: list[SourceChange] = []


class WorkflowComparison(Answer, frozen=True, kw_only=True):
    """The differences of the second workflow from the first."""

    is_same: bool
    before: ComparedWorkflow
    after: ComparedWorkflow
    step_count: int
    """Number of steps that differ; `steps` has the first that fit."""
    steps: list[StepChange]
    elsewhere: list[SourceChange]
    """Differences outside of the steps: inputs, conditions, contracts; the first that fit."""


def diff_workflows(rt: ReadPorts, request: DiffWorkflows) -> WorkflowComparison:
    """Compare the compiled workflows.

    Raise Fault WORKFLOW_NOT_FOUND, or WORKFLOW_INVALID with the problems of the one that cannot be started.
    """
    before, after = (_load_named(rt, one, request) for one in request.workflows)
    old, new = before.workflow, after.workflow
    steps = list(list_step_differences(old, new))
    beside = list(list_differences(_without_steps(old), _without_steps(new)))
    changes = (
        make_from(StepChange, one, places=list(map(describe_change, one.places)))
        for one in steps[:MOST_CHANGES]
    )
    return WorkflowComparison(
        is_same=before.workflow_hash == after.workflow_hash,
        before=_name_of(before),
        after=_name_of(after),
        step_count=len(steps),
        steps=take_first(changes, PART_BYTES)[0],
        elsewhere=take_first(map(describe_change, beside[:MOST_CHANGES]), PART_BYTES)[0],
    )


def _load_named(rt: ReadPorts, named: WorkflowText | str, request: DiffWorkflows) -> Pinned:
    if isinstance(named, str):
        return load_chosen_workflow(rt, WorkflowChoice(workflow_id=named, project=request.project))
    return load_chosen_workflow(rt, WorkflowChoice(document=named, project=request.project))


def _name_of(pinned: Pinned) -> ComparedWorkflow:
    return ComparedWorkflow(workflow_id=pinned.workflow.id, workflow_hash=pinned.workflow_hash)


def _without_steps(workflow: CompiledWorkflow) -> object:
    return make_readable(msgspec.structs.replace(workflow, steps=(), base=None))


OPERATION = Operation(
    name="workflow.diff",
    effect="read",
    where="client",
    summary="Show what two workflows do differently, step by step.",
    input=DiffWorkflows,
    output=WorkflowComparison,
    perform=diff_workflows,
    shape=Shape(
        levels={"minimal": ("is_same", "step_count")},
        drop_order=("elsewhere", "steps"),
        untrusted=("steps", "elsewhere"),
    ),
    errors=("WORKFLOW_INVALID", "WORKFLOW_NOT_FOUND"),
)
