"""Validation criteria: what a rule can say is a rule that refuses the same notes, the rest is told."""

from __future__ import annotations

import re
from typing import Any

from tests.cases import every_case
from tests.workflows.dialect.foreign_documents import only_step, step, told, translated

CONTAINS_A = {"type": "contains", "value": "alpha", "message": "Name alpha."}
CONTAINS_B = {"type": "contains", "value": "beta", "message": "Name beta."}
REGEX = {"type": "regex", "pattern": r"\bv\d+", "flags": "gi", "message": "Name a version."}
SCHEMA = {"type": "schema", "schema": {"type": "object"}, "message": "Write JSON."}


def meets(rule: dict[str, Any], notes: str) -> bool:
    """An independent reading of the native rules."""
    match rule["type"]:
        case "contains":
            return str(rule["value"]).lower() in notes.lower()
        case "regex":
            letters = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}
            flags = sum(letters[letter] for letter in rule.get("flags", ""))
            return re.search(rule["pattern"], notes, flags) is not None
        case "length":
            return int(rule.get("minimum", 0)) <= len(notes) <= int(rule.get("maximum", 10**9))
        case "all":
            return all(meets(one, notes) for one in rule["of"])
        case "any":
            return any(meets(one, notes) for one in rule["of"])
        case other:
            raise AssertionError(other)


def check(criteria: Any, good: list[str], bad: list[str]) -> None:
    rules = only_step(validationCriteria=criteria)["validation"]

    assert [notes for notes in good if not all(meets(rule, notes) for rule in rules)] == []
    assert [notes for notes in bad if all(meets(rule, notes) for rule in rules)] == []


@every_case(
    ("written", "expected"),
    [
        ([CONTAINS_A], [CONTAINS_A]),
        (CONTAINS_A, [CONTAINS_A]),
        ([REGEX], [{"type": "regex", "pattern": r"\bv\d+", "flags": "i", "message": "Name a version."}]),
        (
            [{"type": "length", "min": 3, "max": 9.9, "message": "Short."}],
            [{"type": "length", "minimum": 3, "maximum": 9, "message": "Short."}],
        ),
        ([{"type": "length", "min": 300}], [{"type": "length", "minimum": 300}]),
        ([SCHEMA], [SCHEMA]),
        ([CONTAINS_A, CONTAINS_B], [CONTAINS_A, CONTAINS_B]),
        ({"and": [CONTAINS_A, CONTAINS_B]}, [{"type": "all", "of": [CONTAINS_A, CONTAINS_B]}]),
        ({"or": [CONTAINS_A, CONTAINS_B]}, [{"type": "any", "of": [CONTAINS_A, CONTAINS_B]}]),
        (
            [{"type": "regex", "pattern": r"(?<word>a)b", "message": "m"}],
            [{"type": "regex", "pattern": r"(?P<word>a)b", "message": "m"}],
        ),
    ],
)
def test_a_check_becomes_the_rule_that_says_the_same(written: Any, expected: list[Any]) -> None:
    part = only_step(validationCriteria=written)

    assert part["validation"] == expected
    assert "guidance" not in part


@every_case(
    ("criteria", "good", "bad"),
    [
        ({"and": [CONTAINS_A, {"or": [CONTAINS_B, REGEX]}]}, ["alpha beta"], ["alpha", "beta"]),
        ([{"or": [CONTAINS_A, {"and": [CONTAINS_B, REGEX]}]}], ["alpha", "beta v1"], ["beta", "v1"]),
    ],
)
def test_nested_checks_accept_and_refuse_what_their_author_meant(
    criteria: Any, good: list[str], bad: list[str]
) -> None:
    check(criteria, good, bad)


@every_case(
    ("criteria", "advice"),
    [
        (
            [{**CONTAINS_A, "condition": {"var": "complexity", "gte": 0.8}}],
            ['When {"gte": 0.8, "var": "complexity"}: Name alpha.'],
        ),
        ([{"type": "regex", "pattern": "(?=(a+)+)b", "message": "No loops."}], ["No loops."]),
        ([{"type": "regex", "pattern": "(", "message": "Broken."}], ["Broken."]),
        ([{"type": "length", "message": "No bounds."}], ["No bounds."]),
        ([{"type": "contains", "value": " ", "message": "Blank."}], ["Blank."]),
        ([{"type": "novel", "message": "Unheard of."}], ["Unheard of."]),
        (["Mention the risks"], ["Mention the risks"]),
        ({"or": [CONTAINS_A, {"type": "novel", "message": "New."}]}, ["New.", "Name alpha."]),
    ],
)
def test_a_check_that_no_rule_can_say_is_told_to_the_agent(criteria: Any, advice: list[str]) -> None:
    found = translated(step(validationCriteria=criteria))

    part = found.document["steps"][0]
    assert part["guidance"] == advice
    assert "validation" not in part
    assert len(told(found)) == 1


def test_rule_keeps_its_place_after_an_omitted_one() -> None:
    found = translated(step(validationCriteria=[{"type": "novel", "message": "m"}, CONTAINS_A]))

    assert found.pointers["/steps/0/validation/0"] == "/steps/0/validationCriteria/1"
