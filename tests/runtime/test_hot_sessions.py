"""A warm server folds only what is new, and never shows what the log does not say."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.contract.ids import BlobRef, SessionId, WorkflowHash, blob_ref
from handrail.contract.outcome import Failure
from handrail.engine.folding import fold
from handrail.engine.history import History
from handrail.event_log.files.log import FileHold, FileLog
from handrail.event_log.memory import MemoryLog
from handrail.ports.log import Blob, Loaded, Remembered
from handrail.runtime import sessions
from handrail.runtime.history_cache import encode_history
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail.runtime.sessions import MOST_WORKFLOWS, HotLog, make_histories, read_session
from tests.cases import every_case
from tests.conftest import memory_runtime
from tests.engine.written_log import compiled
from tests.event_log.log_promises import A, EventLogPromises, append, in_threads, plan
from tests.journeys.conversation import advance, answer, rehydrate, start


class TestHotLog(EventLogPromises):
    @pytest.fixture
    def log(self) -> HotLog:
        return HotLog(MemoryLog())


class WatchedLog(FileLog):
    """Counts the records that were handed out."""

    def __init__(self, data: str) -> None:
        super().__init__(data)
        self.given = 0

    def load_since(self, session_id: SessionId, index: int) -> Loaded | None:
        loaded = super().load_since(session_id, index)
        self.given += 0 if loaded is None else len(loaded.records)
        return loaded


def served(data: Path) -> tuple[Runtime, WatchedLog]:
    """A server on this store, with the keys and the time that every test server has."""
    log = WatchedLog(str(data))
    return msgspec.structs.replace(memory_runtime(), log=HotLog(log)), log


def session_id_of(reply: dict[str, Any]) -> SessionId:
    return SessionId(reply["session"]["sessionId"])


def as_folded_afresh(data: Path, session_id: SessionId) -> History:
    loaded = FileLog(str(data)).load(session_id)
    assert loaded is not None
    return fold(session_id, loaded.records)


def history_of(runtime: Runtime, session_id: SessionId) -> History:
    session = read_session(runtime.log, session_id)
    assert session is not None
    return session.history


def test_a_warm_server_reads_no_event_twice(tmp_path: Path) -> None:
    runtime, log = served(tmp_path)
    reply = advance(runtime, start(runtime), "first")
    log.given = 0

    for _ in range(3):
        rehydrate(runtime, reply)
    advance(runtime, reply, "second")

    assert log.given == 0
    assert history_of(runtime, session_id_of(reply)) == as_folded_afresh(tmp_path, session_id_of(reply))


def test_threads_of_one_server_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    runtime, _ = served(tmp_path)
    first = start(runtime)
    fresh = [rehydrate(runtime, first)["ackToken"] for _ in range(12)]

    def worker(tokens: Sequence[str]) -> Callable[[], None]:
        def work() -> None:
            for token in tokens:
                for _ in range(2):
                    answer(runtime, "run.continue", ackToken=token, output={"notesMarkdown": token})

        return work

    troubles = in_threads([worker(fresh[place::3]) for place in range(3)])

    history = history_of(runtime, session_id_of(first))
    assert troubles == []
    assert sorted(notes.text for notes in history.notes.values()) == sorted(fresh)
    assert history == as_folded_afresh(tmp_path, session_id_of(first))


def test_a_history_that_was_handed_out_does_not_change(tmp_path: Path) -> None:
    runtime, _ = served(tmp_path)
    reply = start(runtime)
    before = history_of(runtime, session_id_of(reply))
    copied = as_folded_afresh(tmp_path, session_id_of(reply))

    advance(runtime, advance(runtime, reply, "one"), "two")

    assert before == copied
    assert (before.head, len(before.nodes)) == (copied.head, 1)


def test_a_session_that_was_put_back_is_seen_as_it_is(tmp_path: Path) -> None:
    runtime, _ = served(tmp_path / "data")
    first = start(runtime)
    shutil.copytree(tmp_path / "data", tmp_path / "backup")
    advance(runtime, first, "lost")
    shutil.rmtree(tmp_path / "data")
    shutil.copytree(tmp_path / "backup", tmp_path / "data")

    again = advance(runtime, first, "done again")

    history = history_of(runtime, session_id_of(first))
    assert [notes.text for notes in history.notes.values()] == ["done again"]
    assert rehydrate(runtime, again)["recap"]["entries"][0]["notes"] == "done again"
    assert history == as_folded_afresh(tmp_path / "data", session_id_of(first))


def test_other_history_of_the_same_length_is_not_mistaken(tmp_path: Path) -> None:
    (one, _), (two, _) = served(tmp_path / "one"), served(tmp_path / "two")
    session_id = session_id_of(advance(one, start(one, requestId="same"), "seen here"))
    advance(two, start(two, requestId="same"), "done elsewhere")
    shutil.rmtree(tmp_path / "one" / "sessions" / session_id)
    shutil.copytree(tmp_path / "two" / "sessions" / session_id, tmp_path / "one" / "sessions" / session_id)

    history = history_of(one, session_id)

    assert [notes.text for notes in history.notes.values()] == ["done elsewhere"]


def test_a_session_that_was_deleted_is_not_shown_from_memory(tmp_path: Path) -> None:
    runtime, _ = served(tmp_path)
    session_id = session_id_of(start(runtime))

    shutil.rmtree(tmp_path / "sessions" / session_id)

    assert read_session(runtime.log, session_id) is None


def test_a_session_that_was_damaged_is_not_kept(tmp_path: Path) -> None:
    runtime, _ = served(tmp_path)
    session_id = session_id_of(advance(runtime, start(runtime), "sound"))
    manifest = tmp_path / "sessions" / session_id / "manifest.jsonl"
    lines = manifest.read_bytes().splitlines(keepends=True)
    manifest.write_bytes(lines[0] + lines[1].replace(b'"v":1', b'"v":3'))

    session = read_session(runtime.log, session_id)

    assert isinstance(runtime.log, HotLog)
    assert session is not None
    assert session.health.state == "corrupt_tail"
    assert len(runtime.log) == 0


def history_of_size(session_id: SessionId, size: int) -> History:
    return msgspec.structs.replace(fold(session_id, ()), read_bytes=size)


IDS = [SessionId(f"ses_{number:012d}") for number in range(6)]


@pytest.mark.parametrize(
    ("most_sessions", "most_bytes", "sizes", "kept"),
    [
        (3, 1000, [1, 1, 1, 1, 1], [2, 3, 4]),
        (10, 200, [40, 40, 40], [1, 2]),
        (10, 200, [10, 500], [1]),
        (10, 200, [500, 10, 10], [1, 2]),
    ],
)
def test_the_sessions_used_longest_ago_are_forgotten(
    most_sessions: int, most_bytes: int, sizes: list[int], kept: list[int]
) -> None:
    hot = HotLog(MemoryLog(), make_histories(most_bytes, most_sessions, always_kept=1))

    for session_id, size in zip(IDS, sizes, strict=False):
        hot.keep(history_of_size(session_id, size))

    assert [place for place, name in enumerate(IDS) if hot.get_folded(name) is not None] == kept
    assert len(hot) == len(kept)


def test_two_logs_share_a_memory_and_not_their_sessions() -> None:
    shared = make_histories(200, always_kept=1)
    one, two = (HotLog(MemoryLog(), shared, name) for name in ("one", "two"))
    one.keep(history_of_size(A, 60))

    assert two.get_folded(A) is None
    two.keep(history_of_size(A, 60))

    assert one.get_folded(A) is None, "the bound is of both together"
    assert two.get_folded(A) is not None


class CountedBlobs(MemoryLog):
    def __init__(self) -> None:
        super().__init__()
        self.asked: list[BlobRef] = []

    def get_blob(self, ref: BlobRef) -> bytes:
        self.asked.append(ref)
        return super().get_blob(ref)


def pinned_blob(number: int) -> Blob:
    """The bytes that pin a workflow."""
    workflow = msgspec.structs.replace(compiled("only"), name=f"Workflow {number}")
    content = msgspec.json.encode(workflow)
    return Blob(ref=blob_ref(content), content=content)


def test_pinned_workflows_are_kept_in_bounds_and_proven() -> None:
    log = CountedBlobs()
    blobs = [pinned_blob(number) for number in range(MOST_WORKFLOWS + 1)]
    append(log, A, 0, plan("a:1"), blobs)
    hot = HotLog(log)

    pairs = [[hot.load_pinned(WorkflowHash(blob.ref)) for _ in range(2)] for blob in blobs]

    assert [pair[0].name for pair in pairs] == [f"Workflow {number}" for number in range(MOST_WORKFLOWS + 1)]
    assert all(pair[0] is pair[1] for pair in pairs)
    assert len(log.asked) == 2 * len(blobs)
    assert hot.load_pinned(WorkflowHash(blobs[0].ref)) is not pairs[0][0]
    assert hot.load_pinned(WorkflowHash(blobs[-1].ref)) is pairs[-1][0]


def test_deleted_session_is_unknown_to_a_running_server(tmp_path: Path) -> None:
    runtime, _ = served(tmp_path)
    reply = advance(runtime, start(runtime), "kept hot")
    shutil.rmtree(tmp_path / "sessions" / session_id_of(reply))

    outcome = perform(runtime, "run.continue", {"ackToken": reply["ackToken"]})

    assert isinstance(outcome, Failure)
    assert outcome.kind.code == "TOKEN_UNKNOWN_NODE"


def test_overtaken_server_decides_on_what_the_log_says(tmp_path: Path) -> None:
    first, _ = served(tmp_path)
    second, _ = served(tmp_path)
    reply = advance(first, start(first), "one")
    answered = advance(second, reply, "two")

    repeated = advance(first, reply, "two")  # to the first server the attempt still looked open

    assert repeated == answered
    assert rehydrate(first, answered)["pending"] == rehydrate(second, answered)["pending"]


# What a cold process recalls


@pytest.fixture
def early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions count as long from their eighth event on."""
    monkeypatch.setattr(FileHold, "remembers_from", 8)
    monkeypatch.setattr(sessions, "FEWEST_NEW_EVENTS", 1)


