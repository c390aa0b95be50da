"""The line and column of what a pointer leads to, against places counted by hand and by a second writer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.workflows.problem import Problem, ProblemCode
from handrail.workflows.problem_places import add_places, locate_depth, place_json
from tests.cases import every_case

TEXT = """{
  "name": "é\\u00e9 \\"x\\" {[",  "a/b": [1, 22,
    {"m~n": null, "": true}],
\t"esc\\u0061pe": {"0": "zero"}
}"""


@every_case(
    ("pointer", "value", "key"),
    [
        ("", (1, 1), (1, 1)),
        ("/name", (2, 11), (2, 3)),
        ("/a~1b", (2, 39), (2, 32)),
        ("/a~1b/0", (2, 40), (2, 40)),
        ("/a~1b/1", (2, 43), (2, 43)),
        ("/a~1b/2", (3, 5), (3, 5)),
        ("/a~1b/2/m~0n", (3, 13), (3, 6)),
        ("/a~1b/2/", (3, 23), (3, 19)),
        ("/escape", (4, 17), (4, 2)),
        ("/escape/0", (4, 23), (4, 18)),
    ],
)
def test_a_pointer_has_the_place_of_its_value_and_of_its_key(
    pointer: str, value: tuple[int, int], key: tuple[int, int]
) -> None:
    assert place_json(TEXT, [pointer]).values == {pointer: value}
    assert place_json(TEXT, [pointer]).keys == {pointer: key}


@every_case(
    ("pointer", "place"),
    [
        ("/nothing", (1, 1)),
        ("/a~1b/3", (2, 39)),
        ("/a~1b/2/x/y/z", (3, 5)),
        ("/name/0", (2, 11)),
        ("/a~1b/00", (2, 39)),
        ("no pointer", (1, 1)),
        ("/", (1, 1)),
    ],
)
def test_what_is_missing_has_the_place_of_what_is_around_it(pointer: str, place: tuple[int, int]) -> None:
    assert place_json(TEXT, [pointer]).values == {pointer: place}
    assert place_json(TEXT, [pointer]).keys == {pointer: place}


@every_case(
    ("text", "place"),
    [
        ("", (1, 1)),
        ("  \n 7", (2, 2)),
        ('{"a": [1, ', (1, 7)),
        ('{"a": "cut', (1, 7)),
        ('{"a" "b" ]}} {', (1, 6)),
        ("]]}", (1, 1)),
        (",:,", (1, 1)),
        ('{"a\\', (1, 1)),
    ],
)
def test_a_broken_text_is_no_reason_to_raise(text: str, place: tuple[int, int]) -> None:
    assert place_json(text, ["/a"]).values == {"/a": place}


def test_windows_line_ends_count_as_one() -> None:
    assert place_json('{\r\n  "a": 1,\r\n  "b": 2\r\n}', ["/b"]).values == {"/b": (3, 8)}


def test_nothing_asked_is_nothing_answered() -> None:
    assert place_json(TEXT, []).values == {}


def test_problems_get_their_places_in_the_order_of_the_text() -> None:
    def problem(code: ProblemCode, pointer: str) -> Problem:
        return Problem(code=code, message="m", pointer=pointer, fix="f")

    placed = add_places(
        TEXT.encode(),
        [
            problem("wrong_type", "/escape/0"),
            problem("unknown_key", "/escape"),
            problem("bad_name", "/a~1b/2/m~0n"),
            problem("missing_key", "/a~1b/2"),
            problem("wrong_type", "/a~1b/2/m~0n"),
        ],
    )

    assert [(one.line, one.column, one.code) for one in placed] == [
        (3, 5, "missing_key"),
        (3, 6, "bad_name"),
        (3, 13, "wrong_type"),
        (4, 2, "unknown_key"),
        (4, 23, "wrong_type"),
    ]


@pytest.mark.parametrize(
    ("text", "limit", "place"),
    [
        ("[[[]]]", 2, (1, 3)),
        ('[{"a":\n [[]]}]', 3, (2, 3)),
        ('["[[[[[[", [[]]]', 2, (1, 13)),
        ("[[], [], []]", 2, (1, 1)),
    ],
)
def test_the_first_place_that_is_too_deep_is_found(text: str, limit: int, place: tuple[int, int]) -> None:
    assert locate_depth(text, limit) == place


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=15,
)
SPACE = st.text(alphabet=" \n\t\r", max_size=3)


class Writer:
    """Writes JSON with arbitrary white space and notes where each value and key begins."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.text = ""
        self.values: dict[str, tuple[int, int]] = {}
        self.keys: dict[str, tuple[int, int]] = {}

    def place(self) -> tuple[int, int]:
        lines = self.text.split("\n")
        return len(lines), len(lines[-1]) + 1

    def space(self) -> None:
        self.text += self.draw(SPACE)

    def write(self, value: Any, pointer: str) -> None:
        self.space()
        self.values[pointer] = self.place()
        if isinstance(value, dict):
            self.text += "{"
            for number, (name, member) in enumerate(value.items()):
                self.text += "," if number else ""
                self.member(name, member, pointer)
            self.space()
            self.text += "}"
        elif isinstance(value, list):
            self.text += "["
            for number, item in enumerate(value):
                self.text += "," if number else ""
                self.write(item, f"{pointer}/{number}")
            self.space()
            self.text += "]"
        else:
            self.text += json.dumps(value, ensure_ascii=self.draw(st.booleans()))
        self.space()

    def member(self, name: str, member: Any, pointer: str) -> None:
        inner = f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}"
        self.space()
        self.keys[inner] = self.place()
        self.text += json.dumps(name, ensure_ascii=self.draw(st.booleans()))
        self.space()
        self.text += ":"
        self.write(member, inner)


@given(st.data(), JSON)
def test_every_place_is_where_the_writer_was(data: st.DataObject, value: Any) -> None:
    writer = Writer(data.draw)
    writer.write(value, "")

    assert place_json(writer.text, writer.values).values == writer.values
    assert place_json(writer.text, writer.keys).keys == writer.keys


@given(st.text(alphabet='{}[]",:\\a1 \n', max_size=40), st.text(alphabet="/a~01", max_size=8))
def test_no_text_and_no_pointer_makes_it_raise(text: str, pointer: str) -> None:
    (line, column) = place_json(text, [pointer]).values[pointer]

    assert 1 <= line <= text.count("\n") + 1
    assert 1 <= column <= len(text) + 1
