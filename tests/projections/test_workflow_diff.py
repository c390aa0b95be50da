"""What differs between two compiled workflows."""

from __future__ import annotations

from typing import Any

from handrail.projections.workflow_diff import list_differences
from tests.cases import every_case

A, B, C = {"id": "a", "title": "A"}, {"id": "b", "title": "B"}, {"id": "c", "title": "C"}


@every_case(
    ("before", "after", "expected"),
    [
        ({"x": 1}, {"x": 1}, []),
        ({"x": 1}, {"x": 2}, [("/x", "changed")]),
        ({"x": 1}, {"x": True}, [("/x", "changed")]),
        ({"x": 1}, {}, [("/x", "removed")]),
        ({}, {"a/b": {"~": 1}}, [("/a~1b", "added")]),
        ({"steps": [A, B]}, {"steps": [A, {**B, "title": "Z"}]}, [("/steps/b/title", "changed")]),
        ({"steps": [A]}, {"steps": [C, A]}, [("/steps/c", "added")]),
        ({"steps": [A, B]}, {"steps": [B, A]}, [("/steps", "reordered")]),
        ({"steps": [A, B, C]}, {"steps": [C, A]}, [("/steps/b", "removed"), ("/steps", "reordered")]),
        ({"enum": [1, 2]}, {"enum": [2, 1]}, [("/enum", "changed")]),
    ],
)
def test_every_place_that_differs_is_named(before: Any, after: Any, expected: list[tuple[str, str]]) -> None:
    assert [(one.pointer, one.action) for one in list_differences(before, after)] == expected


def test_a_difference_holds_both_values() -> None:
    (found,) = list_differences({"steps": [A]}, {"steps": [{**A, "title": "Z"}]})

    assert (found.before, found.after) == ("A", "Z")
