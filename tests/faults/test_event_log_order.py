"""The order in which a commit reaches the disk, and what is done about a writer that died within it."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.event_log.files.log import FileLog
from handrail.event_log.files.segments import SegmentLimits
from tests.event_log.log_promises import A, B, append, blob, keys, plan
from tests.faults.disks import RecordingDisk
from tests.store_proof.disks import Death

EVENTS = "events-000001.jsonl"
MANIFEST = "manifest.jsonl"
ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
BOTH_WRITTEN = [f"write {EVENTS}", f"write {MANIFEST}", f"sync {EVENTS}", f"sync {MANIFEST}", "write lock"]
PLAIN_COMMIT = BOTH_WRITTEN
SETTLED = BOTH_WRITTEN
"""The syncs stand beside each other: they are issued together."""


def traced(data: Path, limits: SegmentLimits | None = None) -> tuple[FileLog, RecordingDisk]:
    disk = RecordingDisk()
    return FileLog(str(data), disk, limits), disk


def test_first_commit_makes_every_name_durable_first(tmp_path: Path) -> None:
    (tmp_path / "home" / "something").mkdir(parents=True)
    log, disk = traced(tmp_path / "home" / "data")

    append(log, A, 0, plan("a:1"), [blob(b"abc")])

    assert disk.trace == [
        *("make data", "sync names in home", "make sessions", "sync names in data"),
        *(f"make {A}", "sync names in sessions"),
        *("make blobs", "sync names in data", "make ba", "sync names in blobs"),
        *(f"write {ABC}", f"sync {ABC}", "sync names in ba"),
        *(f"write {EVENTS}", f"sync {EVENTS}", f"sync names in {A}"),
        *(f"write {MANIFEST}", f"sync {MANIFEST}", "write lock"),
    ]


def test_commit_writes_events_and_line_and_syncs_both(tmp_path: Path) -> None:
    append(FileLog(str(tmp_path)), A, 0, plan("a:1"))
    log, disk = traced(tmp_path)

    append(log, A, 1, plan("a:2", "a:3"))

    assert disk.trace == PLAIN_COMMIT


def test_a_new_segment_gets_a_durable_name_before_it_is_attested(tmp_path: Path) -> None:
    append(FileLog(str(tmp_path)), A, 0, plan("a:1"))
    log, disk = traced(tmp_path, SegmentLimits(max_events=1))

    append(log, A, 1, plan("a:2"))

    second = "events-000002.jsonl"
    assert disk.trace == [
        *(f"write {second}", f"sync {second}", f"sync names in {A}"),
        *(f"write {MANIFEST}", f"sync {MANIFEST}", "write lock"),
    ]


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("data", ["sync names in home", "make sessions", "sync names in data"]),
        ("data/sessions", ["sync names in data", f"make {A}", "sync names in sessions"]),
        (f"data/sessions/{A}", ["sync names in sessions"]),
    ],
)
def test_name_of_an_empty_directory_is_made_durable_again(
    tmp_path: Path, made: str, expected: list[str]
) -> None:
    (tmp_path / "home" / made).mkdir(parents=True)
    log, disk = traced(tmp_path / "home" / "data")

    with log.hold(A, 0):
        pass

    assert disk.trace[: len(expected)] == expected


@pytest.mark.parametrize(("session_id", "is_written"), [(A, False), (B, True)])
def test_blob_is_written_again_unless_pinned(tmp_path: Path, session_id: str, is_written: bool) -> None:
    append(FileLog(str(tmp_path)), A, 0, plan("a:1"), [blob(b"abc")])
    append(FileLog(str(tmp_path)), B, 0, plan("b:1"))
    log, disk = traced(tmp_path)

    append(log, A if session_id == A else B, 1, plan("x:2"), [blob(b"abc")])

    again = [f"write {ABC}", f"sync {ABC}", "sync names in ba"] if is_written else []
    assert disk.trace == again + PLAIN_COMMIT


def test_orphans_are_cut_off_durably_first(tmp_path: Path) -> None:
    append(FileLog(str(tmp_path)), A, 0, plan("a:1"))
    for name, begun in ((EVENTS, b'{"dedupeKey":"a:2","ev'), (MANIFEST, b'{"v":1,"first":1,"la')):
        with (tmp_path / "sessions" / A / name).open("ab") as file:
            file.write(begun)
    log, disk = traced(tmp_path)

    append(log, A, 1, plan("a:2"))

    assert disk.trace == [
        *(f"cut {MANIFEST}", f"sync {MANIFEST}", f"cut {EVENTS}", f"sync {EVENTS}"),
        *PLAIN_COMMIT,
    ]


def dies_before(data: Path, step: str) -> None:
    """A writer of event 1 whose process ends right there."""
    with pytest.raises(Death):
        append(FileLog(str(data), RecordingDisk(step)), A, 1, plan("a:2"))


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (f"write {EVENTS}", ["a:1"]),
        (f"write {MANIFEST}", ["a:1"]),
        (f"sync {EVENTS}", ["a:1", "a:2"]),
        (f"sync {MANIFEST}", ["a:1", "a:2"]),
        ("write lock", ["a:1", "a:2"]),
    ],
)
def test_a_commit_exists_from_the_write_of_its_line_on(
    tmp_path: Path, step: str, expected: list[str]
) -> None:
    append(FileLog(str(tmp_path)), A, 0, plan("a:1"))

    dies_before(tmp_path, step)

    assert keys(FileLog(str(tmp_path)).load(A)) == expected


@pytest.mark.parametrize("step", [f"sync {EVENTS}", f"sync {MANIFEST}", "write lock"])
def test_holder_makes_durable_what_it_finds(tmp_path: Path, step: str) -> None:
    append(FileLog(str(tmp_path)), A, 0, plan("a:1"))
    dies_before(tmp_path, step)
    modified = (tmp_path / "sessions" / A / MANIFEST).stat().st_mtime_ns
    log, disk = traced(tmp_path)

    with log.hold(A, 0) as hold:
        seen = keys(hold.load())
        first_trace = list(disk.trace)
        hold.append(0, plan("a:2"))

    assert seen == ["a:1", "a:2"]
    assert first_trace == SETTLED
    assert disk.trace == first_trace
    assert (tmp_path / "sessions" / A / MANIFEST).stat().st_mtime_ns == modified


def test_a_reader_makes_durable_what_it_shows_without_writing(tmp_path: Path) -> None:
    append(FileLog(str(tmp_path)), A, 0, plan("a:1"))
    dies_before(tmp_path, f"sync {MANIFEST}")
    log, disk = traced(tmp_path)

    seen = keys(log.load(A))

    assert seen == ["a:1", "a:2"]
    assert disk.trace == [f"sync {EVENTS}", f"sync {MANIFEST}"]


def test_reader_at_rest_only_reads(tmp_path: Path) -> None:
    append(FileLog(str(tmp_path)), A, 0, plan("a:1"), [blob(b"abc")])
    log, disk = traced(tmp_path)

    log.load(A)
    log.load_since(A, 1)
    log.list_sessions()
    log.get_blob(blob(b"abc").ref)

    assert disk.trace == []


def test_interrupted_append_makes_the_hold_look_again(tmp_path: Path) -> None:
    append(FileLog(str(tmp_path)), A, 0, plan("a:1"))
    log, disk = traced(tmp_path)

    with log.hold(A, 0) as hold:
        before = keys(hold.load())
        disk.dies_before = f"sync {MANIFEST}"
        with pytest.raises(Death):
            hold.append(1, plan("a:2"))
        disk.dies_before = ""
        after = keys(hold.load())

    assert (before, after) == (["a:1"], ["a:1", "a:2"])


class RefusedSync(RecordingDisk):
    """The manifest cannot be synced, nor cut back afterwards: the line stays in the cache."""

    def sync(self, descriptor: int) -> None:
        if self._names[descriptor] == MANIFEST:
            raise OSError(5, "Input/output error")
        super().sync(descriptor)

    def cut(self, descriptor: int, size: int) -> None:
        raise OSError(5, "Input/output error")


def test_unsynced_line_is_written_again_and_not_trusted(tmp_path: Path) -> None:
    append(FileLog(str(tmp_path)), A, 0, plan("a:1"))
    with pytest.raises(Exception, match="STORE_IO_ERROR"):
        append(FileLog(str(tmp_path), RefusedSync()), A, 1, plan("a:2"))
    log, disk = traced(tmp_path)

    answer = append(log, A, 1, plan("a:2"))

    assert type(answer).__name__ == "Replayed"
    assert disk.trace == SETTLED
