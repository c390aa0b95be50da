"""Plans: what each decision writes, in which order, under which keys, and when a second step is a fork."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from handrail.contract.ids import BlobRef, RunId
from handrail.engine.decide import decide_advance, decide_checkpoint, decide_start
from handrail.engine.events import (
    Advanced,
    AdvanceRecorded,
    ContextSet,
    EdgeCreated,
    NodeCreated,
    NodeOutputAppended,
    NotesKept,
    NotesStored,
    PlannedEvent,
    Scope,
)
from handrail.engine.facts import excerpt
from handrail.engine.folding import fold
from handrail.engine.history import Node
from handrail.engine.navigate import Running
from tests.cases import every_case
from tests.engine.written_log import (
    RUN_ID,
    SESSION_ID,
    WrittenLog,
    attempt,
    compiled,
    start_facts,
    tried,
    work,
)

KEY = re.compile(r"[a-z0-9_:>-]{1,256}", re.ASCII)


def kinds(plan: Sequence[PlannedEvent]) -> list[str]:
    return [type(planned.data).__name__ for planned in plan]


def check_keys(plan: Sequence[PlannedEvent]) -> None:
    """Dedupe keys are safe to store anywhere, and no two events of a plan share one."""
    keys = [planned.dedupe_key for planned in plan]
    assert all(KEY.fullmatch(key) for key in keys), keys
    assert len(set(keys)) == len(keys)


def check_anchor(plan: Sequence[PlannedEvent], anchor: str) -> None:
    """The ledger anchor is the first event of the run in the plan."""
    of_run = [planned for planned in plan if planned.scope.run_id is not None]
    assert type(of_run[0].data).__name__ == anchor


def data_of(plan: Sequence[PlannedEvent], kind: type) -> list[object]:
    return [planned.data for planned in plan if isinstance(planned.data, kind)]


def cause_of(plan: Sequence[PlannedEvent]) -> str:
    (edge,) = [planned.data for planned in plan if isinstance(planned.data, EdgeCreated)]
    return edge.cause


def advance_plan(log: WrittenLog, node: Node, number: int = 99, notes: str = "") -> list[PlannedEvent]:
    return decide_advance(log.history, *tried(log.workflow, node, attempt(number), work(notes)))


def test_a_start_creates_session_run_and_first_node() -> None:
    plan = decide_start(fold(SESSION_ID, ()), start_facts(compiled("a", "b")))

    assert kinds(plan) == [
        "SessionCreated",
        "RunStarted",
        "NodeCreated",
        "PreferencesChanged",
        "DecisionTraceAppended",
    ]
    assert [planned.dedupe_key for planned in plan][:2] == [
        f"session_created:{SESSION_ID}",
        f"run_started:{RUN_ID}",
    ]
    assert data_of(plan, NodeCreated) == [NodeCreated(node_kind="step", state=Running(step_id="a"))]
    check_keys(plan)
    check_anchor(plan, "RunStarted")


def test_a_start_records_what_is_seen_and_what_is_given() -> None:
    facts = start_facts(
        compiled("a"), context={"scope": "src"}, observations={"goal": "fix", "git_branch": "main"}
    )

    plan = decide_start(fold(SESSION_ID, ()), facts)

    assert kinds(plan) == [
        "SessionCreated",
        "ObservationRecorded",
        "ObservationRecorded",
        "RunStarted",
        "NodeCreated",
        "PreferencesChanged",
        "ContextSet",
        "DecisionTraceAppended",
    ]
    assert [planned.dedupe_key for planned in plan[1:3]] == [
        f"observation_recorded:{RUN_ID}:git_branch",
        f"observation_recorded:{RUN_ID}:goal",
    ]
    assert data_of(plan, ContextSet) == [ContextSet(context={"scope": "src"}, source="initial")]
    check_keys(plan)
    check_anchor(plan, "RunStarted")


def test_a_second_run_joins_the_session_and_repeats_no_observation() -> None:
    log = WrittenLog()
    first = start_facts(log.workflow, observations={"git_branch": "main", "goal": "one"})
    log.take(decide_start(log.history, first))

    second = start_facts(log.workflow, RunId("run_2"), observations={"git_branch": "main", "goal": "two"})
    plan = decide_start(log.history, second)

    assert kinds(plan)[:3] == ["ObservationRecorded", "RunStarted", "NodeCreated"]
    assert plan[0].dedupe_key == "observation_recorded:run_2:goal"
    assert {planned.dedupe_key for planned in plan}.isdisjoint(record.dedupe_key for record in log.records)


def test_an_advance_records_the_answer_first() -> None:
    log = WrittenLog()
    first = log.start()

    plan = decide_advance(
        log.history, *tried(log.workflow, first, attempt(7), work("did a", context={"found": True}))
    )

    assert kinds(plan) == [
        "AdvanceRecorded",
        "NodeCreated",
        "EdgeCreated",
        "ContextSet",
        "NodeOutputAppended",
        "DecisionTraceAppended",
    ]
    assert plan[0].dedupe_key == f"advance_recorded:{first.node_id}:0000007"
    assert plan[0].scope == Scope(run_id=RUN_ID, node_id=first.node_id)
    check_keys(plan)
    check_anchor(plan, "AdvanceRecorded")


def test_an_advance_agrees_with_itself_about_the_new_node() -> None:
    log = WrittenLog()
    first = log.start()

    plan = advance_plan(log, first, notes="did a")

    created = plan[1].scope.node_id
    assert created is not None
    answer, node, edge, *_ = (planned.data for planned in plan)
    assert answer == AdvanceRecorded(
        attempt_id=attempt(99), input_digest="digest of did a", outcome=Advanced(to_node_id=created)
    )
    assert node == NodeCreated(node_kind="step", parent_node_id=first.node_id, state=Running(step_id="b"))
    assert edge == EdgeCreated(
        edge_kind="acked_step", from_node_id=first.node_id, to_node_id=created, cause="advance"
    )
    assert plan[3].scope.node_id == created


def test_the_same_attempt_plans_the_same_events_and_another_plans_others() -> None:
    log = WrittenLog()
    first = log.start()

    same = [advance_plan(log, first, 1, "x") for _ in range(2)]
    other = advance_plan(log, first, 2, "x")

    assert same[0] == same[1]
    assert {planned.dedupe_key for planned in same[0]}.isdisjoint(planned.dedupe_key for planned in other)


@pytest.mark.parametrize("use", ["start", "advance", "checkpoint"])
def test_another_salt_renames_the_new_node_and_keeps_the_anchor(use: str) -> None:
    log = WrittenLog()
    first = log.start()

    def plan(salt: int) -> list[PlannedEvent]:
        match use:
            case "start":
                return decide_start(fold(SESSION_ID, ()), start_facts(log.workflow), salt)
            case "advance":
                return decide_advance(log.history, *tried(log.workflow, first, attempt(1), work()), salt)
            case _:
                return decide_checkpoint(log.history, *tried(log.workflow, first, attempt(1), work()), salt)

    nodes = {
        planned.scope.node_id
        for salt in range(4)
        for planned in plan(salt)
        if isinstance(planned.data, NodeCreated)
    }

    assert len(nodes) == 4
    if use == "advance":
        assert plan(0)[0].dedupe_key == plan(3)[0].dedupe_key


def test_a_checkpoint_keeps_the_pending_step() -> None:
    log = WrittenLog()
    second = log.advance(log.start())

    plan = decide_checkpoint(log.history, *tried(log.workflow, second, attempt(5), work("half of b")))

    assert kinds(plan) == ["NodeCreated", "EdgeCreated", "NodeOutputAppended"]
    assert plan[0].data == NodeCreated(
        node_kind="checkpoint",
        parent_node_id=second.node_id,
        state=Running(step_id="b"),
        attempt_id=attempt(5),
        input_digest="digest of half of b",
    )
    assert cause_of(plan) == "checkpoint_created"
    check_keys(plan)
    check_anchor(plan, "NodeCreated")


def test_an_advance_and_a_checkpoint_of_one_attempt_make_two_nodes() -> None:
    log = WrittenLog()
    first = log.start()

    advanced = advance_plan(log, first, 1)
    saved = decide_checkpoint(log.history, *tried(log.workflow, first, attempt(1), work()))

    assert {planned.dedupe_key for planned in advanced}.isdisjoint(planned.dedupe_key for planned in saved)


def test_a_finished_run_cannot_be_acknowledged() -> None:
    log = WrittenLog("a")
    end = log.advance(log.start())

    with pytest.raises(AssertionError, match="pending step"):
        advance_plan(log, end)


def test_short_notes_stand_in_the_event_and_long_ones_by_reference() -> None:
    log = WrittenLog()
    first = log.start()
    ref = BlobRef("sha256:" + "a" * 64)
    long = "é" * 3_000

    short = decide_advance(log.history, *tried(log.workflow, first, attempt(1), work("seen")))
    stored = decide_advance(log.history, *tried(log.workflow, first, attempt(2), work(long, ref=ref)))

    (kept,) = data_of(short, NodeOutputAppended)
    (referred,) = data_of(stored, NodeOutputAppended)
    assert isinstance(kept, NodeOutputAppended)
    assert isinstance(referred, NodeOutputAppended)
    assert kept.notes == NotesKept(text="seen")
    assert referred.notes == NotesStored(excerpt="é" * 2_048, ref=ref, size_bytes=6_000)


@every_case(
    ("notes", "limit", "expected"),
    [
        ("abcdef", 4, "abcd"),
        ("abc", 4, "abc"),
        ("", 4, ""),
        ("aéé", 4, "aé"),
        ("🧭🧭", 7, "🧭"),
        ("🧭", 3, ""),
    ],
)
def test_an_excerpt_is_cut_between_characters(notes: str, limit: int, expected: str) -> None:
    assert excerpt(notes, limit) == expected


def test_the_longest_names_still_fit_into_a_key() -> None:
    """Node ids have 16 characters and attempts 7, so the longest key is far below 256."""
    log = WrittenLog("s" * 64)
    first = log.start(context={"x": 1})

    for plan in (
        advance_plan(log, first, notes="n"),
        decide_checkpoint(log.history, *tried(log.workflow, first, attempt(1), work("n"))),
    ):
        check_keys(plan)
        assert max(len(planned.dedupe_key) for planned in plan) < 128
