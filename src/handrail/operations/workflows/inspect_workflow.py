"""`workflow.inspect`, `workflow.graph`, `workflow.diff`: a workflow before it is started, or beside another.

Agents see no prompts: those come one at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Annotated, Any, Literal, TypeAlias, assert_never

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail.contract.disclosure.fields import Shape
from handrail.contract.disclosure.newest import encoded_size, take_first
from handrail.contract.ids import blob_ref
from handrail.contract.outcome import Answer, Fault, Notice, Payload, Success, make_from, refuse_argument
from handrail.contract.parameters import MintedId, ProjectPath
from handrail.engine.history import Run
from handrail.operations.finding import find_run
from handrail.operations.workflow_catalog import find_workflow, load_catalog, pin
from handrail.operations.workflows.examine_workflows import (
    WorkflowChoice,
    WorkflowText,
    choose_one,
    load_chosen_workflow,
    load_given,
)
from handrail.operations.workflows.list_workflows import InputOutline, outline_steering_inputs
from handrail.projections.workflow_diff import (
    Difference,
    list_differences,
    list_step_differences,
    make_readable,
)
from handrail.projections.workflow_graph.drawings import draw_mermaid, draw_svg, draw_text
from handrail.projections.workflow_graph.graph import WorkflowGraph, graph_document, workflow_graph
from handrail.runtime.operation import Input, Maybe, Operation
from handrail.runtime.runtime import ReadPorts, project_of
from handrail.runtime.sessions import load_pinned_workflow
from handrail.workflows.catalog import Catalog, CatalogEntry
from handrail.workflows.compiled import (
    Action,
    Choice,
    CompiledBase,
    CompiledWorkflow,
    Delegate,
    Loop,
    Pinned,
    Recommended,
    SlotPlace,
    Step,
    list_leaves,
)
from handrail.workflows.compiled import Part as CompiledPart
from handrail.workflows.conditions import Condition, ConditionId, label_condition

Part: TypeAlias = Literal["summary", "inputs", "steps", "source", "compiled", "diff", "pinned"]

_OF_RUNS = ("diff", "pinned")
MOST_CHANGES = 100
PART_BYTES = 24_576
"""Of inputs, of steps, or of the changes in a diff: the first that fit."""
LONGEST_VALUE_BYTES = 2_048
"""Of a value before or after a change; for a longer one only the place is shown."""


class InspectWorkflow(WorkflowChoice, frozen=True, kw_only=True):
    """Which workflow, and how much of it."""

    part: Maybe[Annotated[Part, Meta(description="Default: summary.")]] = UNSET
    run: Maybe[
        Annotated[MintedId, Meta(description="Of diff and pinned: a run, or a session for its latest run.")]
    ] = UNSET


class StepOutline(Payload, frozen=True, kw_only=True):
    """A step without its prompt. A loop comes before its steps, which name it; a choice has its options."""

    id: str
    title: str = ""
    type: str = "step"
    require_confirmation: bool | str
    """True, false, or the condition that decides: its id, or what it says where it has none."""
    when: str = ""
    contract: str = ""
    check: str = ""
    """The declared check of the project that must have passed."""
    options: list[str] = []
    max_iterations: int = 0
    loop: str = ""
    """The innermost loop around it."""
    origin: str = ""
    """In a workflow that extends another: base or overlay, by whom it was written."""


class SourceChange(Payload, frozen=True, kw_only=True):
    """One place of the compiled workflow; items of a list are named by their ids."""

    pointer: str
    action: str
    before: Any = UNSET
    after: Any = UNSET


class WorkflowDiff(Payload, frozen=True, kw_only=True):
    """The workflow on disk against the one that a run is pinned to."""

    run_id: str
    pinned_hash: str
    is_same: bool
    change_count: int
    changes: list[SourceChange] = []
    """The first ones; `changeCount` has all."""


class WorkflowDetail(Payload, frozen=True, kw_only=True):
    """What is known before a run; `source` and `compiled` only on demand."""

    id: str
    name: str
    description: str
    kind: str
    id_status: str
    suggested_id: str = ""
    """Of a legacy id: the one it should get."""
    version: str
    source_kind: str
    workflow_hash: str
    step_count: int
    inputs: list[InputOutline] = []
    """The first that fit, the required ones before the others then; the compiled form has all."""
    inputs_omitted: int = 0
    capabilities: dict[str, str] = {}
    recommended: Recommended = Recommended()
    base: CompiledBase | UnsetType = UNSET
    """Of an overlay: what it extends, and the steps with proof or a question that it leaves out."""
    steps: list[StepOutline] = []
    """The first that fit; the compiled form has all."""
    steps_omitted: int = 0
    slots: list[SlotPlace] = []
    """Of part steps: where an overlay may add parts."""
    source: str = ""
    source_ref: str = ""
    """Of part source: the name of its file; a file of the project can be saved under it."""
    source_digest: str = ""
    """Of part source: the base of an edit."""
    compiled: dict[str, Any] = {}
    diff: WorkflowDiff | UnsetType = UNSET


class WorkflowInspection(Payload, frozen=True, kw_only=True):
    """The workflow under its own key, so that fields can be chosen inside it."""

    workflow: WorkflowDetail
    project: str


def inspect_workflow(rt: ReadPorts, request: InspectWorkflow) -> Success:
    """The asked part of one workflow."""
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
    """The text that a run follows, wherever its file is or was. Raises Fault SESSION_NOT_FOUND."""
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
    """A file that cannot be used, by its name in the list: its text is what has to be corrected."""
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
    """Raises Fault VALIDATION_ERROR when the run is of another workflow."""
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


def describe_change(one: Difference) -> SourceChange:
    return SourceChange(
        pointer=one.pointer,
        action=one.action,
        before=UNSET if one.action == "added" else _value(one.before),
        after=UNSET if one.action == "removed" else _value(one.after),
    )


def _value(held: Any) -> Any:
    return held if encoded_size(held) <= LONGEST_VALUE_BYTES else UNSET


def _inputs(pinned: Pinned) -> tuple[list[InputOutline], int]:
    outlines = outline_steering_inputs(pinned.workflow)
    shown, _ = take_first(outlines, PART_BYTES)
    if len(shown) < len(outlines):  # a start without the required ones would be refused
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


INSPECT = Operation(
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
    tool_description="Show what a workflow is for, its inputs or its step titles. Starts nothing.",
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


# As a drawing


DrawnAs: TypeAlias = Literal["mermaid", "svg", "text", "json"]


class GraphWorkflow(WorkflowChoice, frozen=True, kw_only=True):
    """Which workflow, and how it is drawn."""

    drawn_as: Maybe[Annotated[DrawnAs, Meta(description="How to draw it; default mermaid.")]] = msgspec.field(
        default=UNSET, name="as"
    )


class WorkflowDrawing(Answer, frozen=True, kw_only=True):
    """The drawing as text; of `json`, the nodes, edges and loops themselves."""

    workflow_id: str
    workflow_hash: str
    drawn_as: DrawnAs = msgspec.field(name="as")
    drawing: str | dict[str, Any]


def graph_workflow(rt: ReadPorts, request: GraphWorkflow) -> WorkflowDrawing:
    """Draw the compiled workflow: what is really executed, with what was added and why."""
    drawn_as = "mermaid" if request.drawn_as is UNSET else request.drawn_as
    pinned = load_chosen_workflow(rt, request)
    return WorkflowDrawing(
        workflow_id=pinned.workflow.id,
        workflow_hash=pinned.workflow_hash,
        drawn_as=drawn_as,
        drawing=_drawing(workflow_graph(pinned.workflow, pinned.slots), drawn_as),
    )


def _drawing(graph: WorkflowGraph, drawn_as: DrawnAs) -> str | dict[str, Any]:
    match drawn_as:
        case "mermaid":
            return draw_mermaid(graph)
        case "svg":
            return draw_svg(graph)
        case "text":
            return draw_text(graph)
        case "json":
            return graph_document(graph)
        case never:
            assert_never(never)


GRAPH = Operation(
    name="workflow.graph",
    effect="read",
    where="companion",
    summary="Draw a workflow: steps, choices, loops and the conditions between them.",
    input=GraphWorkflow,
    output=WorkflowDrawing,
    perform=graph_workflow,
    shape=Shape(levels={"minimal": ("workflow_id", "workflow_hash", "drawing")}, untrusted=("drawing",)),
    errors=("WORKFLOW_INVALID", "WORKFLOW_NOT_FOUND"),
)


# What two workflows do differently, step by step


class DiffWorkflows(Input, frozen=True, kw_only=True):
    """Two workflows, each by its id or as the text of a file."""

    workflows: Annotated[
        list[WorkflowText | str],
        Meta(description="Two workflows: files or ids, the older first.", min_length=2, max_length=2),
    ]
    project: Maybe[ProjectPath] = UNSET


class ComparedWorkflow(Answer, frozen=True, kw_only=True):
    """One of the two."""

    workflow_id: str
    workflow_hash: str


class StepChange(Answer, frozen=True, kw_only=True):
    """One step. `places` are of a changed one, by pointers into it; long values are left out."""

    step_id: str
    change: str
    title: str
    places: list[SourceChange] = []


class WorkflowComparison(Answer, frozen=True, kw_only=True):
    """What the second workflow does differently from the first."""

    is_same: bool
    before: ComparedWorkflow
    after: ComparedWorkflow
    step_count: int
    """How many steps differ; `steps` has the first that fit."""
    steps: list[StepChange]
    elsewhere: list[SourceChange]
    """What differs beside the steps: inputs, conditions, contracts; of these too the first that fit."""


def diff_workflows(rt: ReadPorts, request: DiffWorkflows) -> WorkflowComparison:
    """Compare the compiled workflows.

    Raises Fault WORKFLOW_NOT_FOUND, or WORKFLOW_INVALID with the problems of the one that cannot be started.
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


DIFF = Operation(
    name="workflow.diff",
    effect="read",
    where="companion",
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
