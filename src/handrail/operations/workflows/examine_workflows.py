"""A workflow that an author asks about, by id or as the text of a file: read, compiled, checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import WORKFLOW_INVALID, WORKFLOW_NOT_FOUND
from handrail.contract.outcome import Fault, Json, NextCall, refuse_argument
from handrail.contract.parameters import NamedId, ProjectPath
from handrail.contract.suggest import find_nearest
from handrail.contract.wording import quote
from handrail.operations.workflow_catalog import compile_entry, load_catalog, problem_row, read_entry
from handrail.runtime.operation import Input, Maybe
from handrail.runtime.runtime import ReadPorts, project_of
from handrail.workflows.catalog import (
    BrokenContract,
    Catalog,
    CatalogEntry,
    claims_id,
    read_checked_contract,
    suggest_id,
    summarise,
    with_base,
)
from handrail.workflows.checking.linter import check
from handrail.workflows.compiled import Pinned
from handrail.workflows.compiling.shelf import ReadContract
from handrail.workflows.limits import (
    MAX_SOURCE_BYTES,
    RESERVED_NAMESPACE,
    explain_misnaming,
    id_status,
    kind_if_renamed,
    spelling_of,
)
from handrail.workflows.problem import Problem, keep_sound_edits, make_problem, replace_value
from handrail.workflows.problem_places import add_places
from handrail.workflows.reading.reader import Reading
from handrail.workflows.spellings.spelling import decode_document
from handrail.workflows.text_edits import spell_edits

MOST_PROBLEMS = 20
"""Most problems of one workflow in an error about it; `workflow.validate` returns all of them."""


class WorkflowText(Input, frozen=True, kw_only=True):
    """The text of a workflow file, as the caller read it."""

    source: Annotated[str, Meta(description="Where it was read.", max_length=4_096)]
    text: Annotated[str, Meta(description="Its content.", max_length=MAX_SOURCE_BYTES + 1)]
    holds: Maybe[
        Annotated[Literal["workflow", "contract"], Meta(description="Default: what its path says.")]
    ] = UNSET
    trouble: Annotated[str, Meta(description="Why it was not read.", max_length=8_192)] = ""
    remedy: Annotated[str, Meta(description="What to do about that.", max_length=8_192)] = ""


class WorkflowChoice(Input, frozen=True, kw_only=True):
    """One workflow: by its id, or as the text of a file."""

    workflow_id: Maybe[
        Annotated[NamedId, Meta(description="Id from list_workflows.", min_length=1, max_length=128)]
    ] = UNSET
    document: Maybe[Annotated[WorkflowText, Meta(description="A file instead of an id.")]] = UNSET
    project: Maybe[ProjectPath] = UNSET


class Examined(msgspec.Struct, frozen=True, kw_only=True):
    """One workflow and all its problems. `pinned` is None if it cannot be started."""

    target: str
    """What the caller named: the id, or the path of the file."""
    workflow_id: str = ""
    pinned: Pinned | None = None
    problems: tuple[Problem, ...] = ()
    entry: CatalogEntry | None = None
    """The file of the workflow; None for a contract."""
    missing: Fault | None = None
    """Why no workflow of this name could be checked."""


def load_chosen_workflow(rt: ReadPorts, request: WorkflowChoice) -> Pinned:
    """Return the compiled workflow that the caller means.

    Raise Fault VALIDATION_ERROR, WORKFLOW_NOT_FOUND, or WORKFLOW_INVALID with its problems.
    """
    catalog = load_catalog(rt, project_of(rt, request.project))
    asked = choose_one(request.workflow_id, request.document)
    examined = examine_id(catalog, asked) if isinstance(asked, str) else examine_texts(catalog, [asked])
    for one in examined:
        if one.pinned is not None:
            return one.pinned
    raise refuse(examined[0])


def choose_one(workflow_id: str | UnsetType, document: WorkflowText | UnsetType) -> str | WorkflowText:
    """Return the id, or the file, of the call. Raise Fault VALIDATION_ERROR."""
    given = [one for one in (workflow_id, document) if one is not UNSET]
    if len(given) == 1:
        return given[0]
    message = "The call needs one workflow: an id, or the text of a file."
    raise refuse_argument(message, "workflowId", "give either workflowId or document")


def load_given(rt: ReadPorts, document: WorkflowText, project: str) -> tuple[CatalogEntry, Pinned]:
    """Return the workflow of a file in the call, compiled together with those of the project.

    Raise Fault WORKFLOW_INVALID with its problems.
    """
    catalog = load_catalog(rt, project)
    examined = examine_texts(catalog, [document])[0]
    if examined.pinned is None:
        raise refuse(examined)
    return with_base(_entry(catalog, document), catalog.entries), examined.pinned


def examine_id(catalog: Catalog, workflow_id: str) -> list[Examined]:
    """Return every file of the library with this id, usable or not.

    Raise Fault WORKFLOW_NOT_FOUND if there is none.
    """
    named = [entry for entry in catalog.entries if entry.id == workflow_id]
    named = named or [entry for entry in catalog.entries if claims_id(entry, workflow_id)]
    if named:
        return [_examine(catalog, entry, workflow_id) for entry in named]
    contracts = [one for one in catalog.broken_contracts if one.id == workflow_id]
    if contracts or workflow_id in catalog.contracts:
        problems = (
            *catalog.contract_warnings.get(workflow_id, ()),
            *(problem for one in contracts for problem in one.problems),
        )
        return [Examined(target=workflow_id, workflow_id=workflow_id, problems=problems)]
    raise Fault(
        WORKFLOW_NOT_FOUND,
        f"There is no workflow and no file {quote(workflow_id)}.",
        details={
            "workflow_id": workflow_id[:128],
            "did_you_mean": find_nearest(workflow_id, [entry.id for entry in catalog.entries]),
        },
        next_call=NextCall(operation="workflow.list", params={}),
    )


def examine_texts(catalog: Catalog, documents: Sequence[WorkflowText]) -> list[Examined]:
    """Return the checked files of a call. Each can use the others, such as a
    sub-workflow next to its callers.
    """
    contracts = {
        document: _read_contract(catalog, document) for document in documents if _holds_contract(document)
    }
    alone = {document: _entry(catalog, document) for document in documents if document not in contracts}
    others = (*catalog.entries, *alone.values())
    entries = {document: with_base(entry, others) for document, entry in alone.items()}
    beside = _with_beside(catalog, contracts, tuple(entries.values()))
    return [
        _examine_contract(document, contracts[document])
        if document in contracts
        else _examine(beside, entries[document], document.source)
        for document in documents
    ]


def _read_contract(catalog: Catalog, document: WorkflowText) -> ReadContract:
    """Return the contract, with the library's problems about the id of this very file."""
    name = document.source.replace("\\", "/").rpartition("/")[2]
    if document.trouble:
        return ReadContract(id=name.removesuffix(".json"), problems=_trouble(document))
    read = read_checked_contract(_content(document), document.source)
    shadowed = [
        problem
        for one in catalog.broken_contracts
        if one.content == _content(document) and one.source_ref.rpartition("/")[2] == name
        for problem in one.problems
        if problem.code == "shadowed_id"
    ]
    if read.contract is None or not shadowed:
        return read
    return ReadContract(id=read.id, problems=add_places(_content(document), shadowed))


