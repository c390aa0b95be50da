"""The store on disk keeps the promises of the port, in the documented layout, with private files."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from handrail.contract.ids import SessionId, blob_ref
from handrail.event_log.files.disk import Disk
from handrail.event_log.files.log import FileLog
from handrail.event_log.files.segments import SegmentLimits
from handrail.event_log.files.upkeep.whole_store import check_store
from handrail.ports.log import EventLog
from tests.event_log.log_promises import (
    A,
    B,
    EventLogPromises,
    append,
    blob,
    code_of,
    draft,
    keys,
    load,
    plan,
)


class TestFileLog(EventLogPromises):
    @pytest.fixture
    def log(self, tmp_path: Path) -> EventLog:
        return FileLog(str(tmp_path / "home" / "data"))


class TestFileLogWithSmallSegments(EventLogPromises):
    @pytest.fixture
    def log(self, tmp_path: Path) -> EventLog:
        return FileLog(str(tmp_path / "data"), limits=SegmentLimits(max_bytes=300, max_events=4))


def session_files(data: Path, session_id: SessionId = A) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (data / "sessions" / session_id).iterdir()}


class SyncedFiles(Disk):
    """Remembers which files were made durable."""

    def __init__(self) -> None:
        super().__init__()
        self.synced: set[int] = set()

    def sync(self, descriptor: int) -> None:
        super().sync(descriptor)
        self.synced.add(os.fstat(descriptor).st_ino)


def test_a_commit_that_nobody_noted_is_made_durable_first(tmp_path: Path) -> None:
    """Its writer died before the note, so a power failure could still take what a repeat is told."""
    append(FileLog(str(tmp_path)), A, 0, plan("a:1"))
    append(FileLog(str(tmp_path)), A, 1, plan("a:2"))
    (tmp_path / "sessions" / A / "lock").unlink()
    disk = SyncedFiles()

    with FileLog(str(tmp_path), disk).hold(A, 1_000) as hold:
        assert keys(hold.load()) == ["a:1", "a:2"]

    names = ("events-000001.jsonl", "manifest.jsonl")
    assert {(tmp_path / "sessions" / A / name).stat().st_ino for name in names} <= disk.synced


@pytest.mark.parametrize(
    "name", ["../beside", "/beside", "ses_000000000001/../../beside", "..", "", "beside"]
)
def test_a_name_that_is_no_id_is_not_held(tmp_path: Path, name: str) -> None:
    log = FileLog(str(tmp_path / "data"))
    append(log, A, 0, plan("a:0"))
    before = sorted(tmp_path.rglob("*"))

    def hold(holds: Callable[..., AbstractContextManager[object]]) -> None:
        with holds(name, 0):
            pass

    assert [code_of(lambda: hold(log.hold)), code_of(lambda: hold(log.hold_existing))] == [
        "SESSION_NOT_FOUND",
        "SESSION_NOT_FOUND",
    ]
    assert log.load(SessionId(name)) is None
    assert sorted(tmp_path.rglob("*")) == before


def test_a_session_is_stored_as_the_page_on_the_log_format_says(tmp_path: Path) -> None:
    append(FileLog(str(tmp_path)), A, 0, [draft("a:1", b'{"n":1}'), draft("a:2", b'{"n":2}')])

    assert session_files(tmp_path) == {
        "events-000001.jsonl": b'{"dedupeKey":"a:1","event":{"n":1}}\n{"dedupeKey":"a:2","event":{"n":2}}\n',
        "manifest.jsonl": b'{"v":1,"first":0,"last":1,"segment":"events-000001.jsonl","from":0,"to":72,'
        b'"head":"7071f7eb92a9eb1983ad8d6517b213913974e1c215e8f53600a161aba78be511","blobs":[],'
        b'"sum":"3ab9ad205c20666a35eed584e3b317026982ca9bc2e7896315848a7dec6c5f8a"}\n',
        "lock": b"00000000000000000234 "
        b"3ab9ad205c20666a35eed584e3b317026982ca9bc2e7896315848a7dec6c5f8a "
        b"4a663a4a1f2951a2\n",
    }


def test_a_blob_lies_under_its_digest_and_its_commit_names_it(tmp_path: Path) -> None:
    digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # of "abc", from FIPS 180-2

    append(FileLog(str(tmp_path)), A, 0, plan("a:1"), [blob(b"abc")])

    assert (tmp_path / "blobs" / "ba" / digest).read_bytes() == b"abc"
    assert f'"blobs":["sha256:{digest}"]'.encode() in session_files(tmp_path)["manifest.jsonl"]


def test_everything_in_the_store_is_private(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        append(FileLog(str(tmp_path / "data")), A, 0, plan("a:1"), [blob(b"abc")])
    finally:
        os.umask(before)

    entries = list((tmp_path / "data").rglob("*"))
    modes = {(path.is_dir(), path.stat().st_mode & 0o777) for path in [tmp_path / "data", *entries]}
    assert modes == {(True, 0o700), (False, 0o600)}
    assert len(entries) == 11


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (SegmentLimits(max_events=2), [2, 2, 1]),
        (SegmentLimits(max_bytes=72), [2, 2, 1]),
        (SegmentLimits(max_bytes=80), [3, 2]),
        (SegmentLimits(max_bytes=1), [1, 1, 1, 1, 1]),
        (SegmentLimits(), [5]),
    ],
)
def test_segments_rotate_by_events_and_by_bytes(
    tmp_path: Path, limits: SegmentLimits, expected: list[int]
) -> None:
    log = FileLog(str(tmp_path), limits=limits)  # one event is 36 bytes

    for number in range(5):
        append(log, A, number, [draft(f"a:{number}", b'{"n":0}')])

    names = sorted(name for name in session_files(tmp_path) if name.startswith("events-"))
    assert [session_files(tmp_path)[name].count(b"\n") for name in names] == expected
    assert names == [f"events-{number:06d}.jsonl" for number in range(1, len(expected) + 1)]
    assert keys(FileLog(str(tmp_path)).load(A)) == ["a:0", "a:1", "a:2", "a:3", "a:4"]


def test_segments_rotate_within_one_hold_as_they_do_over_several(tmp_path: Path) -> None:
    log = FileLog(str(tmp_path), limits=SegmentLimits(max_events=2))

    with log.hold(A, 0) as hold:
        for number in range(5):
            hold.append(number, plan(f"a:{number}"))

    names = sorted(name for name in session_files(tmp_path) if name.startswith("events-"))
    assert [session_files(tmp_path)[name].count(b"\n") for name in names] == [2, 2, 1]


def test_a_plan_is_never_split_over_segments(tmp_path: Path) -> None:
    log = FileLog(str(tmp_path), limits=SegmentLimits(max_events=2))

    append(log, A, 0, plan("a:1"))
    append(log, A, 1, plan("a:2", "a:3", "a:4"))
    append(log, A, 4, plan("a:5"))

    files = session_files(tmp_path)
    assert files["events-000001.jsonl"].count(b"\n") == 4
    assert files["events-000002.jsonl"].count(b"\n") == 1


def test_reading_changes_no_byte_time_or_name(tmp_path: Path) -> None:
    append(FileLog(str(tmp_path)), A, 0, plan("a:1"), [blob(b"abc")])
    with (tmp_path / "sessions" / A / "manifest.jsonl").open("ab") as manifest:
        manifest.write(b'{"v":1,"first":')  # a torn line, which a writer would cut off
    (tmp_path / "sessions" / A / "lock").unlink()
    before = snapshot(tmp_path)
    log = FileLog(str(tmp_path))

    log.load(A)
    log.load_since(A, 1)
    log.list_sessions()
    log.get_blob(blob_ref(b"abc"))
    log.load(SessionId("ses_00000000000z"))

    assert snapshot(tmp_path) == before


def test_reading_needs_no_permission_to_write(tmp_path: Path) -> None:
    log = FileLog(str(tmp_path))
    append(log, A, 0, plan("a:1"), [blob(b"abc")])
    for path in [*tmp_path.rglob("*"), tmp_path]:
        path.chmod(0o500 if path.is_dir() else 0o400)
    try:
        seen = (keys(log.load(A)), len(log.list_sessions()), log.get_blob(blob_ref(b"abc")))
    finally:
        for path in [tmp_path, *tmp_path.rglob("*")]:
            path.chmod(0o700 if path.is_dir() else 0o600)

    assert seen == (["a:1"], 1, b"abc")


def test_hold_without_a_commit_touches_nothing(tmp_path: Path) -> None:
    log = FileLog(str(tmp_path))
    append(log, A, 0, plan("a:1"))
    before = snapshot(tmp_path)

    with log.hold(A, 0) as hold:
        hold.load()
        hold.append(0, plan("a:1"))
        hold.append(9, plan("a:9"))

    assert snapshot(tmp_path) == before


def test_the_root_of_the_store_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "data").symlink_to(tmp_path / "elsewhere")
    log = FileLog(str(tmp_path / "data"))

    append(log, A, 0, plan("a:1"), [blob(b"abc")])

    assert keys(log.load(A)) == ["a:1"]
    assert (tmp_path / "elsewhere" / "sessions" / A).is_dir()


def as_link(path: Path) -> None:
    real = path.with_name(path.name + ".real")
    path.rename(real)
    path.symlink_to(real)


def as_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("name", "replace"),
    [
        (f"sessions/{A}", as_link),
        (f"sessions/{A}/manifest.jsonl", as_link),
        (f"sessions/{A}/events-000001.jsonl", as_link),
        (f"sessions/{A}/lock", as_link),
        (f"sessions/{A}/manifest.jsonl", as_pipe),
        (f"sessions/{A}/events-000001.jsonl", as_pipe),
    ],
)
def test_a_link_or_a_pipe_in_a_session_is_refused(
    tmp_path: Path, name: str, replace: Callable[[Path], None]
) -> None:
    log = FileLog(str(tmp_path))
    append(log, A, 0, plan("a:1"))

    replace(tmp_path / name)

    check_refused(lambda: append(log, A, 1, plan("a:2")))
    if not name.endswith("lock"):
        check_refused(lambda: log.load(A))


@pytest.mark.parametrize("name", [f"sessions/{A}", f"sessions/{A}/manifest.jsonl"])
def test_linked_session_is_refused_and_hides_no_other(tmp_path: Path, name: str) -> None:
    log = FileLog(str(tmp_path))
    other = SessionId("ses_00000000000z")
    for session_id in (A, other):
        append(log, session_id, 0, plan("x:1"))

    as_link(tmp_path / name)

    assert {stamp.session_id for stamp in log.list_sessions()} == {A, other}
    check_refused(lambda: log.load(A))


@pytest.mark.parametrize("depth", ["", "/" + blob_ref(b"abc").removeprefix("sha256:")])
def test_a_link_among_the_blobs_is_refused(tmp_path: Path, depth: str) -> None:
    log = FileLog(str(tmp_path))
    append(log, A, 0, plan("a:1"), [blob(b"abc")])

    as_link(Path(f"{tmp_path}/blobs/ba{depth}"))

    check_refused(lambda: log.get_blob(blob_ref(b"abc")))


def check_refused(call: Callable[[], object]) -> None:
    assert code_of(call) == "STORE_PERMISSION_DENIED"


def test_a_name_that_leads_out_of_the_sessions_is_not_followed(tmp_path: Path) -> None:
    log = FileLog(str(tmp_path))
    append(log, A, 0, plan("a:1"))
    (tmp_path / "sessions" / A).rename(tmp_path / "elsewhere")

    assert log.load(SessionId("../elsewhere")) is None


def test_alien_names_among_the_sessions_are_not_listed(tmp_path: Path) -> None:
    log = FileLog(str(tmp_path))
    append(log, A, 0, plan("a:1"))
    for name in (".DS_Store", "ses_short", A + ".bak"):
        (tmp_path / "sessions" / name).mkdir()
    (tmp_path / "sessions" / "ses_00000000000y").write_bytes(b"a file where a directory belongs")

    assert [stamp.session_id for stamp in log.list_sessions()] == [A]


def test_damaged_blob_is_reported_and_mended_by_its_giver(tmp_path: Path) -> None:
    log = FileLog(str(tmp_path))
    append(log, A, 0, plan("a:1"), [blob(b"abc")])
    path = tmp_path / "blobs" / "ba" / blob_ref(b"abc").removeprefix("sha256:")

    path.write_bytes(b"abX and more")
    assert code_of(lambda: log.get_blob(blob_ref(b"abc"))) == "STORE_CORRUPT"

    append(log, A, 1, plan("a:2"), [blob(b"abc")])
    assert log.get_blob(blob_ref(b"abc")) == b"abc"


def test_long_first_manifest_line_is_still_listed(tmp_path: Path) -> None:
    log = FileLog(str(tmp_path))

    append(log, A, 0, plan("a:1"), [blob(b"abc")] * 1000)

    assert [stamp.session_id for stamp in log.list_sessions()] == [A]
    assert load(log, A).head == 1


def snapshot(root: Path) -> dict[str, tuple[int, int, bytes]]:
    """Name, mode, time of change and content of everything below a directory."""
    return {
        str(path.relative_to(root)): (
            path.stat().st_mode,
            path.stat().st_mtime_ns,
            b"" if path.is_dir() else path.read_bytes(),
        )
        for path in sorted(root.rglob("*"))
    }


class ForeignDisk(Disk):
    """A session that another user owns: its directory cannot be opened."""

    def open_directory(self, path: str) -> int:
        if path.endswith(A):
            raise PermissionError(errno.EACCES, "no access", path)
        return super().open_directory(path)


def test_a_session_of_another_user_is_listed_and_hides_no_other(tmp_path: Path) -> None:
    for session_id in (A, B):
        append(FileLog(str(tmp_path)), session_id, 0, plan("a:1"))
    log = FileLog(str(tmp_path), ForeignDisk())

    listed = [stamp.session_id for stamp in log.list_sessions()]

    assert sorted(listed) == sorted([A, B])
    assert code_of(lambda: log.load(A)) == "STORE_PERMISSION_DENIED"


def test_a_session_of_another_user_is_one_problem_of_the_store(tmp_path: Path) -> None:
    for session_id in (A, B):
        append(FileLog(str(tmp_path)), session_id, 0, plan("a:1"))

    check = check_store(FileLog(str(tmp_path), ForeignDisk()))

    assert [(problem.id, problem.reason) for problem in check.problems] == [(A, "access_denied")]
    assert check.sessions == 1


def test_nothing_is_written_over_events_whose_manifest_is_gone(tmp_path: Path) -> None:
    append(FileLog(str(tmp_path)), A, 0, plan("a:1"))
    append(FileLog(str(tmp_path)), A, 1, plan("a:2"))
    (tmp_path / "sessions" / A / "manifest.jsonl").unlink()
    before = session_files(tmp_path)

    code = code_of(lambda: append(FileLog(str(tmp_path)), A, 0, plan("b:1")))

    assert code == "SESSION_NOT_HEALTHY"
    assert session_files(tmp_path) == before


def test_what_a_first_commit_left_unattested_is_written_over(tmp_path: Path) -> None:
    session = tmp_path / "sessions" / A
    session.mkdir(parents=True, mode=0o700)
    (session / "events-000001.jsonl").write_bytes(b'{"dedupeKey":"a:1","event":{}}\n')

    append(FileLog(str(tmp_path)), A, 0, plan("b:1"))

    assert keys(load(FileLog(str(tmp_path)), A)) == ["b:1"]
