"""Which names a workflow reads without declaring them, and which steps a run can begin with. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from handrail.workflows.builtins.placement import PLACEHOLDER
from handrail.workflows.compiled import (
    Count,
    Delegate,
    ForEach,
    InputSpec,
    Loop,
    Part,
    loop_variables,
    names_set_inside,
)
from handrail.workflows.compiling.compilation import Placed, PlacedLeaf, PlacedLoop
from handrail.workflows.compiling.condition_table import ConditionTable
from handrail.workflows.conditions import Condition, ConditionId, LoopControl, comparisons, split_artifact
from handrail.workflows.model import (
    RepeatUntil,
    RepeatWhile,
    SourceAction,
    SourceRepeat,
)
from handrail.workflows.part_contents import conditions_of, texts_of

# Names in texts


def placeholder_names(text: str, kinds: Collection[str] = ()) -> Iterator[str]:
    """The values a text asks for, without their members, in order and with repeats.

    A member of an artifact of one of these kinds is no value.
    """
    for match in PLACEHOLDER.finditer(text):
        if split_artifact(match[1])[0] not in kinds:
            yield match[1].partition(".")[0]


# Inputs that conditions, loops and prompts use without a declaration
#
# They are part of the compiled workflow, so that a start can name them and a simulation can vary them. What a
# choice sets, an action saves or a loop counts comes from inside and is not an input.

IMPLICIT = InputSpec(implicit=True)


def find_implicit_inputs(
    parts: tuple[Part, ...],
    conditions: Mapping[ConditionId, Condition],
    functions: Mapping[str, str],
    declared: Mapping[str, InputSpec],
    kinds: frozenset[str],
) -> dict[str, InputSpec]:
    """Undeclared names in use that nothing inside the workflow sets, sorted; `kinds` are of its artifacts."""
    known = set(declared) | set(names_set_inside(parts))
    used = {name for name in _used(parts, conditions, functions, frozenset(), kinds) if name not in known}
    return dict.fromkeys(sorted(used), IMPLICIT)


def condition_names(condition: Condition) -> Iterator[str]:
    """The values a condition looks at, without their members."""
    return (part.input.partition(".")[0] for part in comparisons(condition) if part.input)


def _used(
    parts: tuple[Part, ...],
    conditions: Mapping[ConditionId, Condition],
    functions: Mapping[str, str],
    counted: frozenset[str],
    kinds: frozenset[str],
) -> Iterator[str]:
    """Names in use; `counted` are the variables of the loops around, which are not inputs there."""
    for part in parts:
        names = [name for one in conditions_of(part) for name in condition_names(conditions[one])]
        if isinstance(part, Loop):
            if isinstance(part.repeat, ForEach):
                names.append(part.repeat.input.partition(".")[0])
            yield from _used(part.body, conditions, functions, counted | loop_variables(part), kinds)
        else:
            if isinstance(part, Delegate):
                counted = counted | {part.item}
                names.append(part.for_each.partition(".")[0])
            names += [name for text in texts_of(part, functions) for name in placeholder_names(text, kinds)]
        yield from (name for name in names if name and name not in counted)


# Steps that a run can begin with: they show what must be clear before anything is done


def find_first_steps(parts: tuple[Placed, ...], table: ConditionTable) -> frozenset[str]:
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
        case Count() | RepeatUntil():
            return True
        case RepeatWhile(condition=when):
            return isinstance(table.condition(when), LoopControl)
        case ForEach():
            return False
