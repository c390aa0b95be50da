"""What a file log remembers between calls is used only while the disk agrees with it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path

import pytest

from handrail.contract.ids import SessionId
from handrail.event_log.files.cache import ProvenSessions
from handrail.event_log.files.log import FileLog
from handrail.event_log.files.manifest import Attestation, add_attestation, empty_tip
from handrail.event_log.files.segments import SegmentLimits
from handrail.ports.log import Committed, Conflict, Replayed
from handrail.runtime.recent import Recent
from tests.event_log.log_promises import A, B, append, blob, code_of, keys, load, plan
from tests.store_proof.disks import CountingDisk

EVENTS = "events-000001.jsonl"
MANIFEST = "manifest.jsonl"


class ReadingDisk(CountingDisk):
    """Counts the bytes that are read."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes_read = 0

    def read(self, descriptor: int, size: int, offset: int) -> bytes:
        content = super().read(descriptor, size, offset)
        self.bytes_read += len(content)
        return content


def work_of_one_commit(data: Path, commits: int) -> tuple[int, int]:
    """Calls to the disk and bytes read: to see what is new, and to append one event to a warm log."""
    disk = ReadingDisk()
    log = FileLog(str(data), disk, SegmentLimits(max_events=1_000_000))
    for number in range(commits):
        append(log, A, number, plan(f"a:{number:06d}"))
    disk.calls = disk.bytes_read = 0

    log.load_since(A, commits)
    with log.hold(A, 0) as hold:
        hold.load_since(commits)
        answer = hold.append(commits, plan(f"a:{commits:06d}"))

    assert isinstance(answer, Committed)
    return disk.calls, disk.bytes_read


def test_commit_to_a_warm_log_costs_the_same(tmp_path: Path) -> None:
    short = work_of_one_commit(tmp_path / "short", 20)
    long = work_of_one_commit(tmp_path / "long", 400)

    assert long[0] == short[0]
    assert long[1] <= short[1] + 60  # numbers with more digits


def test_the_commits_of_another_process_are_seen(tmp_path: Path) -> None:
    ours, theirs = FileLog(str(tmp_path)), FileLog(str(tmp_path))
    append(ours, A, 0, plan("a:1"))
    append(theirs, A, 1, plan("a:2", "a:3"))

    tail = ours.load_since(A, 1)
    answers = [append(ours, A, head, plan(key)) for head, key in ((1, "a:2"), (1, "a:4"), (3, "a:5"))]

    assert keys(tail) == ["a:2", "a:3"]
    assert answers[0] == Replayed(record=load(theirs, A).records[1])
    assert answers[1] == Conflict(head=3)
    assert keys(theirs.load_since(A, 3)) == ["a:5"]
    assert load(ours, A) == load(FileLog(str(tmp_path)), A)


@pytest.mark.parametrize("index", range(14))
def test_any_index_is_answered_as_a_cold_log_answers_it(tmp_path: Path, index: int) -> None:
    warm = FileLog(str(tmp_path), limits=SegmentLimits(max_events=5))
    for number in range(12):
        append(warm, A, number, plan(f"a:{number}"))

    assert warm.load_since(A, index) == FileLog(str(tmp_path)).load_since(A, index)
    with warm.hold(A, 0) as hold:
        assert hold.load_since(index) == FileLog(str(tmp_path)).load_since(A, index)


def test_a_proven_tip_counts_from_the_event_after_it() -> None:
    proven = ProvenSessions()
    commit = Attestation(v=1, first=0, last=1, segment=EVENTS, start=0, end=72, head="0" * 64, blobs=())
    tip, _ = add_attestation(empty_tip(A), commit)
    proven.record(A, tip, None)

    assert [proven.tip_before(A, index) for index in (1, 2, 3)] == [None, tip, tip]


def test_session_put_back_to_an_earlier_time_is_seen(tmp_path: Path) -> None:
    log = FileLog(str(tmp_path))
    append(log, A, 0, plan("a:1"))
    shutil.copytree(tmp_path / "sessions" / A, tmp_path / "backup")
    append(log, A, 1, plan("a:2"))
    shutil.rmtree(tmp_path / "sessions" / A)
    shutil.copytree(tmp_path / "backup", tmp_path / "sessions" / A)

    tail = log.load_since(A, 2)
    answer = append(log, A, 1, plan("a:2"))

    assert tail is not None
    assert (tail.head, tail.records) == (1, ())
    assert isinstance(answer, Committed)


