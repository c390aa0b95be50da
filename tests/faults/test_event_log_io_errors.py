"""Every call to the disk is refused once, and then every call from there on: nothing acknowledged is lost."""

from __future__ import annotations

import errno
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from handrail.contract.ids import blob_ref
from handrail.contract.outcome import Fault
from handrail.event_log.files.log import FileLog
from handrail.event_log.files.segments import SegmentLimits
from handrail.ports.log import Committed, Replayed
from tests.event_log.log_promises import A, append, append_with_retry, blob, code_of, keys, load, plan
from tests.faults.disks import StingyDisk
from tests.store_proof.disks import CountingDisk, RefusingDisk

SMALL = SegmentLimits(max_events=3)
NEW = plan("new:1", "new:2")
BLOBS = [blob(b"abc"), blob(b"def")]


def nothing(log: FileLog) -> None:
    """A store that does not exist yet."""


def one_commit(log: FileLog) -> None:
    append(log, A, 0, plan("old:1"))


def full_segment(log: FileLog) -> None:
    append(log, A, 0, plan("old:1", "old:2", "old:3"))


def with_orphans(log: FileLog) -> None:
    append(log, A, 0, plan("old:1"), BLOBS[:1])
    begun = {"events-000001.jsonl": b'{"dedupeKey":"left:1","ev', "manifest.jsonl": b'{"v":1,"first":1,"la'}
    for name, content in begun.items():
        with open(f"{log.sessions}/{A}/{name}", "ab") as file:
            file.write(content)


def in_doubt(log: FileLog) -> None:
    """The last writer did not say that its commit is durable."""
    append(log, A, 0, plan("old:1"))
    with open(f"{log.sessions}/{A}/lock", "wb") as lock:
        lock.write(b"")


STORES = [nothing, one_commit, full_segment, with_orphans, in_doubt]


@pytest.fixture(params=STORES, ids=[store.__name__ for store in STORES])
def prepared(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    store: Callable[[FileLog], None] = request.param
    store(FileLog(str(tmp_path / "prepared"), limits=SMALL))
    return tmp_path / "prepared"


def a_copy_of(prepared: Path) -> Path:
    copy = prepared.with_name("data")
    shutil.rmtree(copy, ignore_errors=True)
    if prepared.exists():
        shutil.copytree(prepared, copy)
    return copy


def calls_of_an_append(prepared: Path) -> int:
    disk = CountingDisk()
    data = a_copy_of(prepared)
    head = len(keys(FileLog(str(data)).load(A)))
    append(FileLog(str(data), disk, SMALL), A, head, NEW, BLOBS)
    return disk.calls


def check_recovers(data: Path, old: list[str], new: set[int]) -> None:
    """Old events are there, of the refused plan as many as allowed, and sending it again settles it."""
    log = FileLog(str(data), limits=SMALL)

    found = keys(log.load(A))
    assert found[: len(old)] == old
    assert len(found) - len(old) in new

    answer = append_with_retry(log, A, NEW)
    assert isinstance(answer, Committed | Replayed)
    assert keys(log.load(A)) == [*old, "new:1", "new:2"]
    assert load(log, A).health.state == "healthy"
    append(log, A, len(old) + 2, plan("next:1"), BLOBS)
    assert [log.get_blob(blob_ref(content)) for content in (b"abc", b"def")] == [b"abc", b"def"]


def refusal_of(call: Callable[[], object]) -> Fault | None:
    try:
        call()
    except Fault as fault:
        return fault
    return None


def refused_append(data: Path, disk: RefusingDisk, head: int) -> Fault | None:
    return refusal_of(lambda: append(FileLog(str(data), disk, SMALL), A, head, NEW, BLOBS))


@pytest.mark.thorough
def test_append_refused_once_counts_for_nothing(prepared: Path) -> None:
    check_refused_once(prepared, errno.EIO, "STORE_IO_ERROR", "io_error")


@pytest.mark.parametrize("prepared", [one_commit], indirect=True)
@pytest.mark.parametrize(
    ("number", "code", "reason"),
    [
        (errno.ENOSPC, "STORE_IO_ERROR", "disk_full"),
        (errno.EACCES, "STORE_PERMISSION_DENIED", "access_denied"),
        (errno.EROFS, "STORE_PERMISSION_DENIED", "read_only"),
    ],
)
@pytest.mark.thorough
def test_every_refusal_has_its_own_code_and_reason(
    prepared: Path, number: int, code: str, reason: str
) -> None:
    check_refused_once(prepared, number, code, reason)


def check_refused_once(prepared: Path, number: int, code: str, reason: str) -> None:
    old = keys(FileLog(str(prepared)).load(A))
    total = calls_of_an_append(prepared)
    committed = 0

    for refused in range(1, total + 1):
        data = a_copy_of(prepared)
        fault = refused_append(data, RefusingDisk(number, refused, refused), len(old))

        if fault is None:
            committed += 1
            check_recovers(data, old, {2})
        else:
            assert (fault.kind.code, fault.details["reason"]) == (code, reason)
            check_recovers(data, old, {0})

    assert total > 20
    assert committed <= 4, "only the notes in the lock file and the last look may be refused without a word"


@pytest.mark.thorough
def test_disk_that_goes_away_loses_nothing_acknowledged(prepared: Path) -> None:
    old = keys(FileLog(str(prepared)).load(A))
    total = calls_of_an_append(prepared)

    for refused in range(1, total + 1):
        data = a_copy_of(prepared)
        fault = refused_append(data, RefusingDisk(errno.ENOSPC, refused, sys.maxsize), len(old))

        if fault is None:
            check_recovers(data, old, {2})
        else:
            assert fault.kind.code == "STORE_IO_ERROR"
            check_recovers(data, old, {0, 2})  # the line may be whole and could not be taken back


@pytest.mark.thorough
def test_a_hold_goes_on_after_a_refused_append(prepared: Path) -> None:
    old = keys(FileLog(str(prepared)).load(A))
    counting = CountingDisk()
    FileLog(str(a_copy_of(prepared)), counting).hold(A, 0).__enter__()

    for refused in range(counting.calls + 1, calls_of_an_append(prepared) + 1):
        data = a_copy_of(prepared)
        disk = RefusingDisk(errno.EIO, refused, refused)
        with FileLog(str(data), disk, SMALL).hold(A, 0) as hold:
            fault = refusal_of(partial(hold.append, len(old), NEW, BLOBS))
            second = hold.append(len(old), NEW, BLOBS)
            third = hold.append(len(old), NEW, BLOBS)

        assert isinstance(second, Replayed if fault is None else Committed)
        assert isinstance(third, Replayed)
        assert keys(FileLog(str(data)).load(A)) == [*old, "new:1", "new:2"]


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES, errno.EMFILE])
def test_a_read_that_is_refused_says_so_and_never_shows_less(prepared: Path, number: int) -> None:
    data = a_copy_of(prepared)
    plain = FileLog(str(data))
    reads: list[Callable[[FileLog], object]] = [
        lambda log: log.load(A),
        lambda log: log.load_since(A, 1),
    ]

    for read in reads:
        counting = CountingDisk()
        expected = read(FileLog(str(data), counting))
        for refused in range(1, counting.calls + 1):
            log = FileLog(str(data), RefusingDisk(number, refused, refused))

            assert code_of(partial(read, log)).startswith("STORE_")

        assert read(plain) == expected


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES, errno.EMFILE])
def test_a_list_that_is_refused_says_so_or_is_whole(prepared: Path, number: int) -> None:
    counting = CountingDisk()
    expected = [stamp.session_id for stamp in FileLog(str(prepared), counting).list_sessions()]

    for refused in range(1, counting.calls + 1):
        log = FileLog(str(prepared), RefusingDisk(number, refused, refused))
        try:
            outcome: object = [stamp.session_id for stamp in log.list_sessions()]
        except Fault as fault:
            outcome = fault.kind.code

        # What is refused of one session hides no other, nor itself: whoever loads it is told.
        assert outcome in ("STORE_IO_ERROR", "STORE_PERMISSION_DENIED", expected)


