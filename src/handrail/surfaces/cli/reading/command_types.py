"""The types of what the parser and help know of a command, as the generated files hold it.

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
    """The input field in wire spelling, dotted where nested; of a global flag, its own name."""
    flag: str
    """Empty when it is only a position."""
    kind: Kind
    value: str
    """How usage lines call the value."""
    position: int
    """Counted from 1; 0 is none."""
    required: bool
    choices: Sequence[str]
    least: int
    most: int
    is_plural: bool


class Command(TypedDict):
    """One leaf of the command tree."""

    path: str
    """Its words without the tool name, joined by one space; then the flag that chooses this view of it, where
    one command has several."""
    operation: str
    """Registry name; empty for a command that is not one operation (a server, the demo)."""
    tool: str
    """The MCP tool of the same operation; empty: none."""
    summary: str
    effect: str
    params: tuple[Param, ...]
    globals: Sequence[str]
    """The global flags that mean something here."""
    takes_project: bool
    raw: str
    """The payload field that `--format raw` prints; empty: not offered."""
    raw_when: Sequence[str]
    """The field and value under which raw is offered; without a value, any; without a field, always."""
    columns: Sequence[str]
    """Of a list: what text output shows."""
    shown: Sequence[str]
    """Of a list: the fields of an item that are shown unless a flag asks for others; empty: all."""
    seconds: int
    """When to give up unless a caller says; 0: as every command."""
    out: str
    """The payload field that `--out` puts into a new file; empty: not offered."""


class CommandHelp(TypedDict):
    """What help and reference say of a command, beside what the parser knows."""

    part: str
    """The package that brings it."""
    usage: str
    authorised_by: str
    """The flag without which nothing is changed; empty for a read."""
    sort: str
    texts: Sequence[str]
    """What each of its `params` is for."""
    examples: Sequence[str]
    errors: Sequence[str]
    output: str
    blast_radius: str
    """What can be lost or changed, in a sentence; empty for a read."""
    needs: Sequence[str]
    """Dear modules that this command may import."""
    schema: Sequence[str]
    """Of a command that is not one operation: the name of what it writes, then its fields."""


class GlobalHelp(TypedDict):
    """What help and reference say of a global flag."""

    text: str
    environment: str
    applies_to: str
