"""The workflows that a project can use: listed, found by id, and compiled with the files they refer to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET
from msgspec.structs import fields, replace

from handrail.contract.catalogue import WORKFLOW_ID_RESERVED, WORKFLOW_INVALID, WORKFLOW_NOT_FOUND
from handrail.contract.json.places import join_pointer
from handrail.contract.outcome import Failure, Fault, Json, NextCall, make_from
from handrail.contract.suggest import find_nearest
from handrail.contract.wording import quote
from handrail.contract.workflow_files import WorkflowFile
from handrail.runtime.operation import Registry
from handrail.runtime.recent import Recent
from handrail.runtime.refused_calls import input_problems, offer_call
from handrail.runtime.runtime import ReadPorts, project_or_root
from handrail.views.workflows import WorkflowProblem
from handrail.workflows.catalog import (
    Catalog,
    CatalogEntry,
    build_catalog,
    claims_id,
    read_checked,
    source_of,
)
from handrail.workflows.checking.flow import check_flow
from handrail.workflows.checking.operations import Operations
from handrail.workflows.compiled import Pinned
from handrail.workflows.compiling.children import list_named
from handrail.workflows.compiling.compilation import BaseCompilation, Compilation, Surroundings
from handrail.workflows.compiling.compiler import compile_workflow
from handrail.workflows.compiling.expand_templates import calls_routine
from handrail.workflows.model import SourceWorkflow
from handrail.workflows.problem import Problem, drop_edits, edit_rows, guess_name, quote_name
from handrail.workflows.problem_places import add_places
from handrail.workflows.reading.reader import Reading
from handrail.workflows.spellings.spelling import decode_document


class RegistryOperations:
    """`Operations` of the installed parts; naming an operation loads it."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    @property
    def names(self) -> tuple[str, ...]:
        return self._registry.names

    def parameters(self, name: str) -> frozenset[str]:
        return frozenset(field.encode_name for field in fields(self._registry.operation(name).input))

    def refused_values(self, name: str, params: dict[str, Any]) -> list[tuple[str, str]]:
        problems, _ = input_problems(self._registry.operation(name), params)
        return [
            (str(one["param"]), "" if one["problem"] == "missing" else str(one["problem"]))
            for one in problems
        ]


class KeptCatalog:
    """The catalogue of some files, and what was compiled among them so far."""

    def __init__(self, files: Sequence[WorkflowFile]) -> None:
        self.files = files
        self.catalog = build_catalog(files)
        self._pins: Recent[tuple[str, bool], tuple[CatalogEntry, Pinned]] = Recent(MOST_PINS, MOST_PIN_BYTES)

    def pin(self, workflow_id: str, operations: Operations | None = None) -> tuple[CatalogEntry, Pinned]:
        """Return the workflow with this id as a run keeps it. Actions are checked if there are `operations`.

        Raise Fault WORKFLOW_NOT_FOUND, and WORKFLOW_INVALID with every problem if it does not compile.
        """
        key = (workflow_id, operations is not None)
        kept = self._pins.get(key)
        if kept is None:
            catalog = replace(self.catalog, operations=operations)
            entry, source = find_workflow(catalog, workflow_id)
            kept = (entry, pin(catalog, entry, source))
            self._pins.put(key, kept, len(kept[1].content))
        return kept


MOST_CATALOGS: Final = 16
"""Number of latest projects whose catalogues a server keeps."""
MOST_PINS: Final = 64
MOST_PIN_BYTES: Final = 4 * 1024 * 1024
_catalogs: Recent[int, KeptCatalog] = Recent(MOST_CATALOGS)
"""Catalogues by the identity of their tuple of files, which they keep alive and which never changes."""


def keep_catalog(files: Sequence[WorkflowFile]) -> KeptCatalog:
    """Return the catalogue of these files, from memory if it is the same object as before."""
    if not isinstance(files, tuple):
        return KeptCatalog(files)
    kept = _catalogs.get(id(files))
    if kept is None or kept.files is not files:
        kept = KeptCatalog(files)
        _catalogs.put(id(files), kept)
    return kept


