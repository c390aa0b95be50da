"""What killed calls and broken sessions leave: named with the command that removes it, in nobody's way."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.contract.ids import SessionId
from handrail.event_log.files.upkeep.keeper import FileKeeper, RemovingDisk
from handrail.runtime.runtime import Runtime
from tests.conftest import KeptIncidents
from tests.journeys.conversation import advance, start
from tests.journeys.interfaces import command, tool_call
from tests.journeys.test_on_disk import another_process, disk_runtime

__all__ = ["disk_runtime"]

HALF_MADE = "ses_000000000001"
IMPORTED = "ses_000000000002"
A_MINUTE_MS = 60_000
"""A lock may outlive its holder for a moment: a child that starts elsewhere has a copy of the descriptor."""


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


def test_rest_of_a_killed_start_is_named_and_collected(disk_runtime: Runtime, home: str) -> None:
    first = start(disk_runtime)
    left_by_a_killed_start(home, HALF_MADE)
    Path(home, "data", "sessions", "ses_000000000003").mkdir(0o700)

    _, verified = command(another_process(home), "store", "verify")
    _, sizes = command(another_process(home), "store", "du")
    _, shown = command(another_process(home), "store", "gc", "--dangerous", "--dry-run")
    status, done = command(
        another_process(home), "store", "gc", "--dangerous", "--confirm", shown["data"]["confirm_token"]
    )

    assert (verified["data"]["ok"], verified["data"]["unattested_sessions"]) == (True, 1)
    assert "handrail store gc" in verified["data"]["leftovers"][0]
    assert sizes["data"]["leftover_sessions"] == 2
    preview = shown["data"]["preview"]
    assert [change["id"] for change in preview["changes"]] == [HALF_MADE, "ses_000000000003"]
    assert (preview["total"], preview["targets"]) == (2, [HALF_MADE, "ses_000000000003"])
    assert "2 leftovers" in preview["blast_radius"]
    assert status == 0
    assert [item["target"] for item in done["data"]["items"]] == preview["targets"]
    assert done["data"]["bytes_freed"] == sum(one["before"]["size_bytes"] for one in preview["changes"]) > 0
    assert sessions_in(home) == [first["session"]["sessionId"]]


class ClosesTheCopy(RemovingDisk):
    """A disk on which the last copy of a lock's descriptor is closed while someone waits for the lock."""

    def __init__(self, copy: int) -> None:
        super().__init__()
        self._copies = [copy]

    def sleep_ms(self, duration_ms: int) -> None:
        while self._copies:
            os.close(self._copies.pop())


def test_lock_copied_by_a_starting_child_is_waited_for(disk_runtime: Runtime, home: str) -> None:
    first = start(disk_runtime)
    left = left_by_a_killed_start(home, HALF_MADE)
    copy = os.open(left / "lock", os.O_RDWR)
    fcntl.flock(copy, fcntl.LOCK_EX)
    keeper = FileKeeper(f"{home}/data", ClosesTheCopy(copy))

    keeper.remove(keeper.plan_removal(older_than_days=90))

    assert sessions_in(home) == [first["session"]["sessionId"]]


def test_half_removed_session_is_named_until_a_collection(disk_runtime: Runtime, home: str) -> None:
    session, other = (start(disk_runtime)["session"]["sessionId"] for _ in range(2))
    line = ("session", "delete", "--ids", session, "--dangerous")
    _, shown = command(another_process(home), *line, "--dry-run")
    size = shown["data"]["preview"]["changes"][0]["before"]["size_bytes"]
    stuck = msgspec.structs.replace(
        another_process(home), keeper=lambda: FileKeeper(f"{home}/data", KeepsFiles())
    )

    _, done = command(stuck, *line, "--confirm", shown["data"]["confirm_token"])
    _, verified = command(another_process(home), "store", "verify")
    _, of_other = command(another_process(home), "store", "verify", "--ids", other)
    _, preview = command(another_process(home), "store", "gc", "--dangerous", "--dry-run")
    token = preview["data"]["confirm_token"]
    _, cleared = command(another_process(home), "store", "gc", "--dangerous", "--confirm", token)

    assert (done["data"]["summary"]["succeeded"], done["data"]["bytes_freed"]) == (1, 0)
    assert "handrail store gc --dangerous --dry-run" in done["data"]["warnings"][0]
    assert "1 removed session left files" in verified["data"]["leftovers"][0]
    assert "leftovers" not in of_other["data"]
    assert preview["data"]["preview"]["targets"] == [f"{session}.removed"]
    assert cleared["data"]["bytes_freed"] == size
    assert sessions_in(home) == [other]


class KeepsFiles(RemovingDisk):
    """No file can be deleted."""

    def unlink(self, name: str, directory: int) -> None:
        raise OSError(errno.EIO, "stuck")


