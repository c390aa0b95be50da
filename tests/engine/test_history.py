"""The folded log: nodes, lineage, context, answers, ledger; and that a fold never changes what it extends."""

from __future__ import annotations

import copy

import msgspec
import pytest

from handrail.contract.ids import BlobRef, NodeId, RunId, node_tag
from handrail.contract.json.canonical import genesis
from handrail.engine.decide import decide_advance, decide_start
from handrail.engine.folding import extend, fold
from handrail.engine.history import (
    Notes,
    context_at,
    instance_of,
    is_fork,
    ledger_version,
    node_at,
    path_to,
    steps_after,
)
from handrail.engine.navigate import Complete, Running
from tests.engine.written_log import AT, RUN_ID, SESSION_ID, WrittenLog, attempt, start_facts, tried, work


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


def test_a_run_walks_to_its_end() -> None:
    log = WrittenLog("a", "b")

    end = log.walk(log.start(), "did a", "did b")

    assert isinstance(end.state, Complete)
    states = [node.state for node in path_to(log.history, end.node_id)]
    assert states == [Running(step_id="a"), Running(step_id="b"), Complete()]


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


def test_children_and_causes_follow_the_edges() -> None:
    log = WrittenLog()
    first = log.start()
    second = log.advance(first)
    saved = log.checkpoint(first)
    again = log.advance(first)

    assert log.history.children[first.node_id] == (second.node_id, saved.node_id, again.node_id)
    assert [log.history.causes[node.node_id] for node in (second, saved, again)] == [
        "advance",
        "checkpoint_created",
        "non_tip_advance",
    ]
    assert first.node_id not in log.history.causes


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


def test_context_merges_down_the_line_and_null_deletes() -> None:
    log = WrittenLog("a", "b", "c", "d")
    first = log.start(context={"scope": "src", "depth": 1, "list": [1, 2]})
    second = log.advance(first, context={"depth": 2, "list": [3]})
    third = log.advance(second, context={"scope": None, "new": {"k": None}})
    fourth = log.advance(third)

    assert context_at(log.history, first.node_id) == {"scope": "src", "depth": 1, "list": [1, 2]}
    assert context_at(log.history, second.node_id) == {"scope": "src", "depth": 2, "list": [3]}
    assert context_at(log.history, third.node_id) == {"depth": 2, "list": [3], "new": {"k": None}}
    assert context_at(log.history, fourth.node_id) == {"depth": 2, "list": [3], "new": {"k": None}}


def test_a_deleted_key_can_be_set_again_and_deleting_nothing_is_fine() -> None:
    log = WrittenLog("a", "b", "c", "d")
    second = log.advance(log.start(context={"k": 1}), context={"k": None, "absent": None})
    third = log.advance(second, context={"k": 2})

    assert context_at(log.history, second.node_id) == {}
    assert context_at(log.history, third.node_id) == {"k": 2}


def test_notes_belong_to_the_node_they_led_to() -> None:
    log = WrittenLog()
    first = log.start()
    second = log.advance(first, "did é")
    silent = log.advance(second)

    assert log.history.notes == {second.node_id: Notes(text="did é", size_bytes=6)}
    assert silent.node_id not in log.history.notes


def test_long_notes_are_known_by_excerpt_and_reference() -> None:
    log = WrittenLog()
    first = log.start()
    ref = BlobRef("sha256:" + "b" * 64)
    log.take(decide_advance(log.history, *tried(log.workflow, first, attempt(1), work("x" * 5_000, ref=ref))))

    (notes,) = log.history.notes.values()
    assert notes == Notes(text="x" * 4_096, ref=ref, size_bytes=5_000)


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


def test_observations_tell_the_latest_value() -> None:
    log = WrittenLog()
    log.take(decide_start(log.history, start_facts(log.workflow, observations={"git_branch": "main"})))
    later = start_facts(log.workflow, RunId("run_2"), observations={"git_branch": "fix", "goal": "g"})
    log.take(decide_start(log.history, later))

    assert log.history.observations == {"git_branch": "fix", "goal": "g"}


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
