"""The generated reference pages as Markdown: commands, errors, events, MCP tools."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias, get_args

import msgspec

from handrail.contract.catalogue import KINDS, SHARED_ERRORS, UPDATE_DETAILS, Kind
from handrail.contract.conformance.answers import EXITS
from handrail.engine.events import Event, Fact
from handrail.surfaces.cli.self_description.reference_data import cli_reference
from handrail.surfaces.mcp.tools import CLEAR_BY_NAME, input_schema, tool_definitions
from handrail.wiring import registry
from handrail_code.mcp.tool_set import code_tool_definitions, tools
from tools.commands import merged
from tools.commands.rows import GLOBAL_FLAGS
from tools.page_parts import listing, page, table, type_text

_EFFECTS = {
    "read": "changes nothing.",
    "process": "starts the program that the caller names, and adds one fact about it; no server offers it.",
    "record": "adds one fact to the log, without a gate; the same call again adds nothing more.",
    "create": "creates once per `--request-id`, or with `--confirm`; the same key gets the recorded reply.",
    "ack": "acts once per token; the same token again gets the recorded reply.",
    "gated": "changes nothing without `--confirm`, which takes the token of a `--dry-run`, once.",
    "dangerous": "changes nothing without `--dangerous`, and `--confirm` with the token of a dry run, once.",
    "update": "replaces the program in one call; `--check` and `--dry-run` only look.",
    "server": "runs until it is ended; its answers are not documents of the command line.",
    "scratch": "works in a scratch directory only.",
}


_Params: TypeAlias = dict[tuple[str, str, bool], tuple[Mapping[str, Any], str]]
"""Parameters by name, text and whether they are required: of each, how it is given and its text."""
_NOT_DESCRIBED = {
    "output": "What the step is acknowledged with.",
    "autonomy": "How far to go without the user.",
    "riskPolicy": "How much risk to take.",
}
"""What tool definitions leave out, because every word of them is paid for in every chat."""


def cli_page() -> str:
    """docs/reference/cli.md"""
    entries: list[dict[str, Any]] = [
        {**command, **merged.help_of(registry(), path)}
        for path, command in merged.commands(registry()).items()
    ]
    shared = _shared_params(entries)
    return page(
        "# Command line",
        "Every command of `handrail`, with its own flags.\n"
        "[Global flags](global-flags.md) work on every command and are not repeated here.\n"
        "A command has the [effect](global-flags.md#effects) `read` and changes nothing, "
        "unless its entry names another.\n"
        "The operation of a command has its name with dots (`run.start`), unless the entry names another.\n"
        "`handrail reference --command COMMAND` shows the errors, the sort order and the schema of one "
        "command.\n"
        "Its help, `handrail COMMAND --help`, also shows examples.",
        "## Shared parameters",
        "These mean the same in each command that lists them under *Also*.",
        "\n".join(_param_row(*one) for one in shared.values()),
        *_command_groups(entries, shared),
    )


def global_flags_page() -> str:
    """docs/reference/global-flags.md"""
    return page(
        "# Global flags",
        "The flags that work on every command, what a command may change, and how a line is read.\n"
        "Standard output is one JSON document, whether the call succeeds or fails.\n"
        "`ok` says which, and the exit status comes from the [error catalogue](errors.md).\n"
        "A command never asks a question.",
        "## Flags",
        "A global flag can stand anywhere on the line.\nIt takes precedence over its environment variable.",
        table(
            ("flag", "environment", "what"),
            (
                [
                    f"`{one.flag} {one.value}".rstrip() + "`",
                    f"`{one.environment}`" if one.environment else "",
                    one.text,
                ]
                for one in GLOBAL_FLAGS
            ),
        ),
        "Other settings and variables are on [their own page](settings.md).",
        "## Effects",
        "The effect of a command says what it can change.",
        table(("effect", "what it means"), ([effect, f"It {text}"] for effect, text in _EFFECTS.items())),
        "## Parsing",
        "- Names are exact: no prefixes, no case folding.\n"
        "- `--a=b` is the same as `--a b`; `--` ends flags.\n"
        "- A value that is itself a flag needs the `=` form.\n"
        "- `details.problems` lists every problem of a line at once.\n"
        "- `--input` takes the whole input, so you can pass back `nextCall.params` of any reply.",
        "## Errors of every command",
        f"Every command can answer {', '.join(_code_link(code) for code in SHARED_ERRORS)}.",
    )


def _command_groups(entries: Sequence[Mapping[str, Any]], shared: _Params) -> Iterator[str]:
    """One part of the page for each first word; commands of one word come last, together."""
    groups: dict[str, list[str]] = {}
    for entry in entries:
        group, _, rest = entry["path"].partition(" ")
        groups.setdefault(group if rest else "", []).append(_command_section(entry, shared))
    for group, sections in sorted(groups.items(), key=lambda one: not one[0]):
        yield f"## The group {group}" if group else "## Other commands"
        yield from sections


def _shared_params(entries: Sequence[Mapping[str, Any]]) -> _Params:
    """Parameters that several commands offer with the same text: of each name its commonest text."""
    counted = Counter(key for entry in entries for key in _params_of(entry))
    every = {key: one for entry in entries for key, one in _params_of(entry).items()}
    most_used = {key[0]: key for key, _ in reversed(counted.most_common())}
    return {key: every[key] for key in sorted(most_used.values()) if counted[key] > 1}


def _params_of(entry: Mapping[str, Any]) -> _Params:
    """The parameters that say more than the command itself."""
    rows = zip(entry["params"], entry["texts"], strict=True)
    return {
        (param["flag"] or param["value"], text, param["required"]): (param, text)
        for param, text in rows
        if text != entry["summary"]
    }


def _param_row(param: Mapping[str, Any], text: str) -> str:
    name = " ".join(filter(None, (param["flag"], param["value"])))
    required = " (required)" if param["required"] else ""
    return f"- `{name}`{required}: {text}"


def errors_page() -> str:
    """docs/reference/errors.md"""
    return page(
        "# Errors",
        "What each exit status and each code means, and what to do about it.\n"
        "Every trouble is one row of one catalogue.\n"
        "`error.code` of the CLI envelope is the native code.\n"
        "A code without `E_` travels in `details.domain_code`.\n"
        "The exit status is the same in both envelopes.\n"
        "A code without `E_` has everything from its native code, except what its entry says.\n"
        "The details of a failed update also have "
        f"{', '.join(f'`{name}`' for name in UPDATE_DETAILS)}.",
        "## Exit statuses",
        "What a process ends with, and what to do about it.",
        table(("exit", "meaning", "what to do", "native codes"), _exit_rows()),
        *(_error_section(kind) for kind in KINDS.values()),
    )


def _exit_rows() -> list[list[str]]:
    return [
        [
            str(status),
            row.meaning,
            row.agent,
            ", ".join(sorted({f"`{kind.native}`" for kind in KINDS.values() if kind.exit_status == status})),
        ]
        for status, row in EXITS.items()
    ]


def events_page() -> str:
    """docs/reference/events.md"""
    schemas = msgspec.json.schema_components(list(get_args(Event)), ref_template="{name}")[1]
    kinds = {fact.__name__ for fact in get_args(Event)}
    parts = {name: schema for name, schema in schemas.items() if name not in kinds}
    return page(
        "# Events",
        "The closed set of facts in a session log.\n"
        "An event is written once and never changed; Handrail rejects a kind outside this set.\n"
        "A bold field is always there, and a field without a type is a string.",
        *(_event_section(fact, schemas) for fact in get_args(Event)),
        "## Parts",
        "What the fields above are made of; where there are several, `kind` says which.",
        *(_part_section(name, schema) for name, schema in sorted(parts.items())),
    )


def mcp_tools_page() -> str:
    """docs/reference/mcp-tools.md"""
    return page(
        "# MCP tools",
        "Every tool of `handrail mcp`, in the order in which clients receive them.\n"
        "Each tool also takes `project` (string): the project directory, without it the one in which the "
        "server was started.\n"
        "A tool sets the hints that it lists to `true` and the other hints to `false`.\n"
        "[The MCP server](mcp.md) shows what replies look like.\n"
        "[Build on the MCP server](../how-to/build-on-mcp.md) shows how to use them.",
        *(_tool_section(definition) for definition in tool_definitions(start_session=True)),
        "## The code set\n\n"
        "`handrail mcp --set code` serves these five tools instead, for agents without a shell; "
        "one server serves one set.\n"
        "[Code tools](../explanation/code-tools.md) explains the answers.\n"
        "Each answer has tokens; pass one back as `continuation`, to the tool that `next_actions` names.",
        *(_tool_section(_with_descriptions(definition)) for definition in code_tool_definitions()),
    )


def _with_descriptions(definition: dict[str, Any]) -> dict[str, Any]:
    """The definition with what each argument is for: clients do not get it where the name says enough."""
    tool = tools()[definition["name"]]
    fields = definition["inputSchema"]["properties"]
    whole = input_schema(registry().operation(tool.operation).input, tuple(fields), {}, CLEAR_BY_NAME)[
        "properties"
    ]
    described = {
        name: {**field, "description": whole[name].get("description", "")} if name in whole else field
        for name, field in fields.items()
    }
    return {**definition, "inputSchema": {**definition["inputSchema"], "properties": described}}


def _command_section(entry: Mapping[str, Any], shared: _Params) -> str:
    """A command in few lines: parameters that other commands share are only named."""
    facts = [_answers(entry["path"])]
    if entry["effect"] != "read":
        facts.append(f"effect `{entry['effect']}`")
    if entry["operation"] and entry["operation"] != entry["path"].replace(" ", "."):
        facts.append(f"operation `{entry['operation']}`")
    parts = [f"### {entry['path']}", entry["summary"] + "\n" + "; ".join(facts) + "."]
    params = _params_of(entry)
    rows = [_param_row(*one) for key, one in params.items() if key not in shared]
    also = [f"`{key[0]}`" for key in params if key in shared]
    if also:
        rows.append(f"- Also: {', '.join(also)}.")
    if rows:
        parts.append("\n".join(rows))
    example = entry["examples"][0].removesuffix(" --compact")
    if example != f"handrail {entry['path']}":
        parts.append(f"```sh\n{example}\n```")
    return "\n\n".join(parts)


def _answers(path: str) -> str:
    described = _catalogue()[path]
    labels = dict.fromkeys(filter(None, (described["output_schema"], described["dry_run_output_schema"])))
    return "Answers " + ", with `--dry-run` ".join(f"`{label}`" for label in labels)


@cache
def _catalogue() -> dict[str, dict[str, Any]]:
    return {one["path"]: one for one in cli_reference(registry())["commands"]}


def _error_section(kind: Kind) -> str:
    """What the table above does not have; a code of its own repeats nothing that its native code says."""
    native = KINDS[kind.native]
    shown = _error_facts(kind)
    if kind is not native:
        same = _error_facts(native)
        differing = [fact for fact, other in zip(shown, same, strict=True) if fact != other]
        shown = [f"Native `{kind.native}`", *differing]
    else:
        shown = [fact for fact in shown if not fact.startswith("no ")]
    facts = ["; ".join(shown) + "."]
    if kind.is_reserved:
        facts.append("Reserved: nothing answers with it yet.")
    own = [name for name in kind.details if name not in UPDATE_DETAILS]
    if own:
        facts.append("Details: " + ", ".join(f"`{name}`" for name in own) + ".")
    return f"## {kind.code}\n\n{kind.hint}\n" + "\n".join(facts)


def _error_facts(kind: Kind) -> list[str]:
    """How each interface shows the code; in every list the same fact has the same place."""
    is_waiting = kind.is_retryable and kind.wait_ms is not None
    return [
        f"HTTP {kind.http_status}",
        f"LAFS `{kind.lafs_code}` ({kind.category}), action `{kind.agent_action}`",
        f"retry after {kind.wait_ms} ms" if is_waiting else "no retry",
        "a person has to act" if kind.needs_escalation else "no person has to act",
    ]


def _event_section(fact: type[Fact], schemas: dict[str, Any]) -> str:
    kind = str(fact.__struct_config__.tag)
    parts = [f"## {kind}", _one_per_line(inspect.getdoc(fact) or "")]
    rows = [row for row in _field_rows(schemas[fact.__name__]) if row[0] != "`kind`"]
    if rows:
        parts.append(listing(rows))
    return "\n\n".join(parts)


def _part_section(name: str, schema: dict[str, Any]) -> str:
    text = [_one_per_line(schema["description"])] if "description" in schema else []
    return "\n\n".join([f"### {name}", *text, listing(_field_rows(schema))])


def _field_rows(schema: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Name and type of each field: bold if it is always there, without a type if it is a string."""
    required = schema.get("required", ())
    return [
        (f"**`{name}`**" if name in required else f"`{name}`", "", _type_unless_string(field))
        for name, field in schema["properties"].items()
    ]


