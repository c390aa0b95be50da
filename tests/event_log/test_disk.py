"""Two syncs at once: both are waited for, and neither can fail unheard."""

from __future__ import annotations

import errno
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from handrail.event_log.files.disk import Disk, run_both
from handrail.event_log.files.log import FileLog
from tests.event_log.log_promises import THREAD_SECONDS, A, append, code_of, keys, plan


def nothing() -> None:
    pass


def refuse() -> None:
    raise OSError(errno.ENOSPC, "no space")


def break_off() -> None:
    raise MemoryError


def test_two_calls_run_side_by_side() -> None:
    meeting = threading.Barrier(2, timeout=THREAD_SECONDS)

    def meet() -> None:
        meeting.wait()

    run_both(meet, meet)

    assert not meeting.broken


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [(refuse, nothing, errno.ENOSPC), (nothing, refuse, errno.ENOSPC), (refuse, refuse, errno.ENOSPC)],
)
def test_refusal_of_either_call_is_raised_after_both_ended(
    first: Callable[[], None], second: Callable[[], None], expected: int
) -> None:
    with pytest.raises(OSError) as caught:
        run_both(first, second)

    assert caught.value.errno == expected


def test_call_that_breaks_off_beside_another_is_not_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "unraisablehook", lambda trouble: None)

    with pytest.raises(OSError, match="did not finish"):
        run_both(nothing, break_off)


def test_the_first_call_is_not_left_before_the_second_has_ended() -> None:
    may_end = threading.Event()
    ended: list[str] = []

    def slow() -> None:
        may_end.wait(THREAD_SECONDS)
        ended.append("second")

    def fail() -> None:
        may_end.set()
        refuse()

    with pytest.raises(OSError):
        run_both(fail, slow)

    assert ended == ["second"]


class TimedSyncs(Disk):
    """Notes which thread makes a sync, and takes as long as it is told."""

    def __init__(self, waits: threading.Event | None) -> None:
        self.threads: list[int] = []
        self._waits = waits

    def sync(self, descriptor: int) -> None:
        self.threads.append(threading.get_ident())
        if self._waits is not None:
            self._waits.wait(0.005)


def test_syncs_of_a_quick_disk_start_no_thread() -> None:
    disk = TimedSyncs(None)

    for _ in range(20):
        disk.sync_both(1, 2)

    assert set(disk.threads) == {threading.get_ident()}


def test_syncs_of_a_slow_disk_wait_side_by_side() -> None:
    disk = TimedSyncs(threading.Event())

    for _ in range(2):
        disk.sync_both(1, 2)

    assert set(disk.threads[:2]) == {threading.get_ident()}, "the first one finds out"
    assert len(set(disk.threads[2:])) == 2


class OneSyncRefused(Disk):
    """Refuses the n-th sync, counted from 1, whichever thread it comes from."""

    def __init__(self, refused: int) -> None:
        self.refused = refused
        self.syncs = 0
        self._guard = threading.Lock()

    def sync(self, descriptor: int) -> None:
        with self._guard:
            self.syncs += 1
            is_refused = self.syncs == self.refused
        if is_refused:
            raise OSError(errno.EIO, "Input/output error")
        super().sync(descriptor)


@pytest.mark.parametrize("refused", [1, 2])
def test_a_commit_of_which_either_sync_is_refused_does_not_count(tmp_path: Path, refused: int) -> None:
    append(FileLog(str(tmp_path)), A, 0, plan("a:1"))

    assert code_of(lambda: append(FileLog(str(tmp_path), OneSyncRefused(refused)), A, 1, plan("a:2"))) == (
        "STORE_IO_ERROR"
    )

    assert keys(FileLog(str(tmp_path)).load(A)) == ["a:1"]