def test_rest_of_a_killed_import_is_named_and_kept(disk_runtime: Runtime, home: str) -> None:
    first = start(disk_runtime)
    left_by_a_killed_import(home, IMPORTED)

    _, verified = command(another_process(home), "store", "verify")
    _, shown = command(another_process(home), "store", "gc", "--dangerous", "--dry-run")
    command(another_process(home), "store", "gc", "--dangerous", "--confirm", shown["data"]["confirm_token"])
    kept = sessions_in(home)
    words = verified["data"]["leftovers"][0].split("handrail ")[1].split(" shows")[0].split()
    _, shown = command(another_process(home), *words)
    token = shown["data"]["confirm_token"]
    status, _ = command(another_process(home), *words[:-1], "--confirm", token)

    assert kept == sorted([first["session"]["sessionId"], IMPORTED])
    assert words == ["session", "delete", "--ids", IMPORTED, "--dangerous", "--dry-run"]
    assert (status, sessions_in(home)) == (0, [first["session"]["sessionId"]])


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


def test_a_file_in_place_of_the_home_is_told_as_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "home").write_text("not a directory", encoding="utf-8")

    status, document = command(another_process(str(tmp_path / "home")), "session", "list")

    assert (status, document["error"]["details"]["domain_code"]) == (4, "STORE_PERMISSION_DENIED")
    assert "a file or a link stands where a directory belongs" in document["error"]["message"]
    assert "HANDRAIL_HOME" in document["error"]["details"]["hint"]


def test_missing_project_is_not_the_root_of_the_machine(home: str) -> None:
    runtime = another_process(home)  # its project was never made

    _, document = command(runtime, "context")

    assert document["data"]["workspace"]["root"] is None


def test_call_for_a_deleted_session_leaves_nothing(disk_runtime: Runtime, home: str) -> None:
    warm = msgspec.structs.replace(disk_runtime, incidents=KeptIncidents())
    first = start(warm)
    session = first["session"]["sessionId"]
    line = ("session", "delete", "--ids", session, "--dangerous")
    _, shown = command(another_process(home), *line, "--dry-run")
    assert command(another_process(home), *line, "--confirm", shown["data"]["confirm_token"])[0] == 0
    notes = {"notesMarkdown": "x"}
    setting = ("settings", "set", "--session", session, "--autonomy", "full_auto_never_stop")

    answers = [
        tool_call(warm, "continue_workflow", ackToken=first["ackToken"], output=notes),
        tool_call(warm, "continue_workflow", stateToken=first["stateToken"]),
        tool_call(warm, "checkpoint_workflow", checkpointToken=first["checkpointToken"], output=notes),
        tool_call(warm, "resume_session", query=session),
    ]
    printed = [
        command(warm, "run", "close", first["stateToken"], "--reason", "abandoned"),
        command(warm, "run", "close", session, "--reason", "abandoned"),
        command(warm, "run", "start", "project.three_steps", "--session", session),
        command(warm, "session", "show", session),
        command(warm, "session", "events", session),
        command(warm, "session", "export", session),
        command(warm, "store", "verify", session),
        command(warm, *setting, "--dry-run"),
    ]

    assert [told.structured.get("code") for told in answers[:3]] == ["TOKEN_UNKNOWN_NODE"] * 3
    assert all(status and not document["ok"] for status, document in printed)
    assert sessions_in(home) == []


class Deletes:
    """A log under which the session is deleted right before it is held."""

    def __init__(self, runtime: Runtime, home: str, session: str) -> None:
        self._log = runtime.log
        self._keeper = FileKeeper(f"{home}/data")
        self._session = SessionId(session)

    def __getattr__(self, name: str) -> object:
        if name.startswith("hold"):
            for held in self._keeper.sessions_to_remove([self._session]):
                assert self._keeper.remove_session(held, A_MINUTE_MS) is not None
        return getattr(self._log, name)


@pytest.mark.parametrize(
    "words",
    [
        ("run", "close", "{session}", "--reason", "abandoned"),
        ("run", "close", "{stateToken}", "--reason", "abandoned"),
        ("run", "start", "project.three_steps", "--session", "{session}", "--request-id", "late"),
        ("run", "continue", "--ack", "{ackToken}", "--notes", "x"),
        ("run", "checkpoint", "--checkpoint", "{checkpointToken}", "--notes", "x"),
        ("settings", "set", "--session", "{session}", "--risk-policy", "aggressive"),
    ],
)
def test_session_deleted_during_a_wait_is_not_made_again(
    disk_runtime: Runtime, home: str, words: tuple[str, ...]
) -> None:
    first = start(disk_runtime)
    session = first["session"]["sessionId"]
    line = [word.format(**first | {"session": session}) for word in words]
    if words[0] == "settings":
        _, shown = command(another_process(home), *line, "--dry-run")
        line += ["--confirm", shown["data"]["confirm_token"]]
    cold = another_process(home)
    log: Any = Deletes(cold, home, session)

    status, told = command(msgspec.structs.replace(cold, log=log), *line)

    assert status in (3, 6)
    assert told["error"]["details"]["domain_code"] in ("SESSION_NOT_FOUND", "TOKEN_UNKNOWN_NODE")
    assert sessions_in(home) == []