def test_a_blob_whose_reading_is_refused_is_not_called_damaged(tmp_path: Path) -> None:
    append(FileLog(str(tmp_path)), A, 0, plan("a:1"), BLOBS)
    counting = CountingDisk()
    FileLog(str(tmp_path), counting).get_blob(BLOBS[0].ref)

    codes = {
        code_of(
            partial(FileLog(str(tmp_path), RefusingDisk(errno.EIO, refused, refused)).get_blob, BLOBS[0].ref)
        )
        for refused in range(1, counting.calls + 1)
    }

    assert codes == {"STORE_IO_ERROR"}


@pytest.mark.parametrize("most", [1, 7, 64])
def test_slow_disk_gets_all_bytes(tmp_path: Path, most: int) -> None:
    append(FileLog(str(tmp_path), StingyDisk(most)), A, 0, NEW, BLOBS)

    log = FileLog(str(tmp_path))
    assert keys(log.load(A)) == ["new:1", "new:2"]
    assert log.get_blob(BLOBS[0].ref) == b"abc"


def test_a_disk_that_takes_no_byte_is_a_named_trouble(tmp_path: Path) -> None:
    with pytest.raises(Fault) as caught:
        append(FileLog(str(tmp_path), StingyDisk(0)), A, 0, NEW)

    assert caught.value.kind.code == "STORE_IO_ERROR"
    assert caught.value.details == {"reason": "short_write", "session_id": A}
    check_recovers(tmp_path, [], {0})


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.EACCES, errno.ELOOP, errno.EBADF, 0])
def test_no_trouble_tells_a_path(tmp_path: Path, number: int) -> None:
    with pytest.raises(Fault) as caught:
        append(FileLog(str(tmp_path), RefusingDisk(number, 1, sys.maxsize)), A, 0, NEW)

    fault = caught.value
    assert str(tmp_path) not in f"{fault.message} {fault.hint} {fault.details}"
    assert set(fault.details) <= set(fault.kind.details)
