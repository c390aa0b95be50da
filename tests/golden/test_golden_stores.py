"""A store written by every released version still opens, resumes and replays.

Every call gets the place, the step and the tokens that it got then, byte for byte; a later version may tell
more beside them.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.event_log.files.log import FileLog
from handrail.event_log.files.upkeep.whole_store import check_store
from handrail.runtime.hub import perform
from tests.golden.write_store import STORES, runtime_on

VERSIONS = sorted(os.listdir(STORES))


@pytest.fixture(params=VERSIONS)
def golden(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, list[dict[str, Any]]]:
    """A private copy of the store, as it was on its writer's disk, and the calls that made it."""
    source = Path(STORES, request.param)
    home = tmp_path / "home"
    shutil.copytree(source / "home", home)
    for path in [home, *home.rglob("*")]:
        path.chmod(0o700 if path.is_dir() else 0o600)
    calls: list[dict[str, Any]] = json.loads((source / "calls.json").read_text(encoding="utf-8"))
    return home, calls


def content_of(home: Path) -> dict[Path, bytes]:
    """Without the lock files: what they note is true of one running machine only."""
    files = (path for path in home.rglob("*") if path.is_file() and not path.name.endswith("lock"))
    return {path: path.read_bytes() for path in files}


LASTING = (
    *("kind", "pending", "isComplete", "nextIntent", "recap"),
    *("stateToken", "ackToken", "retryAckToken", "checkpointToken"),
)
"""What a reply of any version says about where a run stands and how to go on."""


def as_json(data: dict[str, Any]) -> bytes:
    return msgspec.json.encode({key: data[key] for key in LASTING if key in data})


def test_there_is_a_store_of_this_version() -> None:
    assert VERSIONS == ["0.1.0"]


def test_a_golden_store_is_sound(golden: tuple[Path, list[dict[str, Any]]]) -> None:
    home, _ = golden

    check = check_store(FileLog(str(home / "data")))

    assert check.problems == ()
    assert (check.sessions, check.blobs, check.leftover_blobs) == (2, 2, 0)


def test_every_call_gets_its_recorded_reply_and_writes_nothing(
    golden: tuple[Path, list[dict[str, Any]]],
) -> None:
    home, calls = golden
    before = content_of(home)
    runtime = runtime_on(str(home))

    for call in calls:
        outcome: Any = perform(runtime, call["operation"], call["params"])

        assert as_json(outcome.data) == as_json(call["reply"]), call["params"]

    assert content_of(home) == before
    assert len(calls) >= 9


def test_a_session_is_found_and_goes_on(golden: tuple[Path, list[dict[str, Any]]]) -> None:
    home, calls = golden
    session_id = calls[0]["reply"]["session"]["sessionId"]
    runtime = runtime_on(str(home))

    found: Any = perform(runtime, "session.resume", {"query": session_id})
    forked = calls[4]["reply"]
    done: Any = perform(
        runtime,
        "run.continue",
        {"ackToken": forked["ackToken"], "output": {"notesMarkdown": "Went on with it."}},
    )

    assert found.page.items[0]["sessionId"] == session_id
    assert done.data["pending"]["stepId"] == "third"
    loaded = FileLog(str(home / "data")).load(session_id)
    assert loaded is not None
    assert loaded.health.state == "healthy"
