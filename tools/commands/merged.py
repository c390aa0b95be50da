"""The rows of every part merged with the operation registry: what the parser, help and reference know.

`tools/generate.py` writes it into `packed/commands.json` and `packed/help.json`, because merging a command
imports its operation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import cache
from typing import Any, cast

import msgspec

from handrail.contract.catalogue import (
    BUDGET_EXCEEDED,
    E_CONFIG,
    E_CONFIRMATION_REQUIRED,
    E_CONFLICT,
    E_FORBIDDEN,
    EXPAND_UNKNOWN,
    INVALID_TOKEN,
    KEYRING_INVALID,
    RUN_TOKEN_ERRORS,
    SESSION_NOT_HEALTHY,
    SHARED_ERRORS,
    STORE_IO_ERROR,
    STORE_PERMISSION_DENIED,
    STORE_UNAVAILABLE,
    TOKEN_EXPIRED,
    TOKEN_SCOPE_MISMATCH,
    TOKEN_SESSION_LOCKED,
)
from handrail.runtime.operation import Operation, Registry
from handrail.surfaces.cli.call import operation_of
from handrail.surfaces.cli.reading.command_table import COMMAND_DEFAULTS, PARAM_DEFAULTS
from handrail.surfaces.cli.reading.command_types import Command, CommandHelp, GlobalHelp, Kind, Param
from handrail.surfaces.cli.reading.parse import mark_of, words_of
from handrail.surfaces.cli.self_description.help_table import HELP_DEFAULTS
from handrail.surfaces.cli.self_description.reference_data import NO_LIMIT
from tools.commands import code, core, serve, team
from tools.commands.rows import GLOBAL_FLAGS, GlobalFlag, Row, Spelling

FLAG_ERRORS = {BUDGET_EXCEEDED.code: "--budget", EXPAND_UNKNOWN.code: "--expand"}
"""Shared codes that only one flag brings."""
STORE_ERRORS = (STORE_IO_ERROR.code, STORE_PERMISSION_DENIED.code)
ON_SCRATCH_DISK = "store.selftest"
"""Its writers are processes of their own, and never touch the store of the user."""
STORE_ROOMS = ("run.", "session.", "store.", "ledger.")
STORE_READERS = frozenset({"workflow.inspect", "preferences.show", "preferences.set", "check.run"})
"""Operations that read the store though they are about something else: a run to compare or to record, a
session with preferences of its own."""
KEY_ERRORS = (KEYRING_INVALID.code,)
SIGNED_EFFECTS = ("gated", "dangerous")
_CONFIRM_ERRORS = (E_CONFIRMATION_REQUIRED.code, E_CONFLICT.code)
EFFECT_ERRORS = {"create": _CONFIRM_ERRORS, "gated": _CONFIRM_ERRORS, "dangerous": _CONFIRM_ERRORS}
"""What an effect brings: the token of a dry run may be missing, or the world may have changed since."""
FIELD_ERRORS = {
    "cursor": (INVALID_TOKEN.code, TOKEN_EXPIRED.code, TOKEN_SCOPE_MISMATCH.code),
    "ackToken": RUN_TOKEN_ERRORS,
    "checkpointToken": RUN_TOKEN_ERRORS,
    "stateToken": RUN_TOKEN_ERRORS,
}
"""What an input field brings, by its wire name: each is a token of ours, and can be wrong in these ways."""
WRITING_TOKEN_ERRORS = frozenset({TOKEN_SESSION_LOCKED.code, SESSION_NOT_HEALTHY.code})
AUTHORISES = {
    "create": "--request-id or --confirm",
    "ack": "a token",
    "gated": "--confirm",
    "dangerous": "--dangerous and --confirm",
}
GATE_FIELDS = frozenset({"dryRun", "confirm", "dangerous", "continueOnError"})
"""Input fields that global flags carry."""


APPLIES_TO: dict[str, tuple[str, Callable[[Row, Operation | None, Collection[str]], bool]]] = {
    "every": ("every command", lambda *_: True),
    "calls": (
        "commands that make calls, the server included",
        lambda row, *_: row.output in ("document", "protocol"),
    ),
    "answers": ("commands that answer with a document", lambda _, called, __: called is not None),
    "queries": (
        "commands that only read",
        lambda _, called, __: called is not None and called.effect == "read",
    ),
    "expansions": (
        "reads with parts that are left out unless asked for",
        lambda _, called, __: called is not None and bool(called.shape.on_demand),
    ),
    "writes": ("commands that change something", lambda *given: "dryRun" in given[-1]),
    "gated": ("commands that a preview can authorise", lambda *given: "confirm" in given[-1]),
    "dangerous": ("commands that destroy something", lambda *given: "dangerous" in given[-1]),
    "batch": ("commands that take several targets", lambda *given: "continueOnError" in given[-1]),
    "stream": (
        "commands that can answer line by line",
        lambda _, called, __: called is not None and called.stream is not None,
    ),
    "exports": ("commands whose payload can go into a file", lambda row, *_: bool(row.out)),
}
"""By `on` of a flag: the commands that it is for, in words and by row, operation and the fields of its input;
`global_flags` of each command says it exactly."""


PARTS = {
    "handrail": core.ROWS,
    "handrail_code": code.ROWS,
    "handrail_serve": serve.ROWS,
    "handrail_team": team.ROWS,
}
"""By package, the rows of its commands."""
BLAST_RADIUS = {
    "record": "Appends one fact to one session; nothing is overwritten.",
    "process": "Starts the named program with your rights, and appends one fact to one session.",
    "create": "Adds something new; nothing is changed or overwritten.",
    "ack": "Appends to one session; nothing is overwritten, and an older step can still be continued.",
    "gated": "Changes exactly what the preview lists.",
    "dangerous": "Removes what the preview lists; it cannot be undone.",
    "update": "Replaces the installed program and its skill; sessions, keys and settings stay.",
    "server": "Whatever its clients ask for, through the same gates.",
    "scratch": "A scratch directory, which is removed again.",
}
"""By effect, what can be lost or changed."""


@cache
def rows() -> dict[str, tuple[str, Row]]:
    """The package and the row of every command by its path, those that begin with the same word together."""
    found = [(part, row) for part, held in PARTS.items() for row in held]
    order = {word: at for at, word in reversed([*enumerate(row.path.split()[0] for _, row in found)])}
    return {
        row.path: (part, row) for part, row in sorted(found, key=lambda one: order[one[1].path.split()[0]])
    }


def commands(registry: Registry) -> dict[str, Command]:
    """What the parser knows, by path."""
    return {path: command_of(registry, path) for path in rows()}


def table_content(registry: Registry) -> dict[str, Any]:
    """Return what the parser's file holds: rows without defaults, and each set of global flags once."""
    known = commands(registry)
    sets = list(dict.fromkeys(tuple(command["globals"]) for command in known.values()))
    return {
        "flags": [_without_defaults(_global_param(flag), PARAM_DEFAULTS) for flag in GLOBAL_FLAGS],
        "global_sets": sets,
        "commands": [
            {
                **_without_defaults(command, COMMAND_DEFAULTS),
                "globals": sets.index(tuple(command["globals"])),
                "params": [_without_defaults(param, PARAM_DEFAULTS) for param in command["params"]],
            }
            for command in known.values()
        ],
    }