def _with_beside(
    catalog: Catalog, contracts: dict[WorkflowText, ReadContract], entries: tuple[CatalogEntry, ...]
) -> Catalog:
    """Return the library with the files of the call added, because they are judged together."""
    sound = {
        read.id: read.contract
        for document, read in contracts.items()
        if read.contract is not None and explain_misnaming(document.source) is None
    }
    broken = [
        BrokenContract(
            id=read.id,
            source_kind="project",
            source_ref=document.source,
            content=_content(document),
            problems=read.problems,
        )
        for document, read in contracts.items()
        if read.contract is None
    ]
    kept = [one for one in catalog.broken_contracts if one.id not in sound]
    return msgspec.structs.replace(
        catalog,
        entries=(*catalog.entries, *entries),
        contracts={**catalog.contracts, **sound},
        broken_contracts=(*broken, *kept),
    )


def _holds_contract(document: WorkflowText) -> bool:
    if document.holds is UNSET:
        return kind_if_renamed(document.source) == "contract"
    return document.holds == "contract"


def _trouble(document: WorkflowText) -> tuple[Problem, ...]:
    if not document.trouble:
        return ()
    return (make_problem("bad_source", "", document.trouble, document.remedy),)


def _entry(catalog: Catalog, document: WorkflowText) -> CatalogEntry:
    content = _content(document)
    spelling = spelling_of(document.source, content)
    read = summarise(content, spelling)
    name = document.source.replace("\\", "/").rsplit("/", 1)[-1]
    return CatalogEntry(
        id=read.id or name,
        name=read.name or name,
        description="",
        kind=read.kind,
        source_kind="project",
        source_ref=document.source,
        content=content,
        spelling=spelling,
        problems=(
            *(_trouble(document) or _ending_advice(name)),
            *(_name_advice(catalog, content, name, read.id) if read.id else ()),
        ),
        is_usable=bool(read.id) and explain_misnaming(name) is None,
        extends=read.extends,
    )


