"""The crash enumerator: the power fails after every change, and every possible disk state is opened.

The file log runs on a `PowerDisk`, a real disk that also records a model of what is durable, with a copy at
every moment; `record_key_files` adds the key files to the same model.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import msgspec

from handrail.host import private_files
from handrail.ports.store import ProofPart
from tests.store_proof.crash_states import (
    ROOT,
    Change,
    DiskModel,
    NameChange,
    Resized,
    Snapshot,
    Written,
    is_exhaustive,
    states_after,
)
from tests.store_proof.disks import Death, OneByOneDisk, QuietDisk
from tests.store_proof.scratch import make_empty, write_tree
from tests.store_proof.workload import (
    SCRIPTS,
    Progress,
    Reference,
    Script,
    World,
    find_troubles,
    run_undisturbed,
)

# The disk: a real one that also records a model of what is durable, with a copy at every moment


class PowerDisk(OneByOneDisk):
    """Records everything below `root`, which exists; what is already there counts as durable."""

    def __init__(self, root: str) -> None:
        self.model = DiskModel()
        self.moments: list[tuple[int, Snapshot]] = []
        """How many calls were acknowledged, and the model, at each moment the power may fail."""
        self.acknowledged = 0
        self.dies_at = 0
        """The process ends at this change, counted from 1; never with 0."""
        self.changes = 0
        """How many changes so far, including acknowledgements."""
        self._nodes: dict[tuple[int, int], int] = {}
        """The node of each real file and directory; nothing outside of the root has one."""
        self._adopt(os.path.realpath(root), ROOT)

    def tick(self) -> None:
        """A moment at which the power may fail."""
        self.changes += 1
        if self.changes == self.dies_at:
            raise Death
        self.moments.append((self.acknowledged, self.model.snapshot()))

    # The calls of the file log

    def open(self, name: str, flags: int, directory: int) -> int:
        descriptor = super().open(name, flags, directory)
        self.note_opened(descriptor, self._node(os.fstat(directory)), name)
        return descriptor

    def write(self, descriptor: int, content: bytes, offset: int) -> int:
        written = super().write(descriptor, content, offset)
        self._change(descriptor, Written(offset=offset, content=bytes(content[:written])))
        return written

    def cut(self, descriptor: int, size: int) -> None:
        super().cut(descriptor, size)
        self._change(descriptor, Resized(size=size))

    def sync(self, descriptor: int) -> None:
        super().sync(descriptor)
        self.note_sync(descriptor)

    def sync_names(self, descriptor: int) -> None:
        super().sync_names(descriptor)
        self.note_sync(descriptor)

    def make(self, path: str) -> None:
        super().make(path)
        parent, name = self.place_of(path)
        if parent is not None:
            self._nodes[_identify(os.stat(path))] = self.model.create(parent, name, is_directory=True)
            self.tick()

    def rename(self, name: str, new_name: str, directory: int) -> None:
        super().rename(name, new_name, directory)
        self.note_named(self._node(os.fstat(directory)), name, new_name, gone=name)

    def unlink(self, name: str, directory: int) -> None:
        super().unlink(name, directory)
        self.note_gone(self._node(os.fstat(directory)), name)

    def remove_directory(self, name: str, directory: int) -> None:
        super().remove_directory(name, directory)
        self.note_gone(self._node(os.fstat(directory)), name)

    # Recording what was done

    def place_of(self, path: str) -> tuple[int | None, str]:
        """The node of the directory, and the name in it."""
        folder, name = os.path.split(os.path.abspath(path))
        return self._node(os.stat(folder)), name

    def note_opened(self, descriptor: int, parent: int | None, name: str) -> None:
        if parent is not None and name not in self.model.names_in(parent):
            made = self.model.create(parent, name, is_directory=False)
            self._nodes[_identify(os.fstat(descriptor))] = made
            self.tick()

    def note_sync(self, descriptor: int) -> None:
        node = self._node(os.fstat(descriptor))
        if node is not None:
            self.model.sync(node)
            self.tick()

    def note_named(self, parent: int | None, name: str, new_name: str, gone: str = "") -> None:
        """A further name, in the same directory, for what has this one, which may go away."""
        if parent is not None:
            node = self.model.names_in(parent)[name]
            self.model.change_names(parent, NameChange(gone=gone, name=new_name, node=node))
            self.tick()

    def note_gone(self, parent: int | None, name: str) -> None:
        if parent is not None:
            self.model.change_names(parent, NameChange(gone=name))
            self.tick()

    def _change(self, descriptor: int, change: Change) -> None:
        node = self._node(os.fstat(descriptor))
        if node is not None:
            self.model.change(node, change)
            self.tick()

    def _node(self, status: os.stat_result) -> int | None:
        return self._nodes.get(_identify(status))

    def _adopt(self, path: str, node: int) -> None:
        self._nodes[_identify(os.stat(path))] = node
        for name in sorted(os.listdir(path)) if os.path.isdir(path) else ():
            below = f"{path}/{name}"
            content = None
            if not os.path.isdir(below):
                with open(below, "rb") as file:
                    content = file.read()
            self._adopt(below, self.model.adopt(node, name, content))


def _identify(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


class _KeyFileCalls:
    """Replaces `os` in the module of the key files: passes everything on and records it on the disk."""

    def __init__(self, disk: PowerDisk) -> None:
        self._disk = disk
        self._offsets: dict[int, int] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def open(self, path: str, flags: int, mode: int = 0o777) -> int:
        descriptor = os.open(path, flags, mode)
        self._disk.note_opened(descriptor, *self._disk.place_of(path))
        self._offsets[descriptor] = 0
        return descriptor

    def write(self, descriptor: int, content: bytes) -> int:
        written = self._disk.write(descriptor, content, self._offsets[descriptor])
        self._offsets[descriptor] += written
        return written

    def fsync(self, descriptor: int) -> None:
        self._disk.sync_names(descriptor)

    def mkdir(self, path: str, mode: int) -> None:
        del mode  # the disk makes every folder private
        self._disk.make(path)

    def replace(self, path: str, new_path: str) -> None:
        os.replace(path, new_path)
        parent, name = self._disk.place_of(path)
        self._disk.note_named(parent, name, os.path.basename(new_path), gone=name)

    def link(self, path: str, new_path: str) -> None:
        os.link(path, new_path)
        parent, name = self._disk.place_of(path)
        self._disk.note_named(parent, name, os.path.basename(new_path))

    def unlink(self, path: str) -> None:
        os.unlink(path)
        self._disk.note_gone(*self._disk.place_of(path))


@contextmanager
def record_key_files(disk: PowerDisk) -> Iterator[None]:
    """Record what the key files do in this scope.

    They take no disk, so the `os` of their module is replaced for the scope. The proof runs in one thread and
    touches only its scratch directory.
    """
    original = vars(private_files)["os"]
    vars(private_files)["os"] = _KeyFileCalls(disk)
    try:
        yield
    finally:
        vars(private_files)["os"] = original


MOST_PROBLEMS = 20


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """A script run once on a recorded disk."""

    reference: Reference
    disk: PowerDisk


class Count:
    """How much was tried."""

    def __init__(self) -> None:
        self.moments = 0
        self.sampled_moments = 0
        self.states = 0


def check_power_failures(place: str, limit: int, seed: int) -> ProofPart:
    """Check every script, with about `limit` states per moment at most."""
    count = Count()
    problems: list[str] = []
    for script in SCRIPTS:
        recording = record_script(script, f"{place}/recorded", seed)
        problems += check_recording(recording, f"{place}/state", limit, seed, count)
    facts = {"moments": count.moments, "moments_sampled": count.sampled_moments, "most_per_moment": limit}
    return ProofPart(name="power_failures", cases=count.states, facts=facts, problems=tuple(problems))


def record_script(
    script: Script, place: str, seed: int, disk_below: Callable[[str], PowerDisk] = PowerDisk
) -> Recording:
    """Run a script on a real disk and keep its model at every moment."""
    undisturbed = run_undisturbed(script, World(make_empty(f"{place}-undisturbed"), QuietDisk(), seed))
    home = make_empty(place)
    disk = disk_below(home)
    progress = Progress(script, World(home, disk, seed))
    disk.tick()
    with record_key_files(disk):
        for _ in script.steps:
            progress.step()
            disk.acknowledged += 1
            disk.tick()
    assert tuple(progress.replies) == undisturbed.replies, "a recording changes nothing"
    return Recording(reference=undisturbed, disk=disk)


def check_recording(
    recording: Recording, place: str, limit: int, seed: int, count: Count, enough: int = MOST_PROBLEMS
) -> list[str]:
    """Open each different state once per number of acknowledged steps, and return what is wrong.

    Ends at the first moment with `enough` problems.
    """
    chance = Random(seed)
    problems: list[str] = []
    seen: set[int] = set()
    for moment, (acknowledged, snapshot) in enumerate(recording.disk.moments):
        count.moments += 1
        count.sampled_moments += not is_exhaustive(snapshot, limit, chance)
        for tree in states_after(snapshot, limit, chance):
            key = hash((acknowledged, frozenset(tree.items())))
            if key in seen:
                continue
            seen.add(key)
            count.states += 1
            write_tree(place, tree)
            found = find_troubles(recording.reference, World(place, QuietDisk(), seed), acknowledged)
            where = f"{recording.reference.script.name}, moment {moment}, {acknowledged} acknowledged"
            problems += [f"{where}: {problem}" for problem in found]
        if len(problems) >= enough:
            break
    return problems
