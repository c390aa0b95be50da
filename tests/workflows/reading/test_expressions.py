"""An expression in place of a condition: read where every part of it is known, else left to its author."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.workflows.reading.repairs import parse_expression

CALM: dict[str, Any] = {"kind": "compare", "input": "mood", "op": "equals", "value": "calm"}
CONDITIONS = {"is_calm": {"id": "is_calm", **CALM}}
WORDS = {"mood": ["calm", "busy"]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mood != calm", CALM | {"op": "not_equals"}),
        ("mood == 'calm and quiet'", CALM | {"value": "calm and quiet"}),
    ],
)
def test_a_comparison_is_read_as_a_whole(text: str, expected: dict[str, Any]) -> None:
    assert parse_expression(text, CONDITIONS, WORDS) == expected


@pytest.mark.parametrize(
    "text",
    ["not is_clam", "is_calm and", "mood == loud", "mood > calm", "(is_calm)", "is_calm and x == y", "!"],
)
def test_what_is_not_known_is_not_guessed(text: str) -> None:
    assert parse_expression(text, CONDITIONS, WORDS) == {}
