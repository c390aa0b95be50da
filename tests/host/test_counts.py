"""Counts of one server: the same numbers in all of its processes, and places that end with their process."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from handrail.host.counts import MOST_COUNTS, Counts, OwnCounts, SharedCounts


def forked(work: Callable[[], None]) -> int:
    """Do it in a process of its own, which stays until it is ended or done; its number."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(0)
    return pid


@pytest.mark.parametrize("counts", [OwnCounts(), SharedCounts()])
def test_a_count_is_kept_changed_and_removed(counts: Counts) -> None:
    with counts.guarded():
        counts.put("ana", (1.0, 5.0))
        counts.put("ana", (2.5, 6.0))
        counts.put("ben", (7.0, 8.0))
        counts.remove("ben")

    assert (counts.get("ana"), counts.get("ben"), counts.get("eve")) == ((2.5, 6.0), None, None)


def test_a_process_sees_what_another_one_counted() -> None:
    counts = SharedCounts()

    def add() -> None:
        for _ in range(500):
            with counts.guarded():
                amount, moment = counts.get("calls") or (0.0, 0.0)
                counts.put("calls", (amount + 1, moment))

    children = [forked(add) for _ in range(3)]
    for pid in children:
        os.waitpid(pid, 0)

    assert counts.get("calls") == (1500.0, 0.0)


@pytest.mark.parametrize("counts", [OwnCounts(), SharedCounts()])
def test_a_full_table_keeps_the_newest_count(counts: Counts) -> None:
    for number in range(3 * MOST_COUNTS):
        counts.put(f"address {number}", (1.0, float(number)))

    assert counts.get(f"address {3 * MOST_COUNTS - 1}") == (1.0, 3 * MOST_COUNTS - 1.0)
    assert counts.get("address 0") is None


def test_two_places_hold_two_processes_until_one_dies() -> None:
    counts = SharedCounts()
    got, told = os.pipe()

    def hold() -> None:
        with counts.one_of(2):
            os.write(told, b"x")
            signal.pause()

    first, second = forked(hold), forked(hold)
    assert os.read(got, 1) + os.read(got, 1) == b"xx"
    third = forked(hold)
    os.set_blocking(got, False)
    with pytest.raises(BlockingIOError):
        os.read(got, 1)
    os.set_blocking(got, True)
    os.kill(first, signal.SIGKILL)

    assert os.read(got, 1) == b"x", "the place of the dead one is free"
    for pid in (second, third):
        os.kill(pid, signal.SIGKILL)
    for pid in (first, second, third):
        os.waitpid(pid, 0)
