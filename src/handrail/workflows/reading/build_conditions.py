"""Conditions and the places where one is asked for, from a document that fits the grammar. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from handrail.contract.outcome import Json
from handrail.workflows.conditions import Condition
from handrail.workflows.model import ConditionRef, InlineCondition, When

Object: TypeAlias = dict[str, Json]
Origin: TypeAlias = Callable[[str], str]
"""From a pointer into the document that is built from to the one into the author's own file."""


def build_condition(value: Object) -> Condition:
    # The grammar has the keys and words of the structs, so one conversion builds the whole tree.
    condition: Condition = msgspec.convert(value, Condition)
    return condition


def build_when(value: Json, pointer: str, origin: Origin) -> When:
    """What `when`, `while` and `until` take: an id, a reference, or a condition in place."""
    if isinstance(value, str):
        return ConditionRef(condition_id=value, pointer=origin(pointer))
    if value["kind"] == "condition_ref":
        return ConditionRef(condition_id=value["conditionId"], pointer=origin(f"{pointer}/conditionId"))
    return InlineCondition(condition=build_condition(value), pointer=origin(pointer))


def optional_when(holder: Object, pointer: str, origin: Origin) -> When | None:
    return build_when(holder["when"], f"{pointer}/when", origin) if "when" in holder else None


def build_confirmation(holder: Object, pointer: str, origin: Origin) -> bool | When:
    value = holder.get("requireConfirmation", False)
    if isinstance(value, bool):
        return value
    return build_when(value, f"{pointer}/requireConfirmation", origin)
