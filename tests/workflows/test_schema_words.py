"""What an example cannot show, in words."""

from __future__ import annotations

from handrail.workflows.builtins.templates import find_contract
from handrail.workflows.contracts.field_lines import describe_fields


def lines_of(name: str) -> list[str]:
    contract = find_contract("wr.contracts." + name)
    assert contract is not None
    return describe_fields(contract.schema)


def test_closed_sets_are_spelled_out_at_any_depth() -> None:
    assert lines_of("verification_report") == [
        "verdict: one of passed, failed, incomplete",
        "claims[].status: one of confirmed, refuted",
        "claims[].evidence[].source: one of command, file, document, user",
    ]


def test_members_that_may_be_left_out_are_named() -> None:
    assert lines_of("loop_control") == [
        "decision: one of continue, stop",
        "loopId: may be left out",
        "summary: may be left out",
    ]


def test_references_and_lists_of_words_are_followed() -> None:
    schema = {
        "type": "object",
        "required": ["tags", "who"],
        "properties": {
            "tags": {"type": "array", "items": {"enum": ["a", "b"]}},
            "who": {"$ref": "#/$defs/person"},
        },
        "$defs": {
            "person": {"type": "object", "required": ["role"], "properties": {"role": {"enum": ["x", "y"]}}}
        },
    }

    assert describe_fields(schema) == ["tags[]: one of a, b", "who.role: one of x, y"]


def test_a_schema_without_choices_needs_no_words() -> None:
    assert (
        describe_fields({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}) == []
    )
