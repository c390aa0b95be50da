"""A call as a command line that can be run as it stands. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from handrail.contract.outcome import Json, NextCall
from handrail.surfaces.cli import _table

if TYPE_CHECKING:  # only annotations name it, and typed dicts cost at start-up
    from handrail.surfaces.cli.rows import Command, Param

HELP = "cli.help"
"""Not an operation: the call that shows the help of `params.command`."""

_PLAIN = r"[A-Za-z0-9_@%+=:,./-]+"


def command_line(call: NextCall) -> str | None:
    """How a shell spells the call; None when no command offers the operation."""
    if call.operation == HELP:
        return " ".join(filter(None, ("handrail", call.params.get("command", ""), "--help")))
    command = next((row for row in _table.COMMANDS.values() if row["operation"] == call.operation), None)
    if command is None:
        return None
    words = _flags(command, call.params)
    if words is None:
        words = ["--input", shell_quoted(_json(call.params))]
    return " ".join(["handrail", command["path"], *words, "--compact"])


def shell_quoted(text: str) -> str:
    """One argument for a POSIX shell."""
    if re.fullmatch(_PLAIN, text):
        return text
    return "'" + text.replace("'", "'\"'\"'") + "'"


def _flags(command: Command, params: dict[str, Json]) -> list[str] | None:
    """Positions, then flags; None when some part of the params has no flag."""
    left: dict[str, Json] = msgspec.json.decode(_json(params))  # a copy to take parts from
    words = []
    project = next(param for param in _table.GLOBALS if param["name"] == "project")
    for param in (*command["params"], project):
        if param["kind"] in ("file", "documents", "sources"):
            continue
        value = _taken(left, param["name"].split("."))
        if value is None:
            continue
        if param["kind"] == "document" and isinstance(value, dict):
            value = value["source"]  # the file is still there; its text would not fit a command line
        spelled = _spelled(param, value)
        if spelled is None:
            return None
        words.append(spelled)
    for name, flag in (("dangerous", "--dangerous"), ("dryRun", "--dry-run")):
        if flag in command["globals"]:
            words += [flag] if left.pop(name, False) is True else []
    if isinstance(left.get("continueOnError"), bool):
        words.append(f"--continue-on-error {str(left.pop('continueOnError')).lower()}")
    return words if not left else None


def _spelled(param: Param, value: Json) -> str | None:
    if value is True and param["kind"] == "switch":
        return param["flag"]
    if isinstance(value, bool):
        return None
    if isinstance(value, list) and param["kind"] in ("choices", "ids"):
        return f"{param['flag']} {shell_quoted(','.join(value))}"
    if isinstance(value, dict | list):
        text = _json(value) if param["kind"] in ("object", "array") else ""
    else:
        text = value if isinstance(value, str) else str(value)
    if not text or "\0" in text:
        return None
    if param["position"]:
        return None if text.startswith("-") else shell_quoted(text)
    if text.startswith("-"):
        return f"{param['flag']}={shell_quoted(text)}"
    return f"{param['flag']} {shell_quoted(text)}"


def _taken(params: dict[str, Json], path: list[str]) -> Json:
    """Remove and return what stands at a dotted place; None when there is nothing."""
    name, *rest = path
    if not rest:
        return params.pop(name, None)
    inner = params.get(name)
    if not isinstance(inner, dict):
        return None
    value = _taken(inner, rest)
    if value is not None and not inner:
        del params[name]
    return value


def _json(value: Json) -> str:
    return msgspec.json.encode(value).decode()
