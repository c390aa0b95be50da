"""The crash enumerator: the power fails after every change, and every possible disk state is opened.

The file log runs on a `PowerDisk`, a real disk that also records a model of what is durable, with a copy at
every moment; `record_key_files` adds the key files to the same model.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import msgspec

from handrail.host import private_files
from handrail.ports.store import ProofPart
from handrail_proof.crash_states import (
    ROOT,
    DiskModel,
    NameChange,
    Resized,
    Snapshot,
    Written,
    is_exhaustive,
    states_after,
)
from handrail_proof.disks import Death, OneByOneDisk, QuietDisk
from handrail_proof.scratch import make_empty, write_tree
from handrail_proof.workload import (
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
        self.root = os.path.realpath(root)
        self.model = DiskModel()
        self.moments: list[tuple[int, Snapshot]] = []
        """How many calls were acknowledged, and the model, at each moment the power may fail."""
        self.acknowledged = 0
        self.dies_at = 0
        """The process ends at this change, counted from 1; never with 0."""
        self.changes = 0
        """How many changes so far, including acknowledgements."""
        self._nodes: dict[int, int] = {}
        self._adopt(self.root, ROOT)

    def tick(self) -> None:
        """A moment at which the power may fail."""
        self.changes += 1
        if self.changes == self.dies_at:
            raise Death
        self.moments.append((self.acknowledged, self.model.snapshot()))

    # The calls of the file log

    def open(self, name: str, flags: int, directory: int) -> int:
        descriptor = super().open(name, flags, directory)
        parent = self._nodes.get(directory)
        if parent is not None:
            self._opened(descriptor, parent, name)
        return descriptor

    def open_directory(self, path: str) -> int:
        descriptor = super().open_directory(path)
        self.follow(descriptor, path)
        return descriptor

    def write(self, descriptor: int, content: bytes, offset: int) -> int:
        written = super().write(descriptor, content, offset)
        node = self._nodes.get(descriptor)
        if node is not None:
            self.model.change(node, Written(offset=offset, content=bytes(content[:written])))
            self.tick()
        return written

    def cut(self, descriptor: int, size: int) -> None:
        super().cut(descriptor, size)
        self.model.change(self._nodes[descriptor], Resized(size=size))
        self.tick()

    def sync(self, descriptor: int) -> None:
        super().sync(descriptor)
        self.note_sync(descriptor)

    def sync_names(self, descriptor: int) -> None:
        super().sync_names(descriptor)
        self.note_sync(descriptor)

    def make(self, path: str) -> None:
        super().make(path)
        place = self._place(path)
        if place is not None:
            self.model.create(*place, is_directory=True)
            self.tick()

    def rename(self, name: str, new_name: str, directory: int) -> None:
        super().rename(name, new_name, directory)
        self._renamed(self._nodes[directory], name, new_name)

    def unlink(self, name: str, directory: int) -> None:
        super().unlink(name, directory)
        self._gone(self._nodes[directory], name)

    def remove_directory(self, name: str, directory: int) -> None:
        super().remove_directory(name, directory)
        self._gone(self._nodes[directory], name)

    def close(self, descriptor: int) -> None:
        super().close(descriptor)
        self._nodes.pop(descriptor, None)

    # Recording what was done

    def follow(self, descriptor: int, path: str) -> None:
        """Follow a descriptor of something that exists; nothing outside of the root is recorded."""
        relative = self._relative(path)
        node = None if relative is None else self.model.find(relative)
        if node is None:
            self._nodes.pop(descriptor, None)
        else:
            self._nodes[descriptor] = node

    def note_created(self, descriptor: int, path: str) -> None:
        place = self._place(path)
        if place is not None:
            self._opened(descriptor, *place)

    def note_sync(self, descriptor: int) -> None:
        node = self._nodes.get(descriptor)
        if node is not None:
            self.model.sync(node)
            self.tick()

    def note_renamed(self, path: str, new_path: str) -> None:
        assert os.path.dirname(path) == os.path.dirname(new_path), "only names of one directory are exchanged"
        place = self._place(path)
        if place is not None:
            self._renamed(*place, os.path.basename(new_path))

    def note_linked(self, path: str, new_path: str) -> None:
        """A second name, in the same directory, for a file."""
        place = self._place(new_path)
        relative = self._relative(path)
        if place is not None and relative is not None:
            node = self.model.find(relative)
            assert node is not None, "a file that is linked exists"
            self.model.change_names(place[0], NameChange(name=place[1], node=node))
            self.tick()

    def note_unlinked(self, path: str) -> None:
        place = self._place(path)
        if place is not None:
            self._gone(*place)

    def _opened(self, descriptor: int, directory: int, name: str) -> None:
        found = self.model.names_in(directory).get(name)
        if found is not None:
            self._nodes[descriptor] = found
            return
        self._nodes[descriptor] = self.model.create(directory, name, is_directory=False)
        self.tick()

    def _renamed(self, directory: int, name: str, new_name: str) -> None:
        node = self.model.names_in(directory)[name]
        self.model.change_names(directory, NameChange(gone=name, name=new_name, node=node))
        self.tick()

    def _gone(self, directory: int, name: str) -> None:
        self.model.change_names(directory, NameChange(gone=name))
        self.tick()

    def _place(self, path: str) -> tuple[int, str] | None:
        """The directory node and the name; None outside of the root."""
        relative = self._relative(path)
        if not relative:
            return None
        parent = self.model.find(os.path.dirname(relative))
        assert parent is not None, f"the directory of {relative} exists"
        return parent, os.path.basename(relative)

    def _relative(self, path: str) -> str | None:
        full = os.path.abspath(path)
        if full == self.root:
            return ""
        return full.removeprefix(self.root + "/") if full.startswith(self.root + "/") else None

    def _adopt(self, path: str, node: int) -> None:
        for name in sorted(os.listdir(path)):
            below = f"{path}/{name}"
            if stat.S_ISDIR(os.lstat(below).st_mode):
                self._adopt(below, self.model.adopt(node, name, None))
            else:
                with open(below, "rb") as file:
                    self.model.adopt(node, name, file.read())


class _KeyFileCalls:
    """Replaces `os` in the module of the key files: passes everything on and records it on the disk."""

    def __init__(self, disk: PowerDisk) -> None:
        self._disk = disk
        self._offsets: dict[int, int] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def open(self, path: str, flags: int, mode: int = 0o777) -> int:
        descriptor = os.open(path, flags, mode)
        if flags & os.O_CREAT:
            self._disk.note_created(descriptor, path)
        else:
            self._disk.follow(descriptor, path)
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
        self._disk.note_renamed(path, new_path)

    def link(self, path: str, new_path: str) -> None:
        os.link(path, new_path)
        self._disk.note_linked(path, new_path)

    def unlink(self, path: str) -> None:
        os.unlink(path)
        self._disk.note_unlinked(path)

    def close(self, descriptor: int) -> None:
        self._disk.close(descriptor)


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
    chance = Random(seed)  # noqa: S311 - chance for a test, printed with its report
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
