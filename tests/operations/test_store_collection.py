"""Collection: old sessions go first, then the blobs that nobody names, and never one in use."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from handrail.contract.ids import SessionId, blob_ref
from handrail.event_log.files.log import FileLog
from handrail.event_log.files.upkeep.keeper import (
    DAY_NS,
    FileKeeper,
    RemovingDisk,
    plan_removal,
    remove,
)
from handrail.event_log.files.upkeep.whole_store import list_session_ids
from handrail.runtime.runtime import Runtime
from handrail.wiring import build_runtime
from tests.event_log.log_promises import A, B, C, append, blob, code_of, keys, plan
from tests.operations.asked import answered, refused

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


def shown(runtime: Runtime, **params: Any) -> Any:
    return answered(runtime, "store.gc", dangerous=True, dryRun=True, **params)


def collected(runtime: Runtime, **params: Any) -> Any:
    token = shown(runtime, **params)["confirm_token"]
    return answered(runtime, "store.gc", dangerous=True, confirm=token, **params)


def test_the_preview_says_what_would_go_and_changes_nothing(data: Path, home: str) -> None:
    runtime = build_runtime({}, home=home)
    before = sorted(path for path in data.rglob("*") if "keys" not in path.parts)

    preview = shown(runtime)["preview"]

    sizes = sum(file.stat().st_size for name in (A, B) for file in (data / "sessions" / name).iterdir())
    assert preview["targets"] == [A, B, "blobs"]
    assert [change["id"] for change in preview["changes"]] == [A, B, "blobs"]
    assert preview["changes"][2]["before"] == {"count": 1, "size_bytes": len(b"own")}
    assert (
        f"2 sessions without activity for 90 days, with their whole history, and 1 blob; {sizes + 3} bytes"
        in (preview["blast_radius"])
    )
    assert sorted(path for path in data.rglob("*") if "keys" not in path.parts) == before


def test_what_was_shown_is_removed_and_the_rest_is_whole(data: Path, home: str) -> None:
    sizes = sum(file.stat().st_size for name in (A, B) for file in (data / "sessions" / name).iterdir())

    done = collected(build_runtime({}, home=home))

    log = log_of(data)
    assert done["items"] == [{"target": A, "ok": True}, {"target": B, "ok": True}]
    assert (done["removed_blobs"], done["bytes_freed"], done["warnings"]) == (1, sizes + len(b"own"), [])
    assert [stamp.session_id for stamp in log.list_sessions()] == [C]
    assert log.get_blob(blob_ref(b"shared")) == b"shared"
    assert code_of(lambda: log.get_blob(blob_ref(b"own"))) == "STORE_CORRUPT"
    assert not list(data.rglob("*.removed"))


class BesideAnother(RemovingDisk):
    """Every file that we are about to delete is gone: another process is at the same work."""

    def unlink(self, name: str, directory: int) -> None:
        super().unlink(name, directory)
        raise FileNotFoundError(name)


def test_work_of_another_process_is_counted_there(data: Path) -> None:
    keeper = FileKeeper(str(data), BesideAnother())
    (session,) = keeper.sessions_to_remove([SessionId(A)])

    assert keeper.remove_session(session, 0) == 0
    assert list_session_ids(log_of(data)) == [B, C]


def test_session_that_grew_makes_the_token_worthless(data: Path, home: str) -> None:
    runtime = build_runtime({}, home=home)
    token = shown(runtime)["confirm_token"]
    append(log_of(data), A, 1, plan("a:2"))

    failure = refused(runtime, "store.gc", dangerous=True, confirm=token)

    assert (failure.kind.code, failure.kind.native) == ("E_CONFLICT", "E_CONFLICT")
    assert list_session_ids(log_of(data)) == [A, B, C]


def test_how_old_and_what_stays_are_settings(data: Path, home: str) -> None:
    settings = Path(home, "config.json")
    settings.write_text(json.dumps({"retentionDays": 1000}), encoding="utf-8")
    long = shown(build_runtime({}, home=home))["preview"]
    settings.write_text(json.dumps({"keptSessions": [A]}), encoding="utf-8")
    kept = shown(build_runtime({}, home=home))["preview"]

    assert long["targets"] == []
    assert kept["targets"] == [B]


def test_what_a_cache_holds_of_a_removed_session_goes_with_it(data: Path) -> None:
    (data / "cache").mkdir(mode=0o700, exist_ok=True)
    for session_id in (A, C):
        (data / "cache" / session_id).write_bytes(b"folded")
    log = log_of(data)

    remove(log, RemovingDisk(), plan_removal(log, before_today(data)))

    assert [path.name for path in (data / "cache").iterdir() if path.is_file()] == [C]


def test_a_session_that_grew_after_the_preview_stays(data: Path) -> None:
    log = log_of(data)
    removal = plan_removal(log, before_today(data))
    append(log, A, 1, plan("a:2"))

    removed = remove(log, RemovingDisk(), removal)

    assert (removed.sessions, removed.kept) == ((B,), (A,))
    assert keys(log.load(A)) == ["a:1", "a:2"]
    assert log.get_blob(blob_ref(b"own")) == b"own"


@pytest.mark.parametrize("damage", ["flip", "delete"])
def test_unreadable_manifest_stops_the_sweep_with_a_warning(data: Path, home: str, damage: str) -> None:
    manifest = data / "sessions" / C / "manifest.jsonl"
    if damage == "flip":
        manifest.write_bytes(manifest.read_bytes().replace(b'"first"', b'"fjrst"'))
    else:
        manifest.unlink()
    runtime = build_runtime({}, home=home)

    preview = shown(runtime)["preview"]
    done = collected(runtime)

    assert preview["changes"][-1]["action"] == "none"
    assert "Safe mode" in preview["blast_radius"]
    assert [item["target"] for item in done["items"]] == [A, B]
    assert done["removed_blobs"] == 0
    assert C in done["warnings"][0]
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
def test_blob_taken_into_use_meanwhile_stays(data: Path, kind: type[MeanwhileDisk]) -> None:
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

    assert list_session_ids(log) == [B, C]
    assert log.get_blob(blob_ref(b"shared")) == b"shared"
    assert not list(data.rglob("*.removed"))


def test_writer_waiting_for_a_removed_session_starts_anew(data: Path) -> None:
    log = log_of(data)
    remove(log, RemovingDisk(), plan_removal(log, before_today(data)))

    answer: Any = append(log_of(data), A, 0, plan("a:new"))

    assert [record.index for record in answer.records] == [0]
    assert keys(log_of(data).load(SessionId(A))) == ["a:new"]