def _examine(catalog: Catalog, entry: CatalogEntry, target: str) -> Examined:
    examined = _looked_at(catalog, entry, target)

    def judge(content: bytes) -> tuple[Problem, ...]:
        edited = msgspec.structs.replace(
            entry, content=content, spelling="json", decoded=b"", problems=(), is_usable=True
        )
        return _looked_at(catalog, edited, target).problems

    document = decode_document(entry.content, entry.spelling, entry.decoded)
    sound = keep_sound_edits(document, len(entry.content), examined.problems, judge)
    problems = spell_edits(entry.content, entry.spelling, sound)
    return msgspec.structs.replace(examined, problems=problems)


def _looked_at(catalog: Catalog, entry: CatalogEntry, target: str) -> Examined:
    reading = read_entry(entry)
    named = [problem for problem in entry.problems if problem not in reading.problems]
    source = reading.workflow
    if source is None:
        # Without content, the recorded problems say why there is none, unless the file really is empty.
        is_read = bool(entry.content) or not named
        problems = (
            (*reading.problems, *named, *_dangling(catalog, entry, reading)) if is_read else tuple(named)
        )
        placed = _in_order(entry, problems) if _is_text(entry.content) else problems
        return Examined(target=target, workflow_id=_stated_id(entry, reading), problems=placed, entry=entry)
    compilation = compile_entry(catalog, entry, source)
    advice = check(source, compilation)
    every = (*reading.problems, *named, *compilation.problems, *advice, *_left_behind(catalog, entry))
    problems = _in_order(entry, every)
    is_usable = all(problem.severity != "error" for problem in problems)
    return Examined(
        target=target,
        workflow_id=entry.id,
        pinned=compilation.pinned if is_usable else None,
        problems=problems,
        entry=entry,
    )


def _left_behind(catalog: Catalog, entry: CatalogEntry) -> Iterator[Problem]:
    """Yield a warning for each customisation that does not fit the present text of the
    workflow that it extends.
    """
    overlays = (
        [] if entry.source_kind == "bundled" else [one for one in catalog.entries if one.extends == entry.id]
    )
    for one in {one.content: one for one in overlays}.values():
        errors = [
            problem
            for problem in with_base(msgspec.structs.replace(one, problems=()), [entry]).problems
            if problem.severity == "error"
        ]
        if errors:
            message = f"{quote(one.source_ref)} extends this and does not fit it: {errors[0].message}"
            fix = f"Correct it too, at line {errors[0].line}, or keep what it names."
            yield make_problem("changed_meaning", "/id", message, fix, severity="warning")


