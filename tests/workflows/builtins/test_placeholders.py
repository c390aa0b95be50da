"""`{{name}}` in texts."""

from __future__ import annotations

from typing import Any

from handrail.workflows.builtins.placement import fill_names, parse_placeholder, phrase_value
from tests.cases import every_case


@every_case(
    ("value", "expected"),
    [
        ("{{goal}}", "goal"),
        ("  {{ goal.part }} ", "goal.part"),
        ("{{goal}} now", ""),
        ("{{goal}}{{other}}", ""),
        ("{goal}", ""),
        ("", ""),
        (3, ""),
        (["{{goal}}"], ""),
    ],
)
def test_a_value_may_stand_for_an_input(value: Any, expected: str) -> None:
    assert parse_placeholder(value) == expected


@every_case(
    ("text", "values", "expected"),
    [
        ("Fix {{what}}.", {"what": "the leak"}, "Fix the leak."),
        ("Fix {{ what }}.", {"what": "the leak"}, "Fix the leak."),
        ("Fix {{what}}.", {}, "Fix {{what}}."),
        ("Fix {{what}}.", {"what": "{{bug}}"}, "Fix {{bug}}."),
        ("Fix {{what.id}}.", {"what": "{{bug}}"}, "Fix {{bug.id}}."),
        ("Fix {{what.id}}.", {"what": {"id": "B7"}}, "Fix B7."),
        ("Fix {{what.owner.name}}.", {"what": {"id": "B7"}}, "Fix {{what.owner.name}}."),
        ("{{a}}{{b}}", {"a": "{{b}}", "b": "x"}, "{{b}}x"),
        ("{{a}}", {"a": "see {{b}} and {{c}}", "b": "x"}, "see {{b}} and {{c}}"),
        ("{{n}} of {{f}}", {"n": 3, "f": True}, "3 of true"),
        ("Read {{files}}.", {"files": ["a.py", "b.py"]}, "Read a.py, b.py."),
        ("{name} {{}} {{1x}}", {"name": "x"}, "{name} {{}} {{1x}}"),
    ],
)
def test_known_names_are_replaced_once_and_unknown_ones_stay(
    text: str, values: dict[str, Any], expected: str
) -> None:
    assert fill_names(text, values) == expected


@every_case(
    ("value", "expected"),
    [
        ("text", "text"),
        (1.5, "1.5"),
        (None, "null"),
        ([], ""),
        (["a", ["b", 2]], "a, b, 2"),
        ({"b": 1, "a": 2}, '{"a":2,"b":1}'),
    ],
)
def test_a_value_in_words(value: Any, expected: str) -> None:
    assert phrase_value(value) == expected
