"""Every disk state that a power failure can leave at one moment, or a fair sample of too many. Pure.

The model of the disk is no stronger than POSIX: bytes are certain after a sync of their file, names after a
sync of their directory, and a rename within one directory happens whole or not at all. Without a sync, each
sector may have arrived or not, in any order, and so may each change of a name. The size of a file may arrive
without its bytes, which then read as zeros.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from random import Random
from typing import Final, TypeAlias

import msgspec

# A model of a file system that knows what is durable and what is only requested

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


SECTOR_BYTES: Final = 512
PAGE_BYTES: Final = 4096
"""What disks and file caches write as one unit; writes tear between two of them."""
Tree: TypeAlias = dict[str, bytes | None]
"""Path below the root -> content; None for a directory."""

_MOST_ALTERNATIVES: Final = 200
_FEW: Final = 3
"""Up to this many parts every subset is tried; of more, prefixes, suffixes and each one left out."""

_Choice: TypeAlias = bytes | dict[str, int]


def states_after(snapshot: Snapshot, limit: int, chance: Random) -> Iterator[Tree]:
    """The possible disk states: about `limit` at most, and all of them if there are no more."""
    nodes = [number for number, node in snapshot.items() if node.pending or node.pending_names]
    alternatives = [_alternatives(snapshot[number], chance) for number in nodes]
    for picked in _picks(alternatives, limit, chance):
        yield _tree(snapshot, dict(zip(nodes, picked, strict=True)))


def is_exhaustive(snapshot: Snapshot, limit: int, chance: Random) -> bool:
    """Whether `states_after` gives every possible state, not a sample."""
    counts = [
        len(_alternatives(node, chance)) for node in snapshot.values() if node.pending or node.pending_names
    ]
    return math.prod(counts) <= limit


def _picks(
    alternatives: Sequence[Sequence[_Choice]], limit: int, chance: Random
) -> Iterator[tuple[_Choice, ...]]:
    """Combinations: all, or the extremes, each single deviation from them, and then random ones."""
    if math.prod(len(choices) for choices in alternatives) <= limit:
        yield from itertools.product(*alternatives)
        return
    spent = 0
    for corner in ([choices[0] for choices in alternatives], [choices[-1] for choices in alternatives]):
        yield tuple(corner)
        for place, choices in enumerate(alternatives):
            for choice in choices[:: max(1, len(choices) * len(alternatives) * 4 // limit)]:
                yield (*corner[:place], choice, *corner[place + 1 :])
                spent += 1
    for _ in range(max(limit // 4, limit - spent)):
        yield tuple(chance.choice(choices) for choices in alternatives)


def _alternatives(node: Node, chance: Random) -> list[_Choice]:
    """The possible states of one node: first if nothing arrived, last if everything did."""
    if node.is_directory:
        tables = [
            names_after(node.names, tuple(node.pending_names[number] for number in kept))
            for kept in subsets_of(len(node.pending_names))
        ]
        unique = {tuple(sorted(table.items())): table for table in tables}
        return list(unique.values())
    contents: dict[bytes, None] = {node.content: None}
    for change in node.pending:
        grown = dict.fromkeys(after for content in contents for after in _after(content, change))
        if len(grown) > _MOST_ALTERNATIVES:
            whole = list(grown)
            grown = dict.fromkeys([whole[0], *chance.sample(whole, _MOST_ALTERNATIVES - 2), whole[-1]])
        contents = grown
    everything = node.content
    for change in node.pending:
        everything = apply_change(everything, change)
    contents.pop(everything, None)
    return [*contents, everything]


def _after(content: bytes, change: Change) -> Iterator[bytes]:
    """All that one unsynced change can leave: nothing, all of it, or some of its sectors."""
    yield content
    if isinstance(change, Written):
        for unit in (SECTOR_BYTES, PAGE_BYTES):
            yield from _torn(content, change, unit)
    yield apply_change(content, change)


def _torn(content: bytes, change: Written, unit: int) -> Iterator[bytes]:
    offset, end = change.offset, change.offset + len(change.content)
    first = (offset // unit + 1) * unit
    edges = [offset, *range(first, end, unit), end]
    pieces = list(itertools.pairwise(edges))
    for arrived in subsets_of(len(pieces)):
        torn = content
        for piece in arrived:
            low, high = pieces[piece]
            torn = apply_change(
                torn, Written(offset=low, content=change.content[low - offset : high - offset])
            )
        yield torn
        yield torn.ljust(end, b"\0")


def subsets_of(count: int) -> Iterator[tuple[int, ...]]:
    """Every subset of a few; of many: each prefix, each suffix, each one left out. The whole comes last."""
    if count <= _FEW:
        for size in range(count + 1):
            yield from itertools.combinations(range(count), size)
        return
    for edge in range(count):
        yield tuple(range(edge))
        yield tuple(range(edge + 1, count))
        yield tuple(piece for piece in range(count) if piece != edge)
    yield tuple(range(count))


def _tree(snapshot: Snapshot, picked: dict[int, _Choice]) -> Tree:
    """What can be reached from the root, with these choices."""
    tree: Tree = {}
    waiting = [("", ROOT)]
    while waiting:
        path, number = waiting.pop()
        choice = picked.get(number)
        names = choice if isinstance(choice, dict) else snapshot[number].names
        for name, inner in names.items():
            below = f"{path}{name}"
            if snapshot[inner].is_directory:
                tree[below] = None
                waiting.append((below + "/", inner))
            else:
                content = picked.get(inner, snapshot[inner].content)
                assert isinstance(content, bytes), "a file is picked as bytes"
                tree[below] = content
    return tree
