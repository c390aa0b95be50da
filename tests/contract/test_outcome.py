"""What an Outcome refuses to be, and how a Fault becomes a Failure."""

from __future__ import annotations

import pytest

from handrail.contract.catalogue import E_RATE_LIMITED, E_VALIDATION, KINDS, Kind
from handrail.contract.outcome import Answer, Failure, Fault, NextCall, Notice, failure_of, make_from
from tests.cases import every_case


def test_failure_refuses_a_detail_key_outside_its_row() -> None:
    with pytest.raises(AssertionError, match="E_VALIDATION does not allow the detail keys"):
        Failure(kind=E_VALIDATION, message="Wrong.", details={"param": "limit", "traceback": "…"})


@pytest.mark.parametrize("length", [1, 1024])
def test_a_message_of_1_to_1024_characters_is_taken(length: int) -> None:
    assert Failure(kind=E_VALIDATION, message="é" * length).message == "é" * length


@pytest.mark.parametrize("length", [0, 1025])
def test_any_other_message_is_refused(length: int) -> None:
    with pytest.raises(AssertionError, match="1 to 1024"):
        Failure(kind=E_VALIDATION, message="x" * length)


def test_hint_has_at_most_512_characters() -> None:
    assert Failure(kind=E_VALIDATION, message="Wrong.", hint="x" * 512).hint

    with pytest.raises(AssertionError, match="512"):
        Failure(kind=E_VALIDATION, message="Wrong.", hint="x" * 513)


@every_case("kind", KINDS.values())
def test_a_failure_takes_every_detail_key_of_its_row(kind: Kind) -> None:
    details = dict.fromkeys(kind.details, "x")

    assert Failure(kind=kind, message="Wrong.", details=details).details == details


def test_a_fault_becomes_a_failure_with_all_it_says() -> None:
    call = NextCall(operation="session.list")
    fault = Fault(
        E_VALIDATION, "Wrong.", details={"param": "a"}, hint="Do it.", next_call=call, retry_after_ms=7
    )

    assert failure_of(fault) == Failure(
        kind=E_VALIDATION,
        message="Wrong.",
        details={"param": "a"},
        hint="Do it.",
        next_call=call,
        retry_after_ms=7,
    )


def test_a_bare_fault_becomes_a_bare_failure() -> None:
    failure = failure_of(Fault(E_RATE_LIMITED, "Too many calls."))

    assert failure == Failure(kind=E_RATE_LIMITED, message="Too many calls.")


def test_a_failure_does_not_carry_the_exception_behind_the_fault() -> None:
    try:
        try:
            raise RuntimeError("canary-4711 in /home/somebody/secret")
        except RuntimeError as error:
            raise Fault(E_VALIDATION, "Wrong.") from error
    except Fault as fault:
        failure = failure_of(fault)

    assert "canary" not in repr(failure)


class Row(Answer, frozen=True, kw_only=True):
    """It shares two names with one record, and one with the other."""

    type: str
    message: str
    operation: str


def test_record_takes_its_own_fields_first() -> None:
    first, second = Notice(type="a", message="first"), Notice(type="b", message="second")

    made = make_from(Row, first, second, NextCall(operation="run.start"), type="own")

    assert made == Row(type="own", message="first", operation="run.start")
