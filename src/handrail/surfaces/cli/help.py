"""`--help`: text for people. As a document it is a slice of the reference. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from handrail.surfaces.cli import _catalog
from handrail.surfaces.cli.parse import commands_under
from handrail.surfaces.cli.rows import CommandHelp, ParamHelp

TOOL = "handrail"


def help_text(words: str) -> str:
    """The help of a command, of a group, or of the tool."""
    entry = _catalog.COMMANDS.get(words)
    return _command_text(entry) if entry is not None else _group_text(words)


def _command_text(entry: CommandHelp) -> str:
    flags = [flag for flag in _catalog.GLOBALS if flag["name"] in entry["globals"]]
    lines = [f"Usage: {entry['usage']}", "", entry["summary"], _effect(entry)]
    if entry["sort"]:
        lines.append(f"Sorted by {entry['sort']}.")
    lines += _section("Arguments", entry["params"]) + _section("Global flags", flags)
    lines += ["", "Examples:", *(f"  {example}" for example in entry["examples"])]
    if entry["errors"]:
        lines += ["", "Errors: " + ", ".join(entry["errors"])]
    return "\n".join(lines) + "\n"


def _group_text(words: str) -> str:
    paths = commands_under(words)
    width = max(len(path) for path in paths)
    named = " ".join(filter(None, (TOOL, words)))
    return "\n".join(
        [
            f"Usage: {named} COMMAND [flags]",
            "",
            "Commands:",
            *(f"  {path:<{width}}  {_catalog.COMMANDS[path]['summary']}" for path in paths),
            *_section("Global flags", _catalog.GLOBALS),
            "",
            "Examples:",
            *(f"  {_catalog.COMMANDS[path]['examples'][0]}" for path in paths),
            "",
            f"`{TOOL} COMMAND --help` shows the flags of one command.",
            "",
        ]
    )


def _effect(entry: CommandHelp) -> str:
    if entry["effect"] == "read":
        return "Changes nothing."
    if entry["authorised_by"]:
        return (
            f"Changes something only with {entry['authorised_by']}; the same call again changes nothing more."
        )
    return (
        "Runs until it is stopped." if entry["effect"] == "server" else "Works in a scratch directory only."
    )


def _section(title: str, described: Sequence[ParamHelp]) -> list[str]:
    if not described:
        return []
    labels = [" ".join(filter(None, (one["name"], one["value"]))) for one in described]
    width = max(len(label) for label in labels)
    rows = [f"  {label:<{width}}  {_told(one)}" for label, one in zip(labels, described, strict=True)]
    return ["", f"{title}:", *rows]


def _told(described: ParamHelp) -> str:
    required = " Required." if described["is_required"] else ""
    environment = f" [env: {described['environment']}]" if described["environment"] else ""
    return described["text"] + required + environment
