"""The recap: what an agent that lost its context reads again, within a budget, and what a fork lost."""

from __future__ import annotations

import msgspec
import pytest

from handrail.contract.ids import BlobRef
from handrail.engine.decide import decide_advance
from handrail.engine.reply import Recap
from handrail.projections.recap import lost_branch, recap_at
from handrail.workflows.conditions import Compare
from tests.cases import every_case
from tests.engine.contracts import CONTRACTS, FINDING, finding
from tests.engine.written_log import WrittenLog, attempt, step, tried, work, workflow_of

UNKNOWN = Compare(input="size", op="equals", value="big")
"""Does not hold, because nobody gave the value."""
MANY = tuple(f"s{number}" for number in range(20))


def told(recap: Recap) -> list[tuple[str, str]]:
    """Step and notes of each entry."""
    return [(entry.step_id, entry.notes) for entry in recap.entries]


def test_long_notes_are_told_in_part_and_say_so() -> None:
    log = WrittenLog()
    first = log.start()
    stored = work("y" * 5_000, ref=BlobRef("sha256:" + "c" * 64))
    plan = decide_advance(log.history, *tried(log.workflow, first, attempt(1), stored))
    log.take(plan)
    created = plan[1].scope.node_id
    assert created is not None

    assert told(recap_at(log.history, log.workflow, created)) == [("a", "y" * 4_096 + "\n\n[TRUNCATED]")]


@every_case(
    ("sizes", "kept", "omitted"),
    [
        ([3_700, 3_700, 3_700], 3, 0),
        ([400, 3_700, 3_700, 3_700], 3, 1),
        ([3_700] * 5, 3, 2),
        ([820] * 12, 12, 0),
        ([820] * 13, 12, 1),
    ],
)
def test_the_most_recent_notes_that_fit_are_kept(sizes: list[int], kept: int, omitted: int) -> None:
    """12 288 bytes as they are sent; what is older than the first that does not fit is left out too."""
    log = WrittenLog(*MANY)
    end = log.walk(log.start(), *("n" * size for size in sizes))

    recap = recap_at(log.history, log.workflow, end.node_id)

    assert [len(entry.notes) for entry in recap.entries] == sizes[len(sizes) - kept :]
    assert (recap.truncated, recap.omitted) == (omitted > 0, omitted)
    assert recap.policy == ("kept the most recent entries" if omitted else "")


def test_the_budget_counts_bytes_not_characters() -> None:
    log = WrittenLog(*MANY)
    end = log.walk(log.start(), *["é" * 1_850] * 4)

    assert len(recap_at(log.history, log.workflow, end.node_id).entries) == 3


def test_short_notes_count_with_what_stands_around_them() -> None:
    log = WrittenLog(*(f"s{number:03d}" for number in range(520)))
    end = log.walk(log.start(), *["abc"] * 519)

    recap = recap_at(log.history, log.workflow, end.node_id)

    assert len(msgspec.json.encode(recap.entries)) <= 12_288
    assert recap.omitted == 519 - len(recap.entries) > 300
    assert recap.entries[-1].step_id == "s518"


def test_notes_over_the_budget_are_cut_and_not_lost() -> None:
    log = WrittenLog()
    after = log.advance(log.start(), "\x01" * 4_000)

    (entry,) = recap_at(log.history, log.workflow, after.node_id).entries

    assert len(msgspec.json.encode(entry)) <= 12_288
    assert entry.notes.endswith("\x01\n\n[TRUNCATED]")
    assert len(entry.notes) > 1_900


def test_what_was_lost_behind_a_checkpoint_is_told_with_it() -> None:
    log = WrittenLog()
    first = log.start()
    saved = log.checkpoint(first, "half of a")
    done = log.advance(saved, "did a")

    lost = lost_branch(log.history, log.workflow, saved.node_id)

    assert lost == lost_branch(log.history, log.workflow, first.node_id)
    assert [child.node_id for child in lost.children] == [done.node_id]
    assert [(entry.is_checkpoint, entry.notes) for entry in lost.downstream] == [
        (True, "half of a"),
        (False, "did a"),
    ]


def test_notes_of_a_child_are_cut_at_512_bytes() -> None:
    log = WrittenLog()
    first = log.start()
    log.advance(first, "x" + "é" * 400)

    (child,) = lost_branch(log.history, log.workflow, first.node_id).children

    assert child.notes == "x" + "é" * 255 + "\n\n[TRUNCATED]"


