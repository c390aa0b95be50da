"""`workflow list`: the workflows that can be started here. Broken files are listed too."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta

from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Success, make_from
from handrail.contract.parameters import Cursor, ProjectPath
from handrail.contract.search_terms import QueryTerm, index_terms, read_query, weigh_by_rarity
from handrail.operations.workflow_catalog import list_errors_in_use, load_catalog, rows_of
from handrail.operations.workflows.input_outlines import MOST_DESCRIPTION, outline_inputs
from handrail.runtime.operation import Input, Maybe, Operation
from handrail.runtime.paging import MOST_ITEMS, page_of
from handrail.runtime.runtime import ReadPorts, project_of
from handrail.views.workflows import WorkflowList, WorkflowRow
from handrail.workflows.catalog import (
    BrokenContract,
    Catalog,
    CatalogEntry,
    catalog_order,
    name_source,
    source_of,
)
from handrail.workflows.problem import Problem
from handrail.workflows.problem_places import add_places


class ListWorkflows(Input, frozen=True, kw_only=True):
    """The filters of a list of workflows."""

    query: Maybe[
        Annotated[str, Meta(description="Words; those that fit best come first.", max_length=200)]
    ] = UNSET
    source: Maybe[
        Annotated[
            str, Meta(description="Only from this source: a kind, a path or an address.", max_length=4_096)
        ]
    ] = UNSET
    kind: Maybe[Annotated[Literal["workflow", "routine"], Meta(description="Only this kind.")]] = UNSET
    limit: Maybe[Annotated[int, Meta(description="Items per page.", ge=1, le=MOST_ITEMS)]] = UNSET
    cursor: Maybe[Cursor] = UNSET
    project: Maybe[ProjectPath] = UNSET


def list_workflows(rt: ReadPorts, request: ListWorkflows) -> Success:
    """Return one page of the catalog."""
    project = project_of(rt, request.project)
    catalog = load_catalog(rt, project)
    chosen = [
        entry
        for entry in (*catalog.entries, *map(_contract_entry, catalog.broken_contracts))
        if (request.kind is UNSET or entry.kind == request.kind)
        and (request.source is UNSET or _is_of(entry, request.source, project))
    ]
    entries, order = (
        (chosen, catalog_order) if request.query is UNSET else _rank_by_words(chosen, request.query)
    )
    page = page_of(rt, OPERATION, request, entries, order, partial(_row, catalog))
    facts = {"total": len(entries), "project": project, "scope": _scope(request, catalog, project)}
    return Success(data=facts, page=page)


def _contract_entry(broken: BrokenContract) -> CatalogEntry:
    """Return the entry of a contract file that cannot be used, as a workflow file would be listed."""
    named = broken.source_ref
    return make_from(CatalogEntry, broken, name=named, description="", kind="contract", is_usable=False)


def _is_of(entry: CatalogEntry, source: str, project: str) -> bool:
    """Whether the entry matches a source filter (kind, repository or folder)."""
    named = source.removeprefix("./").rstrip("/")
    beside = (entry.source_kind, entry.address.rstrip("/"), name_source(entry))
    if named in beside or entry.source_ref.startswith(f"{named}/"):
        return True
    folder = "contracts" if entry.kind == "contract" else "workflows"
    path = f".handrail/{folder}/{entry.source_ref}"
    is_below = any(one.startswith(f"{named}/") for one in (path, f"{project}/{path}"))
    return is_below and entry.source_kind == "project"


def _scope(request: ListWorkflows, catalog: Catalog, project: str) -> str:
    if request.source is UNSET:
        return "workflows of every source"
    text = f"workflows of the source {request.source}"
    entries = (*catalog.entries, *map(_contract_entry, catalog.broken_contracts))
    if any(_is_of(entry, request.source, project) for entry in entries):
        return text
    return f"{text}, which is none of {', '.join(sorted({source_of(entry) for entry in entries}))}"


_NAMED, _DESCRIBED = 1.0, 0.5
_SortKey: TypeAlias = Callable[[CatalogEntry], tuple[str, ...]]


def _rank_by_words(entries: Sequence[CatalogEntry], query: str) -> tuple[list[CatalogEntry], _SortKey]:
    """Return the entries with any word of the query, the rarest words first, and their sort key."""
    asked = read_query(query)
    named = {id(one): index_terms((one.id, one.name, *one.tags)) for one in entries}
    described = {id(one): index_terms((one.description,)) for one in entries}

    def hit(term: QueryTerm, entry: CatalogEntry) -> float:
        return max(_NAMED * term.hit_by(named[id(entry)]), _DESCRIBED * term.hit_by(described[id(entry)]))

    found_in = {term.term: sum(hit(term, one) > 0 for one in entries) for term in asked}
    weights = weigh_by_rarity(asked, found_in, len(entries))
    scores = {
        id(one): sum(weights[term.term] * hit(term, one) for term in asked if term.term in weights)
        for one in entries
    }

    def order(entry: CatalogEntry) -> tuple[str, ...]:
        return (f"{_BEST - scores[id(entry)]:012.4f}", *catalog_order(entry))

    return sorted((one for one in entries if scores[id(one)]), key=order), order


_BEST = 100_000.0
"""More than any score, so that the best one sorts first as text."""


def _place(entry: CatalogEntry, problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
    """Return the problems with their lines: an entry's problems are known before their places are."""
    unplaced = [one for one in problems if one.pointer and not one.line]
    if not unplaced:
        return problems
    placed = add_places(entry.content, unplaced, entry.spelling)
    return (*(one for one in problems if one not in unplaced), *placed)


def _row(catalog: Catalog, entry: CatalogEntry) -> WorkflowRow:
    errors = _place(
        entry,
        (
            *(one for one in entry.problems if one.severity == "error"),
            *(list_errors_in_use(catalog, entry) if entry.is_usable else ()),
        ),
    )
    return make_from(
        WorkflowRow,
        entry,
        description=_first_sentence(entry.description) or "This file has problems and cannot be used.",
        id_status=entry.id_status,
        source=name_source(entry),
        requires=[one.name for one in outline_inputs(entry.inputs) if one.required and one.default is UNSET],
        source_ref=entry.source_ref if errors else "",
        problems=rows_of(entry, errors),
        warnings=Counter(one.code for one in entry.problems if one.severity != "error"),
    )


def _first_sentence(text: str) -> str:
    """Return the first sentence of a description, for a row; the inspection has all of it."""
    if len(text) <= MOST_DESCRIPTION:
        return text
    sentence = re.split(r"(?<!\.\w\.)(?<=\.) ", text, maxsplit=1)[0]  # the stop of "e.g." ends none
    return sentence if len(sentence) <= MOST_DESCRIPTION else f"{sentence[: MOST_DESCRIPTION - 1].rstrip()}…"


OPERATION = Operation(
    name="workflow.list",
    effect="read",
    where="both",
    summary="List the workflows that can be started here.",
    input=ListWorkflows,
    output=WorkflowList,
    item=WorkflowRow,
    perform=list_workflows,
    shape=Shape(
        levels={"minimal": ("id", "name")},
        id_field="id",
        select="items",
        untrusted=("id", "name", "description", "sourceRef", "problems"),
        trusted_where=("sourceKind", "bundled"),
    ),
    default_sort=(
        "of a query the best match, then namespace (of git and plugins last), kind (workflow first), name"
    ),
    tool="list_workflows",
    tool_description="List the workflows of this project and what they are for.",
    tool_fields=("query", "cursor", "project"),
)