def test_other_log_of_the_same_length_has_another_digest(tmp_path: Path) -> None:
    log, other = FileLog(str(tmp_path / "one")), FileLog(str(tmp_path / "two"))
    append(log, A, 0, plan("a:1"))
    append(other, A, 0, plan("b:1"))
    before = load(log, A)
    shutil.rmtree(tmp_path / "one" / "sessions" / A)
    shutil.copytree(tmp_path / "two" / "sessions" / A, tmp_path / "one" / "sessions" / A)

    tail = log.load_since(A, 1)

    assert tail is not None
    assert (tail.head, tail.digest) == (1, load(other, A).digest)
    assert tail.digest != before.digest
    assert append(log, A, 1, plan("b:1")) == Replayed(record=load(other, A).records[0])


def test_a_session_that_was_deleted_is_gone_and_can_begin_again(tmp_path: Path) -> None:
    log = FileLog(str(tmp_path))
    append(log, A, 0, plan("a:1"), [blob(b"abc")])
    shutil.rmtree(tmp_path / "sessions" / A)
    shutil.rmtree(tmp_path / "blobs")

    assert (log.load_since(A, 1), log.load(A)) == (None, None)
    assert isinstance(append(log, A, 0, plan("a:1"), [blob(b"abc")]), Committed)
    assert log.get_blob(blob(b"abc").ref) == b"abc"


@pytest.mark.parametrize("name", [EVENTS, MANIFEST])
def test_a_warm_log_does_not_write_behind_a_hole(tmp_path: Path, name: str) -> None:
    log = FileLog(str(tmp_path))
    append(log, A, 0, plan("a:1"))
    append(log, A, 1, plan("a:2"))
    path = tmp_path / "sessions" / A / name
    path.write_bytes(path.read_bytes()[:40])

    assert code_of(lambda: append(log, A, 2, plan("a:3"))) == "SESSION_NOT_HEALTHY"
    assert len(path.read_bytes()) == 40


FIVE = SegmentLimits(max_events=2)
"""So that five events are in three segments."""


def warm_log(data: Path) -> FileLog:
    """A log that wrote five events and has just read them."""
    log = FileLog(str(data), limits=FIVE)
    for number in range(5):
        append(log, A, number, plan(f"a:{number}"))
    log.load(A)
    return log


def flip(path: Path, *, keeps_time: bool = False) -> None:
    """Change one byte in the first line of a file, where it lies."""
    before = path.stat()
    with path.open("r+b") as file:
        byte = file.read(30)[-1]
        file.seek(29)
        file.write(bytes([byte ^ 1]))
    if keeps_time:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("name", [EVENTS, "events-000002.jsonl", "events-000003.jsonl", MANIFEST])
@pytest.mark.parametrize("keeps_time", [False, True])
def test_byte_changed_in_place_is_noticed_by_its_reader(tmp_path: Path, name: str, keeps_time: bool) -> None:
    log = warm_log(tmp_path)
    flip(tmp_path / "sessions" / A / name, keeps_time=keeps_time)

    tail = log.load_since(A, 5)

    assert tail is not None
    assert tail.health.state != "healthy"
    assert code_of(lambda: append(log, A, 5, plan("a:5"))) == "SESSION_NOT_HEALTHY"


@pytest.mark.parametrize("name", [EVENTS, "events-000003.jsonl", MANIFEST])
def test_a_holder_notices_a_changed_byte_as_a_reader_does(tmp_path: Path, name: str) -> None:
    log = warm_log(tmp_path)
    flip(tmp_path / "sessions" / A / name)
    before = {path.name: path.read_bytes() for path in (tmp_path / "sessions" / A).iterdir()}

    assert code_of(lambda: append(log, A, 5, plan("a:5"))) == "SESSION_NOT_HEALTHY"
    assert {path.name: path.read_bytes() for path in (tmp_path / "sessions" / A).iterdir()} == before


def test_byte_changed_before_another_writer_is_noticed(tmp_path: Path) -> None:
    log = warm_log(tmp_path)
    other = FileLog(str(tmp_path), limits=FIVE)
    other.load(A)
    flip(tmp_path / "sessions" / A / EVENTS)

    assert code_of(lambda: append(other, A, 5, plan("a:5"))) == "SESSION_NOT_HEALTHY"
    assert code_of(lambda: append(log, A, 5, plan("a:5"))) == "SESSION_NOT_HEALTHY"


