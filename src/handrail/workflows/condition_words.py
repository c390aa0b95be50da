"""Conditions as short phrases: on the edges of a drawing, in outlines and in reasons. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

import msgspec

from handrail.workflows.conditions import (
    AlwaysFalse,
    AlwaysTrue,
    And,
    Compare,
    Condition,
    ConditionId,
    LoopControl,
    Not,
    Operator,
    Or,
)

_OPERATORS: dict[Operator, str] = {
    "equals": "=",
    "not_equals": "≠",
    "in": "in",
    "contains": "contains",
    "gt": ">",
    "gte": "≥",
    "lt": "<",
    "lte": "≤",
    "exists": "exists",
}


GENERATED_PREFIX = "inline-"
"""How the id of a condition begins that the compiler named by its digest; it means nothing to a reader."""


def condition_label(conditions: Mapping[ConditionId, Condition], name: ConditionId) -> str:
    """What a reader sees of a condition: the author's id, or what it says where it has none."""
    if name.startswith(GENERATED_PREFIX) and name in conditions:
        return condition_words(conditions[name])
    return name


def condition_words(condition: Condition) -> str:
    """The whole condition on one line."""
    match condition:
        case AlwaysTrue():
            return "always"
        case AlwaysFalse():
            return "never"
        case Compare():
            return _compare(condition)
        case And(of=parts):
            return " and ".join(_grouped(part) for part in parts)
        case Or(of=parts):
            return " or ".join(_grouped(part) for part in parts)
        case Not(of=part):
            return f"not {_grouped(part)}"
        case LoopControl(continue_when=decision):
            return f"the body decides {decision}"
        case never:
            assert_never(never)


def _compare(condition: Compare) -> str:
    artifact = ".".join(filter(None, (condition.artifact, condition.field)))
    subject = condition.input or artifact
    if condition.op == "exists":
        return f"{subject} is missing" if condition.value is False else f"{subject} exists"
    return f"{subject} {_OPERATORS[condition.op]} {_value(condition.value)}"


def _grouped(condition: Condition) -> str:
    """In brackets where the words would otherwise run into their neighbours."""
    words = condition_words(condition)
    return f"({words})" if isinstance(condition, And | Or) else words


def _value(value: Any) -> str:
    return msgspec.json.encode(value).decode()