def _type_unless_string(field: dict[str, Any]) -> str:
    text = type_text(field)
    return "" if text == "string" else text


def _tool_section(definition: dict[str, Any]) -> str:
    rows = list(_argument_rows(definition["inputSchema"], ""))
    hints = ", ".join(f"`{name}`" for name, value in definition["annotations"].items() if value)
    return "\n\n".join(
        [
            f"## {definition['name']}",
            _one_per_line(definition["description"]),
            listing(rows),
            *([f"Hints: {hints}."] if hints else []),
        ]
    )


def _argument_rows(schema: dict[str, Any], prefix: str) -> Iterator[tuple[str, str, str]]:
    """Arguments, and those inside them by their path."""
    for name, field in schema["properties"].items():
        if name == "project":  # each tool takes it, and the page says so once
            continue
        required = ", required" if name in schema.get("required", ()) else ""
        text = field.get("description") or _NOT_DESCRIBED.get(name, "")
        yield (f"`{prefix}{name}`", type_text(field) + required, text)
        if "properties" in field:
            yield from _argument_rows(field, f"{prefix}{name}.")


def _one_per_line(text: str) -> str:
    """One sentence per line, as everywhere in the docs."""
    return text.replace(". ", ".\n")


def _code_link(code: str) -> str:
    return f"[`{code}`](errors.md#{_anchor(code)})"


def _anchor(heading: str) -> str:
    return heading.lower().replace(" ", "-")
