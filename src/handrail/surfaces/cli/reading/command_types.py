"""Types of the command data for parser and help, as the generated files store it.

The parser imports nothing of this at run time: the generated table has plain literals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, TypedDict

Kind: TypeAlias = Literal[
    "switch",  # no value
    "text",  # free text, newline and tab allowed
    "id",  # 1 to 128 printable ASCII characters
    "token",  # opaque; never echoed back
    "int",
    "choice",
    "object",  # a JSON object, or @FILE
    "array",  # a JSON array, or @FILE
    "input",  # as object, or - for stdin
    "file",  # the text of a file, or - for stdin
    "records",  # a file that holds a JSON array, or - for stdin
    "document",  # one file with its name, or - for stdin
    "documents",  # several of them
    "source",  # a workflow id, a file or -
    "sources",  # several of them, or directories
    "choices",  # several of a closed set, with commas or repeated
    "ids",  # several ids, with commas or repeated
    "directory",
    "words",  # everything after `--`, as it is
]


class Param(TypedDict):
    """One flag or position."""

    name: str
    """The input field in wire spelling, dotted if nested; for a global flag, its own name."""
    flag: str
    """The flag; empty if it is only a position."""
    kind: Kind
    value: str
    """The name of the value in usage lines."""
    position: int
    """The position, counted from 1; 0 if it has none."""
    required: bool
    choices: Sequence[str]
    least: int
    most: int
    is_plural: bool


class Command(TypedDict):
    """One leaf of the command tree."""

    path: str
    """Its words without the tool name, joined by one space; then the flag that chooses this view, if one
    command has several.
    """
    operation: str
    """Registry name; empty if it is not a single operation (a server, the demo)."""
    tool: str
    """The MCP tool of the same operation; empty if there is none."""
    summary: str
    effect: str
    params: tuple[Param, ...]
    globals: Sequence[str]
    """The global flags that apply to it."""
    takes_project: bool
    raw: str
    """The payload field that `--format raw` prints; empty if raw is not offered."""
    raw_when: Sequence[str]
    """The field and value for which raw is offered; without a value, any value; without a field, always."""
    columns: Sequence[str]
    """For a list: the columns of text output."""
    shown: Sequence[str]
    """For a list: the fields of an item that are shown unless a flag asks for others; empty for all."""
    seconds: int
    """Default time limit; 0 for the one that all commands have."""
    out: str
    """The payload field that `--out` writes into a new file; empty if not offered."""


class CommandHelp(TypedDict):
    """What help and reference say about a command, besides what the parser knows."""

    part: str
    """The package that provides it."""
    usage: str
    authorised_by: str
    """The flag without which nothing is changed; empty for a read."""
    sort: str
    texts: Sequence[str]
    """Purpose of each of its `params`."""
    examples: Sequence[str]
    errors: Sequence[str]
    output: str
    blast_radius: str
    """What can be lost or changed, as a sentence; empty for a read."""
    needs: Sequence[str]
    """Modules that load slowly and that this command may import."""
    schema: Sequence[str]
    """For a command that is not one operation: the name of its output, then its fields."""


class GlobalHelp(TypedDict):
    """What help and reference say about a global flag."""

    text: str
    environment: str
    applies_to: str
