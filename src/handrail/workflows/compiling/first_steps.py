"""Which steps a run can begin with: they show what must be clear before anything is done. Pure."""

from __future__ import annotations

from handrail.workflows.compiling.condition_table import ConditionTable
from handrail.workflows.compiling.placed import Placed, PlacedLeaf, PlacedLoop
from handrail.workflows.conditions import LoopControl
from handrail.workflows.model import (
    RepeatCount,
    RepeatForEach,
    RepeatUntil,
    RepeatWhile,
    SourceAction,
    SourceRepeat,
)


def first_steps(parts: tuple[Placed, ...], table: ConditionTable) -> frozenset[str]:
    """Ids of every step and choice that no other is certain to come before."""
    found: set[str] = set()
    _collect(parts, table, found)
    return frozenset(found)


def _collect(parts: tuple[Placed, ...], table: ConditionTable, found: set[str]) -> bool:
    """Add what may come first; whether something certainly did, so that nothing behind it can."""
    for part in parts:
        match part:
            case PlacedLeaf(part=SourceAction()):
                continue  # Handrail runs it itself: nobody reads it
            case PlacedLeaf(capability=capability) if capability:
                continue  # a probe asks one question and nothing else
            case PlacedLeaf():
                found.add(part.id)
                is_certain = True
            case PlacedLoop():
                is_certain = _collect(part.body, table, found) and _runs_once(part.loop.repeat, table)
        if is_certain and not part.whens:
            return True
    return False


def _runs_once(repeat: SourceRepeat, table: ConditionTable) -> bool:
    match repeat:
        case RepeatCount() | RepeatUntil():
            return True
        case RepeatWhile(condition=when):
            return isinstance(table.condition(when), LoopControl)
        case RepeatForEach():
            return False
