"""Rules about notes: each kind, and rules inside rules."""

from __future__ import annotations

from handrail.engine.judge.requirements import list_broken_rules
from handrail.workflows.compiled import AllOf, AnyOf, ContainsRule, LengthRule, PatternRule, Rule, SchemaRule
from tests.cases import every_case

HAS_X = ContainsRule(value="x", message="no x")
HAS_Y = ContainsRule(value="y", message="no y")
NUMBERED = PatternRule(pattern=r"^\d+\.", flags="m", message="not numbered")
ANY_CASE = PatternRule(pattern="done", flags="i", message="not done")
SHORT = LengthRule(minimum=2, maximum=4, message="wrong length")
OBJECT = SchemaRule(schema={"type": "object", "required": ["n"]}, message="not that object")


@every_case(
    ("rule", "notes", "broken"),
    [
        (HAS_X, "a X b", []),
        (HAS_X, "a b", ["no x"]),
        (NUMBERED, "first\n2. second", []),
        (NUMBERED, "first", ["not numbered"]),
        (ANY_CASE, "DONE", []),
        (SHORT, "a", ["wrong length"]),
        (SHORT, "ab", []),
        (SHORT, "abcd", []),
        (SHORT, "abcde", ["wrong length"]),
        (OBJECT, '{"n": 1}', []),
        (OBJECT, '{"m": 1}', ["not that object"]),
        (OBJECT, "no json", ["not that object"]),
        (AllOf(of=(HAS_X, HAS_Y)), "neither", ["no x", "no y"]),
        (AllOf(of=(HAS_X, HAS_Y)), "x and y", []),
        (AnyOf(of=(HAS_X, HAS_Y)), "y", []),
        (AnyOf(of=(HAS_X, HAS_Y)), "z", ["One of these must hold: no x / no y"]),
        (AnyOf(of=(AllOf(of=(HAS_X, HAS_Y)), SHORT)), "xyzzy", []),
    ],
)
def test_a_rule_says_what_is_broken(rule: Rule, notes: str, broken: list[str]) -> None:
    assert list_broken_rules((rule,), notes) == broken


def test_every_broken_rule_is_told_in_the_authors_order() -> None:
    assert list_broken_rules((HAS_Y, HAS_X, NUMBERED), "") == ["no y", "no x", "not numbered"]
