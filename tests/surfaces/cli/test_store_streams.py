"""`store verify` and `store selftest` as streams: a line per session or part, then the verdict."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.cli.stages import Blocked
from tests.surfaces.cli.tool import Ran, Tool, checked_document, strict_json

SECOND_SESSION = ("handrail.event_log.files.upkeep.whole_store", "_check_session", 1)
SECOND_PART = ("handrail.event_log.files.selftest", "run_order", 1)
UNKNOWN = "ses_000000000009"


@pytest.fixture
def sessions(fresh_tool: Tool) -> list[str]:
    """Three sessions, in the order in which the store is read."""
    replies = [fresh_tool.data("run", "start", "wr.small_change", "--request-id", f"k{n}") for n in range(3)]
    return sorted(reply["session"]["sessionId"] for reply in replies)


def lines_of(ran: Ran) -> list[Any]:
    return [strict_json(line + b"\n") for line in ran.out.splitlines()]


def damage(tool: Tool, session_id: str) -> None:
    (segment,) = Path(tool.home, "data", "sessions", session_id).glob("events-*.jsonl")
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 1
    segment.write_bytes(bytes(content))


def test_a_sound_store_is_a_line_per_session_and_the_report(fresh_tool: Tool, sessions: list[str]) -> None:
    plain = fresh_tool.data("store", "verify")

    ran = fresh_tool.run("store", "verify", "--stream")

    *told, last = lines_of(ran)
    assert (ran.status, ran.err) == (0, b"")
    assert [(line["type"], line["data"]["session_id"], line["data"]["ok"]) for line in told] == [
        ("item", session_id, True) for session_id in sessions
    ]
    assert sum(line["data"]["events"] for line in told) == plain["events"]
    assert {key: last["data"][key] for key in plain} == plain
    assert (last["type"], last["data"]["count"]) == ("summary", 3)


def test_damage_stands_in_its_line_and_in_the_verdict_at_the_end(
    fresh_tool: Tool, sessions: list[str]
) -> None:
    damage(fresh_tool, sessions[1])

    ran = fresh_tool.run("store", "verify", "--stream")
    told = fresh_tool.run("store", "verify", "--stream", "--report-only")

    *found, last = lines_of(ran)
    assert (ran.status, last["ok"], last["error"]["code"]) == (1, False, "E_INTEGRITY")
    assert [line["data"]["ok"] for line in found] == [True, False, True]
    assert found[1]["data"]["problems"][0]["reason"] == "digest_mismatch"
    assert last["error"]["details"]["report"]["problem_count"] == 1
    assert (told.status, lines_of(told)[-1]["data"]["ok"]) == (0, False)


def test_lines_come_in_the_order_asked_for(fresh_tool: Tool, sessions: list[str]) -> None:
    ids = [sessions[2], UNKNOWN, sessions[0]]

    ran = fresh_tool.run("store", "verify", "--ids", ",".join(ids), "--stream", "--report-only")

    *told, last = lines_of(ran)
    assert [(line["data"]["session_id"], line["data"]["ok"]) for line in told] == [
        (sessions[2], True),
        (UNKNOWN, False),
        (sessions[0], True),
    ]
    assert told[1]["data"]["error"]["code"] == "E_NOT_FOUND"
    assert [item["target"] for item in last["data"]["items"]] == ids
    assert last["data"]["summary"]["failed"] == 1


@pytest.mark.thorough
def test_signal_between_sessions_ends_the_stream_with_a_line(fresh_tool: Tool, sessions: list[str]) -> None:
    call = Blocked(fresh_tool, SECOND_SESSION, "store", "verify", "--stream")
    first = json.loads(call.wait_for_line())
    call.send(signal.SIGTERM)
    ran = call.end()

    last = json.loads(ran.out)
    assert first["data"]["session_id"] == sessions[0]
    assert (ran.status, last["type"], last["error"]["code"]) == (130, "summary", "E_INTERRUPTED")
    assert (last["error"]["details"]["count"], last["error"]["details"]["complete"]) == (1, False)


@pytest.mark.thorough
def test_each_part_of_the_proof_is_shown_when_done(
    fresh_tool: Tool,
) -> None:
    scratch = os.path.join(fresh_tool.project, "disk")
    os.mkdir(scratch)
    line = ["store", "selftest", "--kills", "1", "--seed", "7", "--dir", scratch, "--stream"]

    call = Blocked(fresh_tool, SECOND_PART, *line)
    first = json.loads(call.wait_for_line())
    while_running = os.listdir(scratch)
    call.send(signal.SIGINT)
    ran = call.end()

    last = json.loads(ran.out)
    assert (first["type"], first["data"]["name"], first["data"]["ok"]) == ("item", "kills", True)
    assert (ran.status, last["error"]["code"], last["error"]["details"]["count"]) == (130, "E_INTERRUPTED", 1)
    assert while_running
    assert os.listdir(scratch) == []


def test_a_proof_that_cannot_begin_is_an_ordinary_failure(fresh_tool: Tool) -> None:
    ran = fresh_tool.run("store", "selftest", "--dir", "nowhere", "--stream")

    assert checked_document(ran)["error"]["code"] == "E_VALIDATION"