@pytest.mark.usefixtures("early")
def test_cold_server_folds_only_what_came_after_the_cache(tmp_path: Path) -> None:
    first, _ = served(tmp_path)
    reply = start(first)
    for _ in range(2):
        reply = advance(first, reply, "worked")
    cold, log = served(tmp_path)
    bare, _ = served(tmp_path)

    shown = read_session(cold.log, session_id_of(reply))
    given = log.given
    shutil.rmtree(tmp_path / "cache")

    assert given < as_folded_afresh(tmp_path, session_id_of(reply)).head
    assert shown == read_session(bare.log, session_id_of(reply))
    assert advance(cold, reply, "the last") == advance(bare, reply, "the last")


@contextmanager
def recalling(log: MemoryLog, recalled: Remembered) -> Iterator[HotLog]:
    class Recalling(HotLog):
        def recall(self, session_id: SessionId) -> Remembered | None:
            return recalled

    yield Recalling(log)


@pytest.mark.parametrize(
    "change", [{"head": 3}, {"digest": "00" * 32}, {"content": b"rubbish"}, {"content": b""}]
)
def test_a_recollection_that_does_not_fit_is_ignored(runtime: Runtime, change: dict[str, Any]) -> None:
    reply = advance(runtime, start(runtime), "worked")
    session_id = session_id_of(reply)
    expected = read_session(runtime.log, session_id)
    assert expected is not None
    history = expected.history
    sound = Remembered(head=history.head, digest=history.head_digest, content=encode_history(history))
    assert isinstance(runtime.log, MemoryLog)

    with recalling(runtime.log, msgspec.structs.replace(sound, **change)) as log:
        assert read_session(log, session_id) == expected


@every_case(
    ("begin", "before", "after", "expected"),
    [
        (2048, 0, 2047, False),
        (2048, 2044, 2048, True),
        (2048, 2048, 2052, False),
        (2048, 2300, 2303, False),
        (2048, 2300, 2304, True),  # steps of 256 from 2 048 on
        (2048, 10_236, 10_240, True),  # steps of 1 024 from 8 192 on
        (2048, 10_240, 10_244, False),
        (256, 251, 255, False),
        (256, 252, 256, True),
        (256, 256, 260, False),
        (256, 508, 512, True),
    ],
)
def test_a_long_session_is_remembered_now_and_then(
    begin: int, before: int, after: int, expected: bool
) -> None:
    assert sessions._is_worth_remembering(before, after, begin) is expected
