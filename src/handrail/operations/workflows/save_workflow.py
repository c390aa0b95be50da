"""`workflow.save` and `workflow.new`: a text becomes a file of the project, or a new file to begin from.

Gated: shown first, with what it changes. A text is saved only in the project's own folder of workflows,
without errors, and never over a content that the caller has not seen; a new file overwrites nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta

from handrail.contract.catalogue import E_CONFLICT, WORKFLOW_ID_LEGACY, WORKFLOW_ID_RESERVED
from handrail.contract.ids import blob_ref
from handrail.contract.outcome import Answer, Fault, Success, refuse_argument
from handrail.contract.parameters import MintedId, NamedId, PathText, ProjectPath
from handrail.contract.tokens.confirm import refusal
from handrail.contract.wording import quote
from handrail.operations.code.unified_diff import UnifiedDiff, diff_texts
from handrail.operations.workflow_catalog import load_catalog
from handrail.operations.workflows.examine_workflows import (
    Examined,
    WorkflowText,
    examine_texts,
    refuse_problems,
)
from handrail.ports.workspace import FilePlace
from handrail.runtime.operation import Maybe, Operation
from handrail.runtime.runtime import ReadPorts, WritePorts, project_of
from handrail.runtime.write_permission import Change, DryRun, GatedInput, Plan, dry_run_of, preview_or_write
from handrail.workflows.catalog import Catalog, CatalogEntry, suggest_id
from handrail.workflows.limits import RESERVED_NAMESPACE, Spelling, spelling_of
from handrail.workflows.spellings.spelling import decode_spelled, write_document

ABSENT = "absent"
"""What a caller says it has seen where there was no file."""
FILE_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,120}\.(json|yaml|yml|md)\Z"


class SaveWorkflow(GatedInput, frozen=True, kw_only=True):
    """The text, the file it goes to, and what the caller has seen of it."""

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
    """The file as it is now; `is_saved` is false where it had this content before."""

    workflow_id: str
    file: str
    path: str
    digest: str
    size_bytes: int
    is_saved: bool
    warnings: int
    """Problems that are no errors; `workflow validate` lists them."""


def save_workflow(rt: WritePorts, request: SaveWorkflow) -> DryRun | Success:
    """Show or make the change.

    Raises Fault WORKFLOW_INVALID with the problems of the text, WORKFLOW_ID_RESERVED, E_CONFLICT when the
    file is not the one that was edited, or when its id belongs to another file, and what the gate raises.
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
            is_saved=put_file(rt, SAVE, request, place, content),
            warnings=sum(problem.severity == "warning" for problem in examined.problems),
        )

    return preview_or_write(rt, SAVE, request, workspace=project, resolve=resolve, write=write)


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


def require_own_namespace(workflow_id: str) -> None:
    """Raises Fault WORKFLOW_ID_RESERVED for an id that only a bundled workflow may have."""
    if workflow_id.startswith(RESERVED_NAMESPACE):
        raise Fault(
            WORKFLOW_ID_RESERVED,
            f"{quote(workflow_id)}: ids that begin with wr. are reserved for bundled workflows.",
            details={"workflow_id": workflow_id[:128]},
        )


def require_fitting_name(named: str, spelling: Spelling, param: str, hint: str) -> None:
    """Raises Fault VALIDATION_ERROR where a file of this name would be read in another spelling."""
    name = named.replace("\\", "/").rpartition("/")[2]
    if "." not in name or spelling_of(name) != spelling:
        message = f"{quote(named)} is no name for a workflow in {spelling}."
        raise refuse_argument(message, param, f"is no name of a {spelling} file", hint=hint)


def _find_file(catalog: Catalog, workflow_id: str, spelling: Spelling) -> str:
    """The file of the project's own folder that has this id, or the name that a new one gets."""
    own = [
        entry.source_ref
        for entry in catalog.entries
        if entry.id == workflow_id and entry.source_kind == "project" and "/" not in entry.source_ref
    ]
    return own[0] if own else f"{workflow_id}.{spelling}"


def _version(content: bytes | None) -> str:
    """What a plan relies on: the digest of a file, or that there is none."""
    return ABSENT if content is None else blob_ref(content)


def _plan(
    catalog: Catalog, request: SaveWorkflow, examined: Examined, file: str, place: FilePlace, content: bytes
) -> Plan[FilePlace]:
    action = "create a workflow file" if place.content is None else "change a workflow file"
    text = "One file of the project. Runs that are under way keep the workflow they began with."
    text = " ".join([text, *_losses(catalog, examined, file)])
    obstacle = _obstacle(catalog, request, examined.workflow_id, file, place)
    return plan_file(place, content, action, text, obstacle)


def plan_file(
    place: FilePlace, content: bytes, action: str, text: str, obstacle: Fault | None = None
) -> Plan[FilePlace]:
    """What writing the content there would do, in words for who confirms it."""
    return Plan(
        action=action,
        changes=_describe_change(place, content),
        targets=(place.path,),
        versions={place.path: _version(place.content)},
        blast_radius=text,
        found=place,
        obstacle=obstacle,
    )


