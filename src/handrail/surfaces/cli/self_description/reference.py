"""`handrail reference`: the whole tool as data, or the part that one question needs. Touches no store."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import E_NOT_FOUND, E_USAGE, KINDS
from handrail.contract.conformance.answers import EXITS
from handrail.contract.disclosure.fields import MARKS, Shape
from handrail.contract.outcome import Answer, Fault, Json, NextCall, Success
from handrail.contract.suggest import find_nearest
from handrail.contract.wording import quote
from handrail.program.doctor.program_checks import ReleaseReadiness, release_readiness
from handrail.runtime.operation import Input, Operation
from handrail.runtime.runtime import Runtime
from handrail.surfaces.cli.reading.command_table import COMMANDS
from handrail.surfaces.cli.reading.parse import words_of
from handrail.surfaces.cli.reading.spelling import HELP
from handrail.surfaces.cli.self_description.reference_data import cli_reference
from handrail.version import __version__

TOOL = "handrail"
RISK_TIER = "T2"
"""The text of SECURITY.md."""

_Name = Annotated[str, Meta(min_length=1, max_length=128)]


class ShowReference(Input, frozen=True, kw_only=True):
    """The part to show; without one, an index of the whole, which `--mvi full` shows with every flag."""

    command: Annotated[_Name, Meta(description="One command, by its words.")] | UnsetType = UNSET
    domain: Annotated[_Name, Meta(description="The commands that begin with this word.")] | UnsetType = UNSET
    schema: Annotated[_Name, Meta(description="One output type, with its JSON Schema.")] | UnsetType = UNSET


class Selection(Answer, frozen=True, kw_only=True):
    """What was asked for, and how much of it there is."""

    kind: str
    value: str
    command_count: int
    schema_count: int
    views: list[str] | UnsetType = UNSET
    """Further views of the same command, each with a slice of its own."""


class ReferenceFlag(Answer, frozen=True, kw_only=True):
    """A flag with the same meaning on every command that offers it."""

    name: str
    type: str
    values: list[str] | None
    minimum: int | None
    maximum: int | None
    applies_to: str
    """In words; `global_flags` of each command is exact."""
    env: str | None
    description: str


class ReferenceParam(Answer, frozen=True, kw_only=True):
    """One flag or position of a command; the slice of one command omits values that add nothing."""

    name: str
    flag: str | UnsetType | None = UNSET
    position: int | UnsetType | None = UNSET
    field: str | UnsetType = UNSET
    """Its place in the object that `--input` takes; omitted if it is the name."""
    type: str
    kind: str | UnsetType = UNSET
    required: bool | UnsetType = UNSET
    multiple: bool | UnsetType = UNSET
    values: list[str] | UnsetType | None = UNSET
    minimum: int | UnsetType | None = UNSET
    maximum: int | UnsetType | None = UNSET
    sensitive: bool | UnsetType = UNSET
    description: str


class ReferenceBatch(Answer, frozen=True, kw_only=True):
    """How several targets are given, and whether the rest continues after one failed."""

    param: str | None
    continue_on_error: bool
    max_targets: int


class ReferenceBudget(Answer, frozen=True, kw_only=True):
    """The highest cost of the minimal level (LAFS 9.1)."""

    level: str
    per: str
    tokens: int


class ReferenceCommand(Answer, frozen=True, kw_only=True):
    """One leaf of the command tree; the index of all commands has the fields without a default."""

    path: str
    type: str
    effect: str | UnsetType = UNSET
    where: str | UnsetType | None = UNSET
    """Where it runs with a team server: `server`, `client` or `both`; None if it has no operation."""
    operation: str | UnsetType | None = UNSET
    tool: str | UnsetType | None = UNSET
    description: str
    usage: str | UnsetType = UNSET
    params: list[ReferenceParam] | UnsetType = UNSET
    global_flags: list[str] | UnsetType = UNSET
    expand: list[str] | UnsetType = UNSET
    """Values that `--expand` takes here."""
    paging: str | UnsetType = UNSET
    default_sort: str | UnsetType | None = UNSET
    batch: ReferenceBatch | UnsetType | None = UNSET
    dangerous: bool | UnsetType = UNSET
    requires_confirmation: bool | UnsetType = UNSET
    authorised_by: str | UnsetType | None = UNSET
    blast_radius: str | UnsetType | None = UNSET
    output: str | UnsetType = UNSET
    raw: bool | UnsetType = UNSET
    stream: bool | UnsetType = UNSET
    verdict: bool | UnsetType = UNSET
    output_schema: str
    dry_run_output_schema: str | UnsetType | None = UNSET
    mvi_budget: ReferenceBudget | UnsetType | None = UNSET
    needs: list[str] | UnsetType = UNSET
    errors: list[str] | UnsetType = UNSET
    examples: list[str] | UnsetType = UNSET
    deprecated: str | UnsetType | None = UNSET


class ReferenceSchema(Answer, frozen=True, kw_only=True):
    """One output type; field names are dotted, as `--fields` takes them."""

    shape: str
    fields: list[str]
    untrusted_fields: list[str]
    key_style: str
    json_schema: dict[str, Json] | UnsetType = UNSET


class ReferenceCode(Answer, frozen=True, kw_only=True):
    """One native code, and Handrail's own codes that are reported under it."""

    exit: int
    retryable: bool
    reserved: bool
    native_codes: list[str]
    reserved_codes: list[str]
    """Own codes that no call on the command line fails with."""


