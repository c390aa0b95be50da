"""Reading JSON from outside: what is taken, what is refused, and the place that a refusal names."""

from __future__ import annotations

import pytest

from handrail.contract.json.strict import decode_json
from handrail.contract.outcome import Fault, Json
from tests.cases import every_case

CANARY = "s3cr3t-canary-4711"

TAKEN: list[tuple[bytes | str, Json]] = [
    (b' {"a": [1, -2.5, 1e3, true, false, null, "x"]}\n', {"a": [1, -2.5, 1000.0, True, False, None, "x"]}),
    ('"é"', "é"),
    (b'"\xc3\xa9"', "é"),
    (b'"\\ud83d\\ude00"', "\U0001f600"),
    (b'"\\\\ud800"', "\\ud800"),
    (b'"NaN"', "NaN"),
    (b'{"a":{"a":1},"b":{"a":1}}', {"a": {"a": 1}, "b": {"a": 1}}),
    (b"12345678901234567890", 12345678901234567890),
    (b"1e308", 1e308),
    (b"[]", []),
    (b"0", 0),
]

# The text, the line and column of the refusal, and a word of the reason.
REFUSED: list[tuple[str, bytes | str, int, int, str]] = [
    ("byte order mark", b"\xef\xbb\xbf{}", 1, 1, "byte order mark"),
    ("bytes that are not UTF-8", b'{"a":\n "\xc3\xa9\xff"}', 2, 4, "UTF-8"),
    ("UTF-16", '{"a":1}'.encode("utf-16-le"), 1, 2, "misspelt|quotes"),
    ("a raw surrogate in text", '["\ud800"]', 1, 3, "UTF-8"),
    ("an escaped surrogate", b'["x", "a\\ud800b"]', 1, 7, "surrogate"),
    ("surrogates in the wrong order", b'"\\uDE00\\uD83D"', 1, 1, "surrogate"),
    ("a surrogate in a key", b'{"a":1,\n"\\udc00":2}', 2, 1, "surrogate"),
    ("a key twice", b'{"a": 1, "b": 2, "a": 3}', 1, 18, 'key "a" appears twice'),
    ("a key twice, deep inside", b'{"x":[{"y":{"k":1,\n  "k":1}}]}', 2, 3, 'key "k" appears twice'),
    ("a key twice, once escaped", b'{"k":1,"\\u006b":2}', 1, 8, 'key "k" appears twice'),
    ("the empty key twice", b'{"":1,"":2}', 1, 7, 'key "" appears twice'),
    ("NaN", b"[1, NaN]", 1, 5, "not finite"),
    ("Infinity", b'{"a":Infinity}', 1, 6, "not finite"),
    ("minus Infinity", b"-Infinity", 1, 1, "not finite"),
    ("a number that overflows", b"[1.0,\n-1e999]", 2, 1, "not finite"),
    ("the same with text behind it", b"[1e999null]", 1, 2, "not finite"),
    ("a constant with text behind it", b"[NaNny]", 1, 2, "not finite"),
    ("a long number with text behind it", b"[" + b"9" * 5000 + b"x]", 1, 2, "too many digits"),
    ("a number with endless digits", b"[7," + b"1" * 5000 + b"]", 1, 4, "too many digits"),
    ("nothing", b"", 1, 1, "ends too early"),
    ("white space only", b" \n ", 2, 2, "ends too early"),
    ("a missing bracket", b'{"a": [1, 2', 1, 12, "ends too early"),
    ("a trailing comma in an object", b'{"a":1,}', 1, 7, "comma before a closing"),
    ("a trailing comma in an array", b"[1,\n2 ,\n]", 2, 3, "comma before a closing"),
    ("two commas", b'{"a":1, , "b":2}', 1, 9, "two commas"),
    ("a key without quotes", b"{a: 1}", 1, 2, "key has no double quotes"),
    ("a missing colon", b'{"a" 1}', 1, 6, "colon"),
    ("a missing comma", b'["a" "b"]', 1, 6, "comma"),
    ("single quotes", b"['a']", 1, 2, "double quotes"),
    ("other quotes", "{“a”: 1}", 1, 2, "double quotes"),
    ("a literal of Python", b"[True]", 1, 2, "small letters"),
    ("a misspelt literal", b"[tru]", 1, 2, "misspelt"),
    ("a leading zero", b"[01]", 1, 3, "comma"),
    ("an unclosed string", b'{"a": "b}', 1, 7, "not closed"),
    ("a raw newline in a string", b'["a\nb"]', 1, 4, "line break"),
    ("a wrong escape", b'["\\x41"]', 1, 3, "escape"),
    ("a short escape", b'["\\u12"]', 1, 4, "escape"),
    ("a second value", b'{"a":1}\n{"b":2}', 2, 1, "after the end"),
    ("a comment", b"[1] // one", 1, 5, "no comments"),
    ("a comment inside", b'{"a": 1, /* two\nlines */ "b": 2}', 1, 10, "no comments"),
    ("a comment with a hash", b"{\n# one\n}", 2, 1, "no comments"),
    ("a comma missing between lines", b'{"a": 1\n"b": 2}', 1, 8, "comma is missing"),
    ("YAML", b"id: project.a\nname: A\n", 1, 1, "YAML"),
    ("YAML with a document mark", b"---\nid: a\n", 1, 1, "YAML"),
    ("a Markdown code block", b"```json\n{}\n```\n", 1, 1, "Markdown"),
]


