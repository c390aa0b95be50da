"""Clocks move: a call whose clock is wrong deletes nothing, and makes no refused token good again."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from handrail.runtime.runtime import Runtime
from tests.journeys.conversation import advance, answer, refusal, start
from tests.journeys.interfaces import command
from tests.journeys.test_on_disk import another_process, disk_runtime

__all__ = ["disk_runtime"]

DAY = 86_400
CLOCKS = {"1970": 0, "two years ahead": int(time.time()) + 730 * DAY, "9999": 253_402_300_000}
COMMANDS = (
    "session list",
    "session resume",
    "session show SESSION",
    "session events SESSION",
    "session export SESSION",
    "run continue --state STATE",
    "run continue --ack ACK --notes done",
    "run start project.three_steps --request-id another",
    "workflow list",
    "settings show --preferences",
    "settings set --autonomy guided --dry-run",
    "keys rotate --dry-run",
    "store verify",
    "store du",
    "store gc --dangerous --dry-run",
    "session delete --ids SESSION --dangerous --dry-run",
    "doctor --checks store,keyring,audit,confirm_tokens",
)


def set_clock(monkeypatch: pytest.MonkeyPatch, seconds: int) -> None:
    monkeypatch.setattr(time, "time", lambda: float(seconds))
    monkeypatch.setattr(time, "time_ns", lambda: seconds * 1_000_000_000)


def files_in(home: str) -> dict[str, bytes]:
    return {
        str(path.relative_to(home)): path.read_bytes() for path in Path(home).rglob("*") if path.is_file()
    }


@pytest.mark.thorough
@pytest.mark.parametrize("name", CLOCKS)
def test_no_command_deletes_anything_by_its_clock(
    disk_runtime: Runtime, home: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = start(disk_runtime)
    last = advance(disk_runtime, first, "first notes")
    os.makedirs(f"{home}/audit", 0o700, exist_ok=True)
    for month in range(1, 12):
        Path(home, "audit", f"audit-2020-{month:02}.jsonl").write_text("{}\n", encoding="utf-8")
    token = answer(disk_runtime, "preferences.set", autonomy="guided", dryRun=True)["confirm_token"]
    answer(disk_runtime, "preferences.set", autonomy="guided", confirm=token)
    before = files_in(home)
    names = {
        "SESSION": first["session"]["sessionId"],
        "STATE": last["stateToken"],
        "ACK": last["ackToken"],
    }

    set_clock(monkeypatch, CLOCKS[name])
    statuses = {
        line: command(another_process(home), *[names.get(word, word) for word in line.split()])[0]
        for line in COMMANDS
    }

    assert {line: status for line, status in statuses.items() if status} == {}
    after = files_in(home)
    grows = [path for path in before if path.endswith(".jsonl")]
    assert [path for path in before if path not in after] in ([], ["audit/audit-2020-01.jsonl"])
    assert [path for path in grows if not after.get(path, before[path]).startswith(before[path])] == []


@pytest.mark.parametrize("name", CLOCKS)
def test_a_collection_by_a_wrong_clock_finds_no_session_old(
    disk_runtime: Runtime, home: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for request in ("one", "two"):
        start(disk_runtime, requestId=request)

    set_clock(monkeypatch, CLOCKS[name])
    status, shown = command(another_process(home), "store", "gc", "--dangerous", "--dry-run")

    assert (status, shown["data"]["preview"]["targets"]) == (0, [])


def test_a_session_that_a_wrong_clock_made_ages_no_other(
    disk_runtime: Runtime, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(disk_runtime, requestId="one")
    with monkeypatch.context() as ahead:
        set_clock(ahead, CLOCKS["two years ahead"])
        start(another_process(home), requestId="two")

    status, shown = command(another_process(home), "store", "gc", "--dangerous", "--dry-run")

    assert (status, shown["data"]["preview"]["targets"]) == (0, [])


def test_expired_token_stays_refused_when_the_clock_goes_back(
    disk_runtime: Runtime, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = answer(disk_runtime, "preferences.set", autonomy="guided", dryRun=True)["confirm_token"]
    with monkeypatch.context() as ahead:
        set_clock(ahead, int(time.time()) + 2 * DAY)
        expired = refusal(another_process(home), "preferences.set", autonomy="guided", confirm=token)

    again = refusal(another_process(home), "preferences.set", autonomy="guided", confirm=token)
    status, told = command(
        another_process(home), "settings", "set", "--autonomy", "guided", "--confirm", token
    )

    assert expired.details["reason"] == "expired"
    assert again.details["reason"] == "already_used"
    assert (status, told["error"]["details"]["reason"]) == (6, "already_used")
