"""Where things are in JSON: the parts of a text, line and column, and RFC 6901 pointers. Pure."""

from __future__ import annotations

import re

OPENING = ("{", "[")
CLOSING = ("}", "]")

# An unclosed string matches up to the end; otherwise a failing match would be tried again at every quote.
PART = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{},:]|[^\s"\[\]{},:]++', re.DOTALL)
"""Pattern for the brackets, commas, colons, strings and words of a text, in order, even if it is not JSON."""


def find_place(text: str, offset: int) -> tuple[int, int]:
    """Return line and column, both from 1, the column in characters."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def join_pointer(pointer: str, name: str | int) -> str:
    """Return the pointer of a member or an item."""
    return f"{pointer}/{name}" if isinstance(name, int) else f"{pointer}/{escape_key(name)}"


def escape_key(name: str) -> str:
    """Return a key as a part of a pointer."""
    return name.replace("~", "~0").replace("/", "~1")


def unescape_key(part: str) -> str:
    """Return the key that a part of a pointer stands for."""
    return part.replace("~1", "/").replace("~0", "~")
