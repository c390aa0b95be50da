"""The page of a line without a command. It needs no help table, so a bare call stays cheap. Pure."""

from __future__ import annotations

from handrail.surfaces.cli.reading.parse import commands_under
from handrail.surfaces.cli.rendering.text import USUAL_WIDTH, wrap

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


def front_page(width: int = 0) -> str:
    """What it is, the loop, and the nouns: what a stranger reads first."""
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
    """The commands that the page names under `more`."""
    return [path for path in commands_under("") if path.split()[0] not in _NOUNS]


def lay_beside(label: str, text: str, room: int, width: int) -> list[str]:
    """A name with what it means beside it; below it, where the name is too long."""
    lines = wrap(text, width - room - 4)
    rest = [" " * (room + 4) + line.replace("\0", " ") for line in lines]
    if len(label) > room:
        return [f"  {label}", *rest]
    return [f"  {label:<{room}}  {rest[0].lstrip()}", *rest[1:]]
