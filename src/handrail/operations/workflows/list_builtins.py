"""`workflow builtins`: what every workflow can use without defining it."""

from __future__ import annotations

from typing import Annotated, Any, assert_never

from msgspec import UNSET, Meta, UnsetType

from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Json, Success, make_from
from handrail.contract.parameters import Cursor, ProjectPath
from handrail.operations.workflow_catalog import load_catalog
from handrail.runtime.operation import Input, Maybe, Operation
from handrail.runtime.paging import MOST_ITEMS, PAGE_BYTES, page_of
from handrail.runtime.runtime import ReadPorts, project_of
from handrail.views.workflows import BuiltinKind, BuiltinList, BuiltinRow, Setting
from handrail.workflows.builtins.placement import make_routine_template
from handrail.workflows.builtins.specs import (
    Builtin,
    CapabilitySpec,
    ContractSpec,
    FeatureSpec,
    RefSpec,
    TemplateSpec,
)
from handrail.workflows.builtins.templates import all_builtins
from handrail.workflows.compiled import InputSpec
from handrail.workflows.reading.reader import read_workflow


class ListBuiltins(Input, frozen=True, kw_only=True):
    """The filters of a list of builtins."""

    kind: Maybe[Annotated[BuiltinKind, Meta(description="Only this kind.")]] = UNSET
    query: Maybe[Annotated[str, Meta(description="Words in id, title or summary.", max_length=200)]] = UNSET
    limit: Maybe[Annotated[int, Meta(description="Items per page.", ge=1, le=MOST_ITEMS)]] = UNSET
    cursor: Maybe[Cursor] = UNSET
    project: Maybe[ProjectPath] = UNSET


def list_builtins(rt: ReadPorts, request: ListBuiltins) -> Success:
    """Return one page, by kind and id."""
    words = [] if request.query is UNSET else request.query.lower().split()
    rows = [_describe(builtin) for builtin in (*all_builtins(), *_routines(rt, request.project))]
    chosen = [
        row
        for row in rows
        if (request.kind is UNSET or row.kind == request.kind)
        and all(word in f"{row.id} {row.title} {row.summary}".lower() for word in words)
    ]
    # The closed set fits one page; most fields of a row are shown only on request.
    ordered = sorted(chosen, key=_order)
    page = page_of(rt, OPERATION, request, ordered, _order, lambda row: row, 2 * PAGE_BYTES)
    return Success(data={"scope": "builtins, and every routine as a template"}, page=page)


def _routines(rt: ReadPorts, project: str | UnsetType) -> list[TemplateSpec]:
    """Return the sub-workflows of the library, which workflows call like templates."""
    entries = [
        entry for entry in load_catalog(rt, project_of(rt, project)).entries if entry.kind == "routine"
    ]
    sources = [
        read_workflow(entry.content, entry.spelling, entry.decoded).workflow
        for entry in entries
        if entry.is_usable
    ]
    return [make_routine_template(source) for source in sources if source is not None]


def _order(row: BuiltinRow) -> tuple[str, ...]:
    return (row.kind, row.id)


def _describe(builtin: Builtin) -> BuiltinRow:
    match builtin:
        case TemplateSpec():
            call: dict[str, Any] = {"type": "template_call", "templateId": builtin.id}
            args = {"args": builtin.example_args} if builtin.example_args else {}
            return _described(builtin, "template", call | args, settings=builtin.args)
        case FeatureSpec():
            configured = {"id": builtin.id, "config": builtin.example_config}
            example = configured if builtin.example_config else builtin.id
            return _described(builtin, "feature", example, settings=builtin.config)
        case ContractSpec():
            return _described(
                builtin, "contract", builtin.example, text=builtin.guidance, schema=builtin.schema
            )
        case RefSpec():
            return _described(builtin, "ref", {"kind": "ref", "refId": builtin.id}, text=builtin.text)
        case CapabilitySpec():
            return _described(builtin, "capability", {builtin.id: "required"}, text=builtin.probe)
        case never:
            assert_never(never)


def _described(
    builtin: Builtin,
    kind: BuiltinKind,
    example: Json,
    *,
    settings: dict[str, InputSpec] | None = None,
    text: str = "",
    schema: dict[str, Any] | None = None,
) -> BuiltinRow:
    return make_from(
        BuiltinRow,
        builtin,
        kind=kind,
        settings=[_setting(name, spec) for name, spec in (settings or {}).items()],
        example=example,
        text=text,
        schema=schema,
    )


def _setting(name: str, spec: InputSpec) -> Setting:
    default = None if spec.default is UNSET else spec.default
    return make_from(Setting, spec, name=name, enum=list(spec.enum), default=default)


OPERATION = Operation(
    name="workflow.builtins",
    effect="read",
    where="client",
    summary="List the templates, features, contracts, refs and capabilities that a workflow can use.",
    input=ListBuiltins,
    output=BuiltinList,
    item=BuiltinRow,
    perform=list_builtins,
    shape=Shape(
        levels={
            "minimal": ("id", "kind", "title"),
            "standard": ("id", "kind", "title", "summary", "settings", "example"),
        },
        id_field="id",
        select="items",
        on_demand=("text", "schema"),
    ),
    default_sort="kind, id",
)
