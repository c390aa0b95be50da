"""`workflow inspect`: one workflow before it is started.

Agents get no prompts here: those come one at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Annotated, Any, Literal, TypeAlias, assert_never

import msgspec
from msgspec import UNSET, Meta

from handrail.contract.disclosure.fields import Shape
from handrail.contract.disclosure.newest import take_first
from handrail.contract.ids import blob_ref
from handrail.contract.outcome import Fault, Notice, Success, make_from, refuse_argument
from handrail.contract.parameters import MintedId
from handrail.engine.history import Run
from handrail.operations.finding import find_run
from handrail.operations.workflow_catalog import find_workflow, load_catalog, pin
from handrail.operations.workflows.examine_workflows import (
    WorkflowChoice,
    choose_one,
    load_given,
)
from handrail.operations.workflows.input_outlines import outline_steering_inputs
from handrail.operations.workflows.source_changes import (
    MOST_CHANGES,
    PART_BYTES,
    describe_change,
)
from handrail.projections.workflow_diff import (
    list_differences,
    make_readable,
)
from handrail.runtime.operation import Maybe, Operation
from handrail.runtime.runtime import ReadPorts, project_of
from handrail.runtime.sessions import load_pinned_workflow
from handrail.views.workflows import (
    InputOutline,
    StepOutline,
    WorkflowDetail,
    WorkflowDiff,
    WorkflowInspection,
)
from handrail.workflows.catalog import Catalog, CatalogEntry
from handrail.workflows.compiled import (
    Action,
    Choice,
    Delegate,
    Loop,
    Pinned,
    Step,
    list_leaves,
)
from handrail.workflows.compiled import Part as CompiledPart
from handrail.workflows.conditions import Condition, ConditionId, label_condition

Part: TypeAlias = Literal["summary", "inputs", "steps", "source", "compiled", "diff", "pinned"]

_OF_RUNS = ("diff", "pinned")


class InspectWorkflow(WorkflowChoice, frozen=True, kw_only=True):
    """The workflow, and how much of it to show."""

    part: Maybe[Annotated[Part, Meta(description="Default: summary.")]] = UNSET
    run: Maybe[
        Annotated[MintedId, Meta(description="Of diff and pinned: a run, or a session for its latest run.")]
    ] = UNSET


def inspect_workflow(rt: ReadPorts, request: InspectWorkflow) -> Success:
    """Return the requested part of one workflow."""
    part: Part = "summary" if request.part is UNSET else request.part
    _check_parts(request, part)
    project = project_of(rt, request.project)
    if part == "pinned":
        return _show_pinned(rt, str(request.run), project)
    asked = choose_one(request.workflow_id, request.document)
    if isinstance(asked, str):
        catalog = load_catalog(rt, project)
        if part == "source" and (broken := _find_broken(catalog, asked)) is not None:
            return _to_success(_describe_broken(broken), project)
        entry, source = find_workflow(catalog, asked)
        pinned = pin(catalog, entry, source)
    else:
        entry, pinned = load_given(rt, asked, project)
    workflow = pinned.workflow
    compared = None if request.run is UNSET else find_run(rt, request.run)
    inputs, inputs_omitted = _inputs(pinned) if part in ("summary", "inputs") else ([], 0)
    steps, steps_omitted = _steps(pinned) if part == "steps" else ([], 0)
    detail = make_from(
        WorkflowDetail,
        workflow,
        pinned,
        id=entry.id,
        id_status=entry.id_status,
        suggested_id=entry.suggested_id,
        source_kind=entry.source_kind,
        step_count=sum(1 for _ in list_leaves(workflow.steps)),
        inputs=inputs,
        inputs_omitted=inputs_omitted,
        base=UNSET if workflow.base is None else workflow.base,
        steps=steps,
        steps_omitted=steps_omitted,
        slots=list(pinned.slots) if part == "steps" else [],
        **(_show_source(entry) if part == "source" else {}),
        compiled=msgspec.to_builtins(workflow) if part == "compiled" else {},
        diff=UNSET if compared is None else _diff(rt, compared.run, pinned),
    )
    return _to_success(detail, project, () if compared is None else compared.session.notices)


def _to_success(detail: WorkflowDetail, project: str, notices: tuple[Notice, ...] = ()) -> Success:
    inspected = WorkflowInspection(workflow=detail, project=project)
    return Success(data=msgspec.to_builtins(inspected), notices=notices)


def _show_pinned(rt: ReadPorts, asked: str, project: str) -> Success:
    """Return the text that a run follows, even if its file is gone. Raise Fault SESSION_NOT_FOUND."""
    found = find_run(rt, asked)
    run = found.run
    workflow = load_pinned_workflow(rt.log, run.workflow_hash)
    detail = WorkflowDetail(
        id=workflow.id,
        name=workflow.name,
        description=workflow.description,
        kind=workflow.kind,
        id_status="",
        version=workflow.version,
        source_kind=run.source_kind,
        workflow_hash=run.workflow_hash,
        step_count=sum(1 for _ in list_leaves(workflow.steps)),
        compiled=make_readable(workflow),
    )
    return _to_success(detail, project, found.session.notices)


def _find_broken(catalog: Catalog, workflow_id: str) -> CatalogEntry | None:
    """Return a file that cannot be used, by its name in the list, because its author needs its text."""
    named = [entry for entry in catalog.entries if entry.id == workflow_id]
    is_text = len(named) == 1 and not named[0].is_usable and bool(named[0].content)
    return named[0] if is_text else None


def _describe_broken(entry: CatalogEntry) -> WorkflowDetail:
    return WorkflowDetail(
        id=entry.id,
        name=entry.name,
        description="This file has problems and cannot be used.",
        kind=entry.kind,
        id_status=entry.id_status,
        version="",
        source_kind=entry.source_kind,
        workflow_hash="",
        step_count=0,
        **_show_source(entry),
    )


def _show_source(entry: CatalogEntry) -> dict[str, Any]:
    text = entry.content.decode("utf-8", "backslashreplace")
    return {"source": text, "source_ref": entry.source_ref, "source_digest": blob_ref(entry.content)}


def _diff(rt: ReadPorts, run: Run, pinned: Pinned) -> WorkflowDiff:
    """Return the changes since a run. Raise Fault VALIDATION_ERROR if the run is of another workflow."""
    if run.workflow_id != pinned.workflow.id:
        raise _misfit(f"is of {run.workflow_id}")
    before = make_readable(load_pinned_workflow(rt.log, run.workflow_hash))
    found = list(list_differences(before, make_readable(pinned.workflow)))
    return WorkflowDiff(
        run_id=run.run_id,
        pinned_hash=run.workflow_hash,
        is_same=run.workflow_hash == pinned.workflow_hash,
        change_count=len(found),
        changes=take_first(map(describe_change, found[:MOST_CHANGES]), PART_BYTES)[0],
    )


def _inputs(pinned: Pinned) -> tuple[list[InputOutline], int]:
    outlines = outline_steering_inputs(pinned.workflow)
    shown, _ = take_first(outlines, PART_BYTES)
    if len(shown) < len(outlines):  # a start without the required inputs would be refused
        shown, _ = take_first(sorted(outlines, key=lambda held: not held.required), PART_BYTES)
    return shown, len(outlines) - len(shown)


def _steps(pinned: Pinned) -> tuple[list[StepOutline], int]:
    outlines = list(_outlines(pinned.workflow.steps, pinned.workflow.conditions))
    shown, _ = take_first(outlines, PART_BYTES)
    return shown, len(outlines) - len(shown)


def _check_parts(request: InspectWorkflow, part: Part) -> None:
    if part in _OF_RUNS and request.run is UNSET:
        raise _misfit(f"is missing: part {part} is about the workflow of a run")
    if part not in _OF_RUNS and request.run is not UNSET:
        raise _misfit("goes with parts diff and pinned only")


def _misfit(problem: str) -> Fault:
    return refuse_argument(f"The call does not fit: run {problem}.", "run", problem)


def _outlines(
    parts: tuple[CompiledPart, ...], conditions: Mapping[ConditionId, Condition], loop_id: str = ""
) -> Iterator[StepOutline]:
    label = partial(label_condition, conditions)
    for part in parts:
        kind = part.provenance.kind
        outline = StepOutline(
            id=part.id,
            title="" if isinstance(part, Loop) else part.title,
            type=str(part.__struct_config__.tag),
            require_confirmation=False,
            when=label(part.when),
            loop=loop_id,
            origin=kind if kind in ("base", "overlay") else "",
        )
        match part:
            case Loop():
                yield msgspec.structs.replace(outline, max_iterations=part.max_iterations)
                yield from _outlines(part.body, conditions, part.id)
            case Choice():
                yield msgspec.structs.replace(outline, options=[option.id for option in part.options])
            case Step(require_confirmation=asked, contract=contract, check=check):
                confirmed = label(asked) if isinstance(asked, str) else asked
                yield msgspec.structs.replace(
                    outline, require_confirmation=confirmed, contract=contract, check=check
                )
            case Delegate():
                yield msgspec.structs.replace(outline, options=[child.id for child in part.children])
            case Action():
                yield outline
            case never:
                assert_never(never)


OPERATION = Operation(
    name="workflow.inspect",
    effect="read",
    where="both",
    summary="Show one workflow: what it is for, its hash and its steps.",
    input=InspectWorkflow,
    output=WorkflowInspection,
    perform=inspect_workflow,
    shape=Shape(
        levels={"minimal": ("id", "name", "workflowHash")},
        id_field="id",
        select="entity:workflow",
        drop_order=("compiled", "diff", "source", "steps", "inputs", "description"),
        untrusted=(
            "name",
            "description",
            "inputs.description",
            "steps.title",
            "base",
            "source",
            "compiled",
            "diff",
        ),
        trusted_where=("sourceKind", "bundled"),
    ),
    tool="inspect_workflow",
    tool_description="Show what a workflow is for, its inputs or its step titles.",
    tool_fields=("workflowId", "part", "project"),
    tool_required=("workflowId",),
    tool_choices={"part": ("summary", "inputs", "steps")},
    errors=(
        "WORKFLOW_NOT_FOUND",
        "WORKFLOW_INVALID",
        "WORKFLOW_ID_RESERVED",
        "SESSION_NOT_FOUND",
        "STORE_CORRUPT",
    ),
)
