"""Disks that misbehave on purpose: they refuse or count calls, or never sync."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final

from handrail.event_log.files.upkeep.keeper import RemovingDisk

PASSIVE_CALLS: Final = ("close", "now_ns", "monotonic_ms", "sleep_ms", "jittered_ms", "sync_both")
"""Calls that the disk cannot refuse, and the one that combines two others."""
CALLS: Final = tuple(
    name
    for name in dir(RemovingDisk)
    if not name.startswith("_") and callable(getattr(RemovingDisk, name)) and name not in PASSIVE_CALLS
)
"""Every call that reaches the disk and can be refused."""


class OneByOneDisk(RemovingDisk):
    """Runs concurrent syncs one after the other, so that a proof can be repeated.

    Both run even if the first is refused. This loses no outcome: before the first sync ends, either file may
    have arrived without the other.
    """

    def sync_both(self, first: int, second: int) -> None:
        refused: list[OSError] = []
        for descriptor in (first, second):
            try:
                self.sync(descriptor)
            except OSError as error:
                refused.append(error)
        if refused:
            raise refused[0]


class QuietDisk(OneByOneDisk):
    """Does everything except sync. For states that are only read."""

    def sync(self, descriptor: int) -> None:
        del descriptor

    def sync_names(self, descriptor: int) -> None:
        del descriptor


class CountingDisk(QuietDisk):
    """Counts the calls; a subclass says what happens before each of them."""

    def __init__(self) -> None:
        self.calls = 0

    def before(self, call: str) -> None:
        del call
        self.calls += 1


def _counted(name: str) -> Callable[..., Any]:
    original = getattr(QuietDisk, name)

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


class Death(BaseException):
    """The end of the process: nothing after it may run."""
