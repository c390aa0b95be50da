"""Every workflow of every source under its name: which may be used, and what is wrong with the rest. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import msgspec

from handrail.contract.vocabulary import SourceKind
from handrail.workflows.problem import Problem
from handrail.workflows.source import IdStatus, SourceWorkflow, WorkflowKind, id_status, read_source

RESERVED_NAMESPACE = "wr."


class CatalogEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One file of the library. A broken one is listed under its file name, never hidden."""

    id: str
    source_kind: SourceKind
    source_ref: str
    content: bytes
    workflow: SourceWorkflow | None
    problems: tuple[Problem, ...] = ()

    @property
    def kind(self) -> WorkflowKind:
        return self.workflow.kind if self.workflow else "workflow"

    @property
    def id_status(self) -> IdStatus:
        return id_status(self.id)


class FoundFile(Protocol):
    """A file of the library before it is read; the library's own type fits."""

    @property
    def source_kind(self) -> SourceKind: ...
    @property
    def source_ref(self) -> str: ...
    @property
    def content(self) -> bytes: ...


def build_catalog(files: Iterable[FoundFile]) -> tuple[CatalogEntry, ...]:
    """Read every file and settle names: `wr.*` is bundled only, and nothing shadows an id taken earlier."""
    entries: list[CatalogEntry] = []
    taken: dict[str, str] = {}
    for file in files:
        entry = _read(file)
        problem = _name_problem(entry, taken)
        if problem is not None:
            entry = msgspec.structs.replace(entry, workflow=None, problems=(*entry.problems, problem))
        elif entry.workflow is not None:
            taken[entry.id] = f"{file.source_kind} {file.source_ref}"
        entries.append(entry)
    return tuple(sorted(entries, key=catalog_order))


def suggested_id(workflow_id: str, source_kind: SourceKind) -> str:
    """The namespaced id that a legacy one should get, from its source."""
    namespace = {"user": "user", "project": "project"}.get(source_kind, "repo")
    return f"{namespace}.{workflow_id.replace('-', '_')}"


def _read(file: FoundFile) -> CatalogEntry:
    reading = read_source(file.content)
    name = file.source_ref.rsplit("/", 1)[-1]
    return CatalogEntry(
        id=reading.workflow.id if reading.workflow else name,
        source_kind=file.source_kind,
        source_ref=file.source_ref,
        content=file.content,
        workflow=reading.workflow,
        problems=reading.problems,
    )


def _name_problem(entry: CatalogEntry, taken: dict[str, str]) -> Problem | None:
    if entry.workflow is None:
        return None
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


def catalog_order(entry: CatalogEntry) -> tuple[str, ...]:
    """EXEC "Discovery": namespace, kind (workflow first), name; the source last, to be total."""
    namespace, _, name = entry.id.rpartition(".")
    return (
        namespace,
        "0" if entry.kind == "workflow" else "1",
        name,
        f"{entry.source_kind}:{entry.source_ref}",
    )
