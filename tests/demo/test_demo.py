"""The demo as a newcomer meets it: real processes, every claim checked, nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.conformance.recorder import record

pytestmark = pytest.mark.thorough

DEADLINE_SECONDS = 60
GRAPH = [
    "o Plan the change",
    "o Make the change",
    "|\\ x blocked, Make the change",
    "|  o Verify the change",
    "|  o done",
    "o Verify the change",
    "* done",
]


class Place:
    """A user's machine: a home that the demo must not touch, and a directory for temporary files."""

    def __init__(self, path: Path) -> None:
        self.home = path / "home-of-the-user"
        self.scratch = path / "tmp"
        self.scratch.mkdir()
        self.environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HANDRAIL_HOME": str(self.home),
            "HANDRAIL_FORMAT": "text",  # a setting of the user's own that must not reach the demo's calls
            "TMPDIR": str(self.scratch),
        }

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "handrail.main", "demo", *arguments],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(self, *arguments: str) -> tuple[int, str, str]:
        with self.start(*arguments) as process:
            out, err = process.communicate(timeout=DEADLINE_SECONDS)
        record(["demo", *arguments], process.returncode, out, err)
        return process.returncode, out.decode(), err.decode()

    def check_untouched(self) -> None:
        assert list(self.scratch.iterdir()) == []
        assert not self.home.exists()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("machine"))


@pytest.fixture(scope="module")
def told(place: Place) -> tuple[int, str, str]:
    """The demo as text."""
    return place.run()


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Place, str, dict[str, Any]]:
    """The demo as a document, with its store kept: machine, directory, document."""
    machine = Place(tmp_path_factory.mktemp("machine"))
    directory = str(tmp_path_factory.mktemp("kept") / "here")
    status, out, err = machine.run("--format", "json", "--keep", directory)
    assert (status, err) == (0, "")
    return machine, directory, msgspec.json.decode(out)


def test_every_claim_holds_and_the_exit_status_says_so(told: tuple[int, str, str]) -> None:
    status, out, err = told

    assert (status, err) == (0, "")
    assert "8 of 8 claims held." in out
    assert "[FAILED]" not in out


def test_it_is_plain_text_of_80_columns(told: tuple[int, str, str]) -> None:
    lines = told[1].splitlines()

    assert [line for line in lines if len(line) > 80 or line != line.rstrip()] == []
    assert [character for character in told[1] if not character.isprintable() and character != "\n"] == []


def test_it_leaves_nothing_behind(place: Place, told: tuple[int, str, str]) -> None:
    assert told[0] == 0
    place.check_untouched()


def test_the_story_is_told_in_order(told: tuple[int, str, str]) -> None:
    headings = [line for line in told[1].splitlines() if line[:1].isdigit() and ". " in line]

    assert headings == [
        "1. An agent starts a workflow",
        "2. The chat is lost: an agent that knows only the session id takes over",
        "3. The agent forgets what the step requires",
        "4. kill -9 in the middle of a call",
        "5. The user wants another way: back to an older step",
        "6. What is in the log",
    ]


def test_the_document_has_the_counted_facts(kept: tuple[Place, str, dict[str, Any]]) -> None:
    data = kept[2]["data"]

    assert kept[2]["ok"] is True
    assert data["kills"] == 1
    assert len(data["checks"]) == 8
    assert all(check["passed"] for check in data["checks"])
    assert len(data["steps"]) == 6
    assert data["graph"] == GRAPH


def test_a_kept_store_can_be_looked_at(kept: tuple[Place, str, dict[str, Any]]) -> None:
    machine, directory, document = kept
    environment = machine.environment | {"HANDRAIL_HOME": f"{directory}/home", "HANDRAIL_FORMAT": "json"}

    shown = subprocess.run(
        [sys.executable, "-m", "handrail.main", "session", "show", document["data"]["session_id"]],
        env=environment,
        capture_output=True,
        timeout=DEADLINE_SECONDS,
        check=True,
    )

    data = msgspec.json.decode(shown.stdout)["data"]
    assert (data["status"], data["health"]["state"]) == ("complete", "healthy")
    assert data["runs"][0]["graph"] == GRAPH
    machine.check_untouched()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_tidily(tmp_path: Path, number: signal.Signals) -> None:
    machine = Place(tmp_path)
    with machine.start() as process:
        assert process.stdout is not None
        heading = next((line for line in process.stdout if b"1. An agent" in line), b"")
        process.send_signal(number)
        _, err = process.communicate(timeout=DEADLINE_SECONDS)

    assert heading != b""
    assert process.returncode == 130
    assert b"interrupted; its scratch directory was removed" in err
    machine.check_untouched()


def test_a_reader_that_goes_away_ends_it_quietly(tmp_path: Path) -> None:
    machine = Place(tmp_path)
    with machine.start() as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        err = process.stderr.read()
        status = process.wait(DEADLINE_SECONDS)

    assert (status, err) == (1, b"")
    machine.check_untouched()


def test_a_directory_with_something_in_it_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("mine", encoding="utf-8")

    status, out, err = Place(tmp_path).run("--keep", str(tmp_path / "full"))

    assert (status, out) == (2, "")
    assert "is not empty" in err
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["letter.txt"]
