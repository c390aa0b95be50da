"""Lists: filters act on the whole and not on a page, rows stay small, heavy parts are fetched on demand."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.runtime.runtime import Runtime
from handrail.wiring import registry
from tests.conftest import memory_runtime
from tests.journeys.conversation import advance, start
from tests.journeys.given_workflows import begin, step
from tests.surfaces.cli.here import run_here
from tests.surfaces.cli.tool import Tool, checked_document

LONG_NOTES = "long " * 10_000


def data(runtime: Runtime, *line: str) -> Any:
    return checked_document(run_here(runtime, line))["data"]


@pytest.fixture
def several() -> Runtime:
    """Six sessions, of which every second is complete."""
    runtime = memory_runtime()
    for number in range(6):
        reply = start(runtime, requestId=f"k{number}")
        while number % 2 and reply["kind"] == "ok" and not reply["isComplete"]:
            reply = advance(runtime, reply)
    return runtime


OTHER_SHAPES = {"ledger.show", "code.scan"}
"""LAFS and CONT say how these answer."""


def test_whatever_takes_a_limit_answers_as_every_list_does() -> None:
    others = {
        called.name
        for called in registry().operations()
        if called.effect == "read" and "limit" in called.input.__struct_fields__ and called.item is None
    }

    assert others == OTHER_SHAPES


def test_pages_join_to_the_whole() -> None:
    runtime = memory_runtime()
    steps = [step("look"), step("release", requireConfirmation=True)]
    for number in range(3):
        asked = advance(runtime, begin(runtime, *steps, fields={}, requestId=f"k{number}"))
    shown = ("session", "show", asked["session"]["sessionId"], "--timeline")

    for line in (("session", "inbox"), shown):
        whole = data(runtime, *line)
        page = data(runtime, *line, "--limit", "1")
        joined = page["items"]
        while page["has_more"]:
            page = data(runtime, *line, "--limit", "1", "--cursor", page["next_cursor"])
            joined += page["items"]
        assert (len(joined) > 1, joined) == (True, whole["items"])


@pytest.mark.promise("cli.filters")
def test_a_filter_acts_on_every_session_and_not_on_one_page(several: Runtime) -> None:
    line = ("session", "list", "--status", "complete")
    whole = data(several, *line)["items"]

    joined: list[Any] = []
    more: tuple[str, ...] = ()
    for _ in range(3):
        page = data(several, *line, "--limit", "1", *more)
        joined += page["items"]
        more = ("--cursor", str(page["next_cursor"]))

    assert [item["status"] for item in whole] == ["complete"] * 3
    assert joined == whole


@pytest.mark.promise("cli.no-question")
def test_a_list_that_finds_nothing_says_what_it_searched(several: Runtime) -> None:
    for line in (
        ("session", "list", "--status", "blocked"),
        ("session", "list", "--query", "no such words"),
        ("session", "resume", "ses_000000000000"),
        ("workflow", "list", "--query", "no such words"),
    ):
        found = data(several, *line)
        assert (found["items"], found["count"]) == ([], 0), line
        assert found["scope"], line


@pytest.mark.promise("cli.truncated")
def test_found_work_is_paged_and_says_that_there_is_more(several: Runtime) -> None:
    cut = data(several, "session", "resume", "--limit", "2")
    rest = data(several, "session", "resume", "--limit", "2", "--cursor", cut["next_cursor"])

    assert (cut["count"], cut["has_more"], rest["has_more"]) == (2, True, False)
    assert not {item["runId"] for item in cut["items"]} & {item["runId"] for item in rest["items"]}


@pytest.mark.promise("cli.heavy")
def test_long_notes_make_no_row_longer_and_come_on_demand(runtime: Runtime) -> None:
    reply = start(runtime)
    session = reply["session"]["sessionId"]
    before = len(run_here(runtime, ["session", "list", "--compact"]).out)
    advance(runtime, reply, notes=LONG_NOTES)

    rows = run_here(runtime, ["session", "list", "--compact"]).out
    shown = run_here(runtime, ["session", "show", session, "--compact"]).out
    events = data(runtime, "session", "events", session, "--fields", "eventIndex,kind")["items"]

    assert len(rows) < before + 200
    assert LONG_NOTES.encode()[:600] not in shown
    assert all(set(event) == {"eventId", "eventIndex", "kind"} for event in events)
    exported = run_here(runtime, ["session", "export", session, "--as", "markdown", "--format", "raw"]).out
    assert LONG_NOTES.encode()[:3_000] in exported


@pytest.mark.promise("cli.no-question")
def test_a_missing_filter_is_no_question(tool: Tool) -> None:
    for line in (["session", "list"], ["workflow", "list"], ["workflow", "builtins"], ["session", "resume"]):
        assert tool.run(*line).status == 0