def test_downstream_shares_the_budget() -> None:
    log = WrittenLog(*MANY)
    first = log.start()
    log.walk(first, *["z" * 3_000] * 5)

    lost = lost_branch(log.history, log.workflow, first.node_id)

    assert (len(lost.downstream), lost.truncated, lost.omitted) == (3, True, 2)
    assert len(msgspec.json.encode([*lost.children, *lost.downstream])) <= 12_288
    assert lost.policy == "kept the most recent entries"


def test_both_cuts_are_counted_together() -> None:
    log = WrittenLog(*MANY)
    middle = log.walk(log.start(), *["z" * 2_500] * 5)
    log.walk(middle, *["z" * 2_500] * 4)

    recap = recap_at(log.history, log.workflow, middle.node_id)

    assert (len(recap.entries), len(recap.downstream), recap.omitted) == (2, 2, 3 + 2)
    assert recap.truncated


def test_preferred_and_newest_branches_are_shown() -> None:
    log = WrittenLog()
    first = log.start()
    branches = [log.advance(first, f"way {number} " + "x" * 600) for number in range(149)]
    log.advance(branches[0], "on with the oldest")

    lost = lost_branch(log.history, log.workflow, first.node_id)

    assert len(msgspec.json.encode([*lost.children, *lost.downstream])) <= 12_288
    assert [child.node_id for child in lost.children] == [
        node.node_id for node in (branches[0], *branches[-(len(lost.children) - 1) :])
    ]
    assert not any(child.is_preferred for child in lost.children)  # the run goes on with the fork
    assert lost.children_omitted == 149 - len(lost.children)
    assert (lost.truncated, lost.policy) == (True, "kept the most recent entries")


@pytest.mark.thorough
def test_newest_artifacts_are_kept_within_their_budget() -> None:
    log = WrittenLog()
    bodies = [{"kind": f"k{number:03d}"} for number in range(200)]
    second = log.report(log.start(), work(artifacts=bodies))

    recap = recap_at(log.history, log.workflow, second.node_id)

    assert len(msgspec.json.encode(recap.artifacts)) <= 4_096
    assert recap.artifacts_omitted == 200 - len(recap.artifacts) > 0


def test_skipped_parts_have_a_budget_too() -> None:
    hidden = [step(f"hidden-{number:03d}-{'x' * 160}", when="big") for number in range(25)]
    workflow = workflow_of(step("a"), *hidden, step("z"), conditions={"big": UNKNOWN})
    log = WrittenLog(workflow=workflow)
    after = log.advance(log.start())

    recap = recap_at(log.history, log.workflow, after.node_id)

    assert len(msgspec.json.encode(recap.skipped)) <= 2_048
    assert recap.skipped_omitted == 25 - len(recap.skipped) > 0  # the log names 24 of them


def test_what_was_saved_at_a_step_is_on_every_later_branch() -> None:
    log = WrittenLog()
    first = log.start()
    early = log.advance(first, "without it")
    log.checkpoint(first, "worth keeping")
    late = log.advance(first, "with it")
    at_end = log.advance(late, "and on")

    assert told(recap_at(log.history, log.workflow, early.node_id)) == [("a", "without it")]
    assert told(recap_at(log.history, log.workflow, at_end.node_id)) == [
        ("a", "worth keeping"),
        ("a", "with it"),
        ("b", "and on"),
    ]


def test_checkpoints_of_a_pending_step_are_no_branches() -> None:
    log = WrittenLog()
    first = log.start()
    log.checkpoint(log.checkpoint(first, "one"), "two")

    recap = recap_at(log.history, log.workflow, first.node_id)

    assert told(recap) == [("a", "one"), ("a", "two")]
    assert (recap.children, recap.downstream) == ([], [])


def asking() -> WrittenLog:
    held = step("a", contract=FINDING)
    return WrittenLog(workflow=workflow_of(held, step("b"), step("c"), contracts=CONTRACTS))


@pytest.mark.parametrize(("again", "expected"), [("", ["tried"]), ("done", ["done"])])
def test_notes_of_a_blocked_attempt_stay_unless_replaced(again: str, expected: list[str]) -> None:
    log = asking()
    blocked = log.report(log.report(log.start(), work("tried")), work())
    after = log.report(blocked, work(again, artifacts=[finding()]))

    recap = recap_at(log.history, log.workflow, after.node_id)

    assert [entry.notes for entry in recap.entries] == expected
    assert recap.blocked_by == []
