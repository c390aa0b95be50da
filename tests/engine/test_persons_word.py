"""What the word of a person does to a report: asked for once, contradicted by a no, lifted by a yes."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.contract.ids import Autonomy
from handrail.engine.judge.arrival import PersonsWord
from handrail.engine.judge.assess import Answer, ShownState, answer_report
from handrail.engine.navigate import Running
from handrail.engine.reasons import Block, Blocker, Proceed, WaitKind, select_blockers, wait_of
from handrail.workflows.compiled import Choice, Leaf, Option
from handrail.workflows.conditions import Facts
from tests.cases import every_case
from tests.engine.written_log import step, workflow_of

ASKING = PersonsWord(can_be_asked=True)
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


def test_nobody_is_asked_about_an_insufficient_report() -> None:
    strict = step("a", require_confirmation=True, notes_required=True)

    codes = [blocker.code for blocker in blockers_of(judge(strict, ASKING, notes=""))]

    assert codes == ["MISSING_REQUIRED_OUTPUT"]
