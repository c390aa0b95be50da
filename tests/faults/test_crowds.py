"""Eight processes at one session, and at several: nothing is answered twice, nothing acknowledged is lost."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from handrail.wiring import build_runtime
from tests.faults import crowd
from tests.faults.raw_history import Heard, RawSession, raw_sessions, trouble
from tests.faults.test_event_log_kills import seed_of_this_run
from tests.house.tree import ROOT

pytestmark = pytest.mark.thorough

PROCESSES = 8
SECONDS = 120

WITHOUT_LOCK = """
from handrail.event_log.files.disk import Disk
Disk.lock_now = lambda self, descriptor: True
"""
WITHOUT_DEDUPE = """
import inspect, itertools, os
from handrail.operations import handles
from handrail.operations import checkpoints
from handrail.operations.runs import continue_run
from handrail.runtime import sessions

text = inspect.getsource(handles.answer_attempt)
checked = "            if recorded is not None:\\n                return"
assert checked in text
exec(text.replace(checked, checked.replace("recorded is not None", "False")), vars(handles))
for module in (continue_run, checkpoints):
    module.answer_attempt = handles.answer_attempt
numbers = itertools.count()
real = sessions.Draft
sessions.Draft = lambda dedupe_key, **rest: real(
    dedupe_key=f"{dedupe_key}:{os.getpid()}:{next(numbers)}", **rest
)
"""


def crowded(folder: Path, seed: int, calls: int, sessions: int, broken: str = "") -> dict[str, Any]:
    """The report of a crowd; `broken` is code that damages the product first."""
    numbers = f"{seed}, {PROCESSES}, {calls}, {sessions}"
    places = f"{str(folder / 'home')!r}, {str(folder / 'project')!r}"
    script = f"{broken}\nfrom tests.faults.crowd import main\nmain({places}, {numbers})\n"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    report: dict[str, Any] = json.loads(done.stdout)
    return report


@pytest.mark.promise("continue.once")
@pytest.mark.parametrize(("sessions", "calls"), [(1, 60), (3, 60)])
def test_crowd_of_late_and_doubled_calls_acts_once(tmp_path: Path, sessions: int, calls: int) -> None:
    seed = seed_of_this_run()

    report = crowded(tmp_path, seed, calls, sessions)

    print(report)
    assert report["problems"] == []
    assert report["calls"] >= PROCESSES * calls * 0.9
    assert report["tokens"] < report["calls"] * 0.7  # the rest were repetitions
    assert report["blocked"] > 0


@pytest.mark.parametrize("broken", [WITHOUT_LOCK, WITHOUT_DEDUPE], ids=["no lock", "no dedupe"])
def test_a_product_without_its_lock_or_its_dedupe_is_found_out(tmp_path: Path, broken: str) -> None:
    report = crowded(tmp_path, seed_of_this_run(), 40, 1, broken)

    assert report["problems"] != []


# The checker itself: each kind of trouble, planted into a sound history.


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[RawSession], list[Heard]]:
    """A small true history of one worker, with blocked steps, checkpoints and repetitions."""
    folder = tmp_path_factory.mktemp("sound")
    starts = crowd.begun(str(folder / "home"), str(folder / "project"), 1)
    runtime = build_runtime({"HANDRAIL_HOME": str(folder / "home")})
    worker = crowd.Worker(runtime, 1, 5, starts)
    for _ in range(40):
        worker.act()
    return raw_sessions(folder / "home" / "data"), worker.heard


def test_a_sound_history_has_no_trouble(sound: tuple[list[RawSession], list[Heard]]) -> None:
    assert trouble(*sound) == []
    assert {call["use"] for call in sound[1]} == {"advance", "checkpoint", "read"}


def _double(kind: str) -> Callable[[RawSession, list[Heard]], None]:
    """The last event of a kind once more, under another key."""

    def plant(session: RawSession, _: list[Heard]) -> None:
        event = [held for held in session.events if held["data"]["kind"] == kind][-1]
        session.events.append(copy.deepcopy(event))
        session.keys.append("planted")

    return plant


def _drop(kind: str) -> Callable[[RawSession, list[Heard]], None]:
    def plant(session: RawSession, _: list[Heard]) -> None:
        place = max(n for n, held in enumerate(session.events) if held["data"]["kind"] == kind)
        del session.events[place]

    return plant


def _same_key(session: RawSession, _: list[Heard]) -> None:
    session.keys[-1] = session.keys[0]


def _other_reply(_: RawSession, heard: list[Heard]) -> None:
    call = copy.deepcopy(next(call for call in heard if call["use"] == "advance"))
    call["reply"]["stateToken"] = "st1other"
    heard.append(call)


def _unstored_notes(_: RawSession, heard: list[Heard]) -> None:
    call = copy.deepcopy(next(call for call in heard if call["use"] == "advance"))
    heard.append(call | {"notes": "never stored"})


def _stored_after_all(_: RawSession, heard: list[Heard]) -> None:
    call = copy.deepcopy(next(call for call in heard if call["use"] == "advance"))
    call["reply"]["warnings"] = [{"code": "REPLAY_INPUT_MISMATCH"}]
    heard.append(call)


def _elsewhere(_: RawSession, heard: list[Heard]) -> None:
    heard.append(heard[0] | {"session": "ses_nowhere"})


@pytest.mark.parametrize(
    ("plant", "expected"),
    [
        (_double("advance_recorded"), "was answered 2 times"),
        (_double("node_created"), "was created twice"),
        (_double("edge_created"), "has 2 edges"),
        (_double("node_output_appended"), "2 times: "),
        (_drop("advance_recorded"), "answers are recorded"),
        (_drop("node_output_appended"), "lost: "),
        (_drop("node_created"), "which does not exist"),
        (_same_key, "events have the key"),
        (_other_reply, "two replies to"),
        (_unstored_notes, "lost: never stored"),
        (_stored_after_all, "said not to be stored, but it is"),
        (_elsewhere, "which is not stored"),
    ],
)
def test_planted_trouble_is_found(
    sound: tuple[list[RawSession], list[Heard]],
    plant: Callable[[RawSession, list[Heard]], None],
    expected: str,
) -> None:
    sessions, heard = copy.deepcopy(sound)

    plant(sessions[0], heard)

    assert any(expected in problem for problem in trouble(sessions, heard))


@pytest.mark.parametrize(("name", "cut"), [("manifest.jsonl", b'"first":'), ("events-000001.jsonl", b"did ")])
def test_changed_bytes_of_the_store_are_found(tmp_path: Path, name: str, cut: bytes) -> None:
    starts = crowd.begun(str(tmp_path / "home"), str(tmp_path / "project"), 1)
    worker = crowd.Worker(build_runtime({"HANDRAIL_HOME": str(tmp_path / "home")}), 1, 5, starts)
    for _ in range(10):
        worker.act()
    (file,) = (tmp_path / "home" / "data" / "sessions").glob(f"*/{name}")
    content = file.read_bytes()
    place = content.rindex(cut) + len(cut)
    file.write_bytes(content[:place] + b"9" + content[place + 1 :])

    found = trouble(raw_sessions(tmp_path / "home" / "data"), worker.heard)

    assert any("chained" in problem or "digest" in problem for problem in found)
