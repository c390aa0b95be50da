"""A workflow as text in one of the spellings: reads it, then prints or writes it."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta

from handrail.contract.catalogue import E_USAGE
from handrail.contract.ids import blob_ref
from handrail.contract.outcome import Answer, Fault, Json, Notice, Success, refuse_argument
from handrail.contract.parameters import NamedId, PathText, ProjectPath
from handrail.contract.wording import quote
from handrail.operations.workflow_catalog import find_workflow, load_catalog
from handrail.operations.workflows.examine_workflows import (
    WorkflowText,
    choose_one,
    refuse_problems,
)
from handrail.operations.workflows.save_workflow import require_fitting_name
from handrail.operations.workflows.workflow_files import plan_file, put_file
from handrail.ports.workspace import FilePlace
from handrail.runtime.operation import Maybe, Operation
from handrail.runtime.runtime import ReadPorts, WritePorts, project_of
from handrail.runtime.write_permission import DryRun, GatedInput, Plan, preview_or_write
from handrail.workflows.limits import Spelling, spelling_of
from handrail.workflows.problem import drop_edits
from handrail.workflows.reading.reader import EXTENDS, read_workflow
from handrail.workflows.spellings.decoded import Comment
from handrail.workflows.spellings.spelling import decode_document, decode_spelled, write_document

ERRORS = ("WORKFLOW_INVALID", "WORKFLOW_NOT_FOUND")
"""Codes that both operations can answer with, in addition to those of their inputs and the gate."""


class SpellingChoice(GatedInput, frozen=True, kw_only=True):
    """The workflow, by its id or as the text of a file, and where the new text goes."""

    workflow_id: Maybe[
        Annotated[NamedId, Meta(description="Id from list_workflows.", min_length=1, max_length=128)]
    ] = UNSET
    document: Maybe[Annotated[WorkflowText, Meta(description="A file instead of an id.")]] = UNSET
    project: Maybe[ProjectPath] = UNSET
    out: Maybe[
        Annotated[
            PathText,
            Meta(description="File to write; default: the text is printed.", min_length=1, max_length=4_096),
        ]
    ] = UNSET


class SpelledWorkflow(Answer, frozen=True, kw_only=True):
    """The whole text of the workflow in this spelling."""

    workflow_id: str
    spelling: Spelling
    text: str


class WrittenWorkflow(Answer, frozen=True, kw_only=True):
    """The present file; `is_written` is false if it had this content before."""

    workflow_id: str
    spelling: Spelling
    path: str
    digest: str
    size_bytes: int
    is_written: bool


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A valid workflow as its author spelled it."""

    workflow_id: str
    content: bytes
    spelling: Spelling
    document: dict[str, Json]
    comments: dict[str, Comment]


def load_source(rt: ReadPorts, request: SpellingChoice) -> Source:
    """Return the workflow that the caller means.

    Raise Fault VALIDATION_ERROR, WORKFLOW_NOT_FOUND, or WORKFLOW_INVALID with the problems of its text.
    """
    asked = choose_one(request.workflow_id, request.document)
    if isinstance(asked, WorkflowText):
        content = asked.text.encode("utf-8", "surrogateescape")
        return _source(content, spelling_of(asked.source, content), asked.source)
    entry, _ = find_workflow(load_catalog(rt, project_of(rt, request.project)), asked)
    return _source(entry.content, entry.spelling, entry.source_ref)


def _source(content: bytes, spelling: Spelling, named: str) -> Source:
    reading = read_workflow(content, spelling)
    document = decode_document(content, spelling)
    is_sound = reading.workflow is not None or bool(reading.extends)
    if not is_sound or not isinstance(document, dict):
        errors = [problem for problem in reading.problems if problem.severity == "error"]
        raise refuse_problems(
            drop_edits(errors),
            "",
            f"{quote(named)} cannot be written again, line {errors[0].line}: {errors[0].message}",
            "Correct the problems, each at its line; `workflow fmt FILE --fix` does what is certain.",
        )
    comments = {} if spelling == "json" else decode_spelled(content, spelling).comments
    return Source(
        workflow_id=document["id"],
        content=content,
        spelling=spelling,
        document=document,
        comments=comments,
    )


def print_or_write(
    rt: WritePorts, called: Operation, request: SpellingChoice, spelling: Spelling
) -> DryRun | Success:
    """Return the text in this spelling, or write it to a file.

    Raise Fault E_USAGE, VALIDATION_ERROR, WORKFLOW_NOT_FOUND, WORKFLOW_INVALID, and what the gate raises.
    """
    source = load_source(rt, request)
    if EXTENDS in source.document and spelling == "md":
        message = "A customisation has no Markdown form."
        raise refuse_argument(message, "to", "is not a spelling of a customisation", "yaml or json")
    text = write_document(source.document, spelling, source.comments)
    back, meant = read_workflow(text.encode(), spelling), read_workflow(source.content, source.spelling)
    assert (back.workflow, back.extends) == (meant.workflow, meant.extends), "the text says the same workflow"
    answer = SpelledWorkflow(workflow_id=source.workflow_id, spelling=spelling, text=text)
    return put_out(rt, called, request, answer, _notices(source, spelling))


def put_out(
    rt: WritePorts,
    called: Operation,
    request: SpellingChoice,
    answer: SpelledWorkflow,
    notices: tuple[Notice, ...],
) -> DryRun | Success:
    """Return the text, or write it to the named file.

    Raise Fault E_USAGE, VALIDATION_ERROR, and what the gate raises.
    """
    if request.out is UNSET:
        if request.dry_run is True or request.confirm is not UNSET:
            usage = "--out FILE --dry-run, then --out FILE --confirm TOKEN"
            raise Fault(E_USAGE, "Without --out there is nothing to confirm.", details={"usage": usage})
        return Success(data=msgspec.to_builtins(answer), notices=notices)
    require_fitting_name(request.out, answer.spelling, "out", f"Name a file that ends in .{answer.spelling}.")
    directory, slash, name = request.out.replace("\\", "/").rpartition("/")
    project, content = project_of(rt, request.project), answer.text.encode()

    def resolve() -> Plan[FilePlace]:
        place = rt.authored.place(project, (directory or "/") if slash else ".", name, "out")
        return plan_file(place, content, "write a workflow file", "One file; no other file is changed.")

    def write(place: FilePlace) -> Success:
        written = WrittenWorkflow(
            workflow_id=answer.workflow_id,
            spelling=answer.spelling,
            path=place.path,
            digest=blob_ref(content),
            size_bytes=len(content),
            is_written=put_file(rt, called, request, place, content),
        )
        return Success(data=msgspec.to_builtins(written), notices=notices)

    return preview_or_write(rt, called, request, workspace=project, resolve=resolve, write=write)


def _notices(source: Source, spelling: Spelling) -> tuple[Notice, ...]:
    count = len(source.comments)
    if spelling != "json" or not count:
        return ()
    comments = "A comment is" if count == 1 else f"{count} comments are"
    return (
        Notice(type="comments_dropped", message=f"{comments} left out: JSON has none.", severity="warning"),
    )
