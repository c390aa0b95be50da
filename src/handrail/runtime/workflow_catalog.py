"""The workflows a project can use, read and named; and finding one by id."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from handrail.contract.catalogue import WORKFLOW_ID_RESERVED, WORKFLOW_INVALID, WORKFLOW_NOT_FOUND
from handrail.contract.outcome import Fault, NextCall
from handrail.contract.suggest import nearest
from handrail.contract.wording import quoted
from handrail.runtime.runtime import Runtime
from handrail.workflows.catalog import CatalogEntry, build_catalog
from handrail.workflows.problem import Problem
from handrail.workflows.source import SourceWorkflow


def project_of(rt: Runtime, asked: str | UnsetType) -> str:
    """The project directory in use."""
    return rt.workspace.project("" if asked is UNSET else asked)


def catalog_of(rt: Runtime, project: str) -> tuple[CatalogEntry, ...]:
    """Every workflow file of the project's sources, broken ones included."""
    return build_catalog(rt.library.files(project))


def find_workflow(catalog: tuple[CatalogEntry, ...], workflow_id: str) -> tuple[CatalogEntry, SourceWorkflow]:
    """The workflow with this id.

    Raises Fault WORKFLOW_NOT_FOUND with suggestions, or WORKFLOW_INVALID with its problems.
    """
    for entry in catalog:
        if entry.id == workflow_id and entry.workflow is not None:
            return entry, entry.workflow
    for entry in catalog:
        if entry.id == workflow_id:
            raise _invalid(entry)
    near = nearest(workflow_id, [entry.id for entry in catalog if entry.workflow is not None])
    raise Fault(
        WORKFLOW_NOT_FOUND,
        f"There is no workflow {quoted(workflow_id)}.",
        details={"workflow_id": workflow_id[:128], "did_you_mean": near},
        next_call=NextCall(operation="workflow.list", params={}),
    )


def _invalid(entry: CatalogEntry) -> Fault:
    reserved = any(problem.code == "reserved_id" for problem in entry.problems)
    return Fault(
        WORKFLOW_ID_RESERVED if reserved else WORKFLOW_INVALID,
        f"The workflow file {quoted(entry.source_ref)} cannot be used: {entry.problems[0].message}"[:1024],
        details={
            "workflow_id": entry.id,
            "problems": [problem_row(problem) for problem in entry.problems[:20]],
        },
    )


def problem_row(problem: Problem) -> dict[str, str]:
    """A problem as answers show it."""
    return {
        "code": problem.code,
        "message": problem.message,
        "pointer": problem.pointer,
        "fix": problem.fix,
        "severity": problem.severity,
    }
