"""Disks that misbehave on purpose: they refuse, kill at, shorten or write down the calls of the file log."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

from handrail.event_log.disk import Disk

CALLS = (
    "open",
    "open_directory",
    "status",
    "status_of",
    "read",
    "write",
    "cut",
    "set_modified",
    "sync",
    "sync_names",
    "make",
    "names",
    "is_empty",
    "lock_now",
)
"""Every call that reaches the disk and can be refused."""


class CountingDisk(Disk):
    """Counts the calls; a subclass says what happens before each of them."""

    def __init__(self) -> None:
        self.calls = 0

    def before(self, call: str) -> None:
        self.calls += 1


def _counted(name: str) -> Callable[..., Any]:
    original = getattr(Disk, name)

    def call(self: CountingDisk, *arguments: Any) -> Any:
        self.before(name)
        return original(self, *arguments)

    return call


for _name in CALLS:
    setattr(CountingDisk, _name, _counted(_name))


class RefusingDisk(CountingDisk):
    """Refuses the calls from number `first` to number `last`, counted from 1."""

    def __init__(self, number: int, first: int, last: int) -> None:
        super().__init__()
        self.number = number
        self.first = first
        self.last = last

    def before(self, call: str) -> None:
        super().before(call)
        if self.first <= self.calls <= self.last:
            raise OSError(self.number, os.strerror(self.number))


class KillingDisk(CountingDisk):
    """Kills its own process before call number `at`."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = at

    def before(self, call: str) -> None:
        super().before(call)
        if self.calls == self.at:
            os.kill(os.getpid(), signal.SIGKILL)


class StingyDisk(Disk):
    """Takes at most `most` bytes in one write."""

    def __init__(self, most: int) -> None:
        self.most = most

    def write(self, descriptor: int, content: bytes, offset: int) -> int:
        return super().write(descriptor, content[: self.most], offset) if self.most else 0


class Death(BaseException):
    """Stands for the end of the process: nothing after it may run."""


class RecordingDisk(Disk):
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
