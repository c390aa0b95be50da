"""`workflow.validate`: every problem of workflows, before a run uses them. A verdict."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import WORKFLOW_INVALID
from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Fault, Json, refuse_argument
from handrail.contract.parameters import NamedId, ProjectPath
from handrail.contract.wording import quote
from handrail.operations.source_drift import explain_changed_base
from handrail.operations.workflow_catalog import find_undeclared_checks, load_catalog, problem_row
from handrail.operations.workflows.examine_workflows import (
    Examined,
    WorkflowText,
    examine_id,
    examine_texts,
)
from handrail.runtime.batch import item_error
from handrail.runtime.operation import Input, Maybe, Operation, ReportOnly
from handrail.runtime.runtime import ReadPorts, project_of
from handrail.views.batches import BatchSummary, ItemError
from handrail.views.workflows import CheckedWorkflow, ValidationReport
from handrail.workflows.catalog import Catalog
from handrail.workflows.compiled import list_wanted_checks
from handrail.workflows.problem import make_problem
from handrail.workflows.problem_places import add_places

MOST_TARGETS = 1_000

Severity: TypeAlias = Literal["error", "warning", "hint"]
_SHOWN: dict[Severity, tuple[Severity, ...]] = {
    "error": ("error",),
    "warning": ("error", "warning"),
    "hint": ("error", "warning", "hint"),
}


class ValidateWorkflows(Input, frozen=True, kw_only=True):
    """The workflows to check, and how much to report."""

    documents: Maybe[
        Annotated[
            list[WorkflowText | str],
            Meta(description="Workflow files; a string is an id.", max_length=MOST_TARGETS),
        ]
    ] = UNSET
    workflow_ids: Maybe[
        Annotated[list[NamedId], Meta(description="Ids from list_workflows.", max_length=MOST_TARGETS)]
    ] = UNSET
    min_severity: Maybe[
        Annotated[Severity, Meta(description="Leave out lesser problems; default hint, so nothing.")]
    ] = UNSET
    report_only: Maybe[ReportOnly] = UNSET
    continue_on_error: Maybe[
        Annotated[bool, Meta(description="Check the rest after one that fails; default true.")]
    ] = UNSET
    project: Maybe[ProjectPath] = UNSET


def validate_workflows(rt: ReadPorts, request: ValidateWorkflows) -> ValidationReport:
    """Check every target.

    Raise Fault WORKFLOW_INVALID with the report unless the caller asked for a report only, and
    WORKFLOW_NOT_FOUND if none of the ids and files exists.
    """
    examined, skipped = _stop_at_failure(_examine_targets(rt, request), request)
    report = _report(examined, skipped, "hint" if request.min_severity is UNSET else request.min_severity)
    if report.ok or request.report_only is True:
        return report
    raise _negative(report, examined)


def _error_of(one: Examined) -> ItemError | UnsetType:
    worst = next((problem for problem in one.problems if problem.severity == "error"), None)
    fault = one.missing or (worst and Fault(WORKFLOW_INVALID, worst.message))
    return item_error(fault) if fault else UNSET


def _examine_targets(rt: ReadPorts, request: ValidateWorkflows) -> list[Examined]:
    """Return every target in the given order, each once.

    Raise Fault WORKFLOW_NOT_FOUND if there is nothing to check.
    """
    given = [] if request.documents is UNSET else request.documents
    targets = list(dict.fromkeys([*given, *([] if request.workflow_ids is UNSET else request.workflow_ids)]))
    if not targets:
        message = "There is nothing to validate here."
        raise refuse_argument(message, "documents", "names no file", "a file or an id")
    catalog = load_catalog(rt, project_of(rt, request.project))
    texts = examine_texts(catalog, [one for one in targets if isinstance(one, WorkflowText)])
    read = iter(texts)
    checks = [check.name for check in rt.settings.of(project_of(rt, request.project)).checks]
    looked = [
        _with_surroundings(rt, one, checks)
        for target in targets
        for one in (_by_id(catalog, target) if isinstance(target, str) else [next(read)])
    ]
    if all(one.missing is not None for one in looked):
        raise looked[0].missing or AssertionError("seen above")
    return looked


def _by_id(catalog: Catalog, workflow_id: str) -> list[Examined]:
    try:
        return examine_id(catalog, workflow_id)
    except Fault as fault:
        return [Examined(target=workflow_id, missing=fault)]


def _with_surroundings(rt: ReadPorts, found: Examined, checks: list[str]) -> Examined:
    """Return the result with further warnings: the base changed since the last run, or
    a check is not declared.
    """
    if found.entry is None or found.pinned is None:
        return found
    entry, message = found.entry, explain_changed_base(rt, found.pinned.workflow)
    handed = (found.pinned, *found.pinned.children)
    wanted = [name for one in handed for _, name in list_wanted_checks(one.workflow.steps)]
    problems = find_undeclared_checks(entry, checks, wanted)
    if message:
        fix = "Read the changes; a new run follows them, and a run that began does not."
        problems.append(make_problem("changed_meaning", "/extends", message, fix, severity="warning"))
    if not problems:
        return found
    placed = add_places(entry.content, problems, entry.spelling)
    return msgspec.structs.replace(found, problems=(*placed, *found.problems))


def _stop_at_failure(looked: list[Examined], request: ValidateWorkflows) -> tuple[list[Examined], list[str]]:
    """Return the checked targets, and those after the first failure if the caller wants to stop there."""
    failures = [place for place, one in enumerate(looked, 1) if _error_of(one) is not UNSET]
    if request.continue_on_error is not False or not failures:
        return looked, []
    end = failures[0]
    return looked[:end], [one.target for one in looked[end:]]


def _report(looked: list[Examined], skipped: list[str], least: Severity) -> ValidationReport:
    severities = [problem.severity for one in looked for problem in one.problems]
    items = [
        CheckedWorkflow(
            target=one.target,
            workflow_id=one.workflow_id,
            ok=_error_of(one) is UNSET,
            source_ref=_file_of(one),
            problems=[problem_row(held) for held in one.problems if held.severity in _SHOWN[least]],
            error=_error_of(one),
        )
        for one in looked
    ]
    failed = sum(not item.ok for item in items)
    return ValidationReport(
        ok=not failed,
        summary=BatchSummary(
            total=len(items), succeeded=len(items) - failed, failed=failed, skipped=len(skipped)
        ),
        counts={severity: severities.count(severity) for severity in _SHOWN["hint"]},
        items=items,
        skipped=skipped,
    )


def _file_of(one: Examined) -> str | UnsetType:
    entry = one.entry
    return UNSET if entry is None or entry.source_ref == one.target else entry.source_ref


def _negative(report: ValidationReport, looked: list[Examined]) -> Fault:
    first = next(one for one in looked if _error_of(one) is not UNSET)
    worst = next((problem for problem in first.problems if problem.severity == "error"), None)
    left = f", {len(report.skipped)} not looked at" if report.skipped else ""
    tally = f"{report.summary.failed} of {report.summary.total} workflows have errors{left}"
    where = "is not there." if worst is None else f"line {worst.line}: {worst.message}"
    message = f"{tally}, first {quote(first.target)} {where}"
    details: dict[str, Json] = {"report": msgspec.to_builtins(report)}
    if report.summary.total == 1 and first.missing is None:
        details["workflow_id"] = first.workflow_id[:128]
    return Fault(
        WORKFLOW_INVALID,
        message[:1024],
        details=details,
        hint="Fix what the report lists, each at its line and column, then validate again.",
    )


OPERATION = Operation(
    name="workflow.validate",
    effect="read",
    where="client",
    summary="Check workflows, and list every problem with its place and its fix.",
    input=ValidateWorkflows,
    output=ValidationReport,
    perform=validate_workflows,
    shape=Shape(
        levels={"minimal": ("ok", "summary")},
        drop_order=("items",),
        windows=("items",),
        untrusted=("items.target", "items.workflow_id", "items.source_ref", "items.problems", "items.error"),
    ),
    errors=("WORKFLOW_INVALID", "WORKFLOW_NOT_FOUND"),
)
