"""`--help`: text for people. As a document it is a slice of the reference. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from handrail.surfaces.cli.reading.parse import commands_under
from handrail.surfaces.cli.reading.rows import CommandHelp, ParamHelp
from handrail.surfaces.cli.rendering.text import USUAL_WIDTH, wrap
from handrail.surfaces.cli.self_description import _catalog

TOOL = "handrail"
_MOST_ROOM = 34
"""What a long list of choices takes from the text beside it, at most."""


def help_text(words: str, width: int = 0) -> str:
    """The help of a command, of a group, or of the tool; prose in lines of at most this width."""
    entry = _catalog.COMMANDS.get(words)
    width = width or USUAL_WIDTH
    return _command_text(entry, width) if entry is not None else _group_text(words, width)


def _command_text(entry: CommandHelp, width: int) -> str:
    flags = [flag for flag in _catalog.GLOBALS if flag["name"] in entry["globals"]]
    lines = [f"Usage: {entry['usage']}", "", *wrap(entry["summary"], width)]
    lines += wrap(_effect(entry), width)
    if entry["sort"]:
        lines += wrap(f"Sorted by {entry['sort']}.", width)
    lines += _section("Arguments", entry["params"], width) + _section("Global flags", flags, width)
    lines += ["", "Examples:", *(f"  {example}" for example in entry["examples"])]
    if entry["errors"]:
        lines += ["", "Errors:", *wrap(", ".join(entry["errors"]), width, "  ")]
    return "\n".join(lines) + "\n"


def _group_text(words: str, width: int) -> str:
    paths = commands_under(words)
    room = max(len(path) for path in paths)
    named = " ".join(filter(None, (TOOL, words)))
    return "\n".join(
        [
            f"Usage: {named} COMMAND [flags]",
            "",
            "Commands:",
            *(
                line
                for path in paths
                for line in _described(path, _catalog.COMMANDS[path]["summary"], room, width)
            ),
            *_section("Global flags", _catalog.GLOBALS, width),
            "",
            "Examples:",
            *(f"  {_catalog.COMMANDS[path]['examples'][0]}" for path in paths),
            "",
            f"`{TOOL} COMMAND --help` shows the flags of one command.",
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
