"""A model of a file system that knows what is durable and what is only requested. Pure.

The rules are no stronger than those of POSIX: bytes are certain after a sync of their file, names after
a sync of their directory, and a rename within one directory happens whole or not at all.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec

ROOT: Final = 0


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes that were written at an offset."""

    offset: int
    content: bytes


class Resized(msgspec.Struct, frozen=True, kw_only=True):
    """The size a file was cut or grown to."""

    size: int


Change: TypeAlias = Written | Resized


class NameChange(msgspec.Struct, frozen=True, kw_only=True):
    """One change of a directory: a name disappears, a name leads to a node, or both at once."""

    gone: str = ""
    name: str = ""
    node: int = ROOT


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """One file or directory: what is certain, and what was requested since."""

    is_directory: bool
    content: bytes = b""
    pending: tuple[Change, ...] = ()
    names: dict[str, int] = {}
    pending_names: tuple[NameChange, ...] = ()


Snapshot: TypeAlias = dict[int, Node]
"""Every node at one moment; nodes never change, so a copy of the table is enough."""


class DiskModel:
    """All requests to a disk so far. Paths are relative to its root, which is durable."""

    def __init__(self) -> None:
        self.nodes: Snapshot = {ROOT: Node(is_directory=True)}

    def snapshot(self) -> Snapshot:
        return dict(self.nodes)

    def find(self, path: str) -> int | None:
        """The node a running program finds under this path."""
        node = ROOT
        for name in filter(None, path.split("/")):
            found = self.names_in(node).get(name)
            if found is None:
                return None
            node = found
        return node

    def names_in(self, directory: int) -> dict[str, int]:
        """What a running program finds in a directory."""
        return names_after(self.nodes[directory].names, self.nodes[directory].pending_names)

    def create(self, directory: int, name: str, *, is_directory: bool) -> int:
        node = len(self.nodes)
        self.nodes[node] = Node(is_directory=is_directory)
        self.change_names(directory, NameChange(name=name, node=node))
        return node

    def adopt(self, directory: int, name: str, content: bytes | None) -> int:
        """Add something that was durable before the recording began; None is a directory."""
        node = len(self.nodes)
        self.nodes[node] = Node(is_directory=content is None, content=content or b"")
        parent = self.nodes[directory]
        self.nodes[directory] = msgspec.structs.replace(parent, names={**parent.names, name: node})
        return node

    def change(self, node: int, change: Change) -> None:
        before = self.nodes[node]
        self.nodes[node] = msgspec.structs.replace(before, pending=(*before.pending, change))

    def change_names(self, directory: int, change: NameChange) -> None:
        before = self.nodes[directory]
        pending = (*before.pending_names, change)
        self.nodes[directory] = msgspec.structs.replace(before, pending_names=pending)

    def sync(self, node: int) -> None:
        """Make the bytes of a file, or the names in a directory, certain."""
        before = self.nodes[node]
        content = before.content
        for change in before.pending:
            content = apply_change(content, change)
        names = names_after(before.names, before.pending_names)
        self.nodes[node] = Node(is_directory=before.is_directory, content=content, names=names)


def apply_change(content: bytes, change: Change) -> bytes:
    """A file after one change; a gap is zeros."""
    if isinstance(change, Resized):
        return content[: change.size].ljust(change.size, b"\0")
    end = change.offset + len(change.content)
    return content[: change.offset].ljust(change.offset, b"\0") + change.content + content[end:]


def names_after(names: dict[str, int], changes: tuple[NameChange, ...]) -> dict[str, int]:
    """A directory after these changes."""
    result = dict(names)
    for change in changes:
        if change.gone:
            result.pop(change.gone, None)
        if change.name:
            result[change.name] = change.node
    return result
