"""A session whose log is damaged: read up to the proven point, said so, and no more work is taken."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from handrail.contract.outcome import NextCall
from handrail.runtime.runtime import Runtime
from handrail.wiring import build_runtime
from tests.journeys.conversation import advance, answer, refusal, rehydrate, start
from tests.journeys.test_on_disk import disk_runtime, every_byte

__all__ = ["disk_runtime"]


def flip_last_event(home: str, session_id: str) -> None:
    """Change one letter inside the newest event."""
    (events,) = sorted((Path(home) / "data" / "sessions" / session_id).glob("events-*.jsonl"))[-1:]
    content = events.read_bytes()
    place = content.rindex(b"second notes")
    os.chmod(events, 0o600)
    events.write_bytes(content[:place] + b"SECOND" + content[place + 6 :])


@pytest.mark.promise("store.unsound")
def test_a_damaged_session_is_read_to_the_proven_point_and_takes_no_more_work(
    disk_runtime: Runtime, home: str
) -> None:
    second = advance(disk_runtime, start(disk_runtime), "first notes")
    third = advance(disk_runtime, second, "second notes")
    session_id = third["session"]["sessionId"]
    flip_last_event(home, session_id)
    before = every_byte(home)
    fresh = build_runtime({"USER": "tester"}, home=home)

    shown = answer(fresh, "session.show", sessionId=session_id)
    read = rehydrate(fresh, second)
    refused = refusal(fresh, "run.continue", ackToken=read.get("ackToken", second["ackToken"]))
    found = answer(fresh, "session.resume", query=session_id)

    assert shown["health"]["state"] == "corrupt_tail"
    assert [entry["notes"] for entry in read["recap"]["entries"]] == ["first notes"]
    assert read["nextIntent"] == "rehydrate_only"
    assert refused.kind.code == "SESSION_NOT_HEALTHY"
    assert refused.details["session_id"] == session_id
    assert found["items"] == []
    assert f"{session_id} is damaged and left out" in found["scope"]
    assert refused.next_call == NextCall(operation="session.show", params={"sessionId": session_id})
    assert every_byte(home) == before


@pytest.mark.promise("store.unsound")
def test_a_session_whose_every_event_is_lost_is_not_called_empty(disk_runtime: Runtime, home: str) -> None:
    first = start(disk_runtime)
    session_id = first["session"]["sessionId"]
    (events,) = (Path(home) / "data" / "sessions" / session_id).glob("events-*.jsonl")
    content = events.read_bytes()
    events.write_bytes(content[:40].replace(b"{", b"[") + content[40:])
    fresh = build_runtime({"USER": "tester"}, home=home)

    shown = answer(fresh, "session.show", sessionId=session_id)
    refused = refusal(fresh, "run.continue", stateToken=first["stateToken"])
    told = answer(fresh, "session.export", sessionId=session_id, **{"as": "markdown", "salvage": True})

    assert (shown["status"], shown["event_count"]) == ("unreadable", 0)
    assert refused.kind.code == "STORE_HISTORY_LOST"
    assert refused.next_call == NextCall(operation="session.show", params={"sessionId": session_id})
    assert "Nothing of this session can be proven" in told["content"]
    assert "Nothing was started" not in told["content"]


@pytest.mark.promise("store.unsound")
def test_an_id_that_is_nowhere_is_told_apart_from_damage(disk_runtime: Runtime) -> None:
    start(disk_runtime)

    found = answer(disk_runtime, "session.resume", query="ses_000000000000")

    assert (found["items"], found["scope"]) == ([], "no session of this store has that id")
