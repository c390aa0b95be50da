"""`workflow.new`: a new workflow file to begin from. Gated: shown first, made with the confirm token."""

from __future__ import annotations

import re
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta

from handrail.contract.catalogue import E_CONFLICT, WORKFLOW_ID_LEGACY
from handrail.contract.outcome import Answer, Fault, Success, refuse_argument
from handrail.contract.wording import quote
from handrail.operations.workflow_catalog import load_catalog
from handrail.operations.workflows.save_workflow import plan_file, put_file, require_own_namespace
from handrail.ports.workspace import FilePlace
from handrail.runtime.operation import Maybe, Operation
from handrail.runtime.runtime import ReadPorts, WritePorts, project_of
from handrail.runtime.write_permission import DryRun, GatedInput, Plan, preview_or_write
from handrail.workflows.catalog import suggest_id
from handrail.workflows.limits import Spelling
from handrail.workflows.spellings.spelling import write_document
from handrail.workflows.starters import Starter, starter_document

_ID = re.compile(r"[a-z][a-z0-9_-]*\.[a-z][a-z0-9_-]*")
_LEGACY = re.compile(r"[a-z][a-z0-9_-]*")


class NewWorkflow(GatedInput, frozen=True, kw_only=True):
    """Which id, what to begin from, and where the file goes."""

    workflow_id: Annotated[str, Meta(description="Its id, namespace.name.", min_length=1, max_length=128)]
    template: Maybe[Annotated[Starter, Meta(description="What to begin from; default linear.")]] = UNSET
    spelling: Maybe[Annotated[Spelling, Meta(description="How the file is written; default json.")]] = (
        msgspec.field(default=UNSET, name="as")
    )
    to: Maybe[Annotated[str, Meta(description="Directory; default .handrail/workflows of the project.")]] = (
        UNSET
    )
    project: Maybe[Annotated[str, Meta(description="Project directory.")]] = UNSET


class CreatedWorkflow(Answer, frozen=True, kw_only=True):
    """The file, and whether this call made it; it is left alone when it was there with this content."""

    workflow_id: str
    path: str
    template: str
    size_bytes: int
    is_created: bool


def new_workflow(rt: WritePorts, request: NewWorkflow) -> DryRun | Success:
    """Show or make the file.

    Raises Fault VALIDATION_ERROR, WORKFLOW_ID_LEGACY, WORKFLOW_ID_RESERVED, E_CONFIRMATION_REQUIRED and
    E_CONFLICT, also for a file or an id that is there already: nothing is ever overwritten.
    """
    _check_id(request.workflow_id)
    project = project_of(rt, request.project)
    template: Starter = "linear" if request.template is UNSET else request.template
    spelling: Spelling = "json" if request.spelling is UNSET else request.spelling
    document = starter_document(template, request.workflow_id)
    content = write_document(document, spelling, {}).encode()
    directory = "" if request.to is UNSET else request.to

    def resolve() -> Plan[FilePlace]:
        place = rt.authored.place(project, directory, f"{request.workflow_id}.{spelling}", "to")
        obstacle = _obstacle(rt, project, request.workflow_id, place, content)
        text = "One new file; no other file is changed."
        return plan_file(place, content, "create a workflow file", text, obstacle)

    def write(place: FilePlace) -> CreatedWorkflow:
        return CreatedWorkflow(
            workflow_id=request.workflow_id,
            path=place.path,
            template=template,
            size_bytes=len(content),
            is_created=put_file(rt, OPERATION, request, place, content),
        )

    return preview_or_write(rt, OPERATION, request, workspace=project, resolve=resolve, write=write)


def _obstacle(
    rt: ReadPorts, project: str, workflow_id: str, place: FilePlace, content: bytes
) -> Fault | None:
    if place.content == content:
        return None  # it is done already
    if place.content is not None:
        return Fault(
            E_CONFLICT,
            f"{quote(place.path)} exists, and nothing is overwritten.",
            details={"reason": "target_exists"},
            hint="Choose another id or another directory with --to.",
        )
    taken = [entry for entry in load_catalog(rt, project).entries if entry.id == workflow_id]
    if not taken:
        return None
    return Fault(
        E_CONFLICT,
        f"The id {workflow_id} belongs to {quote(taken[0].source_ref)} already.",
        details={"reason": "id_taken"},
        hint="Choose another id: nothing shadows another workflow.",
    )


def _check_id(workflow_id: str) -> None:
    require_own_namespace(workflow_id)
    if _LEGACY.fullmatch(workflow_id):
        better = suggest_id(workflow_id, "project")
        raise Fault(
            WORKFLOW_ID_LEGACY,
            f"{quote(workflow_id)} has no namespace; a new workflow needs one, such as {better}.",
            details={"workflow_id": workflow_id[:128], "suggested_id": better},
        )
    if not _ID.fullmatch(workflow_id):
        expected = "namespace.name in lower case letters, digits, _ and -"
        message = f"{quote(workflow_id)} is not a workflow id: write {expected}."
        raise refuse_argument(message, "workflowId", "is not a workflow id", expected)


OPERATION = Operation(
    name="workflow.new",
    effect="gated",
    where="companion",
    summary="Make a new workflow file to begin from.",
    input=NewWorkflow,
    output=CreatedWorkflow,
    perform=new_workflow,
    errors=("WORKFLOW_ID_LEGACY", "WORKFLOW_ID_RESERVED"),
)