def refusal(text: bytes | str, *, max_bytes: int = 1_000_000, max_depth: int = 64) -> Fault:
    with pytest.raises(Fault) as refused:
        decode_json(text, max_bytes=max_bytes, max_depth=max_depth)
    return refused.value


@every_case(("text", "expected"), TAKEN)
def test_json_is_taken_as_it_is(text: bytes | str, expected: Json) -> None:
    value = decode_json(text, max_bytes=1000)

    assert value == expected
    assert type(value) is type(expected)


@every_case(("text", "line", "column", "reason"), [case[1:] for case in REFUSED])
def test_what_is_not_strict_json_is_refused_with_its_place(
    text: bytes | str, line: int, column: int, reason: str
) -> None:
    with pytest.raises(Fault, match=reason) as refused:
        decode_json(text, max_bytes=1_000_000)

    assert refused.value.kind.code == "E_VALIDATION"
    assert refused.value.details == {"line": line, "column": column}
    assert f"at line {line}, column {column}." in refused.value.message
    assert refused.value.hint.endswith(".")


@every_case(
    ("text", "way_out"),
    [
        (b'{"a": 1, "a": 3}', "Keep one of the two."),
        (b"[NaN]", "Leave the number out, or write null."),
        (b"[" + b"1" * 5000 + b"]", "Send large integers as strings."),
        (b'["\\ud800"]', "Send whole characters."),
        (b"[\xff]", "Write it as UTF-8, without a byte order mark."),
    ],
)
def test_a_refusal_says_what_to_do_about_it(text: bytes, way_out: str) -> None:
    assert refusal(text).hint == way_out


def test_as_many_bytes_as_allowed_are_taken_and_one_more_is_not() -> None:
    text = '"' + "é" * 10 + '"'  # 22 bytes

    assert decode_json(text, max_bytes=22) == "é" * 10
    fault = refusal(text, max_bytes=21)
    assert fault.kind.code == "REQUEST_TOO_LARGE"
    assert fault.details == {"what": "bytes", "measured": 22, "limit": 21}


def test_size_is_looked_at_before_anything_else() -> None:
    assert refusal(b"\xff" * 10, max_bytes=9).kind.code == "REQUEST_TOO_LARGE"


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}"), (b'[{"b":', b"}]")])
def test_as_much_nesting_as_allowed_is_taken_and_one_more_is_not(opening: bytes, closing: bytes) -> None:
    levels = opening.count(b"[") + opening.count(b"{")
    repeats = 64 // levels
    allowed = opening * repeats + b"0" + closing * repeats

    decode_json(allowed, max_bytes=10_000)
    fault = refusal(b"[" + allowed + b"]")
    assert fault.kind.code == "REQUEST_TOO_LARGE"
    assert fault.details == {"what": "depth", "measured": 65, "limit": 64}


def test_a_smaller_depth_can_be_asked_for() -> None:
    assert decode_json(b"[[1]]", max_bytes=100, max_depth=2) == [[1]]
    assert refusal(b"[[[1]]]", max_depth=2).details["measured"] == 3


def test_many_flat_objects_are_not_deep() -> None:
    text = b"[" + b",".join([b'{"a":[1]}'] * 200) + b"]"

    assert len(decode_json(text, max_bytes=10_000)) == 200


def test_brackets_inside_strings_neither_deepen_nor_flatten() -> None:
    assert decode_json(b'["' + b"[" * 500 + b'"]', max_bytes=10_000) == ["[" * 500]
    assert refusal(b'["]]]]",' * 65 + b"0" + b"]" * 65).details["measured"] == 65


@pytest.mark.parametrize(
    "text",
    [b"[" * 300_000, b'{"a":' * 100_000, b"[" * 3000 + b"]" * 9000 + b'"\\x" nan'],
    ids=["arrays without end", "objects without end", "nonsense after too deep a nesting"],
)
def test_endless_nesting_is_refused_and_not_a_crash(text: bytes) -> None:
    assert refusal(text).kind.code == "REQUEST_TOO_LARGE"


@pytest.mark.parametrize(
    "text",
    [b'{"a":1,"a":"' + b'\\"' * 200_000 + b'"}', b'["\\ud800","' + b"\\\\" * 200_000 + b'"]'],
    ids=["quotes", "backslashes"],
)
def test_a_long_string_of_escapes_is_refused_in_one_pass(text: bytes) -> None:
    assert refusal(text).kind.code == "E_VALIDATION"


@every_case(
    "text",
    [
        f'{{"password": "{CANARY}",}}',
        f'{{"password": "{CANARY}", "a": 1, "a": 2}}',
        f'["{CANARY}", NaN]',
        f'["{CANARY}\\ud800"]',
        f'["{CANARY}"',
        f'["{CANARY}", ' + "[" * 100,
    ],
)
def test_a_refusal_repeats_no_value_of_the_text(text: str) -> None:
    fault = refusal(text)

    assert CANARY not in f"{fault} {fault.message} {fault.details} {fault.hint}"
    assert fault.__suppress_context__ or fault.__context__ is None


def test_a_doubled_key_is_quoted_short_and_visible() -> None:
    key = "k\u202e\u200b" + "x" * 200

    fault = refusal(f'{{"{key}":1,"{key}":2}}')

    assert "k\ufffd" + "x" * 77 + "…" in fault.message
    assert "\u202e" not in fault.message