def load_catalog(rt: ReadPorts, project: str) -> Catalog:
    """Return every workflow file of the project's sources, broken ones included."""
    catalog = keep_catalog(rt.library.files(project)).catalog
    return replace(catalog, operations=RegistryOperations(rt.registry))


def pin_workflow(rt: ReadPorts, project: str, workflow_id: str) -> tuple[CatalogEntry, Pinned]:
    """Return a workflow of the project as a run keeps it. Raises what `KeptCatalog.pin` raises."""
    return keep_catalog(rt.library.files(project)).pin(workflow_id, RegistryOperations(rt.registry))


def find_workflow(catalog: Catalog, workflow_id: str) -> tuple[CatalogEntry, SourceWorkflow]:
    """Return the workflow with this id.

    Raise Fault WORKFLOW_NOT_FOUND with suggestions, or WORKFLOW_INVALID with its problems.
    """
    named = [entry for entry in catalog.entries if entry.id == workflow_id]
    for entry in named:
        source = read_entry(entry).workflow if entry.is_usable else None
        if source is not None:
            return entry, source
    broken = named or [entry for entry in catalog.entries if claims_id(entry, workflow_id)]
    if broken:
        raise refuse_entry(broken[0], broken[0].problems)
    near = _near_ids(catalog, workflow_id)
    raise Fault(
        WORKFLOW_NOT_FOUND,
        f"There is no workflow {quote(workflow_id)}.",
        details={"workflow_id": workflow_id[:128], "did_you_mean": near},
        next_call=NextCall(operation="workflow.list", params={}),
    )


def correct_workflow_id(rt: ReadPorts, failure: Failure) -> Failure:
    """Return the refusal with the caller's corrected call, if the workflow that it names exists too.

    If it is unclear which workflow is meant, that is one more problem, and no call is offered.
    """
    call = failure.next_call
    if call is None or not isinstance(call.params.get("workflowId"), str):
        return failure
    asked: str = call.params["workflowId"]
    named = call.params.get("project")
    try:
        project, _ = project_or_root(rt, named if isinstance(named, str) else UNSET)
        find_workflow(load_catalog(rt, project), asked)
    except Fault as fault:
        if fault.kind is not WORKFLOW_NOT_FOUND:
            return failure
        near = fault.details["did_you_mean"]
        problem = {
            "param": "workflowId",
            "problem": fault.message,
            "fix": f"use {' or '.join(near)}" if near else "list_workflows has the ids",
        }
        more = failure.details | {"problems": [*failure.details.get("problems", []), problem]}
        refused = replace(failure, message=f"{failure.message} {fault.message}", details=more, next_call=None)
        if len(near) != 1:
            return replace(refused, hint="Correct what the problems name.")
        return offer_call(
            refused, NextCall(operation=call.operation, params=call.params | {"workflowId": near[0]})
        )
    return failure


def _near_ids(catalog: Catalog, workflow_id: str) -> list[str]:
    """Return ids that may be meant; the id whose name alone was given is certain."""
    ids = [entry.id for entry in catalog.entries if entry.is_usable]
    named = [one for one in ids if one.rpartition(".")[2] == workflow_id.rpartition(".")[2]]
    by_name = {one.rpartition(".")[2]: one for one in ids}
    names = find_nearest(workflow_id.rpartition(".")[2], by_name)
    return named or find_nearest(workflow_id, ids) or [by_name[name] for name in names]


def read_entry(entry: CatalogEntry) -> Reading:
    """Return the file of an entry, read and checked."""
    reading = read_checked(entry.content, entry.spelling, entry.decoded, entry.base)
    if not entry.own_id or reading.workflow is None:
        return reading
    return replace(reading, workflow=replace(reading.workflow, id=entry.id))


def _line_of(problem: Problem) -> str:
    return f", line {problem.line}" if problem.line else ""


