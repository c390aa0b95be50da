"""The generated reference pages as Markdown: commands, errors, events, MCP tools."""

from __future__ import annotations

import inspect
from collections import Counter
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
    shared = _shared_params(entries)
    return page(
        "# Command line",
        "Every command of `handrail`, with its effect and its own flags.\n"
        "[Global flags](global-flags.md) work on every command and are not repeated here.\n"
        "`handrail reference --command COMMAND` shows the errors, examples and schema of one command.\n"
        "`handrail COMMAND --help` shows its help.\n"
        "The operation of a command has its name with dots (`run.start`), unless the command names another.",
        "## Commands",
        _command_links([one["path"] for one in entries]),
        "## Shared flags",
        "These flags mean the same on each command that lists them under *Also*.",
        "\n".join(_param_row(*one) for one in shared.values()),
        *(_command_section(entry, shared) for entry in entries),
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


def _command_links(paths: Sequence[str]) -> str:
    """One line for each group of commands."""
    groups: dict[str, list[str]] = {}
    for path in paths:
        group, _, rest = path.partition(" ")
        groups.setdefault(group if rest else "", []).append(f"[`{path}`](#{_anchor(path)})")
    return "\n".join(f"- {', '.join(links)}" for links in groups.values())


def _shared_params(entries: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], tuple[Any, str]]:
    """Flags that three commands or more offer with the same text: of each flag its commonest text."""
    counted = Counter(key for entry in entries for key in _params_of(entry))
    every = {key: one for entry in entries for key, one in _params_of(entry).items()}
    most_used = {flag: (flag, text) for (flag, text), _ in reversed(counted.most_common()) if flag}
    return {key: every[key] for _, key in sorted(most_used.items()) if counted[key] > 2}


def _params_of(entry: Mapping[str, Any]) -> dict[tuple[str, str], tuple[Any, str]]:
    rows = zip(entry["params"], entry["texts"], strict=True)
    return {(param["flag"], text): (param, text) for param, text in rows}


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
        "The exit status is the same in both envelopes.",
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


def _command_section(entry: Mapping[str, Any], shared: Mapping[tuple[str, str], Any]) -> str:
    """A command in few lines: flags that other commands share are only named."""
    facts = [f"Effect: [{entry['effect']}](global-flags.md#effects)"]
    if entry["operation"] and entry["operation"] != entry["path"].replace(" ", "."):
        facts.append(f"operation `{entry['operation']}`")
    facts.append(_answers(entry["path"]))
    if entry["sort"]:
        facts.append(f"sorted by {entry['sort']}")
    parts = [f"## {entry['path']}", entry["summary"] + "\n" + "; ".join(facts) + "."]
    params = _params_of(entry)
    rows = [_param_row(*one) for key, one in params.items() if key not in shared]
    also = [f"`{flag}`" for flag, text in params if (flag, text) in shared]
    if also:
        rows.append(f"- Also: {', '.join(also)}.")
    if rows:
        parts.append("\n".join(rows))
    parts.append(f"```sh\n{entry['examples'][0]}\n```")
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
    facts = [
        f"`{kind.native}`, exit {kind.exit_status}, HTTP {kind.http_status}; "
        f"LAFS `{kind.lafs_code}` ({kind.category}), action `{kind.agent_action}`."
    ]
    if kind.is_retryable and kind.wait_ms is not None:
        facts.append(f"You may send the same call again after {kind.wait_ms} ms.")
    if kind.needs_escalation:
        facts.append("A person has to act.")
    if kind.is_reserved:
        facts.append("Reserved: nothing answers with it yet.")
    if kind.details:
        facts.append("Details: " + ", ".join(f"`{name}`" for name in kind.details) + ".")
    return f"## {kind.code}\n\n{kind.hint}\n" + "\n".join(facts)


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
    return [
        (f"`{name}`", "always there" if name in schema.get("required", ()) else "", type_text(field))
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
            listing(rows),
            f"Hints: {hints}.",
        ]
    )


def _argument_rows(schema: dict[str, Any], prefix: str) -> Iterator[tuple[str, str, str]]:
    """Arguments, and those inside them by their path."""
    for name, field in schema["properties"].items():
        required = ", required" if name in schema.get("required", ()) else ""
        text = field.get("description") or _UNTOLD.get(name, "")
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
