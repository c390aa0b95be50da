"""JSON with comments is edited as text: what is not ours keeps every byte."""

from __future__ import annotations

import json

import pytest

from handrail.program.setup.edits import NotEditable, add_element, parse, remove_part, set_member
from tests.cases import every_case

ENTRY = {"command": "/bin/h", "args": ["mcp"]}
RENDERED = '"handrail": {\n      "command": "/bin/h",\n      "args": ["mcp"]\n    }'

ADDED = [
    ("{}", '{\n  "s": {\n    ' + RENDERED + "\n  }\n}"),
    ('{"s": {}}', '{"s": {\n    ' + RENDERED + "\n  }}"),
    ('{"a": 1}', '{\n  "s": {\n    ' + RENDERED + '\n  },"a": 1}'),
    ('{"s": {"x": 1}}', '{"s": {\n    ' + RENDERED + ',"x": 1}}'),
    (
        '{\n  // mine\n  "s": { // theirs\n    "x": {}, /* last */\n  },\n}\n',
        '{\n  // mine\n  "s": {\n    ' + RENDERED + ', // theirs\n    "x": {}, /* last */\n  },\n}\n',
    ),
]


@every_case(("text", "expected"), ADDED)
def test_a_member_is_added_first_and_nothing_else_moves(text: str, expected: str) -> None:
    assert set_member(text, ("s",), "handrail", ENTRY) == expected


@pytest.mark.parametrize("text", [text for text, _ in ADDED if "//" not in text])
def test_what_was_there_is_still_there_by_another_reader(text: str) -> None:
    read = json.loads(set_member(text, ("s",), "handrail", ENTRY))

    assert read["s"].pop("handrail") == ENTRY
    assert {**json.loads(text), "s": read["s"]} == read


def test_an_entry_that_is_there_is_replaced_in_its_place() -> None:
    text = (
        '{\n\t"s": {\n\t\t"a": 1, // one\n\t\t"handrail": {"command": "old"}, // ours\n\t\t"b": 2\n\t}\n}\n'
    )

    changed = set_member(text, ("s",), "handrail", {"command": "new"})

    assert changed == text.replace('{"command": "old"}', '{\n\t\t\t"command": "new"\n\t\t}')


def test_line_ends_and_tabs_are_those_of_the_file() -> None:
    changed = set_member('{\r\n\t"a": 1\r\n}\r\n', (), "b", {"c": 1})

    assert changed == '{\r\n\t"b": {\r\n\t\t"c": 1\r\n\t},\r\n\t"a": 1\r\n}\r\n'


def test_element_is_added_first_and_makes_a_missing_list() -> None:
    assert json.loads(add_element("{}", ("h", "E"), {"x": 1})) == {"h": {"E": [{"x": 1}]}}
    assert json.loads(add_element('{"h": {"E": [1, 2]}}', ("h", "E"), 0)) == {"h": {"E": [0, 1, 2]}}


@every_case(
    ("text", "place", "expected"),
    [
        ('{"s": {"a": 1, "b": 2}}', 0, '{"s": { "b": 2}}'),
        ('{"s": {"a": 1, "b": 2}}', 1, '{"s": {"a": 1}}'),
        ('{"s": {"a": 1}}', 0, '{"s": {}}'),
        ('{"s": {\n  "a": 1,\n  "b": 2\n}}', 0, '{"s": {\n  "b": 2\n}}'),
        ('{"s": {\n  "a": 1, // x\n  "b": 2,\n}}', 1, '{"s": {\n  "a": 1, // x\n}}'),
    ],
)
def test_a_part_goes_with_its_comma_and_its_line(text: str, place: int, expected: str) -> None:
    assert remove_part(text, ("s",), place) == expected


@pytest.mark.parametrize("text", [text for text, _ in ADDED if '"s"' in text])
def test_adding_and_taking_out_again_gives_the_same_bytes(text: str) -> None:
    changed = set_member(text, ("s",), "handrail", ENTRY)

    assert remove_part(changed, ("s",), 0) == text


@every_case(
    "text",
    [
        "", "{", "[", '{"a"}', '{"a": }', '{"a": 1 "b": 2}', "{} {}", '{"a": 1, "a": 2}', "{'a': 1}", "[1}",
        '{"a": tru}', '{"a": "\\q"}', '{"a": "x\ny"}', "/* {}", "[" * 100, '{"a": 01.}',
    ],
)  # fmt: skip
def test_what_is_not_understood_is_not_touched(text: str) -> None:
    with pytest.raises(NotEditable):
        parse(text)


@pytest.mark.parametrize("text", ["[]", '{"s": []}', '{"s": null}', '"s"'])
def test_a_place_of_another_kind_is_not_touched(text: str) -> None:
    with pytest.raises(NotEditable):
        set_member(text, ("s",), "handrail", ENTRY)
