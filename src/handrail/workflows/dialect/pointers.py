"""RFC 6901 pointers while a document is built from another one. Pure."""

from __future__ import annotations


def child(pointer: str, name: str | int) -> str:
    """The pointer of a member or an item."""
    if isinstance(name, int):
        return f"{pointer}/{name}"
    return f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}"
