"""`workflow.inspect`: one workflow before it is started. Agents see no prompts: those come one at a time."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail.contract.payload import Payload
from handrail.contract.shape import Shape
from handrail.runtime.operation import Input, Operation
from handrail.runtime.runtime import Runtime
from handrail.runtime.workflow_catalog import catalog_of, find_workflow, project_of
from handrail.workflows.compiled import compile_workflow

Part = Literal["summary", "steps", "source", "compiled"]


class InspectWorkflow(Input, frozen=True, kw_only=True):
    """Which workflow, and how much of it."""

    workflow_id: Annotated[str, Meta(description="Id from list_workflows.", min_length=1, max_length=128)]
    part: Annotated[Part, Meta(description="summary (default), or steps with titles.")] | UnsetType = UNSET
    project: Annotated[str, Meta(description="Project directory.")] | UnsetType = UNSET


class StepOutline(Payload, frozen=True, kw_only=True):
    """A step without its prompt."""

    id: str
    title: str
    require_confirmation: bool


class WorkflowDetail(Payload, frozen=True, kw_only=True):
    """What is known before a run; `source` and `compiled` only on demand."""

    id: str
    name: str
    description: str
    kind: str
    version: str
    source_kind: str
    workflow_hash: str
    step_count: int
    steps: list[StepOutline] = []
    source: str = ""
    compiled: dict[str, Any] = {}


class WorkflowInspection(Payload, frozen=True, kw_only=True):
    """The workflow under its own key, so that fields can be chosen inside it."""

    workflow: WorkflowDetail
    project: str


def inspect_workflow(rt: Runtime, request: InspectWorkflow) -> WorkflowInspection:
    """The asked part of one workflow."""
    project = project_of(rt, request.project)
    entry, source = find_workflow(catalog_of(rt, project), request.workflow_id)
    pinned = compile_workflow(source)
    part = "summary" if request.part is UNSET else request.part
    outlines = [
        StepOutline(id=step.id, title=step.title, require_confirmation=step.require_confirmation)
        for step in pinned.workflow.steps
    ]
    detail = WorkflowDetail(
        id=entry.id,
        name=source.name,
        description=source.description,
        kind=source.kind,
        version=source.version,
        source_kind=entry.source_kind,
        workflow_hash=pinned.workflow_hash,
        step_count=len(outlines),
        steps=outlines if part == "steps" else [],
        source=entry.content.decode() if part == "source" else "",
        compiled=msgspec.to_builtins(pinned.workflow) if part == "compiled" else {},
    )
    return WorkflowInspection(workflow=detail, project=project)


OPERATION = Operation(
    name="workflow.inspect",
    effect="read",
    summary="Show one workflow: what it is for, its hash and its steps.",
    input=InspectWorkflow,
    output=WorkflowInspection,
    perform=inspect_workflow,
    shape=Shape(
        levels={"minimal": ("id", "name", "workflowHash"), "standard": None, "full": None},
        id_field="id",
        select="entity:workflow",
        drop_order=("compiled", "source", "steps", "description"),
    ),
    tool="inspect_workflow",
    tool_description="Show what a workflow is for and, with part: steps, its step titles. Starts nothing.",
    tool_fields=("workflowId", "part", "project"),
    tool_choices={"part": ("summary", "steps")},
    errors=("VALIDATION_ERROR", "WORKFLOW_NOT_FOUND", "WORKFLOW_INVALID", "WORKFLOW_ID_RESERVED"),
)
