"""`--help`: text for people. As a document it is a slice of the reference. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from handrail.surfaces.cli.reading import _table
from handrail.surfaces.cli.reading.parse import commands_under, views_of, words_of
from handrail.surfaces.cli.reading.rows import CommandHelp, ParamHelp
from handrail.surfaces.cli.rendering.text import USUAL_WIDTH, wrap
from handrail.surfaces.cli.self_description.command_tables import global_help, help_of

TOOL = "handrail"
_MOST_ROOM = 34
"""What a long list of choices takes from the text beside it, at most."""


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
    "check": "run your tests so that the run has seen them",
    "code": "search, explain and edit source; diff and restore files",
    "settings": "show and change how it behaves",
    "setup": "put it into your agent's clients",
    "console": "open the pages for people in a browser",
    "serve": "the Console, HTTP and MCP on loopback",
    "mcp": "MCP on stdin and stdout",
    "store": "verify, copy and clean the store",
    "doctor": "check the installation",
    "context": "where a call would act",
    "reference": "every command, flag and code as data",
    "update": "to the newest release",
}
"""In the order of the page; what is not named here stands under `more`."""


def help_text(words: str, width: int = 0) -> str:
    """The help of a command, of a group, or of the tool; prose in lines of at most this width."""
    width = width or USUAL_WIDTH
    if not words:
        return front_page(width)
    if words in _table.COMMANDS:
        return _command_text(words_of(words), width)
    return _group_text(words, width)


def front_page(width: int = USUAL_WIDTH) -> str:
    """What it is, the loop, and the nouns: what a stranger reads first."""
    room = max(map(len, (*_NOUNS, "more")))
    others = dict.fromkeys(path.split()[0] for path in commands_under(""))
    more = ", ".join(noun for noun in others if noun not in _NOUNS)
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
        lines += _described(noun, what, room, width)
    lines += ["", f"`{TOOL} help NOUN` lists its commands, `{TOOL} help NOUN VERB` shows one.", ""]
    return "\n".join(lines)


def _command_text(words: str, width: int) -> str:
    """One command; where it has several views, what each takes."""
    entries = [help_of(row["path"]) for row in views_of(words)]
    first = entries[0]
    taken = [flag for flag in global_help() if any(flag["name"] in entry["globals"] for entry in entries)]
    lines = [f"Usage: {first['usage']}", *(f"       {entry['usage']}" for entry in entries[1:])]
    lines += ["", *wrap(first["summary"], width), *wrap(_effect(first), width)]
    if first["sort"]:
        lines += wrap(f"Sorted by {first['sort']}.", width)
    params = {param["name"]: param for entry in reversed(entries) for param in entry["params"]}
    lines += _section("Arguments", [*params.values()], width) + _section("Global flags", taken, width)
    examples = [f"  {example}" for entry in entries for example in entry["examples"]]
    lines += ["", "Examples:", *examples]
    errors = dict.fromkeys(code for entry in entries for code in entry["errors"])
    if errors:
        lines += ["", "Errors:", *wrap(", ".join(errors), width, "  ")]
    return "\n".join(lines) + "\n"


def _group_text(words: str, width: int) -> str:
    paths = commands_under(words)
    room = max(len(path) for path in paths)
    return "\n".join(
        [
            f"Usage: {TOOL} {words} COMMAND [flags]",
            "",
            *(
                line
                for path in paths
                for line in _described(path, _table.COMMANDS[path]["summary"], room, width)
            ),
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


def _effect(entry: CommandHelp) -> str:
    if entry["effect"] == "read":
        return "Changes nothing."
    if entry["authorised_by"]:
        return (
            f"Changes something only with {entry['authorised_by']}; the same call again changes nothing more."
        )
    return _OTHER_EFFECTS[entry["effect"]]


def _section(title: str, described: Sequence[ParamHelp], width: int) -> list[str]:
    if not described:
        return []
    labels = [" ".join(filter(None, (one["name"], one["value"]))) for one in described]
    room = max((len(label) for label in labels if len(label) <= _MOST_ROOM), default=_MOST_ROOM)
    lines = ["", f"{title}:"]
    for label, one in zip(labels, described, strict=True):
        lines += _described(label, _told(one), room, width)
    return lines


def _described(label: str, text: str, room: int, width: int) -> list[str]:
    """A name with what it means beside it; below it, where the name is too long."""
    lines = wrap(text, width - room - 4)
    rest = [" " * (room + 4) + line.replace("\0", " ") for line in lines]
    if len(label) > room:
        return [f"  {label}", *rest]
    return [f"  {label:<{room}}  {rest[0].lstrip()}", *rest[1:]]


def _told(described: ParamHelp) -> str:
    required = " Required." if described["is_required"] else ""
    environment = f" [env:\0{described['environment']}]" if described["environment"] else ""
    return described["text"] + required + environment
