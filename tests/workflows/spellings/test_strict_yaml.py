"""YAML as a workflow may use it: 1.2 core types, one way to say a thing, and a place for every refusal."""

from __future__ import annotations

import time
from typing import Any

import pytest

from handrail.workflows.limits import MAX_YAML_BYTES
from handrail.workflows.spellings.strict_yaml import decode_yaml
from handrail.workflows.text_edits import apply_edit
from tests.cases import every_case


def check_value(text: str, expected: Any) -> None:
    decoded = decode_yaml(text)

    assert decoded.problems == ()
    assert decoded.document == expected


@every_case("word", ["no", "yes", "on", "off", "y", "N", "2001-01-01", "1_000", "0b1", "12:30"])
def test_word_with_a_meaning_in_older_yaml_is_a_text(word: str) -> None:
    check_value(f"a: {word}", {"a": word})


@every_case(
    ("written", "value"),
    [
        *(("null", None), ("~", None), ("", None), ("true", True), ("FALSE", False)),
        *(("12", 12), ("-3", -3), ("+4", 4), ("012", 12), ("0o17", 15), ("0x1F", 31)),
        *(("1.5", 1.5), (".5", 0.5), ("1.", 1.0), ("1e3", 1000.0), ('"12"', "12"), ("'true'", "true")),
    ],
)
def test_plain_values_have_the_core_types(written: str, value: Any) -> None:
    decoded = decode_yaml(f"a: {written}")

    assert decoded.document == {"a": value}
    assert type(decoded.document["a"]) is type(value)


@every_case(
    ("text", "expected"),
    [
        ("a: b\r\nc: |\r\n  x\r\n  y\r\n", {"a": "b", "c": "x\ny\n"}),
        ("a: |-\n  one\n   two\n\n  # three\n", {"a": "one\n two\n\n# three"}),
        ("a: >-\n  one\n  two\n", {"a": "one two"}),
        ("1: one\ntrue: two\nno: three\n", {"1": "one", "true": "two", "no": "three"}),
        ('{"a": [1, {"b": null}]}', {"a": [1, {"b": None}]}),
        ("---\na: 1\n...\n", {"a": 1}),
        ("", None),
    ],
)
def test_documents_are_read(text: str, expected: Any) -> None:
    check_value(text, expected)


LAUGHS = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"


@every_case(
    ("text", "place", "message"),
    [
        (LAUGHS, (1, 4), "Anchors are not read."),
        ("a: 1\nb: *a\n", (2, 4), "Aliases are not read."),
        ("a: !!python/object/apply:os.system [ls]\n", (1, 4), "Tags are not read."),
        ("a: !!str 1\n", (1, 4), "Tags are not read."),
        ('a: "x\\ud800"\n', (1, 4), "This text has half of a character."),
        ('"\\udc00": 1\n', (1, 1), "This text has half of a character."),
        ("a: 1\n<<: {b: 1}\n", (2, 1), "Merge keys are not read."),
        ("a:\n  b: 1\n  b: 2\n", (3, 3), 'The key "b" is there twice.'),
        ("%YAML 1.1\n---\na: 1\n", (2, 1), "Directives are not read."),
        ("%TAG ! tag:x,2000:\n---\na: 1\n", (2, 1), "Directives are not read."),
        ("a: 1\n---\nb: 2\n", (2, 1), "A second document begins here."),
        ("? [a]\n: b\n", (1, 3), "A key is a text."),
        (": b\n", (1, 1), "A key is missing."),
        ("a: .inf\n", (1, 4), '".inf" is no number that JSON has.'),
        ("a: 1e999\n", (1, 4), '"1e999" is no number that JSON has.'),
        ("a: x\x00y\n", (1, 5), "This character may not stand in YAML as it is."),
        ("a: x\u0085y\n", (1, 5), "This character may not stand in YAML as it is."),
        ("a: b\n\u2028c: d\n", (2, 1), "This character may not stand in YAML as it is."),
        ("a:\n\tb: 1\n", (2, 1), "A tab indents this line."),
        ("a: b: c\n", (1, 5), "A colon stands here where no key can be."),
        ("a: [1, 2\n", (2, 1), "A bracket is not closed here."),
        ("a: 'x\n", (2, 1), "A quote is not closed."),
        ("a:\n  b: 1\n   c: 2\n", (3, 5), "A colon stands here where no key can be."),
        (
            "a:\n  - b: 1\n  c: 2\n",
            (3, 3),
            "This is a key, and the list that begins in line 2 has items.",
        ),
        ("a:\n  b: 1\n  - c\n", (3, 3), "This is an item of a list, and keys begin in line 2."),
        (
            "a:\n    b: 1\n  c: 2\nd: 3\n",
            (3, 3),
            "This line is indented by 2 spaces, unlike the lines that it could stand beside.",
        ),
        ("a:\n  b: 1\nc\n", (4, 1), "This is no key with a value."),
        ("a: " + "[" * 70, (1, 67), "This is nested too deep."),
    ],
)
def test_what_a_workflow_may_not_use_is_refused_at_its_place(
    text: str, place: tuple[int, int], message: str
) -> None:
    (problem,) = decode_yaml(text).problems

    assert ((problem.line, problem.column), problem.message) == (place, message)
    assert problem.fix


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("a:\n  b:\n    c: 1\n   d: 2\n    e: 3\n", "a:\n  b:\n    c: 1\n    d: 2\n    e: 3\n"),
        ("  a: 1\nb: 2\nc: 3\n", "a: 1\nb: 2\nc: 3\n"),
        ("\ta: 1\nb: 2\n", "a: 1\nb: 2\n"),
        ("a:\n  - b: 1\n   - c: 2\n  - d: 3\n", "a:\n  - b: 1\n  - c: 2\n  - d: 3\n"),
    ],
)
def test_a_line_whose_indent_is_a_slip_is_moved_by_its_edit(text: str, meant: str) -> None:
    (problem,) = decode_yaml(text).problems

    assert apply_edit(text, "yaml", problem.edit) == meant