def test_what_another_process_adds_is_read_and_no_more(tmp_path: Path) -> None:
    sizes = []
    for commits in (20, 400):
        disk = ReadingDisk()
        ours, theirs = FileLog(str(tmp_path / str(commits)), disk), FileLog(str(tmp_path / str(commits)))
        for number in range(commits):
            append(ours, A, number, plan(f"a:{number:06d}"))
        append(theirs, A, commits, plan(f"a:{commits:06d}"))
        disk.bytes_read = 0

        assert keys(ours.load_since(A, commits)) == [f"a:{commits:06d}"]
        append(ours, A, commits + 1, plan(f"a:{commits + 1:06d}"))
        sizes.append(disk.bytes_read)

    assert sizes[1] <= sizes[0] + 60  # numbers with more digits


def test_damage_makes_a_warm_log_look_at_everything(tmp_path: Path) -> None:
    log = FileLog(str(tmp_path))
    append(log, A, 0, plan("a:1"))
    append(log, A, 1, plan("a:2"))
    path = tmp_path / "sessions" / A / EVENTS
    path.write_bytes(path.read_bytes().replace(b'"a:1"}', b'"a:X"}'))

    assert load(log, A).health.state == "corrupt_head"

    assert code_of(lambda: append(log, A, 2, plan("a:3"))) == "SESSION_NOT_HEALTHY"


def test_log_asked_for_the_end_proves_all_of_it(tmp_path: Path) -> None:
    append(FileLog(str(tmp_path)), A, 0, plan("a:1"))
    append(FileLog(str(tmp_path)), A, 1, plan("a:2"))
    path = tmp_path / "sessions" / A / EVENTS
    path.write_bytes(path.read_bytes().replace(b'"a:1"}', b'"a:X"}'))
    log = FileLog(str(tmp_path))

    assert keys(log.load_since(A, 1)) == []

    assert code_of(lambda: append(log, A, 2, plan("a:3"))) == "SESSION_NOT_HEALTHY"


def test_cold_holder_learns_keys_and_pins_from_what_was_read(tmp_path: Path) -> None:
    limits = SegmentLimits(max_events=2)
    first = FileLog(str(tmp_path), limits=limits)
    for number in range(5):
        append(first, A, number, plan(f"a:{number}"), [blob(b"%d" % number)])
    log = FileLog(str(tmp_path), ReadingDisk(), limits)
    log.load(A)

    answers = [append(log, A, 5, plan(f"a:{number}")) for number in range(5)]
    append(log, A, 5, plan("a:5"), [blob(b"3")])

    assert answers == [Replayed(record=record) for record in load(first, A).records[:5]]
    assert keys(log.load(A)) == [f"a:{number}" for number in range(6)]


# The cache on disk


def remembered(data: Path) -> Path:
    """A session of three commits; the cache holds what was worked out after the second."""
    log = FileLog(str(data), limits=SegmentLimits(max_events=2))
    append(log, A, 0, plan("a:1", "a:2"))
    with log.hold(A, 0) as hold:
        hold.append(2, plan("a:3"))
        hold.remember(b"content\nof three")
        hold.append(3, plan("a:4"))
    return data / "cache" / A


def test_what_was_kept_on_disk_is_recalled_by_another_process(tmp_path: Path) -> None:
    remembered(tmp_path)
    log = FileLog(str(tmp_path))

    recalled = log.recall(A)

    assert recalled is not None
    assert (recalled.head, recalled.content) == (3, b"content\nof three")
    assert recalled.digest == load(log, A).records[2].digest
    assert keys(log.load_since(A, 3)) == ["a:4"]


def test_a_cache_that_was_cut_or_changed_at_any_byte_is_ignored(tmp_path: Path) -> None:
    cache = remembered(tmp_path)
    whole = cache.read_bytes()
    assert FileLog(str(tmp_path)).recall(A) is not None

    for place in range(len(whole)):
        cache.write_bytes(whole[:place])
        assert FileLog(str(tmp_path)).recall(A) is None
        changed = bytearray(whole)
        changed[place] ^= 1
        cache.write_bytes(changed)
        assert FileLog(str(tmp_path)).recall(A) is None


