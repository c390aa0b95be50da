"""A session in a few words: status, the latest run, forks, the newest notes."""

from __future__ import annotations

from handrail.contract.ids import RunId
from handrail.projections.overview import last_notes, latest_run
from tests.engine.written_log import RUN_ID, WrittenLog

OTHER = RunId("run_000000000002")


def test_the_run_with_the_latest_event_is_the_latest() -> None:
    log = WrittenLog()
    first = log.start()
    log.start(OTHER)
    assert latest_run(log.history) == OTHER

    log.advance(first)

    assert latest_run(log.history) == RUN_ID


def test_the_newest_notes_are_those_nearest_to_the_node() -> None:
    log = WrittenLog("a", "b", "c", "d")
    first = log.start()
    second = log.advance(first, "did a")
    third = log.advance(second)
    sibling = log.advance(second, "did b differently")

    assert last_notes(log.history, first.node_id) == ""
    assert last_notes(log.history, third.node_id) == "did a"
    assert last_notes(log.history, sibling.node_id) == "did b differently"
