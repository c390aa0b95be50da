"""Copying a store: the same events and digests, resumable, and never over something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.contract.ids import blob_ref
from handrail.event_log.files import FileLog
from handrail.runtime.copy_store import CopyStore, copy_store, preview_copy
from handrail.runtime.runtime import Runtime
from handrail.wiring import build_runtime
from tests.event_log.conformance import A, B, append, blob, code_of, keys, load, plan


@pytest.fixture
def store(home: str) -> Runtime:
    log = FileLog(f"{home}/data")
    append(log, B, 0, plan("b:1"))
    append(log, A, 0, plan("a:1", "a:2"), [blob(b"one")])
    append(log, A, 2, plan("a:3"), [blob(b"two")])
    return build_runtime({"HANDRAIL_HOME": home})


def test_a_copy_has_the_same_bytes_and_lists_its_sessions_in_the_same_order(
    store: Runtime, home: str, tmp_path: Path
) -> None:
    target = str(tmp_path / "copy")

    done = copy_store(store, CopyStore(to=target))

    source, copy = FileLog(f"{home}/data"), FileLog(target)
    assert (done.session_count, done.event_count) == (2, 4)
    for name in ("events-000001.jsonl", "manifest.jsonl"):
        original = Path(home, "data", "sessions", A, name).read_bytes()
        assert Path(target, "sessions", A, name).read_bytes() == original
    assert [stamp.session_id for stamp in copy.list_sessions()] == [A, B]
    assert load(copy, A) == load(source, A)
    assert [copy.get_blob(blob_ref(content)) for content in (b"one", b"two")] == [b"one", b"two"]


def test_the_preview_says_what_is_missing_and_writes_nothing(store: Runtime, tmp_path: Path) -> None:
    preview = preview_copy(store, CopyStore(to=str(tmp_path / "copy"), ids=[A]))

    assert [(one.session_id, one.events, one.missing) for one in preview.sessions] == [(A, 3, 3)]
    assert not (tmp_path / "copy").exists()


def test_a_copy_that_was_cut_off_goes_on_where_it_stopped(store: Runtime, tmp_path: Path) -> None:
    target = str(tmp_path / "copy")
    append(FileLog(target), A, 0, plan("a:1", "a:2"), [blob(b"one")])

    done = [copy_store(store, CopyStore(to=target)).event_count for _ in range(2)]

    assert done == [2, 0]
    assert keys(FileLog(target).load(A)) == ["a:1", "a:2", "a:3"]


def test_another_session_of_the_same_id_is_never_overwritten(store: Runtime, tmp_path: Path) -> None:
    target = str(tmp_path / "copy")
    append(FileLog(target), A, 0, plan("other:1"))

    code = code_of(lambda: copy_store(store, CopyStore(to=target)))

    assert code == "STORE_TARGET_NOT_EMPTY"
    assert keys(FileLog(target).load(A)) == ["other:1"]
    assert FileLog(target).load(B) is None, "a refused plan copies nothing"


def test_a_session_that_is_not_sound_is_not_copied(store: Runtime, home: str, tmp_path: Path) -> None:
    path = Path(home, "data", "sessions", A, "events-000001.jsonl")
    path.write_bytes(path.read_bytes().replace(b"a:1", b"a:9"))

    code = code_of(
        lambda: copy_store(build_runtime({"HANDRAIL_HOME": home}), CopyStore(to=str(tmp_path / "copy")))
    )

    assert code == "SESSION_NOT_HEALTHY"