def _stated_id(entry: CatalogEntry, reading: Reading) -> str:
    """Return the file's declared id, even if invalid; otherwise the name of the entry."""
    document = reading.document
    if isinstance(document, dict) and isinstance(document.get("id"), str):
        return str(document["id"])[:128]
    return entry.id


def _dangling(catalog: Catalog, entry: CatalogEntry, reading: Reading) -> list[Problem]:
    """Return unknown ids in a file with misnamed values: both are looked up, so they are listed together."""
    if reading.misnamed is None:
        return []
    found = compile_entry(catalog, entry, reading.misnamed).problems
    return [one for one in found if one.severity == "error" and one.code == "unknown_id"]


def _is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _in_order(entry: CatalogEntry, problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return each problem once, with its place, in the order of the text."""
    once = list({(one.code, one.pointer, one.message, one.severity): one for one in problems}.values())
    placed = [problem for problem in once if problem.line]
    unplaced = [problem for problem in once if not problem.line]
    found = (*placed, *add_places(entry.content, unplaced, entry.spelling)) if unplaced else tuple(placed)
    return tuple(sorted(found, key=lambda problem: (problem.line, problem.column)))


def _ending_advice(name: str) -> Iterable[Problem]:
    """Yield a problem if the file's name keeps it out of every list, even though its text is right."""
    if (advice := explain_misnaming(name)) is not None:
        yield make_problem("bad_source", "", advice[0], advice[1])


def _name_advice(catalog: Catalog, content: bytes, name: str, own_id: str) -> Iterable[Problem]:
    """Yield the library's problems about the id of this very file; for a file
    elsewhere, those it would have.
    """
    own = [
        entry
        for entry in catalog.entries
        if entry.content == content and entry.source_ref.rpartition("/")[2] == name
    ]
    advice = [
        problem
        for entry in own
        for problem in entry.problems
        if problem.code in ("reserved_id", "shadowed_id")
    ]
    if advice:
        yield from advice
    elif own_id.startswith(RESERVED_NAMESPACE):
        message = f"{own_id}: ids that begin with wr. are reserved for bundled workflows."
        fix = "Choose another namespace, such as project, before you put it into a project."
        yield make_problem("reserved_id", "/id", message, fix, severity="warning")
    elif id_status(own_id) == "legacy":
        ids = [entry.id for entry in catalog.entries]
        listed = [entry.suggested_id for entry in own if entry.suggested_id]
        better = listed[0] if listed else suggest_id(own_id, "project", name, ids)
        message = f"{own_id}: an id without a namespace is deprecated; it still runs."
        fix = f"Name it {better}."
        yield make_problem("legacy_id", "/id", message, fix, replace_value("/id", better), "warning")


def _examine_contract(document: WorkflowText, read: ReadContract) -> Examined:
    ending = () if document.trouble else _ending_advice(document.source)
    return Examined(target=document.source, workflow_id=read.id, problems=(*ending, *read.problems))


def _content(document: WorkflowText) -> bytes:
    """Return the bytes of the file; an interface passes bytes that are not UTF-8 as escapes."""
    return document.text.encode("utf-8", "surrogateescape")


def refuse(examined: Examined) -> Fault:
    """Return why a workflow cannot be used, with its problems."""
    errors = [problem for problem in examined.problems if problem.severity == "error"]
    message = f"The workflow {quote(examined.target)} cannot be used: {errors[0].message}"
    return refuse_problems(errors, examined.workflow_id, message)


def refuse_problems(errors: Sequence[Problem], workflow_id: str, message: str, hint: str = "") -> Fault:
    """Return a refusal with the first problems of a workflow."""
    rows = msgspec.to_builtins([problem_row(problem) for problem in errors[:MOST_PROBLEMS]])
    details: dict[str, Json] = {"workflow_id": workflow_id[:128], "problems": rows}
    return Fault(WORKFLOW_INVALID, message[:1024], details=details, hint=hint)
