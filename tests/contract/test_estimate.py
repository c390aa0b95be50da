"""The token estimate: the vectors of LAFS 9.5.4, grapheme counting, and an independent transcription."""

from __future__ import annotations

import json
import subprocess
import sys
from math import ceil, inf

import pytest
import regex  # type: ignore[import-untyped]  # the package ships no stubs
from hypothesis import example, given
from hypothesis import strategies as st

from handrail.contract.disclosure import estimate
from handrail.contract.disclosure.estimate import estimate_tokens
from handrail.contract.outcome import Json
from tests.cases import every_case

AWKWARD = "ab 1\r\n\t\x00é" + "".join(
    map(
        chr,
        [
            *(0x0301, 0x0308, 0x20E3, 0xFE0F, 0x1F3FD),  # join what stands before them
            *(0x200D, 0x200C, 0x0600, 0x00AD, 0x200B),  # joiner, prepended mark, controls
            *(0x1F1E9, 0x1F1EA, 0x1F468, 0x1F469, 0x2764),  # flags, people, a heart
            *(0x1100, 0x1161, 0x11A8, 0xAC00, 0xAC01),  # Hangul, loose and composed
            *(0x0915, 0x094D, 0x0937, 0x0903, 0x0E33),  # Indic conjunct, spacing marks
            *(0x4E2D, 0x0434, 0x05D0, 0x0627, 0x3042, 0x3099, 0xFF9E),  # plain letters, voicing marks
        ],
    )
)
TEXTS = st.one_of(st.text(alphabet=AWKWARD, max_size=30), st.text(max_size=20))
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXTS
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=6), st.dictionaries(TEXTS, inner, max_size=5)),
    max_leaves=25,
)


def transcribed(value: Json, depth: int = 0) -> float:
    """LAFS 9.5.4, line by line, as it is printed."""
    if depth > 20:
        return inf
    if value is None:
        return 1
    if isinstance(value, bool):
        return 1
    if isinstance(value, int | float):
        return max(1, len(json.dumps(value)) / 4)
    if isinstance(value, str):
        return max(1, len(regex.findall(r"\X", value)) / 4.0)
    if isinstance(value, list):
        tokens: float = 2
        for item in value:
            tokens += transcribed(item, depth + 1) + 1
        return tokens
    tokens = 2
    for key, item in value.items():
        tokens += transcribed(key, depth + 1)
        tokens += 2
        tokens += transcribed(item, depth + 1)
    return tokens


def nested(value: Json, lists: int) -> Json:
    for _ in range(lists):
        value = [value]
    return value


@every_case(
    ("value", "expected"),
    [
        (None, 1),
        (True, 1),
        (False, 1),
        (0, 1),
        (12345, 2),
        (-1234.5, 2),
        (123456789, 3),
        ("", 1),
        ("abcd", 1),
        ("abcdefgh", 2),
        ("abcdefghi", 3),
        ([], 2),
        ({}, 2),
        ({"a": 1}, 6),
        ([1, 2, 3], 8),
        ([True, True], 6),
        ({"items": [{"id": "s1"}], "count": 1}, 19),
        ({"abcdefgh": "abcdefgh"}, 8),
        ([100000, -99999, 9999, -999], 11),
    ],
)
def test_the_estimate_is_the_sum_rounded_up_once(value: Json, expected: int) -> None:
    assert estimate_tokens(value) == expected


@every_case(
    ("value", "expected"),
    [
        (nested(1, 20), 61),
        (nested(1, 21), None),
        (nested([], 20), 62),
        (nested([], 21), None),
        (nested({}, 20), 62),
        (nested({"a": 1}, 19), 63),
        (nested({"a": 1}, 20), None),
        (["first", nested("x", 21), "last"], None),
        ({"a": 1, "b": nested("x", 21)}, None),
    ],
)
def test_only_twenty_levels_below_the_root_can_be_estimated(value: Json, expected: int | None) -> None:
    assert estimate_tokens(value) == expected


