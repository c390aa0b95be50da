"""`session.list`: what each filter keeps; a session that nobody can read is never dropped for its time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.runtime.runtime import Runtime
from handrail.wiring import build_runtime
from tests.conftest import FixedClock, memory_runtime
from tests.operations.asked import answered, refused


class MovedClock(FixedClock):
    """Time that a test sets."""

    def __init__(self, at: str) -> None:
        super().__init__()
        self.at = at

    def now(self) -> str:
        return self.at


@pytest.fixture
def stored() -> Runtime:
    """Two sessions: Monday's about the parser, Tuesday's about the lexer."""
    runtime = memory_runtime()
    for at, goal in (
        ("2026-11-09T10:00:00.000Z", "Fix the parser"),
        ("2026-11-10T10:00:00.500Z", "Fix lexer"),
    ):
        on_that_day = msgspec.structs.replace(runtime, clock=MovedClock(at))
        answered(on_that_day, "run.start", workflowId="project.three_steps", goal=goal)
    return runtime


@pytest.mark.parametrize(
    ("filters", "goals"),
    [
        ({}, {"Fix the parser", "Fix lexer"}),
        ({"since": "2026-11-10T00:00:00Z"}, {"Fix lexer"}),
        ({"until": "2026-11-10T00:00:00Z"}, {"Fix the parser"}),
        ({"since": "2026-11-09T10:00:00Z", "until": "2026-11-10T10:00:00.5Z"}, {"Fix the parser"}),
        ({"since": "2026-11-10T10:00:00.5Z"}, {"Fix lexer"}),
        ({"since": "2026-11-10T10:00:00.501Z"}, set()),
        ({"query": "PARSER fix"}, {"Fix the parser"}),
        ({"query": "three_steps"}, {"Fix the parser", "Fix lexer"}),
        ({"query": "tokens"}, set()),
        ({"status": "in_progress", "query": "lexer"}, {"Fix lexer"}),
        ({"status": "empty"}, set()),
    ],
)
def test_filters_keep_what_they_say(stored: Runtime, filters: dict[str, Any], goals: set[str]) -> None:
    listed = answered(stored, "session.list", **filters)

    assert {row["goal"] for row in listed["items"]} == goals


@pytest.mark.parametrize(
    "time",
    [
        *("yesterday", "2026-11-09", "2026-11-09T10:00:00", "2026-11-09T10:00:00+01:00"),
        *("2026-11-09T24:00:00Z", "2026-02-29T10:00:00Z", "2026-13-01T10:00:00Z"),
        *("2026-11-00T10:00:00Z", "2026-11-09T10:00:00Z "),
    ],
)
def test_a_time_is_utc_to_the_letter_or_refused(stored: Runtime, time: str) -> None:
    failure = refused(stored, "session.list", since=time)

    assert failure.kind.code == "VALIDATION_ERROR"
    assert failure.details["problems"][0]["param"] == "since"


@pytest.mark.promise("cli.fan-out")
@pytest.mark.parametrize("filters", [{}, {"since": "2099-01-01T00:00:00Z"}, {"status": "unreadable"}])
def test_unreadable_session_is_listed_with_its_health(home: str, filters: dict[str, str]) -> None:
    runtime = build_runtime({"HANDRAIL_HOME": home})
    answered(runtime, "run.start", workflowId="wr.small_change")
    (segment,) = Path(home, "data", "sessions").glob("*/events-*.jsonl")
    segment.write_bytes(b"x" * segment.stat().st_size)

    (row,) = answered(build_runtime({"HANDRAIL_HOME": home}), "session.list", **filters)["items"]

    assert (row["id"], row["status"]) == (segment.parent.name, "unreadable")
    assert row["health"] != "healthy"


def test_a_leap_day_is_a_day(stored: Runtime) -> None:
    assert len(answered(stored, "session.list", since="2024-02-29T00:00:00Z")["items"]) == 2
