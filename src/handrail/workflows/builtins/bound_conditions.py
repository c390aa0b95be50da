"""Conditions of a routine once its arguments are known: decided, renamed or left alone. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

from msgspec.structs import replace

from handrail.workflows.builtins.placeholders import input_named_by
from handrail.workflows.conditions import (
    AlwaysFalse,
    AlwaysTrue,
    And,
    Compare,
    Condition,
    Facts,
    LoopControl,
    Not,
    Or,
    holds,
)


def bound(condition: Condition, args: Mapping[str, Any]) -> Condition:
    """The condition in terms of the calling workflow.

    A comparison with an argument that is a value is decided now. One with an argument that is `{{name}}`
    looks at that input instead. Everything else is left to the run.
    """
    match condition:
        case Compare():
            return _bound_comparison(condition, args)
        case And(of=parts):
            return _all([bound(part, args) for part in parts])
        case Or(of=parts):
            return _either([bound(part, args) for part in parts])
        case Not(of=part):
            return _opposite(bound(part, args))
        case AlwaysTrue() | AlwaysFalse() | LoopControl():
            return condition
        case never:
            assert_never(never)


def _bound_comparison(condition: Compare, args: Mapping[str, Any]) -> Condition:
    head, _, rest = condition.input.partition(".")
    if head not in args:
        return condition
    renamed = input_named_by(args[head])
    if renamed:
        return replace(condition, input=f"{renamed}.{rest}" if rest else renamed)
    return AlwaysTrue() if holds(condition, Facts(values={head: args[head]})) else AlwaysFalse()


def _all(parts: list[Condition]) -> Condition:
    if any(isinstance(part, AlwaysFalse) for part in parts):
        return AlwaysFalse()
    open_parts = tuple(part for part in parts if not isinstance(part, AlwaysTrue))
    if len(open_parts) == 1:
        return open_parts[0]
    return And(of=open_parts) if open_parts else AlwaysTrue()


def _either(parts: list[Condition]) -> Condition:
    if any(isinstance(part, AlwaysTrue) for part in parts):
        return AlwaysTrue()
    open_parts = tuple(part for part in parts if not isinstance(part, AlwaysFalse))
    if len(open_parts) == 1:
        return open_parts[0]
    return Or(of=open_parts) if open_parts else AlwaysFalse()


def _opposite(condition: Condition) -> Condition:
    match condition:
        case AlwaysTrue():
            return AlwaysFalse()
        case AlwaysFalse():
            return AlwaysTrue()
        case _:
            return Not(of=condition)
