"""`workflow save`: write a text to a workflow file of the project.

Gated: a preview shows what changes. A text is saved only in the project's own folder of workflows, without
errors, and never over content that the caller has not read.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta

from handrail.contract.catalogue import E_CONFLICT
from handrail.contract.ids import blob_ref
from handrail.contract.outcome import Answer, Fault, Success, refuse_argument
from handrail.contract.parameters import MintedId, NamedId, ProjectPath
from handrail.contract.wording import quote
from handrail.operations.workflow_catalog import load_catalog
from handrail.operations.workflows.examine_workflows import (
    Examined,
    WorkflowText,
    examine_texts,
    refuse_problems,
)
from handrail.operations.workflows.workflow_files import (
    content_version,
    plan_file,
    put_file,
    refuse_taken,
    require_own_namespace,
)
from handrail.ports.workspace import FilePlace
from handrail.runtime.operation import Maybe, Operation
from handrail.runtime.runtime import WritePorts, project_of
from handrail.runtime.write_permission import DryRun, GatedInput, Plan, preview_or_write
from handrail.workflows.catalog import Catalog
from handrail.workflows.limits import Spelling, spelling_of

FILE_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,120}\.(json|yaml|yml|md)\Z"


class SaveWorkflow(GatedInput, frozen=True, kw_only=True):
    """The text, the file to write, and the version of the file that the caller has read."""

    document: Annotated[WorkflowText, Meta(description="The workflow.")]
    file: Maybe[
        Annotated[
            NamedId,
            Meta(
                description="File name in .handrail/workflows; default: where its id is, else a new file.",
                pattern=FILE_NAME,
            ),
        ]
    ] = UNSET
    base: Maybe[
        Annotated[
            MintedId,
            Meta(
                description="Digest of the file that was edited, or absent; another is refused.",
                max_length=80,
            ),
        ]
    ] = UNSET
    project: Maybe[ProjectPath] = UNSET


class SavedWorkflow(Answer, frozen=True, kw_only=True):
    """The present file; `is_saved` is false if it had this content before."""

    workflow_id: str
    file: str
    path: str
    digest: str
    size_bytes: int
    is_saved: bool
    warnings: int
    """Number of problems that are not errors; `workflow validate` lists them."""


def save_workflow(rt: WritePorts, request: SaveWorkflow) -> DryRun | Success:
    """Return the preview, or make the change.

    Raise Fault WORKFLOW_INVALID with the problems of the text, WORKFLOW_ID_RESERVED, E_CONFLICT if the file
    is not the one that was edited, or if its id belongs to another file, and what the gate raises.
    """
    project = project_of(rt, request.project)
    catalog = load_catalog(rt, project)
    content = request.document.text.encode("utf-8", "surrogateescape")
    spelling = spelling_of(request.document.source, content)
    (examined,) = examine_texts(catalog, [msgspec.structs.replace(request.document, holds="workflow")])
    _require_sound(examined)
    file = _find_file(catalog, examined.workflow_id, spelling) if request.file is UNSET else request.file
    hint = "Convert the workflow first with workflow convert, or choose another file."
    require_fitting_name(file, spelling, "file", hint)

    def resolve() -> Plan[FilePlace]:
        place = rt.authored.place(project, "", file, "file")
        return _plan(load_catalog(rt, project), request, examined, file, place, content)

    def write(place: FilePlace) -> SavedWorkflow:
        return SavedWorkflow(
            workflow_id=examined.workflow_id,
            file=file,
            path=place.path,
            digest=blob_ref(content),
            size_bytes=len(content),
            is_saved=put_file(rt, OPERATION, request, place, content),
            warnings=sum(problem.severity == "warning" for problem in examined.problems),
        )

    return preview_or_write(rt, OPERATION, request, workspace=project, resolve=resolve, write=write)


def _require_sound(examined: Examined) -> None:
    errors = [problem for problem in examined.problems if problem.severity == "error"]
    if errors:
        outcome = f"not saved; the first, line {errors[0].line}: {errors[0].message}"
        raise refuse_problems(
            errors,
            examined.workflow_id,
            f"The workflow has errors, so it is {outcome}",
            "Correct the problems, each at its line and column, then save again.",
        )
    require_own_namespace(examined.workflow_id)


def require_fitting_name(named: str, spelling: Spelling, param: str, hint: str) -> None:
    """Raise Fault VALIDATION_ERROR if a file of this name would be read in another spelling."""
    name = named.replace("\\", "/").rpartition("/")[2]
    if "." not in name or spelling_of(name) != spelling:
        message = f"{quote(named)} is no name for a workflow in {spelling}."
        raise refuse_argument(message, param, f"is no name of a {spelling} file", hint=hint)


def _find_file(catalog: Catalog, workflow_id: str, spelling: Spelling) -> str:
    """Return the file with this id in the project's own folder, or the name for a new one."""
    own = [
        entry.source_ref
        for entry in catalog.entries
        if entry.id == workflow_id and entry.source_kind == "project" and "/" not in entry.source_ref
    ]
    return own[0] if own else f"{workflow_id}.{spelling}"


def _plan(
    catalog: Catalog, request: SaveWorkflow, examined: Examined, file: str, place: FilePlace, content: bytes
) -> Plan[FilePlace]:
    action = "create a workflow file" if place.content is None else "change a workflow file"
    text = "One file of the project. Runs that are under way keep the workflow they began with."
    text = " ".join([text, *_losses(catalog, examined, file)])
    obstacle = _obstacle(catalog, request, examined.workflow_id, file, place)
    return plan_file(place, content, action, text, obstacle)


def _losses(catalog: Catalog, examined: Examined, file: str) -> list[str]:
    """Return what the change removes: the id that the file had, and customisations that no longer fit."""
    own = [one for one in catalog.entries if (one.source_kind, one.source_ref) == ("project", file)]
    gone = [one.id for one in own if one.is_usable and one.id != examined.workflow_id]
    left = [one.source_ref for one in catalog.entries if one.extends in gone]
    return [
        *(f"The workflow {one} goes away: it is {examined.workflow_id} then." for one in gone),
        *(f"{quote(one)} extends {gone[0]} and has no base then." for one in left),
        *(one.message for one in examined.problems if (one.code, one.pointer) == ("changed_meaning", "/id")),
    ]


def _obstacle(
    catalog: Catalog, request: SaveWorkflow, workflow_id: str, file: str, place: FilePlace
) -> Fault | None:
    if request.base is not UNSET and request.base != content_version(place.content):
        return Fault(
            E_CONFLICT,
            f"{quote(file)} is not as it was when it was opened; somebody changed it meanwhile.",
            details={"reason": "target_changed"},
            hint="Open it again, and make the change in what it holds now.",
        )
    others = [one for one in catalog.entries if (one.source_kind, one.source_ref) != ("project", file)]
    return refuse_taken(
        others, workflow_id, "Give the workflow another id: nothing shadows another workflow."
    )


OPERATION = Operation(
    name="workflow.save",
    effect="gated",
    where="client",
    summary="Save a workflow as a file of the project, if it has no errors.",
    input=SaveWorkflow,
    output=SavedWorkflow,
    perform=save_workflow,
    errors=("WORKFLOW_INVALID", "WORKFLOW_ID_RESERVED"),
)
