"""Collection: old sessions go first, then the blobs that nobody names, and never one in use."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from handrail.contract.ids import SessionId, blob_ref
from handrail.event_log.files import FileLog
from handrail.event_log.retention import DAY_NS, RemovingDisk, plan_removal, remove
from handrail.event_log.usage import session_ids
from handrail.runtime.collect_garbage import (
    CollectGarbage,
    collect_garbage,
    plan_collection,
    preview_collection,
)
from handrail.wiring import build_runtime
from tests.event_log.conformance import A, B, C, append, blob, code_of, keys, plan

OLD_NS = 100 * DAY_NS


@pytest.fixture
def data(home: str) -> Path:
    """A and B are old, C is young; `shared` is named by A and C, `own` by A alone."""
    log = FileLog(f"{home}/data")
    append(log, A, 0, plan("a:1"), [blob(b"shared"), blob(b"own")])
    append(log, B, 0, plan("b:1"))
    append(log, C, 0, plan("c:1"), [blob(b"shared")])
    for session_id in (A, B):
        age(Path(home, "data", "sessions", session_id, "manifest.jsonl"))
    for path in Path(home, "data", "blobs").glob("*/*"):
        age(path)
    return Path(home, "data")


def age(path: Path) -> None:
    at_ns = path.stat().st_mtime_ns - OLD_NS
    os.utime(path, ns=(at_ns, at_ns))


def log_of(data: Path) -> FileLog:
    return FileLog(str(data), RemovingDisk())


def before_today(data: Path) -> int:
    return log_of(data).disk.now_ns() - 90 * DAY_NS


def test_the_preview_says_what_would_go_and_changes_nothing(data: Path, home: str) -> None:
    runtime = build_runtime({"HANDRAIL_HOME": home})
    before = sorted(path for path in data.rglob("*"))

    preview = preview_collection(plan_collection(runtime, CollectGarbage()))

    sizes = sum(file.stat().st_size for name in (A, B) for file in (data / "sessions" / name).iterdir())
    assert [session.session_id for session in preview.sessions] == [A, B]
    assert (preview.blob_count, preview.bytes_to_free) == (1, sizes + len(b"own"))
    assert preview.warnings == []
    assert sorted(path for path in data.rglob("*")) == before


def test_what_was_shown_is_removed_and_the_rest_is_whole(data: Path, home: str) -> None:
    runtime = build_runtime({"HANDRAIL_HOME": home})
    plan_shown = plan_collection(runtime, CollectGarbage())

    done = collect_garbage(runtime, plan_shown)

    log = log_of(data)
    assert (done.removed_sessions, done.kept_sessions, done.removed_blobs) == ([A, B], [], 1)
    assert done.bytes_freed == preview_collection(plan_shown).bytes_to_free
    assert [stamp.session_id for stamp in log.list_sessions()] == [C]
    assert log.get_blob(blob_ref(b"shared")) == b"shared"
    assert code_of(lambda: log.get_blob(blob_ref(b"own"))) == "STORE_CORRUPT"
    assert not list(data.rglob("*.removed"))


def test_what_a_cache_holds_of_a_removed_session_goes_with_it(data: Path) -> None:
    (data / "cache").mkdir(mode=0o700)
    for session_id in (A, C):
        (data / "cache" / session_id).write_bytes(b"folded")
    log = log_of(data)

    remove(log, RemovingDisk(), plan_removal(log, before_today(data)))

    assert [path.name for path in (data / "cache").iterdir()] == [C]


def test_kept_and_young_sessions_stay(data: Path, home: str) -> None:
    runtime = build_runtime({"HANDRAIL_HOME": home})

    kept = plan_collection(runtime, CollectGarbage(keep=[A]))
    none_old_enough = plan_collection(runtime, CollectGarbage(older_than=1000))

    assert [session.session_id for session in kept.sessions] == [B]
    assert kept.blobs == ()
    assert none_old_enough.sessions == ()


def test_a_session_that_grew_after_the_preview_stays(data: Path) -> None:
    log = log_of(data)
    removal = plan_removal(log, before_today(data))
    append(log, A, 1, plan("a:2"))

    removed = remove(log, RemovingDisk(), removal)

    assert (removed.sessions, removed.kept) == ((B,), (A,))
    assert keys(log.load(A)) == ["a:1", "a:2"]
    assert log.get_blob(blob_ref(b"own")) == b"own"


@pytest.mark.parametrize("damage", ["flip", "delete"])
def test_a_manifest_that_cannot_be_read_stops_the_sweep_with_a_warning(
    data: Path, home: str, damage: str
) -> None:
    manifest = data / "sessions" / C / "manifest.jsonl"
    if damage == "flip":
        manifest.write_bytes(manifest.read_bytes().replace(b'"first"', b'"fjrst"'))
    else:
        manifest.unlink()
    runtime = build_runtime({"HANDRAIL_HOME": home})

    removal = plan_collection(runtime, CollectGarbage())
    done = collect_garbage(runtime, removal)

    assert removal.blobs == ()
    assert done.removed_sessions == [A, B]
    assert done.removed_blobs == 0
    assert C in done.warnings[0]
    assert log_of(data).get_blob(blob_ref(b"own")) == b"own"


def test_a_young_blob_that_nobody_names_yet_is_left_alone(data: Path) -> None:
    log = log_of(data)
    (data / "blobs" / "ff").mkdir(mode=0o700)
    (data / "blobs" / "ff" / ("f" * 64)).write_bytes(b"of a commit in progress")

    removal = plan_removal(log, before_today(data))

    assert [ref for ref in removal.blobs if ref.endswith("ff")] == []


class MeanwhileDisk(RemovingDisk):
    """A writer commits a blob right after it was set aside."""

    def __init__(self, data: Path, content: bytes) -> None:
        self.data = data
        self.content = content
        self.is_done = False

    def rename(self, name: str, new_name: str, directory: int) -> None:
        super().rename(name, new_name, directory)
        if not self.is_done and name == blob_ref(self.content).removeprefix("sha256:"):
            self.is_done = True
            self.meanwhile()

    def meanwhile(self) -> None:
        append(FileLog(str(self.data)), C, 1, plan("c:2"), [blob(self.content)])


class LateWriterDisk(MeanwhileDisk):
    """The writer had the file open before, so the name it commits is not there any more."""

    def meanwhile(self) -> None:
        super().meanwhile()
        digest = blob_ref(self.content).removeprefix("sha256:")
        (self.data / "blobs" / digest[:2] / digest).unlink()


@pytest.mark.parametrize("kind", [MeanwhileDisk, LateWriterDisk])
def test_a_blob_that_a_writer_takes_into_use_meanwhile_is_still_there(
    data: Path, kind: type[MeanwhileDisk]
) -> None:
    disk = kind(data, b"own")
    log = FileLog(str(data), disk)

    removed = remove(log, disk, plan_removal(log, before_today(data)))

    assert disk.is_done
    assert removed.blobs == 0
    assert log.get_blob(blob_ref(b"own")) == b"own"
    assert not list(data.rglob("*.removed"))


def test_a_collection_that_was_cut_off_is_finished_by_the_next(data: Path) -> None:
    os.rename(data / "sessions" / A, data / "sessions" / f"{A}.removed")
    own = blob_ref(b"own").removeprefix("sha256:")
    shared = blob_ref(b"shared").removeprefix("sha256:")
    for digest in (own, shared):
        path = data / "blobs" / digest[:2] / digest
        path.rename(path.with_name(f"{digest}.removed"))
    log = log_of(data)

    remove(log, RemovingDisk(), plan_removal(log, 0))

    assert session_ids(log) == [B, C]
    assert log.get_blob(blob_ref(b"shared")) == b"shared"
    assert not list(data.rglob("*.removed"))


def test_a_writer_that_waits_for_a_removed_session_starts_a_new_one(data: Path) -> None:
    log = log_of(data)
    remove(log, RemovingDisk(), plan_removal(log, before_today(data)))

    answer: Any = append(log_of(data), A, 0, plan("a:new"))

    assert [record.index for record in answer.records] == [0]
    assert keys(log_of(data).load(SessionId(A))) == ["a:new"]
