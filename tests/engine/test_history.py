"""The folded log: nodes, lineage, context, answers, ledger; and that a fold never changes what it extends."""

from __future__ import annotations

import copy

import msgspec
import pytest

from handrail.contract.ids import RunId, node_tag
from handrail.engine.folding import extend, fold
from handrail.engine.history import (
    instance_of,
    is_fork,
    ledger_version,
    node_at,
    steps_after,
)
from tests.engine.written_log import RUN_ID, SESSION_ID, WrittenLog


def test_node_is_found_by_the_digest_of_its_event() -> None:
    log = WrittenLog()
    first = log.start()
    created = next(record for record in log.records if record.dedupe_key == f"node_created:{first.node_id}")

    assert first.tag == node_tag(created.digest)
    assert node_at(log.history, first.tag) == first
    assert node_at(log.history, "zzzzzzzz") is None


def test_steps_are_found_through_checkpoints() -> None:
    log = WrittenLog()
    first = log.start()
    direct = log.advance(first)
    log.advance(direct)
    behind = log.advance(log.checkpoint(log.checkpoint(first)))

    assert steps_after(log.history, first.node_id) == (direct, behind)
    assert steps_after(log.history, behind.node_id) == ()


def test_nodes_of_a_step_instance_have_the_same_steps_after() -> None:
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
