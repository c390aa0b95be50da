"""The generated reference pages as Markdown: commands, errors, events, MCP tools."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, get_args

import msgspec

from handrail.contract.catalogue import KINDS, SHARED_ERRORS, Kind
from handrail.contract.conformance.answers import EXITS
from handrail.engine.events import Event, Fact
from handrail.surfaces.cli.self_description.reference_data import cli_reference
from handrail.surfaces.mcp.tools import CLEAR_BY_NAME, input_schema, tool_definitions
from handrail.wiring import registry
from handrail_code.mcp.tool_set import code_tool_definitions, tools
from tools.commands import merged
from tools.commands.rows import GLOBAL_FLAGS
from tools.page_parts import page, table, type_text

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


_UNTOLD = {
    "project": "The project directory; without it the one in which the server was started.",
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
    shared = ", ".join(_code_link(code) for code in SHARED_ERRORS)
    return page(
        "# Command line",
        "Every command of `handrail`: its flags, its effect, its errors.\n"
        "Standard output is one JSON document, whether the call succeeds or fails.\n"
        "`ok` says which, and the exit status comes from the [error catalogue](errors.md).\n"
        "Nothing is ever asked: a call ends by itself with an answer, a refusal or a timeout.",
        "## Commands",
        table(
            ("command", "effect", "what it does"),
            (
                [f"[`{one['path']}`](#{_anchor(one['path'])})", one["effect"], one["summary"]]
                for one in entries
            ),
        ),
        "## Effects",
        "What a call can change.",
        table(("effect", "what it means"), ([effect, f"It {told}"] for effect, told in _EFFECTS.items())),
        *(_command_section(entry) for entry in entries),
        "## Global flags",
        "They stand anywhere on the line.\nA flag beats its environment variable.",
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
        "## Parsing",
        "- Names are exact: no prefixes, no case folding.\n"
        "- `--a=b` is the same as `--a b`; `--` ends flags.\n"
        "- A value that is itself a flag needs the `=` form.\n"
        "- Every problem of a line is told at once, in `details.problems`.\n"
        "- `--input` takes the whole input, so `nextCall.params` of any reply can be passed back.",
        "## Errors of every command",
        f"Beside its own errors every command can answer {shared}.",
        "## Every flag",
        "Flags, the commands that offer them, and the environment variable that a flag beats.",
        table(("flag", "commands", "environment"), _flag_rows()),
        "Settings and variables beside flags are on [their own page](settings.md).",
    )


def _flag_rows() -> list[list[str]]:
    """Every flag of every command once, sorted; flags of the same commands share a row."""
    shared = {one.flag: one.environment for one in GLOBAL_FLAGS}
    commands = merged.commands(registry())
    offered: dict[str, list[str]] = {}
    for path, command in commands.items():
        own = [param["flag"] for param in command["params"] if param["flag"]]
        for flag in (*own, *command["globals"]):
            offered.setdefault(flag, []).append(path)
    rows: dict[tuple[str, str], list[str]] = {}
    for flag, paths in sorted(offered.items()):
        environment = f"`{shared[flag]}`" if shared.get(flag) else ""
        rows.setdefault((_offering(paths, sorted(commands)), environment), []).append(f"`{flag}`")
    return [[", ".join(flags), *told] for told, flags in rows.items()]


def _offering(paths: Sequence[str], every: Sequence[str]) -> str:
    """Few exceptions are told instead of many commands."""
    missing = [path for path in every if path not in paths]
    if len(missing) > len(every) // 2:
        return ", ".join(f"`{path}`" for path in sorted(paths))
    told = [f"`{path}`" for path in missing]
    return f"all but {', '.join(told)}" if told else "all"


def errors_page() -> str:
    """docs/reference/errors.md"""
    rows = (
        [
            _code_link(kind.code).replace("errors.md", ""),
            f"`{kind.native}`",
            str(kind.exit_status),
            "yes" if kind.is_retryable else "no",
            f"`{kind.lafs_code}`",
            str(kind.http_status),
        ]
        for kind in KINDS.values()
    )
    return page(
        "# Errors",
        "What each exit status and each code means, and what to do about it.\n"
        "Every trouble is one row of one catalogue.\n"
        "`error.code` of the CLI envelope is the native code.\n"
        "A code without `E_` travels in `details.domain_code`.\n"
        "The exit status is the same in both envelopes.",
        "## Exit statuses",
        "What a process ends with, and what to do about it.",
        table(("exit", "meaning", "what to do", "native codes"), _exit_rows()),
        "## Every code",
        table(("code", "native", "exit", "retry as it is", "LAFS code", "HTTP"), rows),
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
        "An event is written once and never changed; a kind outside this set is refused.",
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
        "[The MCP server](mcp.md) tells what replies look like.\n"
        "[Build on the MCP server](../how-to/build-on-mcp.md) shows how to use them.",
        *(_tool_section(definition) for definition in tool_definitions(start_session=True)),
        "## The code set\n\n"
        "`handrail mcp --set code` serves these five tools instead, for agents without a shell; "
        "one server serves one set.\n"
        "[Code tools](../explanation/code-tools.md) tells what the answers mean.\n"
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


def _command_section(entry: Mapping[str, Any]) -> str:
    """In few lines: what all commands share (the effects, the common errors) has its own section."""
    facts = [f"Effect: [{entry['effect']}](#effects)"]
    if entry["operation"]:
        facts.append(f"operation `{entry['operation']}`")
    facts.append(_answers(entry["path"]))
    if entry["sort"]:
        facts.append(f"sorted by {entry['sort']}")
    told = [entry["summary"], "; ".join(facts) + "."]
    own = [code for code in entry["errors"] if code not in SHARED_ERRORS]
    if own:
        told.append("Errors: " + ", ".join(_code_link(code) for code in own) + ".")
    parts = [f"## {entry['path']}", "\n".join(told)]
    if entry["params"]:
        rows = [
            [
                "`" + " ".join(filter(None, (param["flag"], param["value"]))) + "`",
                "yes" if param["required"] else "",
                text,
            ]
            for param, text in zip(entry["params"], entry["texts"], strict=True)
        ]
        parts.append(table(("argument", "required", "what"), rows))
    parts.append("```sh\n" + "\n".join(entry["examples"]) + "\n```")
    return "\n\n".join(parts)


def _answers(path: str) -> str:
    told = _catalogue()[path]
    labels = dict.fromkeys(filter(None, (told["output_schema"], told["dry_run_output_schema"])))
    return "answers " + ", with `--dry-run` ".join(f"`{label}`" for label in labels)


@cache
def _catalogue() -> dict[str, dict[str, Any]]:
    return {one["path"]: one for one in cli_reference(registry())["commands"]}


def _error_section(kind: Kind) -> str:
    """What the table above does not have."""
    facts = [f"- LAFS category {kind.category}, agent action `{kind.agent_action}`."]
    if kind.is_retryable and kind.wait_ms is not None:
        facts.append(f"- The same call may be sent again after {kind.wait_ms} ms.")
    if kind.needs_escalation:
        facts.append("- A person has to look at it.")
    if kind.is_reserved:
        facts.append("- Reserved: nothing answers with it yet.")
    if kind.details:
        facts.append("- Details: " + ", ".join(f"`{name}`" for name in kind.details) + ".")
    return f"## {kind.code}\n\n{kind.hint}\n\n" + "\n".join(facts)


def _event_section(fact: type[Fact], schemas: dict[str, Any]) -> str:
    kind = str(fact.__struct_config__.tag)
    parts = [f"## {kind}", _one_per_line(inspect.getdoc(fact) or "")]
    rows = [row for row in _field_rows(schemas[fact.__name__]) if row[0] != "`kind`"]
    if rows:
        parts.append(table(("field", "type", "always there"), rows))
    return "\n\n".join(parts)


def _part_section(name: str, schema: dict[str, Any]) -> str:
    text = [_one_per_line(schema["description"])] if "description" in schema else []
    rows = table(("field", "type", "always there"), _field_rows(schema))
    return "\n\n".join([f"### {name}", *text, rows])


def _field_rows(schema: dict[str, Any]) -> list[list[str]]:
    return [
        [f"`{name}`", type_text(field), "yes" if name in schema.get("required", ()) else "no"]
        for name, field in schema["properties"].items()
    ]


def _tool_section(definition: dict[str, Any]) -> str:
    rows = list(_argument_rows(definition["inputSchema"], ""))
    hints = ", ".join(
        f"`{name}` {'yes' if value else 'no'}" for name, value in definition["annotations"].items()
    )
    return "\n\n".join(
        [
            f"## {definition['name']}",
            _one_per_line(definition["description"]),
            table(("argument", "type", "required", "what"), rows),
            f"Hints: {hints}.",
        ]
    )


def _argument_rows(schema: dict[str, Any], prefix: str) -> Iterator[list[str]]:
    """Arguments, and those inside them by their path."""
    for name, field in schema["properties"].items():
        is_required = "yes" if name in schema.get("required", ()) else "no"
        text = field.get("description") or _UNTOLD.get(name, "")
        yield [f"`{prefix}{name}`", type_text(field), is_required, text]
        if "properties" in field:
            yield from _argument_rows(field, f"{prefix}{name}.")


def _one_per_line(text: str) -> str:
    """One sentence per line, as everywhere in the docs."""
    return text.replace(". ", ".\n")


def _code_link(code: str) -> str:
    return f"[`{code}`](errors.md#{_anchor(code)})"


def _anchor(heading: str) -> str:
    return heading.lower().replace(" ", "-")
