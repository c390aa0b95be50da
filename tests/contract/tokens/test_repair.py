"""One wrong character is put right; anything that is not certain is left alone."""

from __future__ import annotations

import hmac
from types import SimpleNamespace

import pytest

from handrail.contract.tokens import reading as repair_module
from handrail.contract.tokens.reading import repair
from handrail.contract.tokens.workflow import BAD_CHARACTER
from tests.cases import every_case
from tests.contract.tokens.samples import ACK, KEY, OTHER_KEY, STATE, TOKENS


def swap(text: str, at: int) -> str:
    return text[:at] + text[at + 1] + text[at] + text[at + 2 :]


# The last character of the body stands at 29, the MAC begins at 30.
ONE_EDIT = {
    "first prefix letter replaced": "z" + ACK[1:],
    "prefix of another kind": "ck1" + ACK[3:],
    "version replaced": "ak2" + ACK[3:],
    "session character replaced": ACK[:5] + "z" + ACK[6:],
    "last body character replaced": ACK[:29] + "z" + ACK[30:],
    "first MAC character replaced": ACK[:30] + "z" + ACK[31:],
    "last character replaced": ACK[:-1] + "z",
    "foreign character in the prefix": BAD_CHARACTER + ACK[1:],
    "foreign character in the body": ACK[:12] + BAD_CHARACTER + ACK[13:],
    "foreign character in the MAC": ACK[:40] + BAD_CHARACTER + ACK[41:],
    "first character dropped": ACK[1:],
    "prefix digit dropped": ACK[:2] + ACK[3:],
    "body character dropped": ACK[:9] + ACK[10:],
    "last body character dropped": ACK[:29] + ACK[30:],
    "first MAC character dropped": ACK[:30] + ACK[31:],
    "last character dropped": ACK[:-1],
    "character inserted before": "7" + ACK,
    "prefix letter doubled": "a" + ACK,
    "body character doubled": ACK[:9] + ACK[8:],
    "character inserted before the MAC": ACK[:30] + "7" + ACK[30:],
    "character inserted in the MAC": ACK[:45] + "7" + ACK[45:],
    "character inserted at the end": ACK + "7",
    "foreign character inserted in the body": ACK[:9] + BAD_CHARACTER + ACK[9:],
    "foreign character inserted in the MAC": ACK[:45] + BAD_CHARACTER + ACK[45:],
    "prefix letters swapped": swap(ACK, 0),
    "prefix and body swapped": swap(ACK, 2),
    "body characters swapped": swap(ACK, 10),
    "body and MAC swapped": swap(ACK, 29),
    "MAC characters swapped": swap(ACK, 40),
}


@every_case("text", ONE_EDIT.values())
def test_one_wrong_character_is_put_right(text: str) -> None:
    assert text != ACK

    assert repair([KEY], text) == ACK


@every_case("text", ONE_EDIT.values())
def test_without_the_key_nothing_is_put_right(text: str) -> None:
    assert repair([OTHER_KEY], text) is None
    assert repair([], text) is None


TWO_EDITS = {
    "two in the body": ACK[:5] + "z" + ACK[6:12] + "z" + ACK[13:],
    "two in the MAC": ACK[:35] + "zz" + ACK[37:],
    "one in the body, one in the MAC": ACK[:5] + "z" + ACK[6:-1] + "z",
    "prefix and body": "ck1" + ACK[3:5] + "z" + ACK[6:],
    "two dropped": ACK[:9] + ACK[11:],
    "two dropped from the MAC": ACK[:-2],
    "two inserted": ACK + "77",
    "dropped here, inserted there": ACK[:9] + ACK[10:50] + "7" + ACK[50:],
    "dropped and replaced": ACK[:9] + ACK[10:15] + "z" + ACK[16:],
    "swapped twice": swap(swap(ACK, 10), 20),
    "two foreign characters": ACK[:5] + BAD_CHARACTER + ACK[6:12] + BAD_CHARACTER + ACK[13:],
    "foreign character and prefix": "ck1" + ACK[3:12] + BAD_CHARACTER + ACK[13:],
    "foreign character and one dropped": ACK[:9] + ACK[10:15] + BAD_CHARACTER + ACK[16:],
    "far swap": ACK[:4] + ACK[9] + ACK[5:9] + ACK[4] + ACK[10:],
    "moved prefix": STATE[:3] + ACK[3:],
}


@every_case("text", TWO_EDITS.values())
def test_more_than_one_wrong_character_is_left_alone(text: str) -> None:
    assert repair([KEY], text) is None


@every_case("text", ["", "?", ACK[:20], ACK + STATE, "z" * 56, "?" * 56, STATE[:-2]])
def test_what_is_far_from_a_token_is_left_alone(text: str) -> None:
    assert repair([KEY], text) is None


def test_nothing_is_put_right_when_several_corrections_verify(monkeypatch: pytest.MonkeyPatch) -> None:
    def accept_all(one: object, other: object) -> bool:
        return True

    monkeypatch.setattr(repair_module, "hmac", SimpleNamespace(compare_digest=accept_all))
    body_error = ACK[:5] + "?" + ACK[6:]

    assert repair([KEY], body_error) is None


@pytest.mark.parametrize(
    "text", [ACK[:5] + "zz" + ACK[7:], ACK[:5] + "z" + ACK[7:], STATE[:5] + "zz" + STATE[7:]]
)
def test_a_hopeless_token_costs_a_bounded_number_of_comparisons(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 0

    def counting(one: bytes | str, other: bytes | str) -> bool:
        nonlocal count
        count += 1
        return hmac.compare_digest(str(one).encode(), str(other).encode())

    monkeypatch.setattr(repair_module, "hmac", SimpleNamespace(compare_digest=counting))

    assert repair([KEY, OTHER_KEY], text) is None
    assert 100 < count < 2200


@pytest.mark.parametrize(
    "text",
    [ACK[:40] + "z" + ACK[41:], ACK[:-1], ACK + "7", swap(ACK, 40)],
    ids=["replaced", "dropped", "inserted", "swapped"],
)
def test_error_in_the_mac_costs_one_hmac_per_key(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("the body was searched")

    monkeypatch.setattr(repair_module, "_payloads", fail)

    assert repair([OTHER_KEY, KEY], text) == ACK


def test_the_samples_are_all_repairable() -> None:
    for token in TOKENS.values():
        assert repair([KEY], token[:8] + token[9:]) == token
