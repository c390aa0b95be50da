"""The index of sessions changes no answer: whatever happens to the store or to the index itself."""

from __future__ import annotations

import shutil
import stat
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("apsw", reason="the library of the index is missing")

from handrail.contract.envelopes.cli import payload_of
from handrail.contract.ids import SessionId
from handrail.contract.outcome import Success
from handrail.event_log.files import session_index, touched
from handrail.event_log.files.log import FileLog
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail.wiring import build_runtime

FOLDER = "data/cache/index"
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


def index_of(store: Store) -> Path:
    (found,) = (store.home / FOLDER).glob("sessions-*.sqlite")
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
        st.tuples(
            st.just("spoil"),
            st.sampled_from(("gone", "garbage", "cut")),
            st.sampled_from(("sessions-*.sqlite", "touched", "*")),
        ),
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
        case ("spoil", how, name):
            for path in (store.home / FOLDER).glob(name):
                half = path.read_bytes()[: path.stat().st_size // 2]
                path.unlink()
                if how != "gone":
                    path.write_bytes(b"no database" * 500 if how == "garbage" else half)
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
    files = sorted((store.home / FOLDER).iterdir())
    assert [path.name for path in files] == [index_of(store).name, "touched"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}


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
    store.ask(store.indexed, "session.list")
    index = index_of(store)
    index.unlink()
    index.mkdir()

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


# What the list of touched sessions does not say


def heads(store: Store, **params: Any) -> list[str]:
    """The goals of the sessions that a new process lists."""
    return [row["goal"] for row in store.ask(store.fresh(), "session.list", **params)["items"]]


def looked_at(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sessions whose files the next list looks at."""
    seen: list[str] = []
    real = session_index._version_of

    def noted(path: str) -> Any:
        seen.append(path.rpartition("/")[2])
        return real(path)

    with monkeypatch.context() as patched:
        patched.setattr(session_index, "_version_of", noted)
        patched.setattr(session_index, "ALSO_CHECKED", 0)
        store.ask(store.fresh(), "session.list", limit=1)
    return seen


def test_a_list_looks_only_at_its_page_and_at_what_was_touched(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for goal in ("parser", "login", "fix-7", "four", "five"):
        store.start(goal)
    ids = [reply["session"]["sessionId"] for reply in store.replies]
    heads(store)

    at_rest = looked_at(store, monkeypatch)
    store.advance(1, "went on")
    after_one = looked_at(store, monkeypatch)

    assert set(at_rest) == {ids[4], ids[3]}, "one is shown, one more says whether a page follows"
    assert set(after_one) == {ids[1], ids[4]}, "the second of the page is now the one that was first"


def test_a_started_session_is_found_without_a_look_at_the_others(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for goal in ("parser", "login", "fix-7", "four"):
        store.start(goal)
    heads(store)
    store.start("five")

    assert len(set(looked_at(store, monkeypatch))) == 2
    assert heads(store)[0] == "five"


def test_a_copied_session_is_listed_and_a_moved_one_is_not(store: Store) -> None:
    store.start("parser")
    store.start("login")
    heads(store)
    here = store.files_of(0)
    away = store.home / "away"
    here.rename(away)
    without = heads(store)

    shutil.copytree(away, here)

    assert without == ["login"]
    assert sorted(heads(store)) == ["login", "parser"]
    assert store.differences() == []


def test_a_session_that_was_replaced_by_a_backup_is_read_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_index, "ALSO_CHECKED", 0)
    for goal in ("parser", "login", "fix-7"):
        store.start(goal)
    backup = store.home / "backup"
    shutil.copytree(store.files_of(0), backup)
    store.close(0)
    closed = heads(store, status="closed")

    shutil.rmtree(store.files_of(0))
    backup.rename(store.files_of(0))

    assert closed == ["parser"]
    assert heads(store, status="closed") == []


def test_a_writer_killed_after_its_commit_hides_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_index, "ALSO_CHECKED", 0)
    for goal in ("parser", "login", "fix-7"):
        store.start(goal)
    listed_within: list[list[str]] = []
    real = touched.TouchedSessions.note_begin

    def begin(self: touched.TouchedSessions, session_id: SessionId) -> None:
        real(self, session_id)
        listed_within.append(heads(store))  # it reads the line, and the files before the commit

    with monkeypatch.context() as patched:
        patched.setattr(touched.TouchedSessions, "note_begin", begin)
        patched.setattr(touched.TouchedSessions, "note_end", lambda *_: None)
        store.advance(0, "went on")

    assert listed_within[0] == ["fix-7", "login", "parser"]
    assert heads(store) == ["parser", "fix-7", "login"]
    assert store.differences() == []


def test_commit_without_a_line_is_seen_after_a_restart(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_index, "ALSO_CHECKED", 0)
    for goal in ("parser", "login", "fix-7"):
        store.start(goal)
    heads(store)
    with monkeypatch.context() as patched:
        patched.setattr(touched.TouchedSessions, "_append", lambda *_: None)
        store.advance(0, "a power failure took the line")

    monkeypatch.setattr(touched, "read_boot", lambda: "another start")

    assert heads(store) == ["parser", "fix-7", "login"]


def test_two_versions_keep_an_index_each(store: Store) -> None:
    index = store.indexed.index()
    assert index is not None
    store.start("parser")
    store.ask(store.indexed, "session.list")
    own = index_of(store).read_bytes()

    with index.open_view("of another version") as view:
        view.look()
        view.keep(())

    assert len(list((store.home / FOLDER).glob("sessions-*.sqlite"))) == 2
    assert [path.read_bytes() for path in (store.home / FOLDER).glob("sessions-*.sqlite")].count(own) == 1


def test_of_two_views_at_once_the_slower_writes_nothing_old(store: Store) -> None:
    index = store.indexed.index()
    assert index is not None
    store.start("parser")
    with index.open_view("form") as slow:
        before = slow.look()[0].version
        store.advance(0, "went on")
        with index.open_view("form") as quick:
            after = quick.look()[0].version
            quick.keep(())
        slow.keep(())

    with index.open_view("form") as view:
        assert view._list("SELECT version FROM sessions") == [(after,)]  # type: ignore[attr-defined]
    assert before != after