def test_a_value_that_contains_itself_has_no_estimate() -> None:
    circle: list[Json] = []
    circle.extend([circle] * 5)
    mapping: dict[str, Json] = {"other": {"name": "x"}}
    mapping["self"] = [mapping, mapping]

    assert estimate_tokens(circle) is None
    assert estimate_tokens(mapping) is None


@every_case(
    ("text", "clusters"),
    [
        ("12345678", 8),
        ("line\r\nline\r\n", 10),
        ("\r\n" * 9, 9),
        ("\n\r" * 5, 6),
        ("Grüße für alle", 14),
        ("é\r\n" * 9, 18),
        ("e\u0301\r\n" * 9, 18),
        ("👨\u200d👩\r\n" * 9, 18),
        ("e\u0301" * 9, 9),
        ("\u0301" + "abcdefgh", 9),  # nothing before it to join
        ("\n\u0301" * 5, 10),  # a control is never joined
        ("中文字符测试文本", 8),
        ("한국어한국어한국어", 9),
        ("\u1112\u1161\u11ab" * 9, 9),  # the same syllable as loose jamo
        ("👍🏽" * 9, 9),
        ("❤️" * 9, 9),
        ("1️⃣" * 9, 9),
        ("👨‍👩‍👧‍👦" * 9, 9),
        ("🇩🇪🇫🇷🇯🇵🇧🇷🇮🇳", 5),
        ("🇩🇪🇫🇷🇯", 3),
        ("🇩\u0301🇪" * 5, 6),  # a mark after a letter keeps it from pairing
        ("text 👨‍👩‍👧 text\r\n🇩🇪!", 13),
        ("नी" * 9, 9),
    ],
)
def test_text_is_counted_by_what_a_reader_sees(text: str, clusters: int) -> None:
    assert estimate_tokens([text]) == ceil(3 + max(1, clusters / 4))


@given(VALUES)
@example({"k\r\n": "a\r\u0301\n", "\u0301": ["\u200d\u200d", "\r", 1.0, 1e300, -0.0]})
@pytest.mark.thorough
def test_estimate_equals_a_transcription_of_the_specification(value: Json) -> None:
    total = transcribed(value)

    assert estimate_tokens(value) == (None if total == inf else ceil(total))


@pytest.mark.thorough
@given(TEXTS)
@example("\u0600\u0301a\r\n🇩🇪🇩")
def test_fast_counting_agrees_with_the_unicode_rules(text: str) -> None:
    clusters = len(regex.findall(r"\X", text))

    assert estimate_tokens([text]) == ceil(3 + max(1, clusters / 4))


@pytest.mark.thorough
def test_code_point_counted_alone_never_joins_another() -> None:
    alone = regex.compile(f"[{estimate._ALONE}]")
    may_stand_alone = regex.compile(
        r"[\p{GCB=Other}\p{GCB=Control}\p{GCB=CR}\p{GCB=LF}\p{GCB=LV}\p{GCB=LVT}]"
    )
    characters = [chr(code) for code in range(0x110000) if alone.match(chr(code))]

    assert len(characters) > 89_000
    assert [hex(ord(each)) for each in characters if not may_stand_alone.match(each)] == []


@pytest.mark.thorough
def test_every_code_point_that_is_taken_to_join_always_joins() -> None:
    joins = regex.compile(f"[{estimate._JOINS}]")
    characters = [chr(code) for code in range(0x110000) if joins.match(chr(code))]

    assert len(characters) > 200
    assert [hex(ord(each)) for each in characters if len(regex.findall(r"\X", "a" + each)) != 1] == []


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("text", "is_loaded"), [("plain é text, 中文 and 🇩🇪 ❤️ e\u0301", False), ("👨\u200d👩\u200d👧", True)]
)
def test_unicode_library_is_loaded_only_where_needed(text: str, is_loaded: bool) -> None:
    program = (
        "import sys; from handrail.contract.disclosure.estimate import estimate_tokens; "
        f"estimate_tokens({text!a}); print('regex' in sys.modules)"
    )

    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True
    )

    assert answer.stdout.strip() == str(is_loaded)