@pytest.mark.parametrize("name", [EVENTS, "events-000002.jsonl", MANIFEST])
@pytest.mark.parametrize("change", ["flip", "cut", "delete"])
def test_a_cache_does_not_hide_damage_of_the_log(tmp_path: Path, name: str, change: str) -> None:
    remembered(tmp_path)
    path = tmp_path / "sessions" / A / name
    content = path.read_bytes()

    if change == "delete":
        path.unlink()
    else:
        path.write_bytes(bytes([content[0] ^ 1]) + content[1:] if change == "flip" else content[:20])

    assert FileLog(str(tmp_path)).recall(A) is None


def test_a_cache_of_another_session_or_version_is_ignored(tmp_path: Path) -> None:
    cache = remembered(tmp_path)
    shutil.copytree(tmp_path / "sessions" / A, tmp_path / "sessions" / B)
    shutil.copy(cache, tmp_path / "cache" / B)
    _, header, content = cache.read_bytes().split(b"\n", 2)
    newer = json.dumps(json.loads(header) | {"v": 2}).encode() + b"\n" + content

    assert FileLog(str(tmp_path)).recall(B) is None
    cache.write_bytes(hashlib.sha256(newer).hexdigest().encode() + b"\n" + newer)
    assert FileLog(str(tmp_path)).recall(A) is None


@pytest.mark.parametrize("is_link", [True, False])
def test_a_cache_that_cannot_be_used_is_nobodys_trouble(tmp_path: Path, is_link: bool) -> None:
    cache = remembered(tmp_path)
    shutil.rmtree(cache.parent)
    if is_link:
        (tmp_path / "elsewhere").mkdir()
        cache.parent.symlink_to(tmp_path / "elsewhere")
    else:
        cache.parent.write_bytes(b"a file where a directory belongs")
    log = FileLog(str(tmp_path))

    with log.hold(A, 0) as hold:
        hold.append(4, plan("a:5"))
        hold.remember(b"anything")

    assert log.recall(A) is None
    assert keys(log.load(A)) == ["a:1", "a:2", "a:3", "a:4", "a:5"]
    assert not list((tmp_path / "elsewhere").iterdir()) if is_link else True


def test_without_the_cache_everything_is_the_same(tmp_path: Path) -> None:
    cache = remembered(tmp_path)
    before = load(FileLog(str(tmp_path)), A)

    shutil.rmtree(cache.parent)

    log = FileLog(str(tmp_path))
    assert log.recall(A) is None
    assert load(log, A) == before
    assert isinstance(append(log, A, 4, plan("a:5")), Committed)


# Bounds

IDS = [SessionId(f"ses_{number:012d}") for number in range(10)]


def test_the_value_used_longest_ago_is_forgotten_first() -> None:
    recent: Recent[SessionId, int] = Recent(3)
    for number in range(3):
        recent.put(IDS[number], number)
    recent.get(IDS[0])

    recent.put(IDS[3], 3)

    assert [recent.get(session_id) for session_id in IDS[:4]] == [0, None, 2, 3]
    assert len(recent) == 3


def test_heavy_values_push_others_out_and_one_always_stays() -> None:
    recent: Recent[SessionId, int] = Recent(10, most_weight=100)
    recent.put(IDS[0], 0, weight=60)
    recent.put(IDS[1], 1, weight=30)
    recent.put(IDS[1], 1, weight=40)
    assert len(recent) == 2

    recent.put(IDS[2], 2, weight=1)
    assert [recent.get(session_id) for session_id in IDS[:3]] == [None, 1, 2]
    recent.put(IDS[3], 3, weight=500)
    assert [recent.get(session_id) for session_id in IDS[:4]] == [None, None, None, 3]
    assert recent.take(IDS[3]) == 3
    recent.put(IDS[4], 4, weight=100)
    assert recent.get(IDS[4]) == 4
    assert recent.take(IDS[3]) is None


def test_the_latest_values_stay_however_heavy_they_are() -> None:
    recent: Recent[SessionId, int] = Recent(10, most_weight=100, always_kept=2)
    for number in range(4):
        recent.put(IDS[number], number, weight=500)

    assert [recent.get(session_id) for session_id in IDS[:4]] == [None, None, 2, 3]
