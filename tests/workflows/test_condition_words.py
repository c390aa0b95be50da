"""Conditions read like a sentence on the edge of a drawing."""

from __future__ import annotations

from handrail.workflows.conditions import (
    AlwaysFalse,
    AlwaysTrue,
    And,
    Compare,
    Condition,
    LoopControl,
    Not,
    Or,
    describe_condition,
)
from tests.cases import every_case

LARGE = Compare(input="size", op="equals", value="large")
MANY = Compare(input="count", op="gte", value=3)


@every_case(
    ("condition", "words"),
    [
        (AlwaysTrue(), "always"),
        (AlwaysFalse(), "never"),
        (LARGE, 'size = "large"'),
        (Compare(input="size", op="not_equals", value=None), "size ≠ null"),
        (Compare(input="size", op="in", value=["a", "b"]), 'size in ["a","b"]'),
        (Compare(artifact="wr.plan", field="steps.count", op="lt", value=2.5), "wr.plan.steps.count < 2.5"),
        (Compare(input="tags", op="contains", value="x"), 'tags contains "x"'),
        (Compare(input="size", op="exists"), "size exists"),
        (Compare(input="size", op="exists", value=False), "size is missing"),
        (And(of=(LARGE, MANY)), 'size = "large" and count ≥ 3'),
        (Or(of=(And(of=(LARGE, MANY)), AlwaysTrue())), '(size = "large" and count ≥ 3) or always'),
        (Not(of=Or(of=(LARGE, MANY))), 'not (size = "large" or count ≥ 3)'),
        (LoopControl(continue_when="stop"), "the body decides stop"),
    ],
)
def test_a_condition_is_told_in_words(condition: Condition, words: str) -> None:
    assert describe_condition(condition) == words
