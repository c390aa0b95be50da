"""Inputs that conditions, loops and prompts use without a declaration. Pure.

They are part of the compiled workflow so that a start can name them and a simulation can vary them.
What a choice sets, what an action saves and what a loop counts comes from inside and is no input.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import assert_never

from handrail.workflows.compiled import (
    Action,
    Choice,
    Count,
    ForEach,
    InputSpec,
    Loop,
    Part,
    Step,
    Until,
    While,
)
from handrail.workflows.compiling.condition_table import parts_of
from handrail.workflows.compiling.placeholders import names_in
from handrail.workflows.conditions import Compare, Condition, ConditionId
from handrail.workflows.own_values import loop_variables, set_inside

IMPLICIT = InputSpec(implicit=True)


def implicit_inputs(
    parts: tuple[Part, ...],
    conditions: Mapping[ConditionId, Condition],
    functions: Mapping[str, str],
    declared: Mapping[str, InputSpec],
) -> dict[str, InputSpec]:
    """Undeclared names in use that nothing inside the workflow sets, sorted."""
    known = set(declared) | set(set_inside(parts))
    used = {name for name in _used(parts, conditions, functions, frozenset()) if name not in known}
    return dict.fromkeys(sorted(used), IMPLICIT)


def names_of(condition: Condition) -> Iterator[str]:
    """The values a condition looks at, without their members."""
    for part in parts_of(condition):
        if isinstance(part, Compare) and part.input:
            yield part.input.partition(".")[0]


def _used(
    parts: tuple[Part, ...],
    conditions: Mapping[ConditionId, Condition],
    functions: Mapping[str, str],
    counted: frozenset[str],
) -> Iterator[str]:
    """Names in use; `counted` are the variables of the loops around, which are not inputs there."""
    for part in parts:
        if isinstance(part, Loop):
            yield from _named_by_loop(part, conditions, counted)
            yield from _used(part.body, conditions, functions, counted | loop_variables(part))
        else:
            texts = _texts(part, functions)
            ids = _condition_ids(part)
            yield from (name for text in texts for name in names_in(text) if name not in counted)
            yield from (name for one in ids for name in names_of(conditions[one]) if name not in counted)


def _named_by_loop(
    loop: Loop, conditions: Mapping[ConditionId, Condition], counted: frozenset[str]
) -> Iterator[str]:
    match loop.repeat:
        case ForEach(input=name):
            names = [name.partition(".")[0]]
        case While(condition=one) | Until(condition=one):
            names = list(names_of(conditions[one]))
        case Count():
            names = []
        case never:
            assert_never(never)
    if loop.when:
        names += names_of(conditions[loop.when])
    yield from (name for name in names if name not in counted)


def _texts(part: Step | Choice | Action, functions: Mapping[str, str]) -> list[str]:
    match part:
        case Step():
            named = [functions[name] for name in part.functions if name in functions]
            return [part.prompt, *(fragment.text for fragment in part.fragments), *named]
        case Choice():
            return [part.prompt]
        case Action():
            return []
        case never:
            assert_never(never)


def _condition_ids(part: Step | Choice | Action) -> list[ConditionId]:
    ids = [part.when]
    if isinstance(part, Step):
        ids += [fragment.when for fragment in part.fragments]
        if isinstance(part.require_confirmation, str):
            ids.append(part.require_confirmation)
    return [one for one in ids if one]