def _losses(catalog: Catalog, examined: Examined, file: str) -> list[str]:
    """What goes away with the change: the id that the file had, and overlays that no longer fit."""
    own = [one for one in catalog.entries if (one.source_kind, one.source_ref) == ("project", file)]
    gone = [one.id for one in own if one.is_usable and one.id != examined.workflow_id]
    left = [one.source_ref for one in catalog.entries if one.extends in gone]
    return [
        *(f"The workflow {one} goes away: it is {examined.workflow_id} then." for one in gone),
        *(f"{quote(one)} extends {gone[0]} and has no base then." for one in left),
        *(one.message for one in examined.problems if (one.code, one.pointer) == ("changed_meaning", "/id")),
    ]


def put_file(
    rt: WritePorts, called: Operation, request: GatedInput, place: FilePlace, content: bytes
) -> bool:
    """Write the file as it was found, and say whether that changed it.

    Raises Fault E_CONFIRMATION_REQUIRED where it is another file by now.
    """
    if place.content == content:
        return False
    is_done = (
        rt.authored.create(place.path, content)
        if place.content is None
        else rt.authored.replace(place.path, content, place.content)
    )
    if not is_done:
        raise refusal("target_changed")
    rt.commits.note(dry_run_of(called, request))
    return True


def _describe_change(place: FilePlace, content: bytes) -> tuple[Change, ...]:
    if place.content == content:
        return (Change(action="none", resource="file", id=place.path),)
    diff = diff_texts(place.path.rpartition("/")[2], place.content or b"", content)
    folders = [
        Change(action="create", resource="directory", id=directory) for directory in place.missing_directories
    ]
    file = Change(
        action="create" if place.content is None else "update",
        resource="file",
        id=place.path,
        before=None if place.content is None else {"digest": blob_ref(place.content)},
        after={"size_bytes": len(content), "digest": blob_ref(content)},
        diff={"path": place.path, "added": diff.added, "removed": diff.removed, "hunks": [diff.text]}
        if isinstance(diff, UnifiedDiff)
        else {"path": place.path, "hunks": [], "reason": diff},
    )
    return (*folders, file)


def _obstacle(
    catalog: Catalog, request: SaveWorkflow, workflow_id: str, file: str, place: FilePlace
) -> Fault | None:
    if request.base is not UNSET and request.base != _version(place.content):
        return Fault(
            E_CONFLICT,
            f"{quote(file)} is not as it was when it was opened; somebody changed it meanwhile.",
            details={"reason": "target_changed"},
            hint="Open it again, and make the change in what it holds now.",
        )
    others = [one for one in catalog.entries if (one.source_kind, one.source_ref) != ("project", file)]
    return _refuse_taken(
        others, workflow_id, "Give the workflow another id: nothing shadows another workflow."
    )


def _refuse_taken(entries: Iterable[CatalogEntry], workflow_id: str, hint: str) -> Fault | None:
    """The refusal of an id that one of these files has."""
    taken = next((entry for entry in entries if entry.id == workflow_id), None)
    if taken is None:
        return None
    message = f"The id {workflow_id} belongs to {quote(taken.source_ref)} already."
    return Fault(E_CONFLICT, message, details={"reason": "id_taken"}, hint=hint)


SAVE = Operation(
    name="workflow.save",
    effect="gated",
    where="companion",
    summary="Save a workflow as a file of the project, if it has no errors.",
    input=SaveWorkflow,
    output=SavedWorkflow,
    perform=save_workflow,
    errors=("WORKFLOW_INVALID", "WORKFLOW_ID_RESERVED"),
)


# A new workflow file to begin from


_ID = re.compile(r"[a-z][a-z0-9_-]*\.[a-z][a-z0-9_-]*")
_LEGACY = re.compile(r"[a-z][a-z0-9_-]*")


class NewWorkflow(GatedInput, frozen=True, kw_only=True):
    """Which id, what to begin from, and where the file goes."""

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
        obstacle = _find_obstacle(rt, project, request.workflow_id, place, content)
        text = "One new file; no other file is changed."
        return plan_file(place, content, "create a workflow file", text, obstacle)

    def write(place: FilePlace) -> CreatedWorkflow:
        return CreatedWorkflow(
            workflow_id=request.workflow_id,
            path=place.path,
            template=template,
            size_bytes=len(content),
            is_created=put_file(rt, NEW, request, place, content),
        )

    return preview_or_write(rt, NEW, request, workspace=project, resolve=resolve, write=write)


def _find_obstacle(
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
    hint = "Choose another id: nothing shadows another workflow."
    return _refuse_taken(load_catalog(rt, project).entries, workflow_id, hint)


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


NEW = Operation(
    name="workflow.new",
    effect="gated",
    where="companion",
    summary="Make a new workflow file to begin from.",
    input=NewWorkflow,
    output=CreatedWorkflow,
    perform=new_workflow,
    errors=("WORKFLOW_ID_LEGACY", "WORKFLOW_ID_RESERVED"),
)


Starter: TypeAlias = Literal["blank", "linear", "review", "loop", "choice"]


def starter_document(starter: Starter, workflow_id: str) -> dict[str, Any]:
    """A workflow with this id."""
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
      verify: [Every file that changed is listed in the artifact.]
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
