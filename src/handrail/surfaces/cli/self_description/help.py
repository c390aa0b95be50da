"""`--help` as text for people, and the page of a line without a command. Pure.

As a document it is a slice of the reference. The first page needs no help table, so a bare call
stays cheap.
"""

# ruff: noqa: PLC0415 - only the help of a command needs the tables of all

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from handrail.surfaces.cli.reading.command_table import COMMANDS, GLOBALS
from handrail.surfaces.cli.reading.parse import MORE_WORD, commands_under, label_of, views_of, words_of
from handrail.surfaces.cli.rendering.text import USUAL_WIDTH, wrap

if TYPE_CHECKING:
    from handrail.runtime.operation import Registry
    from handrail.surfaces.cli.reading.command_types import Command, CommandHelp, Param

TOOL = "handrail"
_LOOP = (
    ("handrail workflow list", "find a workflow"),
    ("handrail run start ID --goal TEXT --request-id KEY", "begin: the reply has the first step"),
    ("handrail run continue --ack TOKEN --notes TEXT", "do the step, then send what it asks for"),
    ("handrail session resume", "lost the place? it finds the work again"),
)
_NOUNS = {
    "workflow": "find, inspect, write and try out workflows",
    "run": "start, continue, confirm and close the work on one",
    "session": "what is stored: list, show, needs, note, export, delete",
    "prove": "find out whether your tests test your change",
    "check": "run your tests so that the run has seen them",
    "code": "search, explain and edit source; diff and restore files",
    "settings": "show and change how it behaves",
    "setup": "put it into your agent's clients",
    "console": "open the pages for people in a browser",
    "serve": "the Console, HTTP and MCP on loopback",
    "mcp": "MCP on stdin and stdout",
    "store": "verify, copy and clean the store",
    "doctor": "check the installation",
    "reference": "every command, flag and code as data",
    "update": "to the newest release",
}
"""Nouns in the order of the page; all others are listed under `more`."""


def front_page(width: int = 0) -> str:
    """Return the first page for a new reader: what Handrail is, the loop, and the nouns."""
    width = width or USUAL_WIDTH
    room = max(map(len, (*_NOUNS, "more")))
    more = ", ".join(dict.fromkeys(path.split()[0] for path in other_commands()))
    lines = [
        f"Usage: {TOOL} NOUN VERB [flags]",
        "",
        "Handrail gives an agent one step of a workflow at a time, checks what it reports,",
        "and keeps the place on disk. Answers are JSON; `--human` is for people.",
        "",
    ]
    for line, what in _LOOP:
        lines += [f"  {line}", f"      {what}"]
    lines.append("")
    for noun, what in (*_NOUNS.items(), ("more", more)):
        lines += lay_beside(noun, what, room, width)
    lines += ["", f"`{TOOL} help NOUN` lists its commands, `{TOOL} help NOUN VERB` shows one.", ""]
    return "\n".join(lines)


def other_commands() -> list[str]:
    """Return the commands that the page lists under `more`."""
    return [path for path in commands_under("") if path.split()[0] not in _NOUNS]


def lay_beside(label: str, text: str, room: int, width: int) -> list[str]:
    """Return a name with its meaning beside it, or below it if the name is too long."""
    lines = wrap(text, width - room - 4)
    rest = [" " * (room + 4) + line.replace("\0", " ") for line in lines]
    if len(label) > room:
        return [f"  {label}", *rest]
    return [f"  {label:<{room}}  {rest[0].lstrip()}", *rest[1:]]


# Help

_MOST_ROOM = 34
"""Most columns that a long list of choices takes from the text beside it."""


def help_text(registry: Registry, words: str, width: int = 0) -> str:
    """Return the help of a command, of a group, or of the tool; prose in lines of at most this width."""
    width = width or USUAL_WIDTH
    if not words:
        return front_page(width)
    if words in COMMANDS:
        return _command_text(registry, words_of(words), width)
    return _group_text(words, width)


