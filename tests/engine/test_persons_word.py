"""What the word of a person does to a report: asked for once, contradicted by a no, lifted by a yes."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.contract.ids import Autonomy
from handrail.engine.judge.arrival import PersonsWord
from handrail.engine.judge.assess import Answer, ShownState, answer_report
from handrail.engine.navigate import Running
from handrail.engine.reasons import Block, Blocker, Proceed, WaitKind, blocker_of, select_blockers, wait_of
from handrail.workflows.compiled import Choice, Leaf, Option, Step
from handrail.workflows.conditions import Facts
from tests.cases import every_case
from tests.engine.written_log import step, workflow_of

ASKING = PersonsWord(can_be_asked=True)
NO = PersonsWord(is_declined=True)
YES = PersonsWord(is_given=True, can_be_asked=True)
CONFIRMED = step("a", require_confirmation=True)
WAY = Choice(
    id="way",
    title="Way",
    prompt="Which way?",
    options=(Option(id="left", label="Left"), Option(id="right", label="Right")),
    non_assumable="scope_boundary",
)


def judge(
    leaf: Leaf,
    word: PersonsWord,
    autonomy: Autonomy = "guided",
    blockers: tuple[Blocker, ...] = (),
    **report: Any,
) -> Answer:
    sent: dict[str, Any] = {"notes": "done", "artifacts": (), "context": {}, "option": None} | report
    if isinstance(leaf, Choice) and sent["option"] is None:
        sent["option"] = 0
    state = Running(step_id=leaf.id)
    shown = ShownState(facts=Facts(), blockers=blockers, word=word)
    return answer_report(workflow_of(leaf), state, leaf, autonomy, Facts(), shown=shown, **sent)


def asked_for(blocker: Blocker) -> WaitKind | None:
    wait = wait_of(blocker)
    return None if wait is None else wait.kind


def blockers_of(answer: Answer) -> tuple[Blocker, ...]:
    assert isinstance(answer.outcome, Block)
    return select_blockers(answer.outcome.reasons)


@pytest.mark.parametrize("leaf", [CONFIRMED, WAY], ids=["a confirmation", "a choice"])
def test_what_a_client_can_ask_for_blocks_once_and_no_more(leaf: Leaf) -> None:
    (blocker,) = blockers_of(judge(leaf, ASKING))

    assert blocker.code == "USER_ONLY_DEPENDENCY"
    assert asked_for(blocker) == {CONFIRMED.id: "confirm", WAY.id: "choose"}.get(leaf.id)
    assert isinstance(judge(leaf, ASKING, blockers=(blocker,)).outcome, Proceed)


@pytest.mark.parametrize("leaf", [CONFIRMED, WAY], ids=["a confirmation", "a choice"])
def test_a_client_that_cannot_ask_blocks_nobody(leaf: Leaf) -> None:
    assert isinstance(judge(leaf, PersonsWord()).outcome, Proceed)


@every_case(
    ("leaf", "autonomy", "is_asked"),
    [
        (CONFIRMED, "guided", True),
        (CONFIRMED, "full_auto_stop_on_user_deps", False),
        (CONFIRMED, "full_auto_never_stop", False),
        (WAY, "guided", True),
        (WAY, "full_auto_stop_on_user_deps", True),
        (WAY, "full_auto_never_stop", False),
        (step("a"), "guided", False),
    ],
)
def test_who_is_asked_depends_on_the_mode(leaf: Leaf, autonomy: Autonomy, is_asked: bool) -> None:
    assert isinstance(judge(leaf, ASKING, autonomy).outcome, Block) is is_asked


def test_nobody_is_asked_about_a_report_that_is_not_enough_anyway() -> None:
    strict = step("a", require_confirmation=True, notes_required=True)

    codes = [blocker.code for blocker in blockers_of(judge(strict, ASKING, notes=""))]

    assert codes == ["MISSING_REQUIRED_OUTPUT"]


@every_case("leaf", [step("a"), CONFIRMED, WAY])
@every_case("autonomy", ["guided", "full_auto_stop_on_user_deps"])
def test_a_no_blocks_every_time(leaf: Leaf, autonomy: Autonomy) -> None:
    first = judge(leaf, NO, autonomy)
    (blocker,) = blockers_of(first)

    again = judge(leaf, NO, autonomy, blockers=(blocker,))

    assert asked_for(blocker) == ("choose" if leaf is WAY else "confirm")
    assert blockers_of(again) == (blocker,)
    assert [(claim.check, claim.verdict) for claim in first.verdict.claims] == [("person", "contradicted")]


def test_a_run_that_never_stops_discloses_a_no() -> None:
    answer = judge(CONFIRMED, NO, "full_auto_never_stop")

    assert isinstance(answer.outcome, Proceed)
    assert [reason.name for reason in answer.outcome.gaps] == ["user_only_dependency:needs_user_approval"]


def test_a_yes_lifts_everything() -> None:
    answer = judge(CONFIRMED, YES)

    assert isinstance(answer.outcome, Proceed)
    assert [(claim.level, claim.verdict) for claim in answer.verdict.claims] == [("confirmed", "holds")]


def test_the_option_of_a_person_counts_and_no_other() -> None:
    right = PersonsWord(is_given=True, option_id="right", can_be_asked=True)

    taken, other = judge(WAY, right, option=1), judge(WAY, right, option=0)

    assert taken.option is not None
    assert (taken.option.id, [claim.level for claim in taken.verdict.claims]) == ("right", ["confirmed"])
    (blocker,) = blockers_of(other)
    assert blocker.message == "This call takes left for way, but a person chose right."
    assert blocker.waits_for is not None
    assert blocker.waits_for.state == "invalid"


def test_a_run_that_never_stops_does_not_say_that_nobody_chose_where_a_person_did() -> None:
    left = PersonsWord(is_given=True, option_id="left")

    chosen, alone = (judge(WAY, word, "full_auto_never_stop") for word in (left, PersonsWord()))

    assert isinstance(chosen.outcome, Proceed)
    assert isinstance(alone.outcome, Proceed)
    assert (len(chosen.outcome.gaps), len(alone.outcome.gaps)) == (0, 1)


def test_a_yes_without_an_option_is_no_choice() -> None:
    (blocker,) = blockers_of(judge(WAY, YES))

    assert asked_for(blocker) == "choose"


def test_what_the_user_gives_otherwise_waits_for_no_word() -> None:
    needy = step("a", notes_required=True)
    assert isinstance(needy, Step)
    answer = judge(needy, PersonsWord(), notes="")

    assert isinstance(answer.outcome, Block)
    assert {asked_for(blocker_of(reason)) for reason in answer.outcome.reasons} == {"notes"}