class Reference(Answer, frozen=True, kw_only=True):
    """Everything that an agent may rely on."""

    tool: str
    version: str
    risk_tier: str
    release_readiness: ReleaseReadiness
    selection: Selection | UnsetType = UNSET
    global_flags: list[ReferenceFlag]
    marks: list[str] | UnsetType = UNSET
    """Keys that a payload may have besides its own: that it was cut, where, and which text comes
    from outside.
    """
    commands: list[ReferenceCommand]
    schemas: dict[str, ReferenceSchema]
    exit_codes: dict[str, str]
    error_codes: dict[str, ReferenceCode]


def show_reference(rt: Runtime, request: ShowReference) -> Success:
    """Return the whole reference, or one slice of it.

    Raises: Fault E_USAGE for two questions at once, E_NOT_FOUND with the nearest names.
    """
    asked: dict[str, str] = msgspec.to_builtins(request)
    if len(asked) > 1:
        raise Fault(
            E_USAGE,
            "At most one of --command, --domain and --schema can be asked for.",
            details={"usage": "handrail reference --command 'run start'"},
        )
    catalogue = cli_reference(rt.registry, _spaced(asked.get("command", "")))
    head = {
        "tool": TOOL,
        "version": __version__,
        "risk_tier": RISK_TIER,
        "release_readiness": msgspec.to_builtins(release_readiness(rt.installation())),
    }
    if not asked:
        return Success(data={**head, "marks": list(MARKS), **_part(catalogue, catalogue["commands"], None)})
    ((kind, value),) = asked.items()
    return Success(data={**head, **_slice(catalogue, kind, value)})


def help_slice(rt: Runtime, words: str) -> Success:
    """Return the answer of `--help --format json`: the slice of a command or of a group, or the whole."""
    if not words:
        return show_reference(rt, ShowReference())
    if words in COMMANDS:
        return show_reference(rt, ShowReference(command=words))
    return show_reference(rt, ShowReference(domain=words))


def _slice(catalogue: dict[str, Any], kind: str, value: str) -> dict[str, Any]:
    wanted = _spaced(value)
    match kind:
        case "command":
            commands = [one for one in catalogue["commands"] if one["path"] == wanted]
            known = sorted(COMMANDS)
        case "domain":
            commands = [one for one in catalogue["commands"] if one["path"].split()[0] == wanted]
            known = sorted({one["path"].split()[0] for one in catalogue["commands"]})
        case _:
            commands = [one for one in catalogue["commands"] if wanted in _labels(one)]
            known = list(catalogue["schemas"])
    if wanted not in known:
        near = find_nearest(wanted, known)
        raise Fault(
            E_NOT_FOUND,
            f"The reference has no {kind} {quote(wanted)}.",
            details={"resource": kind, "id": wanted[:128], "did_you_mean": near},
            hint=f"Choose a {kind} from `handrail reference`.",
            next_call=NextCall(operation=OPERATION.name, params={kind: near[0]})
            if near
            else NextCall(operation=HELP, params={}),  # the whole reference costs many tokens
        )
    part = _schema_part(catalogue, wanted) if kind == "schema" else _part(catalogue, commands, wanted)
    if kind == "command":
        part = _briefly(part)
    selection: dict[str, Any] = {
        "kind": kind,
        "value": wanted,
        "command_count": len(part["commands"]),
        "schema_count": len(part["schemas"]),
    }
    views = [path for path in known if path != wanted and words_of(path) == words_of(wanted)]
    if kind == "command" and views:
        selection["views"] = views
    return {"selection": selection, **part}


def _spaced(words: str) -> str:
    return " ".join(words.split())