def compile_entry(catalog: Catalog, entry: CatalogEntry, source: SourceWorkflow) -> Compilation:
    """Return the workflow compiled among its neighbours, its problems with line and column."""
    base = _compile_base(catalog, entry)
    if isinstance(base, Problem):
        return Compilation(pinned=None, problems=add_places(entry.content, [base], entry.spelling))
    handed = _find_handed(catalog, source)
    needs_routines = any(calls_routine(one.steps) for one in (source, *handed.values()))
    surroundings = Surroundings(
        base=base,
        contracts=catalog.contracts,
        broken_contracts={
            one.id: f"{one.problems[0].message} (contract file {one.source_ref}{_line_of(one.problems[0])})"
            for one in reversed(catalog.broken_contracts)
        },
        routines=_routines(catalog, entry) if needs_routines else (),
        workflows=handed,
        workflow_ids=tuple(one.id for one in catalog.entries if one.is_usable),
    )
    compilation = compile_workflow(source, surroundings)
    if compilation.pinned is not None:
        compilation = _with_flow(source, compilation, catalog.operations)
    if not compilation.problems:
        return compilation
    return replace(compilation, problems=add_places(entry.content, compilation.problems, entry.spelling))


def pin(catalog: Catalog, entry: CatalogEntry, source: SourceWorkflow) -> Pinned:
    """Return the compiled workflow that a run keeps.

    Raise Fault WORKFLOW_INVALID with every problem if it does not compile.
    """
    compilation = compile_entry(catalog, entry, source)
    if compilation.pinned is None:
        raise refuse_entry(entry, compilation.problems)
    return compilation.pinned


def _compile_base(catalog: Catalog, entry: CatalogEntry) -> BaseCompilation | Problem | None:
    """Return the base of a customisation, compiled, or why that fails; None if the workflow extends no
    other.
    """
    if not entry.extends:
        return None
    try:
        found = find_workflow(catalog, entry.extends)
    except Fault as fault:
        return Problem(code="unknown_id", message=fault.message, pointer="/extends", fix="Name another one.")
    compilation = compile_entry(catalog, *found)
    if compilation.pinned is None:
        message = f"{entry.extends} has errors, so nothing can extend it: {compilation.problems[0].message}"
        fix = f"Correct it: handrail workflow validate {entry.extends}"
        return Problem(code="unknown_id", message=message[:1024], pointer="/extends", fix=fix)
    return BaseCompilation(pinned=compilation.pinned, pointers=compilation.pointers)


def _find_handed(catalog: Catalog, source: SourceWorkflow) -> dict[str, SourceWorkflow]:
    """Return the workflows that its steps delegate, and those that these delegate."""
    found: dict[str, SourceWorkflow] = {}
    waiting = list(list_named(source.steps))
    entries = {entry.id: entry for entry in catalog.entries if entry.is_usable} if waiting else {}
    while waiting:
        name = waiting.pop()
        entry = entries.get(name)
        read = None if entry is None or name in found else read_entry(entry).workflow
        if read is not None:
            found[name] = read
            waiting += list_named(read.steps)
    return found


def _with_flow(
    source: SourceWorkflow, compilation: Compilation, operations: Operations | None
) -> Compilation:
    """Return the compilation, also checked against what a run would meet."""
    assert compilation.pinned is not None, "only what compiles has a way through it"
    found = check_flow(source, compilation.pinned.workflow, compilation.pointers, operations)
    for child, made in compilation.inline:
        if made.pinned is not None:
            inside = _with_flow(child, made, operations)
            found = (*found, *(one for one in inside.problems if one not in compilation.problems))
    is_sound = all(problem.severity != "error" for problem in found)
    return replace(
        compilation,
        pinned=compilation.pinned if is_sound else None,
        problems=(*compilation.problems, *found),
    )


