"""Describes one change between two workflow sources."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from handrail.contract.disclosure.newest import encoded_size
from handrail.projections.workflow_diff import (
    Difference,
)
from handrail.views.workflows import SourceChange

MOST_CHANGES = 100
PART_BYTES = 24_576
"""Most bytes of inputs, of steps, or of the changes in a diff: the first that fit."""
LONGEST_VALUE_BYTES = 2_048
"""Most bytes of a value before or after a change; for a longer one only the place is shown."""


def describe_change(one: Difference) -> SourceChange:
    return SourceChange(
        pointer=one.pointer,
        action=one.action,
        before=UNSET if one.action == "added" else _value(one.before),
        after=UNSET if one.action == "removed" else _value(one.after),
    )


def _value(held: Any) -> Any:
    return held if encoded_size(held) <= LONGEST_VALUE_BYTES else UNSET