def _without_defaults(row: Any, defaults: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if value != defaults[key]}


def _global_param(flag: GlobalFlag) -> Param:
    return Param(
        name=flag.flag.removeprefix("--"),
        flag=flag.flag,
        kind=flag.kind,
        value=flag.value,
        position=0,
        required=False,
        choices=flag.choices,
        least=flag.least,
        most=flag.most,
        is_plural=False,
    )


def command_help(registry: Registry) -> dict[str, CommandHelp]:
    """What help and the reference page say, by path."""
    return {path: help_of(registry, path) for path in rows()}


def called_of(registry: Registry, row: Row) -> Operation | None:
    """The operation of a row; None for a command that is not one."""
    return operation_of(registry, row.operation) if row.operation else None


@cache
def command_of(registry: Registry, path: str) -> Command:
    """What the parser knows of one command."""
    _, row = rows()[path]
    called = called_of(registry, row)
    fields = _fields(called)
    return Command(
        path=row.path,
        operation=row.operation,
        tool="" if called is None else called.tool,
        summary=row.summary or called.summary if called is not None else row.summary,
        effect=_effect(row, called),
        params=tuple(_param(spelling, fields) for spelling in _spellings(row, called, fields)),
        globals=tuple(flag.flag for flag in GLOBAL_FLAGS if _applies(flag, row, called)),
        takes_project="project" in fields,
        raw=row.raw,
        raw_when=row.raw_when,
        columns=row.columns,
        shown=row.shown,
        seconds=row.seconds,
        out=row.out,
    )


