"""Workflows: what can be started, what is wrong with a file, and what one asks for. Pure."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType, field

from handrail.contract.outcome import Answer, Json, Payload
from handrail.views.batches import BatchSummary, ItemError
from handrail.workflows.compiled import CompiledBase, Recommended, SlotPlace


class WorkflowProblem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that is wrong with a workflow file."""

    code: str
    message: str
    pointer: str
    line: int = 0
    """1-based; 0 while the place is not known."""
    column: int = 0
    fix: str
    severity: Literal["error", "warning", "hint"]
    edit: list[dict[str, Json]] = []
    """The fix for a program; empty if the author has to choose."""


class WorkflowRow(Payload, frozen=True, kw_only=True):
    """One workflow. A file with problems is listed under its file name and cannot be started."""

    id: str
    name: str
    description: str
    kind: str
    id_status: str
    source_kind: str
    source: str = ""
    """Which repository or plugin it is of, where there can be several."""
    suggested_id: str = ""
    requires: list[str] = []
    """The inputs that a start must bring; the inspection has all of them."""
    source_ref: str = ""
    """Of one with problems: its file."""
    problems: list[WorkflowProblem] = []
    """Why it cannot be used."""
    warnings: dict[str, int] = {}
    """How many there are of each code; `workflow.validate` tells them."""


class WorkflowList(Payload, frozen=True, kw_only=True):
    """Beside the items: how many there are on all pages, and where was looked."""

    total: int
    project: str
    scope: str


class InputOutline(Payload, frozen=True, kw_only=True):
    """An input as a start must give it."""

    name: str
    type: str
    required: bool = False
    enum: list[Any] = []
    default: Any = UNSET
    description: str = ""
    allowed: str = ""
    """Of a value that steers the run: what conditions tell apart, in words."""
    asked_at: list[str] = []
    """The steps that ask for it while nobody sent it, the first ones."""


class SourceChange(Payload, frozen=True, kw_only=True):
    """One place of the compiled workflow; items of a list are named by their ids."""

    pointer: str
    action: str
    before: Any = UNSET
    after: Any = UNSET


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
    """In a workflow that extends another: base or customisation, by whom it was written."""


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
    """Of a customisation: what it extends, and the steps with proof or a question that it leaves out."""
    steps: list[StepOutline] = []
    """The first that fit; the compiled form has all."""
    steps_omitted: int = 0
    slots: list[SlotPlace] = []
    """Of part steps: where a customisation may add parts."""
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


DrawnAs: TypeAlias = Literal["mermaid", "svg", "text", "json"]


class WorkflowDrawing(Answer, frozen=True, kw_only=True):
    """The drawing as text; of `json`, the nodes, edges and loops themselves."""

    workflow_id: str
    workflow_hash: str
    drawn_as: DrawnAs = field(name="as")
    drawing: str | dict[str, Any]


BuiltinKind: TypeAlias = Literal["template", "feature", "contract", "ref", "capability"]


class Setting(Answer, frozen=True, kw_only=True):
    """An argument of a template, or a setting of a feature."""

    name: str
    type: str
    required: bool
    enum: list[Any]
    default: Json
    description: str


class BuiltinRow(Answer, frozen=True, kw_only=True):
    """One builtin. `example` is what an author writes where it is used."""

    id: str
    kind: BuiltinKind
    title: str
    summary: str
    settings: list[Setting]
    example: Json
    text: str = ""
    """Of a ref its text, of a contract the line that a prompt gets, of a capability what its probe asks."""
    schema: dict[str, Any] | None = None
    """Of a contract: what its artifact must look like."""


class BuiltinList(Answer, frozen=True, kw_only=True):
    """Beside the items: what was looked at."""

    scope: str


class CheckedWorkflow(Answer, frozen=True, kw_only=True):
    """One file or id; `ok` when nothing in it is an error."""

    target: str
    workflow_id: str
    ok: bool
    source_ref: str | UnsetType = UNSET
    """Of an id: its file, in the folder of its source."""
    problems: list[WorkflowProblem]
    error: ItemError | UnsetType = UNSET


class ValidationReport(Answer, frozen=True, kw_only=True):
    """All of them; `ok` when every one is. `counts` are of everything found, shown or not."""

    ok: bool
    summary: BatchSummary
    counts: dict[str, int]
    items: list[CheckedWorkflow]
    skipped: list[str]
    """Targets that were not looked at, because one before them failed."""
