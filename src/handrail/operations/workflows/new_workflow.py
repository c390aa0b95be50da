"""`workflow new`: a new workflow file to start from."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta

from handrail.contract.catalogue import E_CONFLICT, WORKFLOW_ID_LEGACY
from handrail.contract.outcome import Answer, Fault, Success, refuse_argument
from handrail.contract.parameters import NamedId, PathText, ProjectPath
from handrail.contract.wording import quote
from handrail.operations.workflow_catalog import load_catalog
from handrail.operations.workflows.workflow_files import (
    plan_file,
    put_file,
    refuse_taken,
    require_own_namespace,
)
from handrail.ports.workspace import FilePlace
from handrail.runtime.operation import Maybe, Operation
from handrail.runtime.runtime import ReadPorts, WritePorts, project_of
from handrail.runtime.write_permission import DryRun, GatedInput, Plan, preview_or_write
from handrail.workflows.catalog import suggest_id
from handrail.workflows.limits import Spelling
from handrail.workflows.spellings.spelling import decode_spelled, write_document

_ID = re.compile(r"[a-z][a-z0-9_-]*\.[a-z][a-z0-9_-]*")
_LEGACY = re.compile(r"[a-z][a-z0-9_-]*")


class NewWorkflow(GatedInput, frozen=True, kw_only=True):
    """The id, the starter, and the directory of the file."""

    workflow_id: Annotated[NamedId, Meta(description="Its id, namespace.name.", min_length=1, max_length=128)]
    template: Maybe[Annotated[Starter, Meta(description="What to begin from; default linear.")]] = UNSET
    spelling: Maybe[Annotated[Spelling, Meta(description="How the file is written; default json.")]] = (
        msgspec.field(default=UNSET, name="as")
    )
    to: Maybe[
        Annotated[PathText, Meta(description="Directory; default .handrail/workflows of the project.")]
    ] = UNSET
    project: Maybe[ProjectPath] = UNSET


class CreatedWorkflow(Answer, frozen=True, kw_only=True):
    """The file; `is_created` is false if it existed with this content, and then it is left alone."""

    workflow_id: str
    path: str
    template: str
    size_bytes: int
    is_created: bool


def new_workflow(rt: WritePorts, request: NewWorkflow) -> DryRun | Success:
    """Return the preview, or create the file.

    Raise Fault VALIDATION_ERROR, WORKFLOW_ID_LEGACY, WORKFLOW_ID_RESERVED, E_CONFIRMATION_REQUIRED, and
    E_CONFLICT for an existing file or id: nothing is ever overwritten.
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
        obstacle = _find_obstacle(rt, project, request.workflow_id, place, content)
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


def _find_obstacle(
    rt: ReadPorts, project: str, workflow_id: str, place: FilePlace, content: bytes
) -> Fault | None:
    if place.content == content:
        return None  # the file has this content already
    if place.content is not None:
        return Fault(
            E_CONFLICT,
            f"{quote(place.path)} exists, and nothing is overwritten.",
            details={"reason": "target_exists"},
            hint="Choose another id or another directory with --to.",
        )
    hint = "Choose another id: nothing shadows another workflow."
    return refuse_taken(load_catalog(rt, project).entries, workflow_id, hint)


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
    where="client",
    summary="Create a workflow file from a template.",
    input=NewWorkflow,
    output=CreatedWorkflow,
    perform=new_workflow,
    errors=("WORKFLOW_ID_LEGACY", "WORKFLOW_ID_RESERVED"),
)


Starter: TypeAlias = Literal["blank", "linear", "review", "loop", "choice"]


def starter_document(starter: Starter, workflow_id: str) -> dict[str, Any]:
    """Return a workflow with this id."""
    name = workflow_id.rpartition(".")[2].replace("_", " ").replace("-", " ").strip().capitalize()
    body: dict[str, Any] = decode_spelled(_STARTERS[starter].encode(), "yaml").document
    return {"id": workflow_id, "name": name, "version": "0.1.0", **body}