def help_of(registry: Registry, path: str) -> CommandHelp:
    """What help says about one command."""
    (part, row), command = rows()[path], command_of(registry, path)
    called = called_of(registry, row)
    fields = _fields(called)
    texts = (spelling.text or _description(spelling, fields) for spelling in _spellings(row, called, fields))
    return {
        "part": part,
        "usage": _usage(command),
        "authorised_by": AUTHORISES.get(command["effect"], ""),
        "sort": "" if called is None else called.default_sort,
        "texts": tuple(texts),
        "examples": row.examples,
        "errors": row.errors if called is None else (*called.errors, *derive_errors(called, command)),
        "output": row.output,
        "blast_radius": row.blast_radius or BLAST_RADIUS.get(command["effect"], ""),
        "needs": row.needs,
        "schema": () if called is not None else (row.schema[0], *row.schema[1]),
    }


def help_content(registry: Registry) -> dict[str, Any]:
    """Return what the file of help holds: what it says of each global flag and of each command."""
    flags: dict[str, GlobalHelp] = {
        flag.flag: {
            "text": flag.text,
            "environment": flag.environment,
            "applies_to": APPLIES_TO[flag.on][0],
        }
        for flag in GLOBAL_FLAGS
    }
    commands = {
        path: _without_defaults(entry, HELP_DEFAULTS) for path, entry in command_help(registry).items()
    }
    return {"flags": flags, "commands": commands}


def derive_errors(called: Operation, command: Command) -> tuple[str, ...]:
    """What follows from its effect, its fields and its flags, so that no operation lists it."""
    effect, flags = command["effect"], command["globals"]
    brought = [code for field in _fields(called) for code in FIELD_ERRORS.get(field, ())]
    if called.effect == "read":  # who only reads takes no lock, and reads what is damaged, too
        brought = [code for code in brought if code not in WRITING_TOKEN_ERRORS]
    permission = () if effect == "read" else (E_FORBIDDEN.code, E_CONFIG.code)
    gated = (*EFFECT_ERRORS.get(effect, ()), *permission)
    shared = [code for code in SHARED_ERRORS if code not in FLAG_ERRORS or FLAG_ERRORS[code] in flags]
    uses_store = called.name != ON_SCRATCH_DISK and (
        called.name.startswith(STORE_ROOMS) or called.name in STORE_READERS
    )
    kept = STORE_ERRORS if uses_store else ()
    away = (STORE_UNAVAILABLE.code,) if uses_store else ()
    has_tokens = called.item is not None and ("cursor" in _fields(called) or bool(called.tool))
    acts_on_a_run = called.name.startswith("run.") and called.effect != "read"
    is_signed = acts_on_a_run or has_tokens or called.effect in SIGNED_EFFECTS
    keys = KEY_ERRORS if is_signed else ()
    if called.name.startswith("self."):  # wrong settings and variables are reported, never refused
        shared.remove(E_CONFIG.code)
    is_taken = "--out" in flags or "requestId" in _fields(called)  # by another file, or another call
    taken = (E_CONFLICT.code,) if is_taken else ()
    return tuple(dict.fromkeys((*brought, *gated, *taken, *kept, *away, *keys, *shared)))


def _effect(row: Row, called: Operation | None) -> str:
    if called is not None:
        named = {"", *(one.field for one in row.spellings)}
        is_whole = row.takes_rest or called.reads_without in named
        return called.effect if is_whole else "read"
    return "server" if row.output == "protocol" else "scratch"


