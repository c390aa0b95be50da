"""What a power failure can leave on a disk, worked out from the calls that were made up to it.

The rules are those of POSIX and no kinder: bytes are certain after a sync of their file, names after
a sync of their directory. Of everything else each sector may have arrived or not, in any order.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from handrail.event_log.disk import Disk
from tests.faults.disks import Death

SECTOR = 512
Tree: TypeAlias = dict[str, bytes | None]
"""Path below the root -> content; None for a directory."""
Change: TypeAlias = tuple[int, bytes] | int
"""Bytes written at an offset, or the size a file was cut to."""


class Inode:
    """One file or directory: what is certain, and what was asked for since."""

    def __init__(self, *, is_directory: bool) -> None:
        self.is_directory = is_directory
        self.is_name_durable = False
        self.content = b""
        self.pending: list[Change] = []

    def copy(self) -> Inode:
        twin = Inode(is_directory=self.is_directory)
        twin.is_name_durable = self.is_name_durable
        twin.content, twin.pending = self.content, list(self.pending)
        return twin


class PowerDisk(Disk):
    """A real disk that also keeps a model of what is durable, and a copy of the model per change."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.inodes: dict[str, Inode] = {}
        self.moments: list[tuple[int, dict[str, Inode]]] = []
        """How many commits were acknowledged, and the model, at each moment the power may fail."""
        self.acknowledged = 0
        self.dies_at = 0
        """The process ends at this change, counted from 1; never with 0."""
        self._changes = 0
        self._paths: dict[int, str] = {}

    def tick(self) -> None:
        self._changes += 1
        if self._changes == self.dies_at:
            raise Death
        self.moments.append((self.acknowledged, {path: inode.copy() for path, inode in self.inodes.items()}))

    def make(self, path: str) -> None:
        super().make(path)
        self.inodes[path] = Inode(is_directory=True)
        self.tick()

    def open(self, name: str, flags: int, directory: int) -> int:
        descriptor = super().open(name, flags, directory)
        path = f"{self._paths[directory]}/{name}"
        self._paths[descriptor] = path
        if path not in self.inodes:
            self.inodes[path] = Inode(is_directory=False)
            self.tick()
        return descriptor

    def open_directory(self, path: str) -> int:
        descriptor = super().open_directory(path)
        self._paths[descriptor] = path.removesuffix("/.")
        return descriptor

    def write(self, descriptor: int, content: bytes, offset: int) -> int:
        written = super().write(descriptor, content, offset)
        self.inodes[self._paths[descriptor]].pending.append((offset, content))
        self.tick()
        return written

    def cut(self, descriptor: int, size: int) -> None:
        super().cut(descriptor, size)
        self.inodes[self._paths[descriptor]].pending.append(size)
        self.tick()

    def sync(self, descriptor: int) -> None:
        super().sync(descriptor)
        inode = self.inodes[self._paths[descriptor]]
        for change in inode.pending:
            inode.content = applied(inode.content, change)
        inode.pending.clear()
        self.tick()

    def sync_names(self, descriptor: int) -> None:
        super().sync_names(descriptor)
        for path, inode in self.inodes.items():
            if os.path.dirname(path) == self._paths[descriptor]:
                inode.is_name_durable = True
        self.tick()


def disks_after(root: str, inodes: dict[str, Inode]) -> Iterator[Tree]:
    """Every disk that a power failure at this moment can leave."""
    paths = sorted(inodes)
    choices = [list(_choices(path, inodes[path])) for path in paths]
    for picked in itertools.product(*choices):
        tree: Tree = {}
        lost: list[str] = []
        for path, choice in zip(paths, picked, strict=True):
            if not choice or any(path.startswith(name + "/") for name in lost):
                lost.append(path)
            else:
                tree[os.path.relpath(path, root)] = choice[0]
        yield tree


def _choices(path: str, inode: Inode) -> Iterator[Sequence[bytes | None]]:
    """What may be found under this name: nothing, a directory, or a file with some content."""
    if not inode.is_name_durable:
        yield []
    if inode.is_directory:
        yield [None]
    elif path.endswith("/lock"):
        # Never synced, and written once per commit: nothing, the oldest and the newest note.
        notes = [applied(inode.content, change) for change in inode.pending]
        yield from ([note] for note in dict.fromkeys([inode.content, *notes[:1], *notes[-1:]]))
    else:
        yield from ([content] for content in dict.fromkeys(_contents(inode.content, inode.pending)))


def _contents(content: bytes, pending: list[Change]) -> Iterator[bytes]:
    if not pending:
        yield content
        return
    for first in _after(content, pending[0]):
        yield from _contents(first, pending[1:])


def _after(content: bytes, change: Change) -> Iterator[bytes]:
    """All that one unsynced change can leave: nothing, all of it, or some of its sectors."""
    yield content
    yield applied(content, change)
    if isinstance(change, int):
        return
    offset, new = change
    edges = sorted({offset, offset + len(new), *range(0, offset + len(new), SECTOR)})
    pieces = [(low, high) for low, high in itertools.pairwise(edges) if low >= offset]
    for arrived in _subsets(len(pieces)):
        torn = content
        for piece in arrived:
            low, high = pieces[piece]
            torn = applied(torn, (low, new[low - offset : high - offset]))
        yield torn
        yield torn.ljust(offset + len(new), b"\0")  # the size arrived, the bytes did not


def _subsets(count: int) -> Iterator[tuple[int, ...]]:
    """Every subset of a few sectors; of many: each prefix, each suffix and each one left out."""
    if count <= 3:
        for size in range(count + 1):
            yield from itertools.combinations(range(count), size)
        return
    for edge in range(count):
        yield tuple(range(edge))
        yield tuple(range(edge + 1, count))
        yield tuple(piece for piece in range(count) if piece != edge)


def applied(content: bytes, change: Change) -> bytes:
    if isinstance(change, int):
        return content[:change].ljust(change, b"\0")
    offset, new = change
    return content[:offset].ljust(offset, b"\0") + new + content[offset + len(new) :]
