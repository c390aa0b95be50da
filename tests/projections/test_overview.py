"""A session in a few words: status, the latest run, forks, the newest notes."""

from __future__ import annotations

from handrail.contract.ids import RunId
from handrail.projections.overview import last_notes, latest_run, pending_step, session_facts, session_status
from tests.engine.written_log import RUN_ID, WORKFLOW_HASH, WrittenLog

OTHER = RunId("run_000000000002")


def test_a_session_without_runs_is_empty() -> None:
    history = WrittenLog().history

    assert latest_run(history) is None
    assert session_status(history) == "empty"


def test_the_facts_of_a_session_say_where_its_run_stands() -> None:
    log = WrittenLog()
    first = log.start()
    second = log.advance(first)
    log.checkpoint(second)
    fork = log.advance(first)

    facts = session_facts(log.history, "healthy")

    assert (facts.run_id, facts.workflow_id, facts.workflow_hash) == (RUN_ID, "project.test", WORKFLOW_HASH)
    assert (facts.status, facts.pending_step) == ("in_progress", pending_step(fork))


def test_the_run_with_the_latest_event_is_the_latest() -> None:
    log = WrittenLog()
    first = log.start()
    log.start(OTHER)
    assert latest_run(log.history) == OTHER

    log.advance(first)

    assert latest_run(log.history) == RUN_ID


def test_the_session_has_the_status_of_its_latest_run() -> None:
    log = WrittenLog("a")
    log.advance(log.start())
    assert session_status(log.history) == "complete"

    log.start(OTHER)

    assert session_status(log.history) == "in_progress"


def test_the_newest_notes_are_those_nearest_to_the_node() -> None:
    log = WrittenLog("a", "b", "c", "d")
    first = log.start()
    second = log.advance(first, "did a")
    third = log.advance(second)
    sibling = log.advance(second, "did b differently")

    assert last_notes(log.history, first.node_id) == ""
    assert last_notes(log.history, third.node_id) == "did a"
    assert last_notes(log.history, sibling.node_id) == "did b differently"


def test_a_finished_node_has_no_pending_step() -> None:
    log = WrittenLog("a")
    first = log.start()

    assert pending_step(first) == "a"
    assert pending_step(log.advance(first)) is None
