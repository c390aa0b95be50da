"""Whether the files that a run was started from still mean what they meant, and which of them does not.

The compiled workflow decides: a file that was only reformatted has not changed, and one whose contract
changed beside it has; then the file of the contract is named. A rehydrate and a resume look at all of them.
The reply to a report or a checkpoint, and its repeat, look at the workflow's own file: that costs one read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from handrail.contract.ids import blob_ref
from handrail.contract.outcome import Fault
from handrail.contract.wording import quote
from handrail.engine.facts import run_place
from handrail.engine.history import Run
from handrail.engine.reply import ReplyWarning
from handrail.operations.same_project import is_begun_here, is_project
from handrail.ports.workspace import WorkflowLibrary, Workspace
from handrail.runtime.runtime import ReadPorts
from handrail.runtime.sessions import memory_of
from handrail.workflows.compiled import CompiledWorkflow, Contract

if TYPE_CHECKING:
    from handrail.workflows.catalog import Catalog

# ruff: noqa: PLC0415 - a run of unchanged files does not pay for the compiler


MOST_FILES = 5
"""That are named; a workflow seldom rests on more than two."""
_CHANGED = "changed since this run was started"
_VANISHED = "is no longer there"
_READ_ANEW = "means something else to this version of Handrail"


class _Differing(NamedTuple):
    """A file, what it holds, and what happened to it."""

    source_kind: str
    source_ref: str
    what: str = "file"
    happened: str = _CHANGED


def warn_of_drift(
    library: WorkflowLibrary,
    workspace: Workspace,
    project: str | UnsetType,
    run: Run,
    pinned: CompiledWorkflow,
) -> tuple[ReplyWarning, ...]:
    """One warning for each file that changed or vanished; none where that cannot be known from here."""
    if not run.source_digest:
        return ()
    try:
        place = workspace.project("" if project is UNSET else project)
        is_here = run.source_kind != "project" or is_begun_here(workspace, run_place(run), place)
    except Fault:
        return ()
    if not is_here:
        return ()  # the caller is in another project, where the file is not to be expected
    content = library.content_now(place, run.source_kind, run.source_ref)
    if content is None:
        return ()
    return tuple(_warn(one) for one in _find_differing(library, place, run, pinned, content)[:MOST_FILES])


def warn_of_changed_file(rt: ReadPorts, project: str | UnsetType, run: Run) -> tuple[ReplyWarning, ...]:
    """The same for who goes on with a run, where the workflow's own file is not what it was."""
    try:
        place = rt.workspace.project("" if project is UNSET else project)
    except Fault:
        return ()
    is_here = run.project is not None and is_project(rt.workspace, run.project, place)
    content = rt.library.content_now(place, run.source_kind, run.source_ref) if is_here else None
    if content is None or blob_ref(content) == run.source_digest:
        return ()
    pinned = memory_of(rt.log).load_pinned(run.workflow_hash)
    return warn_of_drift(rt.library, rt.workspace, project, run, pinned)


def _warn(file: _Differing) -> ReplyWarning:
    message = (
        f"The {file.source_kind} {file.what} {quote(file.source_ref)} {file.happened}. This run goes on "
        "with the workflow it was started with; to use the file as it is now, start a new run."
    )
    details = {"sourceKind": file.source_kind, "sourceRef": file.source_ref}
    return ReplyWarning(code="WORKFLOW_SOURCE_DIFFERS", message=message, details=details)


def _find_differing(
    library: WorkflowLibrary, place: str, run: Run, pinned: CompiledWorkflow, content: bytes
) -> list[_Differing]:
    """The files that make the workflow another one than the run has."""
    is_as_it_was = blob_ref(content) == run.source_digest
    if run.source_kind == "bundled" and is_as_it_was:
        return []  # what it refers to came with it
    from handrail.workflows.catalog import build_catalog

    catalog = build_catalog(library.files(place))
    if _is_pinned_by(catalog, run):
        return []  # also where the same workflow is in another file now, in whatever spelling
    if not content:
        return [_Differing(run.source_kind, run.source_ref, happened=_VANISHED)]
    contracts = list(_changed_contracts(catalog, run, pinned))
    # With the contracts of its time: is it still the workflow that it was?
    before = msgspec.structs.replace(catalog, contracts=catalog.contracts | pinned.contracts)
    if contracts and _is_pinned_by(before, run):
        return contracts
    if not is_as_it_was:
        return [*contracts, _Differing(run.source_kind, run.source_ref)]
    beside = [*contracts, *_base(before, run, pinned), *_routines(before, run)]
    return beside or [_Differing(run.source_kind, run.source_ref, happened=_READ_ANEW)]


def _is_pinned_by(catalog: Catalog, run: Run) -> bool:
    """Whether the workflow of today, among these neighbours, is the one of the run."""
    from handrail.operations.workflow_catalog import find_workflow, pin

    try:
        return pin(catalog, *find_workflow(catalog, run.workflow_id)).workflow_hash == run.workflow_hash
    except Fault:
        return False


def _changed_contracts(catalog: Catalog, run: Run, pinned: CompiledWorkflow) -> Iterator[_Differing]:
    from handrail.workflows.builtins.registry import find_contract

    broken = {one.id: (one.source_kind, one.source_ref) for one in catalog.broken_contracts}
    for ref, before in pinned.contracts.items():
        if find_contract(ref) is not None or _is_same(catalog.contracts.get(ref), before):
            continue
        file = catalog.contract_files.get(ref) or broken.get(ref) or broken.get(ref.rpartition(".")[2])
        if file is None:
            yield _Differing(run.source_kind, ref, "contract", _VANISHED)
        else:
            yield _Differing(*file, "contract file")


def _is_same(now: Contract | None, before: Contract) -> bool:
    """An example that was made up for a contract without one says nothing about its file."""
    from handrail.workflows.contracts.check import make_example

    if now is None:
        return False
    return before == (now if now.example else msgspec.structs.replace(now, example=make_example(now)))


def _base(catalog: Catalog, run: Run, pinned: CompiledWorkflow) -> Iterator[_Differing]:
    """Of an overlay: the file of its base, if that is another workflow now."""
    from handrail.operations.workflow_catalog import find_workflow, pin

    if pinned.base is None:
        return
    try:
        entry, source = find_workflow(catalog, pinned.base.id)
        if pin(catalog, entry, source).workflow_hash != pinned.base.hash:
            yield _Differing(entry.source_kind, entry.source_ref, "base file")
    except Fault:
        yield _Differing(run.source_kind, pinned.base.id, "base", _VANISHED)


def _routines(catalog: Catalog, run: Run) -> Iterator[_Differing]:
    """Of a workflow whose own file is as it was: the routines beside it that it is made of."""
    from handrail.operations.workflow_catalog import compile_entry, find_workflow
    from handrail.workflows.builtins.routines import routine_template_id

    try:
        compilation = compile_entry(catalog, *find_workflow(catalog, run.workflow_id))
    except Fault:
        return
    for entry in catalog.entries:
        if entry.kind == "routine" and routine_template_id(entry.id) in compilation.templates:
            yield _Differing(entry.source_kind, entry.source_ref, "routine file")
