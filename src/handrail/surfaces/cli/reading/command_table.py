"""Every command and global flag as the parser needs it, read from generated data.

`tools/generate.py` writes `packed/commands.json` from `tools/commands/` and the operations, because
merging a command imports its operation. The data leaves out the default values.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, cast

import msgspec

if TYPE_CHECKING:
    from handrail.surfaces.cli.reading.command_types import Command, Param

_FILE = os.path.join(os.path.dirname(__file__), *[os.pardir] * 3, "packed", "commands.json")

PARAM_DEFAULTS: dict[str, Any] = {
    "name": "",
    "flag": "",
    "kind": "text",
    "value": "",
    "position": 0,
    "required": False,
    "choices": (),
    "least": 0,
    "most": 0,
    "is_plural": False,
}
COMMAND_DEFAULTS: dict[str, Any] = {
    "path": "",
    "operation": "",
    "tool": "",
    "summary": "",
    "effect": "read",
    "params": (),
    "globals": (),
    "takes_project": False,
    "raw": "",
    "raw_when": ("", ""),
    "columns": (),
    "shown": (),
    "seconds": 0,
    "out": "",
}


def _read_table() -> tuple[tuple[Param, ...], dict[str, Command]]:
    with open(_FILE, "rb") as file:
        held = msgspec.json.decode(file.read())
    flags = tuple(PARAM_DEFAULTS | flag for flag in held["flags"])
    commands = {
        row["path"]: {
            **COMMAND_DEFAULTS,
            **row,
            "params": tuple(PARAM_DEFAULTS | param for param in row["params"]),
            "globals": held["global_sets"][row["globals"]],
        }
        for row in held["commands"]
    }
    return cast("tuple[tuple[Param, ...], dict[str, Command]]", (flags, commands))


GLOBALS, COMMANDS = _read_table()
