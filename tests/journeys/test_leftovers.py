"""What killed calls and broken sessions leave: named with the command that removes it, in nobody's way."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import msgspec
import pytest

from handrail.runtime.runtime import Runtime
from handrail.wiring import build_runtime
from tests.conftest import KeptIncidents
from tests.journeys.conversation import advance, start
from tests.journeys.doors import command, tool_call
from tests.journeys.test_on_disk import disk_runtime

__all__ = ["disk_runtime"]

HALF_MADE = "ses_000000000001"
IMPORTED = "ses_000000000002"


def another_process(home: str) -> Runtime:
    project = str(Path(home).parent / "project")
    runtime = build_runtime({"USER": "tester", "HANDRAIL_PROJECT": project}, home=home)
    return msgspec.structs.replace(runtime, incidents=KeptIncidents())


def sessions_in(home: str) -> list[str]:
    return sorted(path.name for path in Path(home, "data", "sessions").iterdir())


def left_by_a_killed_start(home: str, session_id: str) -> Path:
    """The events of a start, and a lock that nobody wrote a note into."""
    session = Path(home, "data", "sessions", session_id)
    session.mkdir(0o700)
    (session / "lock").touch(0o600)
    body = '{"v":1,"at":"2026-01-01T00:00:00.000Z","scope":{},"data":{"kind":"session_created"}}'
    line = f'{{"dedupeKey":"session_created:{session_id}","event":{body}}}\n'
    (session / "events-000001.jsonl").touch(0o600)
    (session / "events-000001.jsonl").write_text(line, encoding="utf-8")
    return session


def left_by_a_killed_import(home: str, session_id: str) -> Path:
    """Events of several times, as they came in the bundle."""
    session = left_by_a_killed_start(home, session_id)
    events = session / "events-000001.jsonl"
    first = events.read_text(encoding="utf-8")
    events.write_text(first + first.replace("2026-01-01", "2026-01-02"), encoding="utf-8")
    return session


@pytest.mark.promise("store.killed-start")
def test_what_a_killed_start_left_is_named_and_goes_with_the_next_collection(
    disk_runtime: Runtime, home: str
) -> None:
    first = start(disk_runtime)
    left_by_a_killed_start(home, HALF_MADE)
    Path(home, "data", "sessions", "ses_000000000003").mkdir(0o700)

    _, verified = command(another_process(home), "store", "verify")
    _, sizes = command(another_process(home), "store", "du")
    _, shown = command(another_process(home), "store", "gc", "--dangerous", "--dry-run")
    status, _ = command(
        another_process(home), "store", "gc", "--dangerous", "--confirm", shown["data"]["confirm_token"]
    )

    assert (verified["data"]["ok"], verified["data"]["unattested_sessions"]) == (True, 1)
    assert "handrail store gc" in verified["data"]["leftovers"][0]
    assert sizes["data"]["leftover_sessions"] == 2
    assert [change["id"] for change in shown["data"]["preview"]["changes"]] == [HALF_MADE, "ses_000000000003"]
    assert status == 0
    assert sessions_in(home) == [first["session"]["sessionId"]]


@pytest.mark.promise("store.killed-start")
def test_what_a_killed_import_left_is_named_with_its_command_and_kept_until_then(
    disk_runtime: Runtime, home: str
) -> None:
    first = start(disk_runtime)
    left_by_a_killed_import(home, IMPORTED)

    _, verified = command(another_process(home), "store", "verify")
    _, shown = command(another_process(home), "store", "gc", "--dangerous", "--dry-run")
    command(another_process(home), "store", "gc", "--dangerous", "--confirm", shown["data"]["confirm_token"])
    kept = sessions_in(home)
    words = verified["data"]["leftovers"][0].split("handrail ")[1].split(" removes")[0].split()
    _, shown = command(another_process(home), *words)
    token = shown["data"]["confirm_token"]
    status, _ = command(another_process(home), *words[:-1], "--confirm", token)

    assert kept == sorted([first["session"]["sessionId"], IMPORTED])
    assert words == ["session", "delete", "--ids", IMPORTED, "--dangerous", "--dry-run"]
    assert (status, sessions_in(home)) == (0, [first["session"]["sessionId"]])


@pytest.mark.promise("store.one-unreadable")
def test_one_session_that_cannot_be_read_is_in_nobodys_way(disk_runtime: Runtime, home: str) -> None:
    first = start(disk_runtime, requestId="one")
    last = advance(disk_runtime, first, "x" * 5_000)
    broken = start(disk_runtime, requestId="two")["session"]["sessionId"]
    manifest = Path(home, "data", "sessions", broken, "manifest.jsonl")
    shutil.copy(manifest, manifest.with_suffix(".elsewhere"))
    manifest.unlink()
    manifest.symlink_to("manifest.elsewhere")

    listed = command(another_process(home), "session", "list")
    sizes = command(another_process(home), "store", "du")
    shown = command(another_process(home), "store", "gc", "--dangerous", "--dry-run")
    went_on = tool_call(
        another_process(home), "continue_workflow", ackToken=last["ackToken"], output={"notesMarkdown": "on"}
    )

    assert first["session"]["sessionId"] in json.dumps(listed[1])
    assert (sizes[0], sizes[1]["data"]["session_count"]) == (0, 2)
    assert sizes[1]["data"]["unreadable_sessions"] == [broken]
    assert sizes[1]["data"]["leftover_blobs"] == 0
    assert (shown[0], broken in json.dumps(shown[1])) == (0, True)
    assert not went_on.is_error
