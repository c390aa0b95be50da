"""Repair a rejected command line if only its spelling was wrong. Pure.

Agents know the names of tools and of their fields, so they type `--ackToken`, `continue_workflow`
or a bare token. Nothing runs on a guess: the refusal contains the line that would be understood.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from handrail.contract.suggest import find_only_near
from handrail.surfaces.cli.reading.command_table import COMMANDS, GLOBALS
from handrail.surfaces.cli.reading.other_words import MODES, OTHER_WORDS
from handrail.surfaces.cli.reading.parse import find_near, mark_of, parse, words_of

if TYPE_CHECKING:  # only annotations name it, and typed dicts cost at start-up
    from handrail.surfaces.cli.reading.command_types import Command, Param

_TOOLS = {row["tool"]: path for path, row in COMMANDS.items() if row["tool"]}
_MEANT_FIRST = {"start": "run start", "show": "session show"}
"""Last words of several commands, with the command that is nearly always meant."""
_SPARE = {"session show --compare": "--compare", "session list": "--query"}
"""The flag for an extra word."""
_TOKEN = r"(?i)(ak|ch|st|ck)[0-9][0-9a-z]{16,}"  # noqa: S105 - the form of a token, not a token
_TOKEN_FIELDS = {"ak": "ackToken", "ch": "ackToken", "st": "stateToken", "ck": "checkpointToken"}


def repair_line(arguments: Sequence[str]) -> list[str] | None:
    """Return the arguments as they were meant; None if a repair would have to guess."""
    words, rest = _split(arguments)
    found = _find_command(words, rest)
    if found is None:
        return None
    command, taken = found
    line = [*words_of(command["path"]).split(), *_repair_rest(command, [*words[taken:], *rest])]
    return line if line != list(arguments) and not parse(line).problems else None


def _split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the words before the first flag, and everything else; global flags may come before the words."""
    first = 0
    takes = {param["flag"]: 1 if param["kind"] == "switch" else 2 for param in GLOBALS}
    while first < len(arguments) and (name := arguments[first].partition("=")[0]) in takes:
        first += 1 if "=" in arguments[first] else takes[name]
    flags, rest = arguments[:first], arguments[first:]
    count = next((at for at, word in enumerate(rest) if word.startswith("-")), len(rest))
    return list(rest[:count]), [*rest[count:], *flags]


def _find_command(words: Sequence[str], rest: Sequence[str]) -> tuple[Command, int] | None:
    """Return the command that the first words name or nearly name, and how many of them do."""
    mode = next((MODES[name] for word in rest if (name := word.partition("=")[0]) in MODES), "")
    if mode and words[:1] in (["scan"], ["edit"]):
        return COMMANDS[mode], 1
    for count in (3, 2, 1):
        path = " ".join(words[:count])
        named = _TOOLS.get(path) or OTHER_WORDS.get(path, path)
        if len(words) >= count and named in COMMANDS:
            return COMMANDS[named], count
    for count in (2, 1):
        if len(words) < count:
            continue
        near = find_near(" ".join(words[:count]))
        meant = _MEANT_FIRST.get(words[count - 1], near[0] if len(near) == 1 else "")
        if meant in COMMANDS:
            return COMMANDS[meant], count
    return None


def _repair_rest(command: Command, arguments: Sequence[str]) -> list[str]:
    known = {param["flag"]: param for param in (*GLOBALS, *command["params"]) if param["flag"]}
    here = [flag for flag, param in known.items() if param in command["params"] or flag in command["globals"]]
    by_name = {_plain(name): param for param in reversed(command["params"]) for name in _names(param)}
    # A guess must not change what is done. A word counts as a flag by its letters only if one flag is near,
    # and whatever matches nothing stays in its place, so that the parser rejects it by name.
    flags: list[str] = []
    positions: list[str] = []
    at = 0
    while at < len(arguments):
        word = arguments[at]
        at += 1
        name, equals, inline = word.partition("=")
        # First by its own name, then by that of its field, which an agent knows from MCP, then by its
        # letters.
        param = known.get(name)
        if param is None and name.startswith("--"):
            param = by_name.get(_plain(name)) or by_name.get(_plain(name) + "id")
            param = param or known.get(find_only_near(name, here))
        if param is None:
            _place_word(command, word, flags, positions)
            continue
        if param["kind"] == "switch":
            flags.append(param["flag"] + equals + inline)
            continue
        if not equals and at == len(arguments):
            flags.append(param["flag"])  # its value can only come from the caller
            continue
        if not equals:
            inline = arguments[at]
            at += 1
        if param["kind"] == "choice" and inline not in param["choices"]:
            inline = find_only_near(inline, param["choices"]) or inline
        if param["position"]:  # written as a flag: `--workflow x` for `x`
            positions.append(inline)
        else:
            flags += [param["flag"], inline]
    places = sum(1 for param in command["params"] if param["position"] and not param["is_plural"])
    spare = _SPARE.get(command["path"], "")
    if spare and len(positions) == places + 1:
        flags += [spare, positions.pop()]
    # A view of a command is chosen by its flag, which the words have named.
    mark = mark_of(command["path"])
    if mark and known[mark]["kind"] == "switch" and mark not in flags:
        flags.append(mark)
    return [*positions, *flags]


def _place_word(command: Command, word: str, flags: list[str], positions: list[str]) -> None:
    """Put a bare token after the flag of its kind; leave any other word in its place."""
    token = re.fullmatch(_TOKEN, word)
    field = _TOKEN_FIELDS[token[1].lower()] if token else ""
    flag = next((param["flag"] for param in command["params"] if param["name"] == field), "")
    if token and flag:
        flags += [flag, word]
    else:
        positions.append(word)


def _names(param: Param) -> list[str]:
    """Return the names by which a caller who knows the tools would call a parameter: its flag and
    its field.
    """
    return [param["flag"], param["name"].rpartition(".")[2]]


def _plain(name: str) -> str:
    return re.sub(r"[-_]", "", name).lower()
