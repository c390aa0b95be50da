"""Flag texts of disclosure: `--fields`, `--expand` and `--budget`."""

from __future__ import annotations

import pytest

from handrail.contract.catalogue import E_USAGE
from handrail.contract.disclosure.fields import Budget, parse_budget, parse_fields
from handrail.contract.outcome import Fault
from tests.cases import every_case


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id", ("id",)),
        ("id,status", ("id", "status")),
        (" id , ,status,,id ", ("id", "status")),
        ("items.id,a.b.c", ("items.id", "a.b.c")),
    ],
)
def test_field_names_are_trimmed_and_empties_and_doubles_dropped(
    text: str, expected: tuple[str, ...]
) -> None:
    assert parse_fields(text) == expected


@pytest.mark.parametrize("text", ["", " ", ",", " , ,"])
def test_unnamed_list_is_a_usage_error_with_its_flag(text: str) -> None:
    with pytest.raises(Fault) as raised:
        parse_fields(text, "--expand")

    assert raised.value.kind is E_USAGE
    assert raised.value.message == "--expand names no field."


@every_case(
    ("text", "expected"),
    [
        ("tokens=100", Budget(max_tokens=100)),
        ("bytes=1", Budget(max_bytes=1)),
        ("items=007", Budget(max_items=7)),
        ("tokens=4000,bytes=32768,items=100", Budget(max_tokens=4000, max_bytes=32768, max_items=100)),
        (" items=2 , tokens=3 ", Budget(max_tokens=3, max_items=2)),
        ("bytes=999999999999999", Budget(max_bytes=999999999999999)),
    ],
)
def test_a_budget_has_one_to_three_parts_in_any_order(text: str, expected: Budget) -> None:
    assert parse_budget(text) == expected


@every_case(
    "text",
    [
        *("", ",", "tokens", "tokens=", "tokens=0", "tokens=000", "tokens=-1", "tokens=+1", "tokens=1.5"),
        *("tokens=1_000", "tokens=１２", "tokens= 12", "tokens=1e3", "tokens=0x10"),
        *("words=5", "maxTokens=5", "TOKENS=5", "tokens=5,", "tokens=5,tokens=5", "tokens=5;bytes=5"),
        *("tokens=1000000000000000", "tokens=" + "9" * 5000),
    ],
)
def test_anything_else_is_a_usage_error_that_shows_the_form(text: str) -> None:
    with pytest.raises(Fault) as raised:
        parse_budget(text)

    assert raised.value.kind is E_USAGE
    assert raised.value.details == {"usage": "--budget tokens=N,bytes=N,items=N"}
    assert raised.value.hint == "Write --budget tokens=N,bytes=N,items=N."
