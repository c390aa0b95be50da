"""What a shell can offer: the words after a group, the flags of a command, the values of a flag. Pure."""

from __future__ import annotations

import msgspec

from handrail.surfaces.cli.hook import EVENTS
from handrail.surfaces.cli.reading import _table
from handrail.surfaces.cli.reading.parse import commands_under, label_of, views_of
from handrail.surfaces.cli.reading.rows import Param

FILE_KINDS = frozenset({"file", "document", "documents", "source", "sources"})
JSON_KINDS = frozenset({"object", "array", "input"})


class Words(msgspec.Struct, frozen=True, kw_only=True):
    """The command table as the scripts need it.

    A value is described in one line: what it is, then its choices. `one` and `many` (with commas) are closed
    sets, `phrase` a closed set whose members hold spaces, `file`, `folder` and `json` (text, or a file after
    `@`) are completed by the shell, `other` is anything. A flag without a description takes no value.
    """

    after: dict[str, tuple[str, ...]]
    """What may follow a group, by its path; the empty path is the tool itself."""
    flags: dict[str, tuple[str, ...]]
    """The flags of a command, its own first; the empty path is every group."""
    values: dict[tuple[str, str], tuple[str, ...]]
    """By command and flag; the empty path is every place."""
    positions: dict[tuple[str, str], tuple[str, ...]]
    """By command and place, counted from 0, `*` for every one; only those that can be completed."""


def command_words() -> Words:
    """Everything the table knows."""
    commands = sorted(_table.COMMANDS.items())
    flags = {"": tuple(flag["flag"] for flag in _table.GLOBALS)}
    values = {("", flag["flag"]): _value(flag) for flag in _table.GLOBALS if flag["kind"] != "switch"}
    positions: dict[tuple[str, str], tuple[str, ...]] = {("hook", "0"): ("one", *EVENTS)}
    for path in commands_under(""):
        params = {label_of(param): param for view in views_of(path) for param in view["params"]}
        own = [param for param in params.values() if param["flag"]]
        flags[path] = (*sorted(param["flag"] for param in own), *_table.COMMANDS[path]["globals"])
        values |= {(path, param["flag"]): _value(param) for param in own if param["kind"] != "switch"}
        for param in params.values():
            if param["position"] and _value(param) != ("other",):
                place = "*" if param["is_plural"] else str(param["position"] - 1)
                positions[(path, place)] = _value(param)
    values[("reference", "--command")] = ("phrase", *(path for path, _ in commands))
    values[("reference", "--domain")] = ("one", *sorted({path.split(" ")[0] for path, _ in commands}))
    return Words(after=_after(), flags=flags, values=dict(sorted(values.items())), positions=positions)


def _after() -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {"": {}}
    for path in sorted(commands_under("")):
        words = path.split(" ")
        for place, word in enumerate(words):
            found.setdefault(" ".join(words[:place]), {})[word] = None
    return {path: tuple(words) for path, words in sorted(found.items())}


def case_of(path: str) -> str:
    """How a `case` of a shell names the commands that a flag belongs to; global flags belong to all."""
    return f"'{path}'" if path else "*"


def _value(param: Param) -> tuple[str, ...]:
    if param["choices"]:
        return ("many" if param["is_plural"] else "one", *param["choices"])
    if param["kind"] in JSON_KINDS:
        return ("json",)
    if param["kind"] in FILE_KINDS or param["value"] == "FILE":
        return ("file",)
    return ("folder",) if param["kind"] == "directory" else ("other",)
