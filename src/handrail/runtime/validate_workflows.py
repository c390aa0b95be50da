"""`workflow.validate`: everything that is wrong with workflows, before anyone runs them. A verdict."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import E_FORBIDDEN, E_IO, E_NOT_FOUND, VALIDATION_ERROR, WORKFLOW_INVALID
from handrail.contract.outcome import Fault, Json
from handrail.contract.payload import Answer
from handrail.contract.shape import Shape
from handrail.contract.wording import quoted
from handrail.runtime.examined_workflows import (
    Examined,
    WorkflowText,
    examine_id,
    examine_texts,
    problem_rows,
)
from handrail.runtime.operation import Input, Operation
from handrail.runtime.runtime import Runtime
from handrail.runtime.workflow_catalog import catalog_of, project_of

MOST_TARGETS = 1_000

Severity: TypeAlias = Literal["error", "warning", "hint"]
_SHOWN: dict[Severity, tuple[Severity, ...]] = {
    "error": ("error",),
    "warning": ("error", "warning"),
    "hint": ("error", "warning", "hint"),
}


class ValidateWorkflows(Input, frozen=True, kw_only=True):
    """What to check, and how much of it to be told."""

    documents: (
        Annotated[list[WorkflowText], Meta(description="Workflow files.", max_length=MOST_TARGETS)]
        | UnsetType
    ) = UNSET
    workflow_ids: (
        Annotated[list[str], Meta(description="Ids from list_workflows.", max_length=MOST_TARGETS)]
        | UnsetType
    ) = UNSET
    min_severity: (
        Annotated[Severity, Meta(description="Leave out what weighs less; default hint, so nothing.")]
        | UnsetType
    ) = UNSET
    report_only: (
        Annotated[bool, Meta(description="A negative verdict is an answer, not a failure.")] | UnsetType
    ) = UNSET
    project: Annotated[str, Meta(description="Project directory.")] | UnsetType = UNSET


class CheckedWorkflow(Answer, frozen=True, kw_only=True):
    """One file or id; `ok` when nothing in it is an error."""

    target: str
    workflow_id: str
    ok: bool
    problems: list[dict[str, Any]]


class Tally(Answer, frozen=True, kw_only=True):
    total: int
    succeeded: int
    failed: int


class ValidationReport(Answer, frozen=True, kw_only=True):
    """All of them; `ok` when every one is. `counts` are of everything found, shown or not."""

    ok: bool
    summary: Tally
    counts: dict[str, int]
    items: list[CheckedWorkflow]


def validate_workflows(rt: Runtime, request: ValidateWorkflows) -> ValidationReport:
    """Check every target.

    Raises Fault WORKFLOW_INVALID with the report unless the caller asked for a report only, and
    WORKFLOW_NOT_FOUND for an id that nothing has.
    """
    examined = _examined(rt, request)
    report = _report(examined, "hint" if request.min_severity is UNSET else request.min_severity)
    if report.ok or request.report_only is True:
        return report
    raise _negative(report, examined)


def _examined(rt: Runtime, request: ValidateWorkflows) -> list[Examined]:
    documents = [] if request.documents is UNSET else request.documents
    ids = [] if request.workflow_ids is UNSET else list(dict.fromkeys(request.workflow_ids))
    if not documents and not ids:
        problem = {"param": "documents", "problem": "names no file", "expected": "a file or an id"}
        raise Fault(VALIDATION_ERROR, "There is nothing to validate here.", details={"problems": [problem]})
    catalog = catalog_of(rt, project_of(rt, request.project))
    found = examine_texts(catalog, documents)
    return found + [one for workflow_id in ids for one in examine_id(catalog, workflow_id)]


def _report(examined: list[Examined], least: Severity) -> ValidationReport:
    severities = [problem.severity for one in examined for problem in one.problems]
    items = [
        CheckedWorkflow(
            target=one.target,
            workflow_id=one.workflow_id,
            ok=all(problem.severity != "error" for problem in one.problems),
            problems=problem_rows(problem for problem in one.problems if problem.severity in _SHOWN[least]),
        )
        for one in examined
    ]
    failed = sum(not item.ok for item in items)
    return ValidationReport(
        ok=not failed,
        summary=Tally(total=len(items), succeeded=len(items) - failed, failed=failed),
        counts={severity: severities.count(severity) for severity in _SHOWN["hint"]},
        items=items,
    )


def _negative(report: ValidationReport, examined: list[Examined]) -> Fault:
    first = next(one for one in examined for problem in one.problems if problem.severity == "error")
    worst = next(problem for problem in first.problems if problem.severity == "error")
    tally = f"{report.summary.failed} of {report.summary.total} workflows have errors"
    message = f"{tally}, first {quoted(first.target)} line {worst.line}: {worst.message}"
    details: dict[str, Json] = {"report": msgspec.to_builtins(report)}
    if report.summary.total == 1:
        details["workflow_id"] = first.workflow_id[:128]
    return Fault(
        WORKFLOW_INVALID,
        message[:1024],
        details=details,
        hint="Fix what details.report.items lists, each at its line and column, then validate again.",
    )


OPERATION = Operation(
    name="workflow.validate",
    effect="read",
    summary="Check workflow files or ids, and list everything that is wrong with its place and its fix.",
    input=ValidateWorkflows,
    output=ValidationReport,
    perform=validate_workflows,
    shape=Shape(
        levels={"minimal": ("ok", "summary"), "standard": None, "full": None},
        select="top",
        drop_order=("items",),
        windows=("items",),
    ),
    errors=(
        "VALIDATION_ERROR",
        "WORKFLOW_INVALID",
        "WORKFLOW_NOT_FOUND",
        E_NOT_FOUND.code,
        E_FORBIDDEN.code,
        E_IO.code,
        "REQUEST_TOO_LARGE",
    ),
)
