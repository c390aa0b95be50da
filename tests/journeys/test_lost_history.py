"""Acknowledged work that is not in the store any more: told by every reader, and nothing is cut off."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from handrail.runtime.runtime import Runtime
from tests.journeys.conversation import advance, answer, refusal, start
from tests.journeys.interfaces import command, tool_call
from tests.journeys.test_on_disk import another_process, disk_runtime, every_byte

__all__ = ["disk_runtime"]

GARBAGE = random.Random(3).randbytes(512).replace(b"\n", b" ")


def overwritten(content: bytes, size: int) -> bytes:
    return content[:-size] + GARBAGE[:size]


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "garbage over the last bytes": lambda content: overwritten(content, 40),
    "garbage over the last sector": lambda content: overwritten(content, 512),
    "zeros over the last sector": lambda content: content[:-512] + bytes(512),
    "text over the last bytes": lambda content: content[:-40] + b"0" * 40,
    "an older content": lambda content: content[: content.index(b"\n") + 1],
    "one line less": lambda content: content[: content[:-1].rindex(b"\n") + 1],
    "a byte less": lambda content: content[:-1],
    "nothing": lambda content: b"",
}


def worked(runtime: Runtime) -> tuple[dict[str, Any], dict[str, Any]]:
    """The first reply of a session with three commits, and its last."""
    first = start(runtime, requestId="work")
    return first, advance(runtime, advance(runtime, first, "first notes"), "second notes")


def manifest_of(home: str, reply: dict[str, Any]) -> Path:
    return Path(home, "data", "sessions", reply["session"]["sessionId"], "manifest.jsonl")


@pytest.mark.parametrize("name", DAMAGE)
def test_lost_acknowledged_work_is_reported_and_nothing_cut(
    disk_runtime: Runtime, home: str, name: str
) -> None:
    first, last = worked(disk_runtime)
    session_id = first["session"]["sessionId"]
    manifest = manifest_of(home, first)
    manifest.write_bytes(DAMAGE[name](manifest.read_bytes()))
    before = every_byte(home)
    fresh = another_process(home)

    shown = answer(fresh, "session.show", sessionId=session_id)
    listed = answer(fresh, "session.list")["items"]
    resumed = tool_call(fresh, "resume_session", query=session_id)
    by_newest = tool_call(fresh, "continue_workflow", ackToken=last["ackToken"])
    tool_call(fresh, "continue_workflow", ackToken=first["ackToken"])
    joined = refusal(fresh, "run.start", workflowId="project.three_steps", session=session_id)
    status, verified = command(fresh, "store", "verify")

    assert shown["health"]["state"] in ("corrupt_tail", "corrupt_head")
    assert [item["id"] for item in listed] == [session_id]
    assert "damaged" in str(resumed.structured)
    assert by_newest.is_error
    assert joined.kind.code == "SESSION_NOT_HEALTHY"
    assert (status, verified["error"]["details"]["report"]["problem_count"]) == (1, 1)
    assert every_byte(home) == before


def test_start_is_refused_where_the_place_of_its_token_is_lost(disk_runtime: Runtime, home: str) -> None:
    first = start(disk_runtime)
    session = manifest_of(home, first).parent
    earlier = {path: path.read_bytes() for path in session.iterdir()}
    second = advance(disk_runtime, first, "first notes")
    for path, content in earlier.items():
        path.write_bytes(content)
    fresh = another_process(home)

    started = tool_call(
        fresh, "start_workflow", workflowId="project.three_steps", session=second["stateToken"], requestId="k"
    )
    status, told = command(
        fresh, "run", "start", "project.three_steps", "--session", second["ackToken"], "--request-id", "k"
    )

    assert started.is_error
    assert "STORE_HISTORY_LOST" in str(started.structured)
    assert (status, told["error"]["code"]) == (1, "E_INTEGRITY")
    assert "no longer holds" in told["error"]["message"]
