"""Reasons: the two views of them, their order, and their budgets."""

from __future__ import annotations

from typing import get_args

import pytest
from msgspec.structs import replace

from handrail.contract.ids import Autonomy
from handrail.engine.events import (
    CapabilityObserved,
    CapabilityProvenance,
    CapabilityStatus,
    GapRecorded,
)
from handrail.engine.judge.resolving import resolve, resolve_by_observation
from handrail.engine.reasons import (
    BLOCKER_CODES,
    Block,
    Blocker,
    BlockerCode,
    CapabilityPointer,
    ContextKey,
    OutputContract,
    Proceed,
    Reason,
    ReasonName,
    WaitsFor,
    WorkflowStep,
    blocker_of,
    consequence,
    list_hidden_blockers,
    select_blockers,
    shorten_message,
    wait_of,
)
from tests.cases import every_case

WAIT = WaitsFor(kind="output", values={"contract": "b"})
MISSING = Reason(
    waits_for=WAIT,
    name="contract_violation:missing_required_output",
    pointer=OutputContract(contract_ref="b"),
    message="None came.",
    fix="Add it.",
)


def test_every_reason_has_a_code_and_every_code_a_reason() -> None:
    assert set(BLOCKER_CODES) == set(get_args(ReasonName))
    assert set(BLOCKER_CODES.values()) == set(get_args(BlockerCode))


@every_case("name", get_args(ReasonName))
@every_case("autonomy", get_args(Autonomy))
def test_a_reason_blocks_except_where_nothing_may_stop_the_run(name: ReasonName, autonomy: Autonomy) -> None:
    reason = Reason(waits_for=WAIT, name=name, pointer=WorkflowStep(step_id="a"), message="m")

    found = consequence((reason,), autonomy)

    expected = Proceed(gaps=(reason,)) if autonomy == "full_auto_never_stop" else Block(reasons=(reason,))
    assert found == expected


def test_without_reasons_the_run_goes_on_in_every_mode() -> None:
    assert all(consequence((), mode) == Proceed(gaps=()) for mode in get_args(Autonomy))


def test_blockers_are_ordered_by_code_pointer_kind_and_fields() -> None:
    def reason(name: ReasonName, pointer: object) -> Reason:
        return Reason(waits_for=WAIT, name=name, pointer=pointer, message="m")  # type: ignore[arg-type]  # any pointer

    user: ReasonName = "user_only_dependency:needs_user_approval"
    missing: ReasonName = "contract_violation:missing_required_output"
    given = (
        reason(user, WorkflowStep(step_id="a")),
        reason(user, ContextKey(key="z")),
        reason(missing, OutputContract(contract_ref="b")),
        reason(missing, CapabilityPointer(capability="delegation")),
        reason(missing, OutputContract(contract_ref="a")),
    )

    found = consequence(given, "guided")

    assert isinstance(found, Block)
    assert [held.pointer for held in found.reasons] == [
        CapabilityPointer(capability="delegation"),
        OutputContract(contract_ref="a"),
        OutputContract(contract_ref="b"),
        ContextKey(key="z"),
        WorkflowStep(step_id="a"),
    ]


def test_at_most_ten_are_shown_and_the_others_are_named_in_short() -> None:
    many = tuple(
        Reason(
            waits_for=WAIT,
            name=MISSING.name,
            pointer=OutputContract(contract_ref=f"c{number:02}"),
            message="m" * 300,
        )
        for number in range(12)
    )

    found = consequence(many, "guided")

    assert isinstance(found, Block)
    assert len(select_blockers(found.reasons)) == 10
    left = list_hidden_blockers(found.reasons)
    assert [held.pointer for held in left] == [OutputContract(contract_ref=f"c{at}") for at in (10, 11)]
    assert all(len(held.message.encode()) == 200 and not held.suggested_fix for held in left)


def test_no_bound_hides_a_kind_of_reason() -> None:
    many = [
        Reason(
            waits_for=WAIT,
            name=MISSING.name,
            pointer=OutputContract(contract_ref="c"),
            message=f"{number:03}",
        )
        for number in range(200)
    ]
    last = Reason(
        waits_for=WAIT,
        name="user_only_dependency:needs_user_approval",
        pointer=WorkflowStep(step_id="s"),
        message="m",
    )

    left = list_hidden_blockers((*many, last))

    assert [held.pointer for held in left[:2]] == [OutputContract(contract_ref="c"), last.pointer]
    assert len(left) == 100


def test_a_blocker_over_its_budget_is_a_broken_assumption() -> None:
    long = Reason(waits_for=WAIT, name=MISSING.name, pointer=MISSING.pointer, message="é" * 257)

    with pytest.raises(AssertionError, match="512"):
        blocker_of(long)
    assert blocker_of(MISSING).suggested_fix == "Add it."


@pytest.mark.parametrize(
    ("text", "limit", "expected"), [("abc", 3, "abc"), ("abcd", 6, "abcd"), ("éééé", 7, "éé…")]
)
def test_outside_words_are_shortened_between_characters(text: str, limit: int, expected: str) -> None:
    assert shorten_message(text, limit) == expected


def test_older_log_says_by_its_sentence_that_a_person_was_asked() -> None:
    old = Blocker(
        code="USER_ONLY_DEPENDENCY",
        pointer=WorkflowStep(step_id="a"),
        message="A person must confirm a.",
        suggested_fix="Ask the user to run `handrail run confirm` in a terminal, then make the call in "
        "nextCall again.",
    )

    assert wait_of(old) == WaitsFor(kind="confirm")
    assert wait_of(replace(old, suggested_fix="Ask the user.")) is None
    assert wait_of(blocker_of(MISSING)) == WAIT


@every_case(
    ("status", "provenance", "earlier", "resolved"),
    [
        ("available", "attempted_use", (), ["gap_1_web_browsing"]),
        ("available", "manual_claim", (), []),
        ("unavailable", "attempted_use", (), []),
        ("available", "attempted_use", (resolve("gap_1_web_browsing", "It works.", ()),), []),
    ],
)
def test_only_an_open_gap_is_resolved_and_by_no_mere_claim(
    status: CapabilityStatus,
    provenance: CapabilityProvenance,
    earlier: tuple[GapRecorded, ...],
    resolved: list[str],
) -> None:
    gaps = [
        GapRecorded(gap_id=f"gap_1_{name}", severity="warning", reason="reported", summary="None.")
        for name in ("web_browsing", "delegation")
    ]
    seen = CapabilityObserved(capability="web_browsing", status=status, provenance=provenance)

    found = resolve_by_observation(lambda: [*gaps, *earlier], [seen])

    assert [gap.resolves_gap_id for gap in found] == resolved