@pytest.mark.parametrize(
    "text",
    ["a:\n    b: 1\n  c: 2\n", "a:\n  - b: 1\n    c: 2\n  d: 3\n", "a:\n  b: 1\n  - c\n"],
)
def test_ambiguous_indent_is_left_to_the_author(text: str) -> None:
    """A line that could be moved to two places is left to the author."""
    (problem,) = decode_yaml(text).problems

    assert problem.edit == ()


def test_a_part_of_a_file_has_the_lines_of_the_file() -> None:
    assert decode_yaml("a:\n  b: 1\n", first_line=10).values["/a/b"] == (11, 6)
    assert decode_yaml("a: *x\n", first_line=10).problems[0].line == 10


def test_every_value_key_and_item_has_its_place() -> None:
    decoded = decode_yaml("é: {b: ü, c: 1}\nlist:\n  - x\n  - y: 2\n")

    assert decoded.values == {
        "": (1, 1),
        "/é": (1, 4),
        "/é/b": (1, 8),
        "/é/c": (1, 14),
        "/list": (3, 3),
        "/list/0": (3, 5),
        "/list/1": (4, 5),
        "/list/1/y": (4, 8),
    }
    assert (decoded.keys["/é/c"], decoded.keys["/list"], decoded.keys["/list/1/y"]) == (
        (1, 11),
        (2, 1),
        (4, 5),
    )


@pytest.mark.parametrize(
    "text",
    [
        *("[" * 200_000, "{" * 200_000, "- " * 100_000, "? " * 100_000, "&a " * 60_000, "!" * 200_000),
        *("a: " + "x" * 250_000, "a: " + "x y " * 60_000, "a: |\n" + "  x\n" * 60_000),
        *("#\n" * 120_000 + "a: 1", " #" * 120_000, "\n" * 250_000 + "a: 1", "[" + "1," * 120_000),
        "".join(f"{' ' * at}a:\n" for at in range(600)),
    ],
    ids=lambda text: text[:6],
)
@pytest.mark.thorough
def test_hostile_text_is_answered_in_bounded_time(text: str) -> None:
    begun = time.process_time()

    decode_yaml(text)

    assert time.process_time() - begun < 20  # the parser alone takes up to two seconds on a slow machine


def test_too_many_bytes_are_refused_before_parsing() -> None:
    (problem,) = decode_yaml("a: *" + "x" * MAX_YAML_BYTES).problems

    assert problem.message == "More than 256000 bytes of YAML."


@pytest.mark.thorough
def test_more_values_than_the_limit_are_refused() -> None:
    (problem,) = decode_yaml("[" + "1," * 21_000 + "]").problems

    assert (problem.message, problem.column) == ("More than 20000 values.", 40_000)
