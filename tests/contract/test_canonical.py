"""Canonical JSON against the tables and samples of RFC 8785, and what has no canonical form."""

from __future__ import annotations

import hashlib
import struct

import pytest

from handrail.contract.json.canonical import canonical_bytes, digest
from handrail.contract.outcome import Fault, Json
from tests.cases import every_case

# RFC 8785, appendix B: the bits of a double and its text.
APPENDIX_B = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "ffefffffffffffff": "-1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "c340000000000000": "-9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}
REFUSED_BITS = ("7fffffffffffffff", "7ff0000000000000", "fff0000000000000")

# What has no canonical form, the place that the refusal names, and a word of the reason.
REFUSED: list[tuple[str, Json, str, str]] = [
    ("not a number", float("nan"), "", "finite"),
    ("an infinity inside", {"a": [1, float("-inf")]}, "/a/1", "finite"),
    ("an integer that doubles cannot hold", {"n": 2**53 + 1}, "/n", "round"),
    ("the same below zero", [-(2**53) - 1], "/0", "round"),
    ("an exact double with more digits than it needs", [2**64], "/0", "round"),
    ("an integer that needs an exponent", 10**21, "", "round"),
    ("an integer beyond every double", 10**400, "", "round"),
    ("an integer beyond every text", 10**5000, "", "round"),
    ("half a surrogate pair", ["ok", "\ud800"], "/1", "surrogate"),
    ("half a surrogate pair in a key", {"a": {"\udc00": 1}}, "/a", "surrogate"),
    ("a key that is a number", {"a": {1: 2}}, "/a", "key"),
    ("keys of two types", {1: 2, "b": 3}, "", "key"),
    ("bytes", {"a": b"x"}, "/a", "not a JSON value"),
    ("a set", [{1}], "/0", "not a JSON value"),
    ("a key with a slash", {"a/b": {"~": object()}}, "/a~1b/~0", "not a JSON value"),
]


def double(bits: str) -> float:
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    assert isinstance(number, float)
    return number


def check(value: Json, expected: str) -> None:
    assert canonical_bytes(value).decode() == expected


@every_case("bits", APPENDIX_B)
def test_a_number_is_written_as_appendix_b_says(bits: str) -> None:
    check(double(bits), APPENDIX_B[bits])


@pytest.mark.parametrize("bits", REFUSED_BITS)
def test_a_number_that_is_not_finite_is_refused(bits: str) -> None:
    with pytest.raises(Fault, match="E_VALIDATION"):
        canonical_bytes(double(bits))


def test_sample_of_section_3_2_2_gives_its_bytes() -> None:
    sample = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"/",
        "literals": [None, True, False],
    }

    check(
        sample,
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    )


def test_keys_are_sorted_by_utf_16_code_units() -> None:
    sample = {
        "\u20ac": "Euro Sign",
        "\r": "Carriage Return",
        "\ufb33": "Hebrew Letter Dalet With Dagesh",
        "1": "One",
        "\U0001f600": "Emoji: Grinning Face",
        "\u0080": "Control",
        "\u00f6": "Latin Small Letter O With Diaeresis",
    }

    check(
        sample,
        '{"\\r":"Carriage Return","1":"One","\u0080":"Control","ö":"Latin Small Letter O With Diaeresis",'
        '"€":"Euro Sign","\U0001f600":"Emoji: Grinning Face","\ufb33":"Hebrew Letter Dalet With Dagesh"}',
    )


def test_a_tuple_is_an_array() -> None:
    check((1, ("a",), ()), '[1,["a"],[]]')


def test_only_what_json_must_escape_is_escaped() -> None:
    check('\x00\x08\t\n\x0c\r\x1f"\\/\x7f\u2028é', '"\\u0000\\b\\t\\n\\f\\r\\u001f\\"\\\\/\x7f\u2028é"')


@every_case(("value", "place", "reason"), [case[1:] for case in REFUSED])
def test_what_has_no_canonical_form_is_refused_with_its_place(value: Json, place: str, reason: str) -> None:
    with pytest.raises(Fault) as refused:
        canonical_bytes(value)

    assert refused.value.kind.code == "E_VALIDATION"
    assert refused.value.details == {"param": place}
    assert reason in refused.value.message
    assert (f'"{place}"' in refused.value.message) == bool(place)
    assert refused.value.hint.endswith(".")


def test_first_refusal_is_the_one_that_comes_first() -> None:
    with pytest.raises(Fault) as refused:
        canonical_bytes({"b": [1, 10**30], "a": float("nan")})

    assert refused.value.details == {"param": "/b/1"}


def test_endless_nesting_is_refused_and_not_a_crash() -> None:
    endless: list[Json] = []
    endless.append(endless)

    with pytest.raises(Fault, match="nested too deep"):
        canonical_bytes(endless)


def test_a_digest_is_the_hash_of_the_canonical_bytes() -> None:
    expected = hashlib.sha256(b'{"a":1,"b":[true]}').hexdigest()

    assert digest({"b": [True], "a": 1.0}) == f"sha256:{expected}"
