"""Several processes that answer on one socket, and the one that starts them and looks after them.

The problem: one Python process uses one core. The processes of a server must look like one: one address, one
stop, and no request that is lost because another process died.

The idea: the first process binds, forks its workers and serves nothing. Every worker accepts from the same
socket, one connection at a time, so a busy one leaves the next connection to the others. The socket stays
open while a worker is replaced, so what waits there is answered by another one.

The invariants: workers take orders from a pipe of their own, whose other end only the first process has. So a
signal to the whole group stops them once, and they stop when the first process is gone. No thread and no
connection exists before the fork.

What would break it: a worker that keeps the pipe of another one open; a thread or a connection to the
database that was made before the fork.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Final

import msgspec

from handrail.contract.catalogue import E_UNKNOWN
from handrail.host.counts import SharedCounts

HASHES_OF_A_SERVER: Final = 2
"""Passphrases that all workers together hash at a time."""
QUICK_END_S: Final = 5.0
"""Seconds; a worker that ends sooner counts as failed at the start."""
MOST_QUICK_ENDS: Final = 5
_FIRST_PAUSE_S: Final = 0.2
_STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_LOOK_S: Final = 0.05


class Worker(msgspec.Struct, frozen=True, kw_only=True):
    """One of the processes, as its own code sees it."""

    index: int
    is_first: bool
    """Whether it says where the server is reached: the first one of all, and none that takes its place."""
    orders: int
    """A byte is an order to stop, and a second one to stop at once; the end says that nobody is left."""
    counts: SharedCounts
    of: int
    """How many there are."""


class _Held(msgspec.Struct, kw_only=True):
    """A worker as the first process sees it."""

    index: int
    orders: int
    since: float


class Workers:
    """The first process: starts workers, replaces those that end, and stops them all."""

    def __init__(self, count: int, work: Callable[[Worker], int], note: Callable[[str], None]) -> None:
        """`work` serves in a process of its own until a signal stops it; `note` takes lines for people."""
        self._count = count
        self._work = work
        self._note = note
        self._counts = SharedCounts()
        self._held: dict[int, _Held] = {}
        self._asked = 0
        self._quick_ends = 0
        self._status = 0
        self._has_begun = False

    def run(self) -> int:
        """Serve until a signal. Returns the exit status: 0 if every worker finished its work."""
        before = {number: signal.signal(number, self._on_signal) for number in _STOP_SIGNALS}
        try:
            for index in range(self._count):
                self._start(index)
            while self._held:
                self._wait_for_one()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        return self._status

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self._asked += 1
        for held in self._held.values():
            _tell(held.orders)

    def _start(self, index: int) -> None:
        reader, writer = os.pipe()
        signal.pthread_sigmask(signal.SIG_BLOCK, _STOP_SIGNALS)
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            self._become(index, reader, writer)
        os.close(reader)
        self._held[pid] = _Held(index=index, orders=writer, since=time.monotonic())
        self._has_begun = True
        for _ in range(self._asked):  # a signal before it was known
            _tell(writer)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP_SIGNALS)

    def _become(self, index: int, reader: int, writer: int) -> None:
        """Become the worker. Never returns: the code after it belongs to the first process."""
        status = E_UNKNOWN.exit_status
        try:
            os.close(writer)
            for held in self._held.values():
                os.close(held.orders)
            for number in _STOP_SIGNALS:
                signal.signal(number, signal.SIG_IGN)  # until the server takes them
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP_SIGNALS)
            worker = Worker(
                index=index,
                is_first=index == 0 and not self._has_begun,
                orders=reader,
                counts=self._counts,
                of=self._count,
            )
            status = self._work(worker)
        except BaseException as trouble:  # noqa: BLE001 - the process ends here, whatever it is
            self._note(f"handrail: a worker could not begin: {trouble!r}")
        finally:
            os._exit(status)

    def _wait_for_one(self) -> None:
        pid, status = os.waitpid(-1, 0)
        held = self._held.pop(pid, None)
        if held is None:
            return
        os.close(held.orders)
        code = os.waitstatus_to_exitcode(status)
        if self._asked:
            self._status = self._status or (E_UNKNOWN.exit_status if code else 0)
            return
        is_quick = time.monotonic() - held.since < QUICK_END_S
        self._quick_ends = self._quick_ends + 1 if is_quick else 0
        if self._quick_ends > MOST_QUICK_ENDS:
            self._note("handrail: the workers end as soon as they begin; the server stops.")
            self._status = E_UNKNOWN.exit_status
            self._on_signal(signal.SIGTERM, None)
            return
        self._note(f"handrail: worker {held.index} ended ({code}); another one takes its place.")
        self._pause()
        if not self._asked:
            self._start(held.index)

    def _pause(self) -> None:
        """Wait longer after each worker that failed to start serving; a signal ends the wait."""
        until = time.monotonic() + (_FIRST_PAUSE_S * 2**self._quick_ends if self._quick_ends else 0)
        while not self._asked and time.monotonic() < until:
            time.sleep(_LOOK_S)


def _tell(orders: int) -> None:
    with suppress(OSError):  # it has just ended
        os.write(orders, b".")
