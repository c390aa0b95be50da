"""Every workflow of every source under its name: which may be used, and what is wrong with the rest. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from hashlib import sha256
from typing import Literal, Protocol

import msgspec

from handrail.contract.vocabulary import SourceKind
from handrail.workflows.compiled import Contract, InputSpec
from handrail.workflows.compiling.project_contracts import read_contract
from handrail.workflows.problem import Problem
from handrail.workflows.reading.reader import read_workflow
from handrail.workflows.workflow_id import IdStatus, WorkflowKind, id_status

RESERVED_NAMESPACE = "wr."
_SUFFIX_DIGITS = 6


class Summary(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a listing needs of one file. It depends on the content alone, so it may be remembered."""

    id: str = ""
    """Empty when the file cannot be read as a workflow."""
    name: str = ""
    description: str = ""
    kind: WorkflowKind = "workflow"
    tags: tuple[str, ...] = ()
    inputs: dict[str, InputSpec] = {}
    problems: tuple[Problem, ...] = ()


class CatalogEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One file of the library. A broken one is listed under its file name, never hidden."""

    id: str
    name: str
    description: str
    kind: WorkflowKind = "workflow"
    source_kind: SourceKind
    source_ref: str
    content: bytes
    tags: tuple[str, ...] = ()
    """Words that the author wants it found by."""
    inputs: dict[str, InputSpec] = {}
    problems: tuple[Problem, ...] = ()
    is_usable: bool
    """Whether it can be started, as far as reading it and its name tell."""
    suggested_id: str = ""
    """Of a legacy id: the one it should get."""

    @property
    def id_status(self) -> IdStatus:
        return id_status(self.id)


class Catalog(msgspec.Struct, frozen=True, kw_only=True):
    """What a project can use."""

    entries: tuple[CatalogEntry, ...]
    contracts: dict[str, Contract] = {}
    contract_problems: dict[str, tuple[Problem, ...]] = {}
    """File name of a contract to what is wrong with it."""


class FoundFile(Protocol):
    """A file of the library before it is read; the library's own type fits."""

    @property
    def source_kind(self) -> SourceKind: ...
    @property
    def source_ref(self) -> str: ...
    @property
    def content(self) -> bytes: ...
    @property
    def holds(self) -> Literal["workflow", "contract"]: ...
    @property
    def trouble(self) -> str: ...
    @property
    def remedy(self) -> str: ...
    @property
    def summary(self) -> bytes: ...


def build_catalog(files: Iterable[FoundFile]) -> Catalog:
    """Settle names: `wr.*` is bundled only, and nothing shadows an id that an earlier file has."""
    found = list(files)
    entries: list[CatalogEntry] = []
    taken: dict[str, str] = {}
    for file in found:
        if file.holds == "workflow":
            entry = _named(_entry(file), taken)
            if entry.is_usable:
                taken[entry.id] = f"{file.source_kind} {file.source_ref}"
            entries.append(entry)
    ids = frozenset(entry.id for entry in entries)
    contracts, problems = _contracts(found)
    return Catalog(
        entries=tuple(sorted((_with_suggestion(entry, ids) for entry in entries), key=catalog_order)),
        contracts=contracts,
        contract_problems=problems,
    )


def summarise(content: bytes) -> Summary:
    """Read a file for a listing."""
    reading = read_workflow(content)
    source = reading.workflow
    if source is None:
        return Summary(problems=reading.problems)
    return Summary(
        id=source.id,
        name=source.name,
        description=source.description,
        kind=source.kind,
        tags=source.tags,
        inputs=source.inputs,
        problems=reading.problems,
    )


def encode_summary(summary: Summary) -> bytes:
    return msgspec.json.encode(summary)


def suggested_id(
    workflow_id: str, source_kind: SourceKind, source_ref: str = "", taken: Collection[str] = ()
) -> str:
    """The namespaced id that a legacy one should get, from its source; a suffix keeps it from being taken."""
    namespace = {"user": "user", "project": "project"}.get(source_kind, "repo")
    wanted = f"{namespace}.{workflow_id.replace('-', '_')}"
    if wanted not in taken:
        return wanted
    digest = sha256(f"{source_kind}\0{source_ref}".encode()).hexdigest()
    return f"{wanted}_{digest[:_SUFFIX_DIGITS]}"


def catalog_order(entry: CatalogEntry) -> tuple[str, ...]:
    """EXEC "Discovery": namespace, kind (workflow first), name; the source last, to be total."""
    namespace, _, name = entry.id.rpartition(".")
    return (
        namespace,
        "0" if entry.kind == "workflow" else "1",
        name,
        f"{entry.source_kind}:{entry.source_ref}",
    )


def _entry(file: FoundFile) -> CatalogEntry:
    summary = _trouble(file) if file.trouble else _remembered(file) or summarise(file.content)
    name = file.source_ref.rsplit("/", 1)[-1]
    return CatalogEntry(
        id=summary.id or name,
        name=summary.name or name,
        description=summary.description,
        kind=summary.kind,
        source_kind=file.source_kind,
        source_ref=file.source_ref,
        content=file.content,
        tags=summary.tags,
        inputs=summary.inputs,
        problems=summary.problems,
        is_usable=bool(summary.id),
    )


def _remembered(file: FoundFile) -> Summary | None:
    """What was remembered, unless it is damaged: then the file is read again."""
    if not file.summary:
        return None
    try:
        return _SUMMARY.decode(file.summary)
    except msgspec.MsgspecError:
        return None


def _trouble(file: FoundFile) -> Summary:
    problem = Problem(code="bad_source", message=file.trouble, pointer="", fix=file.remedy)
    return Summary(problems=(problem,))


def _named(entry: CatalogEntry, taken: dict[str, str]) -> CatalogEntry:
    """The entry, unusable when its name is not its to have."""
    problem = _name_problem(entry, taken) if entry.is_usable else None
    if problem is None:
        return entry
    return msgspec.structs.replace(entry, is_usable=False, problems=(*entry.problems, problem))


def _name_problem(entry: CatalogEntry, taken: dict[str, str]) -> Problem | None:
    if entry.id.startswith(RESERVED_NAMESPACE) and entry.source_kind != "bundled":
        return Problem(
            code="reserved_id",
            message=f"{entry.id}: ids that begin with wr. are reserved for bundled workflows.",
            pointer="/id",
            fix="Choose another namespace, such as project.",
        )
    if entry.id in taken:
        return Problem(
            code="shadowed_id",
            message=f"{entry.id} is already defined by {taken[entry.id]}.",
            pointer="/id",
            fix="Give this workflow an id of its own; nothing shadows another workflow.",
        )
    return None


def _with_suggestion(entry: CatalogEntry, ids: frozenset[str]) -> CatalogEntry:
    if not entry.is_usable or entry.id_status == "namespaced":
        return entry
    better = suggested_id(entry.id, entry.source_kind, entry.source_ref, ids)
    return msgspec.structs.replace(entry, suggested_id=better)


def _contracts(files: list[FoundFile]) -> tuple[dict[str, Contract], dict[str, tuple[Problem, ...]]]:
    contracts: dict[str, Contract] = {}
    problems: dict[str, tuple[Problem, ...]] = {}
    for file in files:
        if file.holds != "contract":
            continue
        read = read_contract(file.content, file.source_ref)
        if read.contract is not None and read.id not in contracts:
            contracts[read.id] = read.contract
        if read.problems:
            problems[file.source_ref] = read.problems
    return contracts, problems


_SUMMARY = msgspec.json.Decoder(Summary)
