"""Workflows: what can be started, what is wrong with a file, and which inputs it needs. Pure."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType, field

from handrail.contract.outcome import Answer, Json, Payload
from handrail.views.batches import BatchSummary, ItemError
from handrail.workflows.compiled import CompiledBase, Recommended, SlotPlace


class WorkflowProblem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A problem in a workflow file."""

    code: str
    message: str
    pointer: str
    line: int = 0
    """1-based; 0 if the place is not known."""
    column: int = 0
    fix: str
    severity: Literal["error", "warning", "hint"]
    edit: list[dict[str, Json]] = []
    """A fix that a program can apply; empty if the author has to choose."""


class WorkflowRow(Payload, frozen=True, kw_only=True):
    """One workflow. A file with problems is listed under its file name and cannot be started."""

    id: str
    name: str
    description: str
    kind: str
    id_status: str
    source_kind: str
    source: str = ""
    """The repository or plugin that it comes from, for kinds of which there can be several."""
    suggested_id: str = ""
    requires: list[str] = []
    """The inputs that a start must provide; `workflow.inspect` lists all of them."""
    source_ref: str = ""
    """The file of a workflow that has problems."""
    problems: list[WorkflowProblem] = []
    """Why it cannot be used."""
    warnings: dict[str, int] = {}
    """Number of warnings by code; `workflow.validate` lists them."""


class WorkflowList(Payload, frozen=True, kw_only=True):
    """Fields beside the list of workflows: how many there are on all pages, and where Handrail searched."""

    total: int
    project: str
    scope: str


class InputOutline(Payload, frozen=True, kw_only=True):
    """An input, with the form in which a start must give it."""

    name: str
    type: str
    required: bool = False
    enum: list[Any] = []
    default: Any = UNSET
    description: str = ""
    allowed: str = ""
    """For an input that steers the run: the values that conditions distinguish, as text."""
    asked_at: list[str] = []
    """The first steps that ask for it if it was not given at the start."""


class SourceChange(Payload, frozen=True, kw_only=True):
    """A change at one place of the compiled workflow; list items are named by their ids."""

    pointer: str
    action: str
    before: Any = UNSET
    after: Any = UNSET


class StepOutline(Payload, frozen=True, kw_only=True):
    """A step without its prompt. A loop is listed before its steps, which name it; a choice includes its
    options.
    """

    id: str
    title: str = ""
    type: str = "step"
    require_confirmation: bool | str
    """True, false, or the condition that decides: its id, or its text if it has no id."""
    when: str = ""
    contract: str = ""
    check: str = ""
    """The declared check of the project that must pass."""
    options: list[str] = []
    max_iterations: int = 0
    loop: str = ""
    """The innermost loop around the step."""
    origin: str = ""
    """If the workflow extends another: whether the base or the customisation contains the step."""


class WorkflowDiff(Payload, frozen=True, kw_only=True):
    """The workflow on disk compared with the one that a run is pinned to."""

    run_id: str
    pinned_hash: str
    is_same: bool
    change_count: int
    changes: list[SourceChange] = []
    """The first changes; `changeCount` counts all."""


class WorkflowDetail(Payload, frozen=True, kw_only=True):
    """A workflow before it runs; `source` and `compiled` only if the caller asks for them."""

    id: str
    name: str
    description: str
    kind: str
    id_status: str
    suggested_id: str = ""
    """For a legacy id: the id that it should get."""
    version: str
    source_kind: str
    workflow_hash: str
    step_count: int
    inputs: list[InputOutline] = []
    """The first inputs that fit, required ones before the others; the compiled form has all of them."""
    inputs_omitted: int = 0
    capabilities: dict[str, str] = {}
    recommended: Recommended = Recommended()
    base: CompiledBase | UnsetType = UNSET
    """For a customisation: the workflow that it extends, and the steps with proof or a question that it
    omits.
    """
    steps: list[StepOutline] = []
    """The first steps that fit; the compiled form has all of them."""
    steps_omitted: int = 0
    slots: list[SlotPlace] = []
    """With part `steps`: where a customisation may add parts."""
    source: str = ""
    source_ref: str = ""
    """With part `source`: name of its file; a project file can be saved under this name."""
    source_digest: str = ""
    """With part `source`: digest on which an edit must be based."""
    compiled: dict[str, Any] = {}
    diff: WorkflowDiff | UnsetType = UNSET


class WorkflowInspection(Payload, frozen=True, kw_only=True):
    """The workflow under its own key, so that callers can select fields inside it."""

    workflow: WorkflowDetail
    project: str


DrawnAs: TypeAlias = Literal["mermaid", "svg", "text", "json"]


class WorkflowDrawing(Answer, frozen=True, kw_only=True):
    """The drawing as text; for `json` the nodes, edges and loops themselves."""

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
    """One builtin; `example` shows how an author writes it."""

    id: str
    kind: BuiltinKind
    title: str
    summary: str
    settings: list[Setting]
    example: Json
    text: str = ""
    """Text of a reference, prompt line of a contract, or the question that a capability's probe asks."""
    schema: dict[str, Any] | None = None
    """For a contract: the schema of its artifact."""


class BuiltinList(Answer, frozen=True, kw_only=True):
    """Fields beside the list of builtins: which of them it covers."""

    scope: str


class CheckedWorkflow(Answer, frozen=True, kw_only=True):
    """One file or id; `ok` if nothing in it is an error."""

    target: str
    workflow_id: str
    ok: bool
    source_ref: str | UnsetType = UNSET
    """For an id: its file, in the folder of its source."""
    problems: list[WorkflowProblem]
    error: ItemError | UnsetType = UNSET


class ValidationReport(Answer, frozen=True, kw_only=True):
    """All checked targets; `ok` if every one is. `counts` covers everything found, shown or not."""

    ok: bool
    summary: BatchSummary
    counts: dict[str, int]
    items: list[CheckedWorkflow]
    skipped: list[str]
    """Targets that were not checked because an earlier one failed."""
