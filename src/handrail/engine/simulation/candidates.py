"""Values worth trying: some that make each comparison hold and some that do not. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, product
from typing import Any, TypeAlias, assert_never

from msgspec import UNSET

from handrail.contract.effort import Effort
from handrail.engine.judge.artifacts import has_declared_type
from handrail.engine.navigate import leaves_of
from handrail.workflows.compiled import (
    CompiledWorkflow,
    Delegate,
    ForEach,
    InputSpec,
    InputType,
    Loop,
    Part,
    Step,
    Until,
    While,
)
from handrail.workflows.conditions import MISSING, Compare, Condition, Facts, comparisons, holds, nest_values
from handrail.workflows.limits import MAX_SIMULATION_WORK

Paths: TypeAlias = dict[str, list[Any]]
"""Dotted path of a value to the values to try; MISSING stands for leaving it out."""

MOST_ITEMS = 4
"""Different items that an array is tried with."""
SEARCHED = 1_024
"""Combinations looked at to make one condition hold, and to make it fail."""

_SAMPLES: dict[InputType, Any] = {
    "string": "text",
    "number": 1,
    "integer": 1,
    "boolean": True,
    "array": ["item"],
    "object": {},
    "any": "text",
}


def simulation_effort() -> Effort:
    """The budget of one simulation, for finding values and for walking."""
    trouble = f"The simulation takes more than {MAX_SIMULATION_WORK} places and values to try."
    return Effort(MAX_SIMULATION_WORK, trouble, "Use fewer loops over one list and shorter lists of values.")


def loops_in(parts: Iterable[Part]) -> Iterator[Loop]:
    """Every loop, outer ones first."""
    for part in parts:
        if isinstance(part, Loop):
            yield part
            yield from loops_in(part.body)


def lists_in(workflow: CompiledWorkflow) -> list[ForEach]:
    """The lists that loops go through, and those that are handed out item by item."""
    repeats = [loop.repeat for loop in loops_in(workflow.steps)]
    each = [repeat for repeat in repeats if isinstance(repeat, ForEach)]
    handed = [leaf for leaf in leaves_of(workflow).values() if isinstance(leaf, Delegate) and leaf.for_each]
    return [*each, *(ForEach(input=leaf.for_each, item=leaf.item) for leaf in handed)]


def used_conditions(workflow: CompiledWorkflow) -> dict[str, Condition]:
    """The conditions that parts, loops, fragments, confirmations and children name."""
    return {name: workflow.conditions[name] for name in sorted(set(_named(workflow.steps)))}


def input_paths(workflow: CompiledWorkflow, iterations: int, effort: Effort | None = None) -> Paths:
    """What to try for each input that a start may give: those that steer the run, and required ones.

    Raises Fault WORK_LIMIT_EXCEEDED.
    """
    effort = simulation_effort() if effort is None else effort
    used = used_conditions(workflow).values()
    atoms = [atom for held in used for atom in comparisons(held) if atom.input]
    each = lists_in(workflow)
    inner = {repeat.item for repeat in each} | {repeat.index for repeat in each if repeat.index}
    paths: Paths = {}
    for name, spec in workflow.inputs.items():
        if spec.required and spec.default is UNSET:
            paths[name] = _declared(spec, effort)
    for atom in atoms:
        head = atom.input.partition(".")[0]
        if head not in inner and atom.input not in {repeat.input for repeat in each}:
            tried = paths.setdefault(atom.input, [])
            spec = workflow.inputs.get(atom.input, InputSpec(implicit=True))
            _add(tried, _allowed(spec, [*_declared(spec, effort), *try_both_ways(atom)]), effort)
    for repeat in each:
        if repeat.input.partition(".")[0] not in inner:
            paths[repeat.input] = _arrays(repeat, each, atoms, iterations, effort)
    return {path: tried for path, tried in paths.items() if tried}


def list_starts(
    workflow: CompiledWorkflow, iterations: int, most: int, effort: Effort | None = None
) -> tuple[list[dict[str, Any]], int]:
    """The contexts to begin with, and how many combinations there are.

    If there are too many: one of each value, and for each condition one that meets it and one that does not.
    Raises Fault WORK_LIMIT_EXCEEDED.
    """
    effort = simulation_effort() if effort is None else effort
    paths = input_paths(workflow, iterations, effort)
    possible = 1
    for tried in paths.values():
        possible *= len(tried)
    if possible <= most:
        chosen = [dict(zip(paths, values, strict=True)) for values in product(*paths.values())]
    else:
        base = {path: tried[0] for path, tried in paths.items()}
        chosen = [base]
        chosen += [
            base | found
            for held in used_conditions(workflow).values()
            for found in _both(held, paths, effort)
        ]
        chosen += [base | {path: value} for path, tried in paths.items() for value in tried[1:]]
    contexts: list[dict[str, Any]] = []
    for assignment in chosen:
        context = nest_values(assignment)
        effort.spend(1 + len(contexts) // 64)
        if context not in contexts:
            contexts.append(context)
    return contexts[:most], possible


def flip_condition(
    condition: Condition, paths: Paths, facts: Facts, effort: Effort | None = None
) -> dict[str, Any] | None:
    """Find a change of context that flips a condition; None if no tried value does."""
    now = holds(condition, facts, "", effort)
    for assignment in _assignments(condition, paths):
        changed = nest_values(assignment)
        if changed.keys() & facts.chosen.keys():
            continue  # no agent replaces what an option set
        tried = Facts(values={**facts.values, **changed}, artifacts=facts.artifacts)
        if holds(condition, tried, "", effort) != now:
            return changed
    return None


def try_both_ways(atom: Compare) -> list[Any]:
    """Values with which a comparison holds and with which it does not."""
    value = atom.value
    match atom.op:
        case "equals" | "not_equals":
            return [value, _other(value)]
        case "in":
            members = list(value) if isinstance(value, list | tuple) else [value]
            return [*members, _outside(members)]
        case "contains":
            return [[value], []] if not isinstance(value, str) else [value, "nothing of it", [value], []]
        case "gt" | "gte" | "lt" | "lte":
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            return [value - 1, value, value + 1] if is_number else [value, f"{value}~", ""]
        case "exists":
            return ["text", MISSING]
        case never:
            assert_never(never)


def _named(parts: Iterable[Part]) -> Iterator[str]:
    for part in parts:
        names = [part.when]
        if isinstance(part, Loop):
            if isinstance(part.repeat, While | Until):
                names.append(part.repeat.condition)
            names += _named(part.body)
        elif isinstance(part, Step):
            names += [fragment.when for fragment in part.fragments]
            names += [part.require_confirmation] if isinstance(part.require_confirmation, str) else []
        elif isinstance(part, Delegate):
            names += [child.when for child in part.children]
        yield from (name for name in names if name)


def _both(condition: Condition, paths: Paths, effort: Effort) -> Iterator[dict[str, Any]]:
    """One assignment with which a condition holds and one with which it does not, where they exist."""
    wanted = {True, False}
    for assignment in _assignments(condition, paths):
        result = holds(condition, Facts(values=nest_values(assignment)), "", effort)
        if result in wanted:
            wanted.discard(result)
            yield assignment
        if not wanted:
            return


def _assignments(condition: Condition, paths: Paths) -> Iterator[dict[str, Any]]:
    used = list(dict.fromkeys(atom.input for atom in comparisons(condition) if atom.input in paths))
    for values in islice(product(*(paths[name] for name in used)), SEARCHED):
        yield dict(zip(used, values, strict=True))


def _declared(spec: InputSpec, effort: Effort) -> list[Any]:
    """What a declaration itself suggests."""
    tried: list[Any] = [] if spec.default is UNSET else [spec.default]
    if spec.enum:
        _add(tried, spec.enum, effort)
    elif spec.type == "boolean":
        _add(tried, [True, False], effort)
    elif spec.required and not tried:
        tried.append(_SAMPLES[spec.type])
    return tried


def _allowed(spec: InputSpec, values: Iterable[Any]) -> list[Any]:
    """Those that a start with this declaration accepts; an optional one may also be left out."""
    is_optional = not spec.required and spec.default is UNSET
    kept = [
        value
        for value in values
        if value is not MISSING
        and value is not None
        and has_declared_type(spec.type, value)
        and (not spec.enum or value in spec.enum)
    ]
    return [*kept, MISSING] if is_optional else kept


def _arrays(
    repeat: ForEach, each: list[ForEach], atoms: list[Compare], iterations: int, effort: Effort
) -> list[Any]:
    """Arrays of no item, of one, of several different ones, and of more than the loop may take."""
    items = _items(repeat.item, each, atoms, iterations, effort)
    several = [items[place % len(items)] for place in range(max(iterations, len(items)))]
    more = [items[place % len(items)] for place in range(len(several) + 2)]
    arrays: list[Any] = []
    _add(arrays, [several, [], items[:1], more], effort)
    return arrays


def _items(
    item: str, each: list[ForEach], atoms: list[Compare], iterations: int, effort: Effort, depth: int = 0
) -> list[Any]:
    """Different items for a loop variable: with what conditions look at and inner loops run over."""
    effort.spend(1 + len(atoms) + len(each))
    paths: Paths = {}
    for atom in atoms:
        head, _, rest = atom.input.partition(".")
        if head == item:
            held = [value for value in try_both_ways(atom) if value is not MISSING]
            _add(paths.setdefault(rest, []), held, effort)
    for inner in each:
        head, _, rest = inner.input.partition(".")
        if head == item and depth < 8:
            inside = _items(inner.item, each, atoms, iterations, effort, depth + 1)
            paths[rest] = [inside[:iterations], []]
    if not paths:
        return ["item"]
    if "" in paths:
        return paths[""][:MOST_ITEMS]
    combined = islice(product(*paths.values()), MOST_ITEMS)
    return [nest_values(dict(zip(paths, values, strict=True))) for values in combined]


def _add(tried: list[Any], values: Iterable[Any], effort: Effort) -> None:
    for value in values:
        effort.spend(1 + len(tried) // 16)
        if not any(type(value) is type(held) and value == held for held in tried):
            tried.append(value)


def _other(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case None:
            return "text"
        case _:
            return "something else" if value != "something else" else "something other"


def _outside(members: list[Any]) -> Any:
    plain = {member for member in members if not isinstance(member, list | tuple | dict)}
    candidate = _other(members[0] if members else None)
    while candidate in plain:
        candidate = _other(candidate) if isinstance(candidate, int | float) else f"{candidate}!"
    return candidate