def _applies(flag: GlobalFlag, row: Row, called: Operation | None) -> bool:
    _, is_meant = APPLIES_TO[flag.on]
    return flag.flag in row.also or is_meant(row, called, _fields(called))


def _fields(called: Operation | None) -> dict[str, Any]:
    """The input's fields with their JSON Schemas, nested ones by dotted name; `required` is on each."""
    if called is None:
        return {}
    (root,), parts = msgspec.json.schema_components([called.input], ref_template="{name}")
    return dict(_flattened(parts[root["$ref"]], parts, ""))


def _flattened(schema: dict[str, Any], parts: dict[str, Any], prefix: str) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, field in schema["properties"].items():
        is_required = name in schema.get("required", ()) and not prefix
        found.append((prefix + name, {**field, "isRequired": is_required}))
        refs = [
            one["$ref"] for one in (field, *field.get("allOf", ()), *field.get("anyOf", ())) if "$ref" in one
        ]
        for ref in refs:
            found += _flattened(parts[ref], parts, f"{prefix}{name}.")
    return found


def _spellings(row: Row, called: Operation | None, fields: dict[str, Any]) -> list[Spelling]:
    """Those of the row, the flag that chooses its view, then every other field that one flag can carry."""
    mark = mark_of(row.path)
    is_own = not mark or any(spelling.flag == mark for spelling in row.spellings)
    text = row.summary or ("" if called is None else called.summary)
    marks = [] if is_own else [Spelling(field="", flag=mark, kind="switch", text=text)]
    if not row.takes_rest:
        return [*row.spellings, *marks]
    named = {spelling.field for spelling in row.spellings}
    plain = [
        Spelling(field=name)
        for name, schema in fields.items()
        if name not in named | GATE_FIELDS | {"project"} and "." not in name and _kind(schema) is not None
    ]
    return [*row.spellings, *marks, *plain]


def _param(spelling: Spelling, fields: dict[str, Any]) -> Param:
    schema = fields.get(spelling.field, {})
    choices = spelling.choices or tuple(schema.get("enum") or schema.get("items", {}).get("enum", ()))
    kind = spelling.kind or _kind(schema)
    assert kind is not None, f"{spelling.field} needs a kind in its row"
    flag = spelling.flag or ("" if spelling.position else "--" + _kebab(spelling.field))
    return Param(
        name=spelling.field,
        flag=flag,
        kind=kind,
        value=""
        if kind == "switch"
        else spelling.value or "|".join(choices) or _kebab(spelling.field).upper(),
        position=spelling.position,
        required=spelling.is_required or bool(schema.get("isRequired")),
        choices=choices,
        least=schema.get("minimum", 0),
        most=schema.get("maximum", spelling.most or NO_LIMIT) if kind == "int" else 0,
        is_plural=kind in ("documents", "sources", "choices", "ids", "words"),
    )


def _kind(schema: dict[str, Any]) -> Kind | None:
    """The kind of flag that a JSON Schema asks for; None for what only --input can carry."""
    if "enum" in schema:
        return "choice"
    kinds = {"string": "text", "integer": "int", "boolean": "switch"}
    return cast("Kind | None", kinds.get(str(schema.get("type"))))


def _kebab(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])|_", "-", name.split(".")[-1]).lower()


def _description(spelling: Spelling, fields: dict[str, Any]) -> str:
    text: str = fields.get(spelling.field, {}).get("description", "")
    assert text, f"{spelling.field} has no description"
    return text


_MOST_IN_USAGE = 12
"""Nobody reads a line of more flags; they are listed below it anyway."""


def _usage(command: Command) -> str:
    words = ["handrail", words_of(command["path"])]
    params = command["params"]
    for param in params if len(params) <= _MOST_IN_USAGE else ():
        flag = "" if param["position"] else param["flag"]
        shown = " ".join(filter(None, (flag, param["value"]))) + ("…" if param["is_plural"] else "")
        is_needed = param["required"] or param["flag"] == mark_of(command["path"]) != ""
        words.append(shown if is_needed else f"[{shown}]")
    return " ".join(words) + (" [flags]" if command["operation"] else "")
