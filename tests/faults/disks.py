"""Disks for the tests of the log alone: they shorten writes, or write down the calls in words."""

from __future__ import annotations

import os

from handrail.event_log.files.disk import Disk
from tests.store_proof.disks import Death, OneByOneDisk


class StingyDisk(Disk):
    """Takes at most `most` bytes in one write."""

    def __init__(self, most: int) -> None:
        self.most = most

    def write(self, descriptor: int, content: bytes, offset: int) -> int:
        return super().write(descriptor, content[: self.most], offset) if self.most else 0


class RecordingDisk(OneByOneDisk):
    """Writes down every change and every sync as words, with the file's name; may die before one."""

    def __init__(self, dies_before: str = "") -> None:
        self.trace: list[str] = []
        self.dies_before = dies_before
        self._names: dict[int, str] = {}

    def open(self, name: str, flags: int, directory: int) -> int:
        descriptor = super().open(name, flags, directory)
        self._names[descriptor] = name
        return descriptor

    def open_directory(self, path: str) -> int:
        descriptor = super().open_directory(path)
        self._names[descriptor] = os.path.basename(path.removesuffix("/."))
        return descriptor

    def write(self, descriptor: int, content: bytes, offset: int) -> int:
        self._note("write", descriptor)
        return super().write(descriptor, content, offset)

    def cut(self, descriptor: int, size: int) -> None:
        self._note("cut", descriptor)
        super().cut(descriptor, size)

    def sync(self, descriptor: int) -> None:
        self._note("sync", descriptor)
        super().sync(descriptor)

    def sync_names(self, descriptor: int) -> None:
        self._note("sync names in", descriptor)
        super().sync_names(descriptor)

    def make(self, path: str) -> None:
        super().make(path)
        self.trace.append(f"make {os.path.basename(path)}")

    def _note(self, call: str, descriptor: int) -> None:
        step = f"{call} {self._names[descriptor]}"
        if step == self.dies_before:
            raise Death
        self.trace.append(step)
