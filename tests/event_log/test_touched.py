"""The list of touched sessions: what a reader learns from it, and when it says that it may lack something."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from handrail.contract.ids import SessionId
from handrail.event_log.files import touched
from handrail.event_log.files.touched import Position, TouchedSessions
from tests.event_log.log_promises import A, B

NOBODY = 4_194_304
"""A process id that no system gives."""


class Place:
    """A list in a folder, with a reader that goes on where it stopped."""

    def __init__(self, root: Path) -> None:
        self.sessions = root / "sessions"
        self.folder = root / "cache" / "index"
        for folder in (self.sessions, self.folder):
            folder.mkdir(parents=True)
        self.list = TouchedSessions(str(root / "cache"), str(self.sessions))
        self.position: Position | None = None

    @property
    def file(self) -> Path:
        return self.folder / "touched"

    def read(self) -> tuple[set[SessionId] | None, bool]:
        followed = self.list.follow(self.position)
        self.position = followed.position
        found = None if followed.sessions is None else set(followed.sessions)
        return found, followed.are_names_known

    def make(self, session_id: SessionId) -> None:
        before_ns = self.list.names_ns()
        (self.sessions / session_id).mkdir()
        os.utime(self.sessions, ns=(before_ns + 1, before_ns + 1))
        self.list.note_made(session_id, before_ns)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_reader_learns_once_what_was_touched(place: Place) -> None:
    assert place.read() == (None, False)
    place.list.note_begin(A)
    place.list.note_end(A)

    assert [place.read(), place.read()] == [({A}, True), (set(), True)]


def test_writers_make_no_list_before_the_first_reader(place: Place) -> None:
    place.list.note_begin(A)

    assert not place.file.exists()


def test_session_stays_touched_while_its_writer_lives(place: Place) -> None:
    place.read()
    place.list.note_begin(A)

    assert [place.read()[0], place.read()[0]] == [{A}, {A}]
    place.list.note_end(A)
    assert [place.read()[0], place.read()[0]] == [{A}, set()]


def test_session_of_a_dead_writer_is_looked_at_once_more(place: Place) -> None:
    place.read()
    with place.file.open("a", encoding="utf-8") as file:
        file.write(f"w {A} {NOBODY}\n")

    assert [place.read()[0], place.read()[0]] == [{A}, set()]


def test_writer_before_the_first_reader_stays_touched(place: Place) -> None:
    place.read()
    place.list.note_begin(A)
    place.position = None

    assert [place.read()[0], place.read()[0]] == [None, {A}]


def test_made_session_explains_the_names(place: Place) -> None:
    place.read()
    place.make(A)
    place.make(B)

    assert place.read() == ({A, B}, True)


def test_name_by_other_hands_is_not_explained_by_ours(place: Place) -> None:
    place.make(A)
    place.read()
    (place.sessions / "copied").mkdir()
    os.utime(place.sessions, ns=(place.list.names_ns() + 1_000_000,) * 2)
    place.make(B)

    assert place.read() == ({B}, False)
    assert place.read() == (set(), True)


def test_reader_follows_into_a_new_list(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.read()
    monkeypatch.setattr(touched, "MOST_BYTES", 100)
    place.list.note_end(A)
    place.list.note_end(B)  # the list is full now
    place.list.note_end(A)

    assert (place.folder / "touched.1").exists()
    assert [place.read()[0], place.read()[0]] == [{A, B}, set()]
    assert sorted(path.name for path in place.folder.iterdir()) == ["touched", "touched.1"]


def test_reader_that_missed_a_whole_list_looks_at_everything(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.read()
    monkeypatch.setattr(touched, "MOST_BYTES", 60)
    for _ in range(4):
        place.list.note_end(A)

    assert [place.read()[0], place.read()[0]] == [None, set()]


@pytest.mark.parametrize("spoil", ["gone", "shorter", "garbage", "bad line", "restart"])
def test_spoiled_list_means_everything(place: Place, monkeypatch: pytest.MonkeyPatch, spoil: str) -> None:
    place.list.follow(None)
    place.list.note_end(A)
    place.read()
    match spoil:
        case "gone":
            place.file.unlink()
        case "shorter":
            os.truncate(place.file, place.file.stat().st_size - 1)
        case "garbage":
            place.file.write_bytes(bytes(500))
        case "bad line":
            with place.file.open("ab") as file:
                file.write(b"x\n")
        case _:
            monkeypatch.setattr(touched, "read_boot", lambda: "another")
    if spoil == "garbage":
        with pytest.raises(OSError, match="not of our making"):
            place.read()
        return

    assert place.read()[0] is None
    assert place.read()[0] == set()


def test_line_that_is_being_written_is_read_when_it_is_whole(place: Place) -> None:
    place.read()
    with place.file.open("a", encoding="utf-8") as file:
        file.write(f"d {A}")
        file.flush()
        halfway = place.read()[0]
        file.write("\n")

    assert (halfway, place.read()[0]) == (set(), {A})


def test_list_that_refuses_a_line_is_dropped(place: Place) -> None:
    place.read()
    place.file.unlink()
    os.mkfifo(place.file)

    place.list.note_end(A)

    assert not place.file.exists()
    assert place.read()[0] is None


def test_latest_names_the_last_sessions_first(place: Place) -> None:
    place.read()
    for session_id in (A, B, A):
        place.list.note_begin(session_id)
        place.list.note_end(session_id)

    assert (place.list.latest(5), place.list.latest(1)) == ([A, B], [A])
