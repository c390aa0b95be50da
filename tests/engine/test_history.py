"""The folded log: nodes, lineage, context, answers, ledger; and that a fold never changes what it extends."""

from __future__ import annotations

import copy

import msgspec
import pytest

from handrail.contract.ids import NodeId, RunId, node_tag
from handrail.contract.json.canonical import genesis
from handrail.engine.folding import extend, fold
from handrail.engine.history import (
    instance_of,
    is_fork,
    ledger_version,
    node_at,
    path_to,
    steps_after,
)
from handrail.engine.navigate import Running
from tests.engine.written_log import AT, RUN_ID, SESSION_ID, WrittenLog, attempt


def test_no_records_tell_of_nothing() -> None:
    history = fold(SESSION_ID, ())

    assert (history.head, history.runs, history.nodes) == (0, {}, {})
    assert history.head_digest == genesis(SESSION_ID)


def test_the_history_knows_how_far_it_reaches() -> None:
    log = WrittenLog()
    log.start()

    assert log.history.head == 5  # session, run, node, preferences, trace
    assert log.history.head_digest == log.records[-1].digest
    assert log.history.last_at == AT


def test_a_started_run_is_pinned_and_has_a_first_node() -> None:
    log = WrittenLog()

    first = log.start()

    run = log.history.runs[RUN_ID]
    assert (run.workflow_id, run.source_kind, run.source_ref) == ("project.test", "project", "test.json")
    assert (run.input_digest, run.started_at, run.first_node) == ("digest of start", AT, first.node_id)
    assert (first.kind, first.parent, first.state) == ("step", None, Running(step_id="a"))


def test_a_node_is_found_by_the_digest_of_the_event_that_created_it() -> None:
    log = WrittenLog()
    first = log.start()
    created = next(record for record in log.records if record.dedupe_key == f"node_created:{first.node_id}")

    assert first.tag == node_tag(created.digest)
    assert node_at(log.history, first.tag) == first
    assert node_at(log.history, "zzzzzzzz") is None


def test_an_answered_attempt_keeps_where_it_led_and_what_was_sent() -> None:
    log = WrittenLog()
    first = log.start()

    second = log.advance(first, "did a")
    saved = log.checkpoint(second, "half of b")

    advanced = log.history.advances[(first.node_id, attempt(1))]
    kept = log.history.checkpoints[(second.node_id, attempt(2))]
    assert (advanced.to_node_id, advanced.input_digest, advanced.index) == (
        second.node_id,
        "digest of did a",
        5,
    )
    assert (kept.to_node_id, kept.input_digest) == (saved.node_id, "digest of half of b")


def test_steps_are_found_through_checkpoints_and_not_beyond_the_next_step() -> None:
    log = WrittenLog()
    first = log.start()
    direct = log.advance(first)
    log.advance(direct)
    behind = log.advance(log.checkpoint(log.checkpoint(first)))

    assert steps_after(log.history, first.node_id) == (direct, behind)
    assert steps_after(log.history, behind.node_id) == ()


def test_every_node_of_a_step_instance_has_the_same_steps_after_it() -> None:
    log = WrittenLog()
    first = log.start()
    saved = log.checkpoint(first)
    done = log.advance(first)
    again = log.checkpoint(saved)
    forked = log.advance(again)

    for node in (first, saved, again):
        assert instance_of(log.history, node.node_id) == first
        assert steps_after(log.history, node.node_id) == (done, forked)
    assert [is_fork(log.history, node) for node in (first, saved, done, again, forked)] == [
        *(False, False, False, False, True)
    ]
    assert log.history.causes[forked.node_id] == "non_tip_advance"


def test_the_ledger_counts_accepted_changes_of_its_run_alone() -> None:
    log = WrittenLog()
    first = log.start()  # events 0 to 4, anchor 1
    second = log.advance(first, "did a")  # events 5 to 9, anchor 5
    log.checkpoint(second)  # events 10 and 11, anchor 10
    other = RunId("run_2")
    log.start(other)  # events 12 to 15, anchor 12

    assert [ledger_version(log.history, RUN_ID, index) for index in (0, 1, 4, 5, 9, 10, 15)] == [
        0, 1, 1, 2, 2, 3, 3,
    ]  # fmt: skip
    assert [ledger_version(log.history, other, index) for index in (11, 12, 15)] == [0, 1, 1]
    assert ledger_version(log.history, RunId("run_unknown"), 10) == 0


def test_extending_leaves_the_history_it_extends_as_it_was() -> None:
    log = WrittenLog()
    first = log.start(context={"k": [1]})
    before = log.history
    frozen = copy.deepcopy(msgspec.structs.asdict(before))

    log.advance(first, "did a", {"k": None})
    log.checkpoint(first)

    assert msgspec.structs.asdict(before) == frozen
    assert log.history != before


def test_a_gap_in_the_records_is_a_broken_assumption() -> None:
    log = WrittenLog()
    log.start()

    with pytest.raises(AssertionError, match="without a gap"):
        extend(fold(SESSION_ID, ()), log.records[1:])


def test_a_path_begins_at_the_first_node() -> None:
    log = WrittenLog("a", "b", "c")
    first = log.start()
    saved = log.checkpoint(log.advance(first))
    last = log.advance(saved)

    path = [node.node_id for node in path_to(log.history, last.node_id)]

    assert path[0] == first.node_id
    assert path[-2:] == [saved.node_id, last.node_id]
    with pytest.raises(KeyError):
        path_to(log.history, NodeId("nod_unknown"))
