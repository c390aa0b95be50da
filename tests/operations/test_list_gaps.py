"""`session.gaps`: every gap once, with its state and its place, in one order over all sessions."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.runtime.runtime import Runtime
from tests.conftest import memory_runtime
from tests.journeys.conversation import answer
from tests.journeys.given_workflows import begin, step
from tests.journeys.interfaces import command
from tests.journeys.rich_session import report


def gap(summary: str, severity: str, **more: str) -> dict[str, Any]:
    return {"kind": "wr.gap", "severity": severity, "summary": summary, **more}


@pytest.fixture(scope="module")
def stored() -> Runtime:
    """Two sessions with five gaps: one of them is resolved, and one only informs."""
    runtime = memory_runtime()
    first = begin(runtime, step("look"), step("fix"), step("end"), fields={}, goal="Fix the parser")
    fix = report(
        runtime,
        first["ackToken"],
        gap("No database.", "critical"),
        gap("Slow tests.", "warning"),
        gap("Old tests stay.", "info"),
    )
    listed = answer(runtime, "session.gaps")["items"]
    (broken,) = [one["id"] for one in listed if one["summary"] == "No database."]
    report(runtime, fix["ackToken"], gap("It is back.", "info", resolvesGapId=broken))
    other = answer(runtime, "run.start", workflowId="project.three_steps", goal="Fix the lexer")
    report(runtime, other["ackToken"], gap("No grammar.", "warning"), gap("No owner.", "critical"))
    return runtime


def listed(runtime: Runtime, **filters: Any) -> list[tuple[str, str, str]]:
    items = answer(runtime, "session.gaps", **filters)["items"]
    return [(one["state"], one["severity"], one["summary"]) for one in items]


def test_open_and_worst_gaps_come_first(
    stored: Runtime,
) -> None:
    assert listed(stored) == [
        ("open", "critical", "No owner."),
        ("open", "warning", "No grammar."),
        ("open", "warning", "Slow tests."),
        ("resolved", "critical", "No database."),
        ("noted", "info", "Old tests stay."),
    ]


def test_a_resolved_gap_tells_how_and_every_gap_tells_where(stored: Runtime) -> None:
    (resolved,) = answer(stored, "session.gaps", only="resolved")["items"]

    assert resolved["resolved_by"] == "It is back."
    assert (resolved["step_id"], resolved["goal"]) == ("look", "Fix the parser")
    shown = answer(stored, "session.show", sessionId=resolved["session_id"])
    (run,) = shown["runs"]
    assert resolved["run_id"] == run["id"]
    graph = answer(stored, "run.graph", sessionId=resolved["session_id"])
    assert resolved["node_id"] in {node["id"] for node in graph["nodes"]}
    assert resolved["id"] in {one["id"] for one in run["gaps"]}


@pytest.mark.parametrize(
    ("filters", "summaries"),
    [
        ({"only": "open", "severity": "critical"}, ["No owner."]),
        ({"workflow": "project.three_steps"}, ["No owner.", "No grammar."]),
        ({"severity": "info"}, ["Old tests stay."]),
        ({"session": "ses_000000000000"}, []),
    ],
)
def test_filters_leave_out_the_rest(stored: Runtime, filters: dict[str, str], summaries: list[str]) -> None:
    assert [summary for _, _, summary in listed(stored, **filters)] == summaries


def test_counts_of_every_state_equal_those_of_sessions(stored: Runtime) -> None:
    counts = answer(stored, "session.gaps", only="noted")["counts"]
    sessions = answer(stored, "session.list")["items"]

    assert counts == {"open": 3, "resolved": 1, "noted": 1, "critical": 1}
    assert sum(one["open_gaps"] for one in sessions) == counts["open"]
    assert sum(one["critical_gaps"] for one in sessions) == counts["critical"]


def test_pages_follow_each_other_without_a_gap_or_a_repeat(stored: Runtime) -> None:
    seen: list[str] = []
    cursor: list[str] = []
    for _ in range(5):
        status, document = command(stored, "session", "inbox", "--gaps", "--limit", "1", *cursor)
        assert status == 0
        seen += [one["summary"] for one in document["data"]["items"]]
        cursor = ["--cursor", document["data"]["next_cursor"]] if document["data"]["has_more"] else []

    assert seen == [summary for _, _, summary in listed(stored)]