def _command_text(registry: Registry, words: str, width: int) -> str:
    """Return one command; if it has several views, what each takes."""
    from handrail.surfaces.cli.self_description.help_table import installed_paths, read_help

    views = views_of(words)
    if views[0]["path"] not in installed_paths(registry):
        return _missing_text(registry, views[0], width)
    entries = [read_help()[row["path"]] for row in views]
    first = entries[0]
    taken = [flag for flag in GLOBALS if any(flag["flag"] in view["globals"] for view in views)]
    lines = [f"Usage: {first['usage']}", *(f"       {entry['usage']}" for entry in entries[1:])]
    lines += ["", *wrap(views[0]["summary"], width), *wrap(_effect(views[0], first), width)]
    if first["sort"]:
        lines += wrap(f"Sorted by {first['sort']}.", width)
    params = {
        label_of(param): (f"{param['flag']} {param['value']}".strip(), _argument(param, text))
        for view, entry in reversed([*zip(views, entries, strict=True)])
        for param, text in zip(view["params"], entry["texts"], strict=True)
    }
    lines += _section("Arguments", [*params.values()], width)
    flags = [(f"{flag['flag']} {flag['value']}".rstrip(), _global_flag(flag)) for flag in taken]
    lines += _section("Global flags", flags, width)
    examples = [f"  {example}" for entry in entries for example in entry["examples"]]
    lines += ["", "Examples:", *examples]
    errors = dict.fromkeys(code for entry in entries for code in entry["errors"])
    if errors:
        lines += ["", "Errors:", *wrap(", ".join(errors), width, "  ")]
    return "\n".join(lines) + "\n"


def _missing_text(registry: Registry, command: Command, width: int) -> str:
    """Return the text about a command of a part that is not installed."""
    words = words_of(command["path"])
    missing = registry.refuse_missing(f"The command {words}")
    lines = [*wrap(command["summary"], width), *wrap(missing.message, width), missing.hint]
    return "\n".join([f"Usage: {TOOL} {words} [flags]", "", *lines, ""])


def _group_text(words: str, width: int) -> str:
    paths = other_commands() if words == MORE_WORD else commands_under(words)
    named = "COMMAND" if words == MORE_WORD else f"{words} COMMAND"
    room = max(len(path) for path in paths)
    return "\n".join(
        [
            f"Usage: {TOOL} {named} [flags]",
            "",
            *(line for path in paths for line in lay_beside(path, COMMANDS[path]["summary"], room, width)),
            "",
            f"`{TOOL} help {paths[0]}` shows the flags of one command, with examples.",
            "",
        ]
    )


_OTHER_EFFECTS = {
    "process": "Starts the program that you name, and adds one fact about it to the log.",
    "record": "Adds one fact to the log; the same call again adds nothing more.",
    "server": "Runs until it is ended.",
    "update": "Replaces the program; with --check or --dry-run it only looks.",
    "scratch": "Works in a scratch directory only.",
}


def _effect(command: Command, entry: CommandHelp) -> str:
    if command["effect"] == "read":
        return "Changes nothing."
    if entry["authorised_by"]:
        return (
            f"Changes something only with {entry['authorised_by']}; the same call again changes nothing more."
        )
    return _OTHER_EFFECTS[command["effect"]]


def _section(title: str, described: Sequence[tuple[str, str]], width: int) -> list[str]:
    if not described:
        return []
    room = max((len(label) for label, _ in described if len(label) <= _MOST_ROOM), default=_MOST_ROOM)
    return ["", f"{title}:", *(line for one in described for line in lay_beside(*one, room, width))]


def _argument(param: Param, text: str) -> str:
    return text + (" Required." if param["required"] else "")


def _global_flag(flag: Param) -> str:
    from handrail.surfaces.cli.self_description.help_table import read_flag_help

    helped = read_flag_help()[flag["flag"]]
    return helped["text"] + (f" [env:\0{helped['environment']}]" if helped["environment"] else "")
