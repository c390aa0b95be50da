"""The index of sessions changes no answer: whatever happens to the store or to the index itself."""

from __future__ import annotations

import stat
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.contract.envelopes.cli import payload_of
from handrail.contract.ids import SessionId
from handrail.contract.outcome import Success
from handrail.event_log.files.log import FileLog
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail.wiring import build_runtime

pytest.importorskip("apsw", reason="the library of the index is missing")

INDEX = "data/cache/index/sessions.sqlite"
WORDS = ("parser", "login", "fix-7", "Zeppelin")
QUESTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("session.list", {}),
    ("session.list", {"query": "login"}),
    ("session.list", {"status": "closed"}),
    ("session.list", {"status": "in_progress", "limit": 2}),
    ("session.resume", {}),
    ("session.resume", {"query": "parser"}),
    ("session.resume", {"query": "zeppelin login"}),
    ("session.resume", {"query": "nowhere-at-all"}),
    ("session.resume", {"query": "small"}),
    ("session.resume", {"branch": "ma"}),
)


class Store:
    """A home on disk, asked by way of the index and without it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.project = home.with_name("project")
        for folder in (home, self.project):
            folder.mkdir(exist_ok=True)
        self.indexed = self.fresh()
        self.plain = msgspec.structs.replace(self.fresh(), index=lambda: None)
        self.replies: list[dict[str, Any]] = []
        self.is_damaged = False
        """Then a warm server may still call sound what it has read before, with or without the index."""

    def fresh(self) -> Runtime:
        return build_runtime({"HANDRAIL_PROJECT": str(self.project)}, home=str(self.home))

    def ask(self, runtime: Runtime, operation: str, **params: Any) -> Any:
        outcome = perform(runtime, operation, params)
        assert isinstance(outcome, Success), outcome
        return payload_of(outcome)

    def start(self, goal: str = "parser") -> dict[str, Any]:
        reply: dict[str, Any] = self.ask(self.plain, "run.start", workflowId="wr.small_change", goal=goal)
        self.replies.append(reply)
        return reply

    def advance(self, which: int, notes: str) -> None:
        reply = self.replies[which % len(self.replies)]
        params = {"ackToken": reply["ackToken"], "output": {"notesMarkdown": notes}}
        perform(self.plain, "run.continue", params)

    def close(self, which: int) -> None:
        token = self.replies[which % len(self.replies)]["stateToken"]
        perform(self.plain, "run.close", {"run": token, "reason": "abandoned"})

    def files_of(self, which: int) -> Path:
        session_id: str = self.replies[which % len(self.replies)]["session"]["sessionId"]
        return self.home / "data" / "sessions" / session_id

    def delete(self, which: int) -> None:
        session_id = self.replies[which % len(self.replies)]["session"]["sessionId"]
        shown = perform(
            self.plain, "session.delete", {"ids": [session_id], "dangerous": True, "dryRun": True}
        )
        if isinstance(shown, Success):
            token = msgspec.convert(payload_of(shown), dict[str, Any])["confirm_token"]
            self.ask(self.plain, "session.delete", ids=[session_id], dangerous=True, confirm=token)

    def told(self, runtime: Runtime, operation: str, params: dict[str, Any]) -> Any:
        """The answer without its cursor, in which the second is signed."""
        answer = self.ask(runtime, operation, **params)
        return {name: value for name, value in answer.items() if name != "next_cursor"}

    def differences(self) -> list[tuple[str, dict[str, Any]]]:
        """Questions that the index answers differently, in a running server or in a new process."""
        found = []
        for operation, params in QUESTIONS:
            cold = msgspec.structs.replace(self.fresh(), index=lambda: None)
            expected = self.told(cold, operation, params)
            for runtime in (self.fresh(), *(() if self.is_damaged else (self.indexed,))):
                if self.told(runtime, operation, params) != expected:
                    found.append((operation, params))
        return found


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "home")


actions = st.lists(
    st.one_of(
        st.tuples(st.just("start"), st.lists(st.sampled_from(WORDS), max_size=2).map(" ".join)),
        st.tuples(st.just("advance"), st.integers(0, 5), st.sampled_from(WORDS)),
        st.tuples(st.just("close"), st.integers(0, 5)),
        st.tuples(st.just("damage"), st.integers(0, 5), st.sampled_from(("events", "manifest"))),
        st.tuples(st.just("delete"), st.integers(0, 5)),
        st.tuples(st.just("spoil"), st.sampled_from(("gone", "garbage", "cut"))),
    ),
    min_size=1,
    max_size=8,
)


def act(store: Store, action: tuple[Any, ...]) -> None:
    match action:
        case ("start", goal):
            store.start(goal)
        case (_, *_) if action[0] != "spoil" and not store.replies:
            pass
        case ("advance", which, notes):
            store.advance(which, notes)
        case ("close", which):
            store.close(which)
        case ("damage", which, beginning):
            store.is_damaged = True
            for path in store.files_of(which).glob(f"{beginning}*"):
                content = path.read_bytes()
                path.write_bytes(content[: len(content) // 2] + b"#" + content[len(content) // 2 + 1 :])
        case ("delete", which):
            store.delete(which)
        case ("spoil", how):
            path = store.home / INDEX
            content = path.read_bytes() if path.exists() else b""
            path.unlink(missing_ok=True)
            if how != "gone" and content:
                path.write_bytes(b"no database" * 500 if how == "garbage" else content[: len(content) // 2])
        case _:
            raise AssertionError(action)


@pytest.mark.thorough
@given(actions)
@settings(max_examples=15)
def test_answers_are_the_same_with_and_without_the_index(given_actions: list[tuple[Any, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "home")
        store.start("parser login")
        for action in given_actions:
            act(store, action)
            assert store.differences() == [], action


def test_the_index_is_private(store: Store) -> None:
    store.start("parser")
    store.ask(store.indexed, "session.list")
    reader = store.fresh()

    assert store.ask(reader, "session.list")["items"][0]["goal"] == "parser"
    assert (store.home / INDEX).exists()
    assert stat.S_IMODE((store.home / INDEX).stat().st_mode) == 0o600


def test_only_sessions_that_changed_are_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for goal in ("parser", "login", "fix-7"):
        store.start(goal)
    store.ask(store.indexed, "session.list")
    store.advance(1, "went on")
    read: list[str] = []
    real = FileLog.load_since

    def noted(log: FileLog, session_id: SessionId, index: int) -> Any:
        read.append(session_id)
        return real(log, session_id, index)

    monkeypatch.setattr(FileLog, "load_since", noted)
    store.ask(store.fresh(), "session.list")

    assert read == [store.replies[1]["session"]["sessionId"]]


def test_a_deleted_session_leaves_nothing_in_the_index(store: Store) -> None:
    store.start("Zeppelin")
    store.start("parser")
    store.ask(store.indexed, "session.resume", query="zeppelin")
    held = [path for path in (store.home / "data/cache").rglob("*") if b"zeppelin" in _bytes(path)]
    assert held != []

    store.delete(0)

    assert [path for path in (store.home / "data/cache").rglob("*") if b"zeppelin" in _bytes(path)] == []
    assert store.differences() == []


def _bytes(path: Path) -> bytes:
    return path.read_bytes().lower() if path.is_file() else b""


def test_a_place_where_no_index_can_be_kept_is_read_from_the_log(store: Store) -> None:
    store.start("parser")
    (store.home / INDEX).mkdir(parents=True)

    assert store.differences() == []
    assert store.ask(store.indexed, "session.list")["count"] == 1


def test_entries_of_another_form_are_not_believed(store: Store) -> None:
    index = store.indexed.index()
    assert index is not None
    store.start("parser")
    store.ask(store.indexed, "session.list")

    with index.open_view("of another version") as view:
        assert [held.facts for held in view.look()] == [None]
    assert store.differences() == []