_TASK = """
inputs:
  task: {type: string, required: true, description: "What is to be done, in one or two sentences."}
"""
_PLAN = """
  - id: plan
    title: Plan the work
    promptBlocks:
      goal: There is a plan for {{task}} that someone else could carry out.
      procedure:
        - Read the files that the task touches.
        - Write down the changes in order, each with the file it is made in and how you will check it.
      verify: [Every step of the plan names a file and a check.]
    output: {contractRef: wr.contracts.plan}
"""
_DO = """
  - id: do
    title: Do the work
    promptBlocks:
      goal: The plan is carried out.
      procedure: [Follow the plan in its order., Run the check of each step before the next one.]
      verify: [The artifact says why the files changed.]
    output: {contractRef: wr.contracts.changed_files}
"""
_VERIFY = """
  - id: verify
    title: Verify the result
    promptBlocks:
      goal: It is shown, not claimed, that {{task}} is done.
      procedure: [Run the checks again from a clean state., Quote what each command printed.]
      verify: [Every claim has a command or a file with a line as its evidence.]
    output: {contractRef: wr.contracts.verification_report}
"""

_BLANK = """
description: One step; write what it is for here.
steps:
  - id: work
    title: Do the work
    prompt: Say what is to be done, how, and what the notes must show at the end.
"""
_REVIEW = """
description: Look at a change, report findings with evidence, and let a person decide.
inputs:
  scope:
    type: string
    required: true
    description: "What to review: a directory, a branch or a list of files."
steps:
  - id: review
    title: Review the change
    promptBlocks:
      goal: Every finding about {{scope}} is written down with its place.
      procedure:
        - Read every changed file in full.
        - For each finding name the file, the line, what goes wrong and how to see it.
      verify: [Each finding can be checked by someone who has only the report.]
    output: {contractRef: wr.contracts.review_findings}
  - id: report
    title: Report the result
    prompt: Tell the user the findings, the heaviest first, and ask whether it may go in.
    requireConfirmation: true
"""
_LOOP = (
    f"description: Work in small rounds until a check passes, at most five times.{_TASK}"
    + """
conditions:
  - {id: keep_going, kind: loop_control, continueWhen: continue}
steps:
  - type: loop
    loopId: rounds
    while: {kind: condition_ref, conditionId: keep_going}
    maxIterations: 5
    body:
      - id: change
        title: Make one change
        prompt: Make the smallest change that brings {{task}} closer, and run its check.
      - id: decide
        title: Decide on another round
        prompt: Decide stop when the check passes, otherwise continue; quote its output.
        output: {contractRef: wr.contracts.loop_control}
"""
)
_CHOICE = (
    f"description: Look into two ways, let the user choose, and go the chosen one.{_TASK}"
    + """
  way:
    type: string
    enum: [small, thorough]
    description: Which way is taken; the choice sets it.
conditions:
  - {id: is_thorough, kind: compare, input: way, op: equals, value: thorough}
steps:
  - id: options
    title: Compare two ways
    prompt: "For {{task}}, describe a small and a thorough way: files, risks, checks."
  - type: choice
    id: way_choice
    title: Which way
    prompt: Show the user both ways and take the one they choose.
    options:
      - {id: small, label: Small, description: The least change., set: {way: small}}
      - id: thorough
        label: Thorough
        description: The change with everything around it.
        set: {way: thorough}
    nonAssumable: preference_tradeoff
"""
)

_STARTERS: dict[Starter, str] = {
    "blank": _BLANK,
    "linear": f'description: "Plan, do, verify: one step after the other."{_TASK}steps:{_PLAN}{_DO}{_VERIFY}',
    "review": _REVIEW,
    "loop": _LOOP + _VERIFY,
    "choice": f"{_CHOICE}{_PLAN}    when: is_thorough{_DO}{_VERIFY}",
}