def _briefly(part: dict[str, Any]) -> dict[str, Any]:
    """Return what a caller needs to type one command, because an agent reads it before its first
    step.

    The flags that every command shares, the codes and exits and the fields below the first level
    are in the whole reference, in the slice of a domain and in that of a schema.
    """
    return _NOTHING | {
        "commands": [
            one | {"params": [_brief_param(param) for param in one["params"]]} for one in part["commands"]
        ],
        "schemas": {
            label: schema | {names: _first_level(schema[names]) for names in ("fields", "untrusted_fields")}
            for label, schema in part["schemas"].items()
        },
    }


_NOTHING: dict[str, Any] = {
    "global_flags": [],
    "commands": [],
    "schemas": {},
    "exit_codes": {},
    "error_codes": {},
}
"""The parts of a slice in their order, still empty."""


def _first_level(names: list[str]) -> list[str]:
    return list(dict.fromkeys(name.split(".")[0] for name in names))


def _brief_param(param: dict[str, Any]) -> dict[str, Any]:
    """Return a parameter without what its type, its values and its name already say."""
    known = {"kind": param["kind"], "field": param["name"]}
    return {
        name: value
        for name, value in param.items()
        if value is not None and value is not False and known.get(name) != value
    }


def _part(catalogue: dict[str, Any], commands: list[dict[str, Any]], value: str | None) -> dict[str, Any]:
    """Return these commands with the flags, types and codes that they need; all of them without a value."""
    flags = catalogue["global_flags"]
    schemas = catalogue["schemas"]
    natives = {kind.native for kind in KINDS.values()}
    if value is not None:
        offered = {flag for one in commands for flag in one["global_flags"]}
        labels = {label for one in commands for label in _labels(one)}
        flags = [flag for flag in flags if flag["name"] in offered]
        schemas = {label: schema for label, schema in schemas.items() if label in labels}
        natives = _natives(commands)
    return {
        "global_flags": flags,
        "commands": commands,
        "schemas": schemas,
        "exit_codes": _exit_codes(natives),
        "error_codes": _error_codes(
            natives, {code for one in catalogue["commands"] for code in one["errors"]}
        ),
    }


def _natives(commands: list[dict[str, Any]]) -> set[str]:
    """Return the native codes that these commands can answer with."""
    return {KINDS[code].native for one in commands for code in one["errors"]}


def _schema_part(catalogue: dict[str, Any], label: str) -> dict[str, Any]:
    """Return one output type with its JSON Schema, and no commands: their slices name it."""
    schema = catalogue["json_schemas"][label]
    definitions = _reachable(schema, catalogue["definitions"])
    described = {**catalogue["schemas"][label], "json_schema": {**schema, "$defs": definitions}}
    return _NOTHING | {"schemas": {label: described}}


def _reachable(schema: Json, definitions: dict[str, Json]) -> dict[str, Json]:
    """Return the definitions that a schema needs, directly or through others."""
    found: dict[str, Json] = {}
    left = [schema]
    while left:
        match left.pop():
            case dict() as node:
                name = str(node.get("$ref", "")).removeprefix("#/$defs/")
                if name in definitions and name not in found:
                    found[name] = definitions[name]
                    left.append(definitions[name])
                left += list(node.values())
            case list() as nodes:
                left += nodes
            case _:
                pass
    return dict(sorted(found.items()))


def _labels(command: dict[str, Any]) -> set[str]:
    return {label for label in (command["output_schema"], command["dry_run_output_schema"]) if label}


def _exit_codes(natives: set[str]) -> dict[str, Json]:
    statuses = {0, *(KINDS[code].exit_status for code in natives)}
    return {str(status): f"{row.meaning} {row.agent}" for status, row in EXITS.items() if status in statuses}


def _error_codes(natives: set[str], declared: set[str]) -> dict[str, Json]:
    """Return the error codes; those that no command declares are reserved, so no caller handles them (CLI
    section 6).
    """
    own: dict[str, list[str]] = {}
    for kind in KINDS.values():
        if kind.code != kind.native:
            own.setdefault(kind.native, []).append(kind.code)
    reachable = {KINDS[code].native for code in declared}
    return {
        code: {
            "exit": KINDS[code].exit_status,
            "retryable": KINDS[code].is_retryable,
            "reserved": KINDS[code].is_reserved or code not in reachable,
            "native_codes": sorted(one for one in own.get(code, []) if one in declared),
            "reserved_codes": sorted(one for one in own.get(code, []) if one not in declared),
        }
        for code in sorted(natives)
    }


OPERATION = Operation(
    name="self.reference",
    effect="read",
    where="client",
    summary="Describe every command, flag, output type, error code and exit status as data.",
    input=ShowReference,
    output=Reference,
    perform=show_reference,
    shape=Shape(
        levels={"minimal": ("tool", "version", "risk_tier", "release_readiness")},
        drop_order=("schemas", "error_codes", "global_flags"),
        windows=("commands",),
    ),
)