def list_errors_in_use(catalog: Catalog, entry: CatalogEntry) -> tuple[Problem, ...]:
    """Return why a start would be refused although the file can be read.

    For example, a file that it names is missing or unusable. Bundled workflows are compiled before a release
    is made.
    """
    if not entry.is_usable or entry.source_kind == "bundled":
        return ()
    source = read_entry(entry).workflow
    if source is None:
        return ()
    problems = compile_entry(catalog, entry, source).problems
    return tuple(problem for problem in problems if problem.severity == "error")


def problem_row(problem: Problem) -> WorkflowProblem:
    """Return a problem as answers show it; line and column once they are known."""
    return make_from(WorkflowProblem, problem, edit=edit_rows(problem.edit) if problem.edit else [])


def rows_of(entry: CatalogEntry, problems: Iterable[Problem]) -> list[WorkflowProblem]:
    """Return the first problems of a file for a list.

    Only a call about the file itself gets edits of its text.
    """
    first = list(problems)[:20]
    return [problem_row(one) for one in (first if entry.spelling == "json" else drop_edits(first))]


def _routines(catalog: Catalog, caller: CatalogEntry) -> tuple[SourceWorkflow, ...]:
    """Return the sub-workflows that a call may mean, bundled ones first.

    Files from elsewhere keep their sub-workflows next to them under ids of their own, reserved ones too:
    those serve their neighbours, which call them as their files do.
    """
    held = [
        entry
        for entry in catalog.entries
        if entry.kind == "routine" and (entry.is_usable or entry.source_kind == caller.source_kind)
    ]
    ordered = sorted(held, key=lambda entry: entry.source_kind != "bundled")
    named = [(entry, read_entry(entry).workflow) for entry in ordered]
    return tuple(
        replace(source, id=entry.own_id) if entry.own_id and source_of(entry) == source_of(caller) else source
        for entry, source in named
        if source is not None
    )


def refuse_entry(entry: CatalogEntry, problems: Iterable[Problem]) -> Fault:
    """Return why a file of the library cannot be used, with every error."""
    errors = [problem for problem in problems if problem.severity == "error"]
    reserved = any(problem.code == "reserved_id" for problem in errors)
    return Fault(
        WORKFLOW_ID_RESERVED if reserved else WORKFLOW_INVALID,
        f"The workflow file {quote(entry.source_ref)} cannot be used: {errors[0].message}"[:1024],
        details={"workflow_id": entry.id, "problems": msgspec.to_builtins(rows_of(entry, errors))},
    )


def find_undeclared_checks(
    entry: CatalogEntry, declared: Sequence[str], wanted: Iterable[str] = ()
) -> list[Problem]:
    """Return problems for checks that steps need to pass and the project does not declare.

    A run pins the declared checks at its start. `wanted` is from the compiled form: checks that the file
    itself does not name come from its base, or from workflows that it delegates.
    """
    document = decode_document(entry.content, entry.spelling, entry.decoded)
    named = list(_list_named_checks(document, ""))
    inherited = dict.fromkeys(wanted).keys() - {name for name, _ in named}
    places = [*named, *((name, "/extends" if entry.extends else "") for name in sorted(inherited))]
    return [
        Problem(
            code="unknown_id",
            message=f"The project declares no check {quote_name(name)}, so nothing will prove this step.",
            pointer=place,
            fix=explain_undeclared(name, declared),
            severity="warning",
        )
        for name, place in places
        if name not in declared
    ]


def explain_undeclared(name: str, declared: Sequence[str]) -> str:
    """Return what to do about a check that a step names and the project does not declare."""
    near = guess_name(name, declared)
    return f"Did you mean {near}?" if near else f"Declare {name} under checks in .handrail/config.json."


def _list_named_checks(value: Json, pointer: str) -> Iterator[tuple[str, str]]:
    proof = value.get("evidence") if isinstance(value, dict) else None
    if isinstance(proof, dict) and isinstance(proof.get("check"), str):
        yield str(proof["check"]), f"{pointer}/evidence/check"
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        if isinstance(one, dict | list):
            yield from _list_named_checks(one, join_pointer(pointer, key))
