"""The lock of a session on disk: bounded waits by an injected clock, and sessions that are replaced."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from handrail.contract.outcome import Fault
from handrail.event_log.files.disk import Disk, find_holder
from handrail.event_log.files.log import FileLog
from tests.event_log.log_promises import A, append, keys, plan


class SlowDisk(Disk):
    """Time passes only in sleeps, which are written down; something may happen during one."""

    def __init__(self) -> None:
        self.sleeps: list[int] = []

    def monotonic_ms(self) -> int:
        return 5_000 + sum(self.sleeps)

    def sleep_ms(self, duration_ms: int) -> None:
        self.sleeps.append(duration_ms)

    def jittered_ms(self, duration_ms: int) -> int:
        return duration_ms


@pytest.mark.parametrize(
    ("wait_ms", "sleeps"),
    [
        (0, []),
        (1, [1]),
        (10, [1, 2, 4, 3]),
        (100, [1, 2, 4, 8, 16, 32, 23, 8, 3, 1, 1, 1]),
    ],
)
def test_wait_for_a_busy_session_is_bounded(tmp_path: Path, wait_ms: int, sleeps: list[int]) -> None:
    disk = SlowDisk()

    with FileLog(str(tmp_path)).hold(A, 0), pytest.raises(Fault) as caught:
        FileLog(str(tmp_path), disk).hold(A, wait_ms).__enter__()

    assert disk.sleeps == sleeps
    assert caught.value.kind.code == "SESSION_LOCKED"
    assert caught.value.details == {"session_id": A, "waited_ms": wait_ms}


def test_those_that_wait_do_not_look_together() -> None:
    found = {Disk().jittered_ms(32) for _ in range(400)}

    assert len(found) > 16
    assert (min(found), max(found)) >= (16, 40)
    assert max(found) <= 48
    assert Disk().jittered_ms(1) == 1


def test_a_wait_opens_the_files_of_the_session_once(tmp_path: Path) -> None:
    class Opening(SlowDisk):
        opened = 0

        def open_directory(self, path: str) -> int:
            self.opened += 1
            return super().open_directory(path)

    disk = Opening()
    with FileLog(str(tmp_path)).hold(A, 0), pytest.raises(Fault):
        FileLog(str(tmp_path), disk).hold(A, 1_000).__enter__()

    assert len(disk.sleeps) > 30
    assert disk.opened == 1


def test_a_free_session_is_held_without_a_wait(tmp_path: Path) -> None:
    disk = SlowDisk()

    append(FileLog(str(tmp_path), disk), A, 0, plan("a:1"))

    assert disk.sleeps == []


def test_a_session_that_is_let_go_during_the_wait_is_held(tmp_path: Path) -> None:
    first = FileLog(str(tmp_path)).hold(A, 0)
    first.__enter__()

    class Meanwhile(SlowDisk):
        def sleep_ms(self, duration_ms: int) -> None:
            super().sleep_ms(duration_ms)
            if len(self.sleeps) == 3:
                first.__exit__(None, None, None)

    disk = Meanwhile()
    append(FileLog(str(tmp_path), disk), A, 0, plan("a:1"))

    assert disk.sleeps == [1, 2, 4]


class DeletedMeanwhile(SlowDisk):
    """Somebody deletes the session between the opening of its lock file and the lock."""

    def __init__(self, session: Path, *, is_made_anew: bool) -> None:
        super().__init__()
        self.session = session
        self.is_made_anew = is_made_anew
        self.locked: list[int] = []

    def lock_now(self, descriptor: int) -> bool:
        if not self.locked:
            shutil.rmtree(self.session)
            if self.is_made_anew:
                append(FileLog(str(self.session.parent.parent)), A, 0, plan("anew:1"))
        self.locked.append(os.fstat(descriptor).st_ino)
        return super().lock_now(descriptor)


@pytest.mark.parametrize(("is_made_anew", "expected"), [(False, []), (True, ["anew:1"])])
def test_a_lock_on_a_deleted_session_is_no_lock(
    tmp_path: Path, is_made_anew: bool, expected: list[str]
) -> None:
    log = FileLog(str(tmp_path))
    append(log, A, 0, plan("old:1"))
    disk = DeletedMeanwhile(tmp_path / "sessions" / A, is_made_anew=is_made_anew)

    with FileLog(str(tmp_path), disk).hold(A, 100) as hold:
        seen = keys(hold.load())
        hold.append(len(expected), plan("new:1"))

    assert len(disk.locked) == 2
    assert seen == expected
    assert keys(log.load(A)) == [*expected, "new:1"]


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    log = FileLog(str(tmp_path))
    append(log, A, 0, plan("a:1"))
    before = sorted(os.listdir("/dev/fd"))

    with log.hold(A, 0) as hold:
        hold.append(1, plan("a:2"))
        with pytest.raises(Fault):
            log.hold(A, 0).__enter__()
    (tmp_path / "sessions" / A / "lock").unlink()
    (tmp_path / "sessions" / A / "lock").symlink_to("manifest.jsonl")
    with pytest.raises(Fault):
        log.hold(A, 0).__enter__()
    with pytest.raises(Fault):
        log.load(A)
    log.list_sessions()

    assert sorted(os.listdir("/dev/fd")) == before


def test_who_holds_a_lock_is_named_where_the_system_tells_it(tmp_path: Path) -> None:
    lock, table = tmp_path / "lock", tmp_path / "locks"
    lock.touch()
    held = lock.stat()
    place = f"{os.major(held.st_dev):02x}:{os.minor(held.st_dev):02x}:{held.st_ino}"
    waiting = f"2: -> FLOCK  ADVISORY  WRITE 7 {place} 0 EOF\n"
    other = "1: FLOCK  ADVISORY  WRITE 8 00:00:1 0 EOF\n\n"
    table.write_text(f"{waiting}{other}3: FLOCK  ADVISORY  WRITE 4711 {place} 0 EOF\n", encoding="ascii")

    assert find_holder(held, str(table)) == "Process 4711"
    table.write_text(other, encoding="ascii")
    assert find_holder(held, str(table)) == "Another writer"
    assert find_holder(held, str(tmp_path / "none")) == "Another writer"
