"""Help, reference and examples of every command, read from generated data.

`tools/generate.py` writes `packed/help.json` from `tools/commands/` and the operations.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any, cast

import msgspec

from handrail.runtime.operation import Registry
from handrail.surfaces.cli.reading.command_types import CommandHelp, GlobalHelp

_FILE = os.path.join(os.path.dirname(__file__), *[os.pardir] * 3, "packed", "help.json")
HELP_DEFAULTS: dict[str, Any] = {
    "part": "handrail",
    "usage": "",
    "authorised_by": "",
    "sort": "",
    "texts": (),
    "examples": (),
    "errors": (),
    "output": "document",
    "blast_radius": "",
    "needs": (),
    "schema": (),
}


@cache
def read_help() -> dict[str, CommandHelp]:
    """Return the help of every command, by path."""
    rows = {path: HELP_DEFAULTS | row for path, row in _read()["commands"].items()}
    return cast("dict[str, CommandHelp]", rows)


@cache
def read_flag_help() -> dict[str, GlobalHelp]:
    """Return the help of every global flag, by flag."""
    return cast("dict[str, GlobalHelp]", _read()["flags"])


def installed_paths(registry: Registry) -> list[str]:
    """Return the commands of the parts that are installed."""
    parts = {part.package for part in registry.parts}
    return [path for path, entry in read_help().items() if entry["part"] in parts]


@cache
def _read() -> dict[str, Any]:
    with open(_FILE, "rb") as file:
        held: dict[str, Any] = msgspec.json.decode(file.read())
    return held
