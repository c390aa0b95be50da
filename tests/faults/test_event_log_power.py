"""The power fails after every single change to the disk: every disk that can be left behind is opened."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random

import pytest

from handrail.event_log.files.log import FileLog
from handrail.ports.log import Blob, Draft
from tests.event_log.log_promises import A, append, append_with_retry, blob, keys, plan
from tests.store_proof.crash_states import Snapshot, Tree, states_after
from tests.store_proof.disks import Death
from tests.store_proof.power_failures import PowerDisk
from tests.store_proof.scratch import write_tree

pytestmark = pytest.mark.thorough

Commit = tuple[list[Draft], list[Blob]]


MOST_PER_MOMENT = 5_000
"""More than any of these moments has: nothing here is left to a sample."""


def disks_after(snapshot: Snapshot) -> Iterator[Tree]:
    return states_after(snapshot, MOST_PER_MOMENT, Random(0))


def check_survives(data: Path, commits: Sequence[Commit], acknowledged: int) -> None:
    """Whole commits in order, at least those acknowledged, with their blobs; and the rest can follow."""
    log = FileLog(str(data))
    loaded = log.load(A)
    assert loaded is None or loaded.health.state == "healthy", loaded
    assert (loaded is not None) == bool(log.list_sessions())

    present = len(keys(loaded))
    sizes = [sum(len(drafts) for drafts, _ in commits[:count]) for count in range(len(commits) + 1)]
    everything = [draft.dedupe_key for drafts, _ in commits for draft in drafts]
    assert present in sizes[acknowledged:]
    assert keys(loaded) == everything[:present]
    for _, blobs in commits[: sizes.index(present)]:
        assert [log.get_blob(item.ref) for item in blobs] == [item.content for item in blobs]

    for drafts, _ in commits[sizes.index(present) :]:
        append_with_retry(log, A, drafts)
    assert keys(FileLog(str(data)).load(A)) == everything


def check_every_disk(disk: PowerDisk, commits: Sequence[Commit], place: Path) -> int:
    """Open each different disk once per number of acknowledged commits; how many there were."""
    seen: set[tuple[int, frozenset[tuple[str, bytes | None]]]] = set()
    for acknowledged, snapshot in disk.moments:
        for tree in disks_after(snapshot):
            key = (acknowledged, frozenset(tree.items()))
            if key not in seen:
                seen.add(key)
                write_tree(str(place), tree)
                check_survives(place / "data", commits, acknowledged)
    return len(seen)


def left_by_a_dead_writer(session: Path) -> None:
    """Orphaned events, and the sectors of a manifest line of which the first never arrived."""
    with (session / "events-000001.jsonl").open("ab") as events:
        events.write(b'{"dedupeKey":"lost:1","event":{}}\n' * 40)
    with (session / "manifest.jsonl").open("ab") as manifest:
        start = manifest.tell()
        manifest.write(bytes(512 - start % 512) + b'0000"],"sum":"' + b"0" * 64 + b'"}\n')


def left_torn(session: Path) -> None:
    with (session / "manifest.jsonl").open("ab") as manifest:
        manifest.write(b'{"v":1,"first":1,"last":1,"segment":"events-000001.jsonl","from":36,')


def left_without_events(session: Path) -> None:
    """A line that arrived whole and alone, and events that are only a size."""
    append(FileLog(str(session.parent.parent)), A, 1, plan("lost:1", "lost:2", "lost:3"))
    events = (session / "events-000001.jsonl").read_bytes()
    first = events.index(b"\n") + 1
    (session / "events-000001.jsonl").write_bytes(events[:first] + bytes(len(events) - first))
    (session / "lock").write_bytes(b"")


@pytest.mark.parametrize("leave", [left_by_a_dead_writer, left_torn, left_without_events])
def test_power_failure_while_orphans_are_replaced_is_survived(
    tmp_path: Path, leave: Callable[[Path], None]
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    append(FileLog(str(home / "data")), A, 0, plan("a:1"))
    leave(home / "data" / "sessions" / A)
    disk = PowerDisk(str(home))  # what lies there counts as durable
    disk.acknowledged = 1

    second: Commit = (plan("a:2"), [blob(b"one ref makes the new line end within the old one")])

    append(FileLog(str(home / "data"), disk), A, 1, *second)

    commits: list[Commit] = [(plan("a:1"), []), second]
    assert check_every_disk(disk, commits, tmp_path / "after") >= 5


COMMIT: Commit = (plan("a:1", "a:2"), [blob(b"abc")])
SECOND: Commit = (plan("a:3", "a:4"), [])
HISTORIES = [[COMMIT], [COMMIT, SECOND]]
"""The last commit is the one whose writer dies: the first of a session, and one that follows another."""


def dead_writer(home: Path, commits: Sequence[Commit], dies_at: int) -> PowerDisk | None:
    """The disk after a last commit whose process ended at this change; None when it did not get there."""
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    disk = PowerDisk(str(home))
    head = 0
    for drafts, blobs in commits[:-1]:
        append(FileLog(str(home / "data"), disk), A, head, drafts, blobs)
        head += len(drafts)
    disk.dies_at = len(disk.moments) + dies_at
    try:
        append(FileLog(str(home / "data"), disk), A, head, *commits[-1])
    except Death:
        return disk
    return None


def deaths(home: Path, commits: Sequence[Commit]) -> Iterator[PowerDisk]:
    for dies_at in itertools.count(1):
        disk = dead_writer(home, commits, dies_at)
        if disk is None:
            assert dies_at > 4
            return
        disk.moments.clear()
        yield disk


@pytest.mark.parametrize("commits", HISTORIES)
def test_acknowledged_work_of_a_second_writer_is_durable(tmp_path: Path, commits: list[Commit]) -> None:
    head = sum(len(drafts) for drafts, _ in commits[:-1])
    for disk in deaths(tmp_path / "home", commits):
        append(FileLog(str(tmp_path / "home" / "data"), disk), A, head, *commits[-1])
        disk.acknowledged = len(commits)
        disk.moments.clear()
        disk.tick()

        check_every_disk(disk, commits, tmp_path / "after")


@pytest.mark.parametrize("commits", HISTORIES)
def test_what_a_reader_shows_after_a_writer_died_is_durable(tmp_path: Path, commits: list[Commit]) -> None:
    everything = sum(len(drafts) for drafts, _ in commits)
    shown = 0
    for disk in deaths(tmp_path / "home", commits):
        loaded = FileLog(str(tmp_path / "home" / "data"), disk).load(A)
        is_shown = loaded is not None and loaded.head == everything
        shown += is_shown
        disk.acknowledged = len(commits) - (0 if is_shown else 1)
        disk.moments.clear()
        disk.tick()

        check_every_disk(disk, commits, tmp_path / "after")

    assert shown >= 2, "after the write of the line, and after its sync"
