"""What differs between two compiled workflows."""

from __future__ import annotations

import json
from typing import Any

from handrail.projections.workflow_diff import list_differences, make_readable
from handrail.workflows.compiling.compiler import compile_workflow
from handrail.workflows.reading.reader import read_workflow
from tests.cases import every_case

SIZES = {"size": {"type": "string", "enum": ["small", "large"], "required": True}}
HEAD = {
    "id": "project.sized",
    "name": "Sized",
    "description": "By size.",
    "version": "1.0.0",
    "inputs": SIZES,
}
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


def test_nameless_condition_is_shown_wherever_it_is_used() -> None:
    large = {"kind": "compare", "input": "size", "op": "equals", "value": "large"}
    work = {"id": "work", "title": "Work", "prompt": "Do it."}
    parts = [
        {**work, "when": large, "requireConfirmation": large},
        {"id": "more", "type": "loop", "maxIterations": 2, "until": large, "body": [{**work, "id": "again"}]},
        {
            "id": "hand",
            "title": "Hand",
            "delegate": {"children": [{"id": "a", "when": large, "steps": [work]}]},
        },
    ]
    reading = read_workflow(json.dumps({**HEAD, "steps": parts}).encode())
    assert reading.workflow is not None, reading.problems
    pinned = compile_workflow(reading.workflow).pinned
    assert pinned is not None

    shown = make_readable(pinned.workflow)

    step, loop, handing = shown["steps"]
    said = 'size = "large"'
    assert (step["when"], step["requireConfirmation"]) == (said, said)
    assert (loop["repeat"]["condition"], handing["children"][0]["when"]) == (said, said)
    assert "conditions" not in shown
