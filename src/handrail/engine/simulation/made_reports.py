"""Reports that an agent could send for a step: every kind that must be accepted, and many that must not.
Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, product
from math import prod
from typing import Any, TypeAlias, assert_never

import msgspec
from msgspec import UNSET

from handrail.engine.artifact_shapes import (
    CAPABILITY_OBSERVATION,
    DECISION,
    LOOP_CONTROL,
    USER_INPUT,
    find_contradictions,
)
from handrail.engine.judge.assess import place_of
from handrail.engine.judge.report_frame import assessment_example
from handrail.engine.judge.requirements import fit_example, list_broken_rules
from handrail.engine.navigate import Running, leaves_of
from handrail.engine.owners import decided_names
from handrail.workflows.compiled import (
    CompiledWorkflow,
    ContainsRule,
    Delegate,
    ForEach,
    InputSpec,
    InputType,
    LengthRule,
    Loop,
    Part,
    Rule,
    Step,
    has_declared_type,
    is_number,
    list_required_contracts,
    list_required_values,
    walk_parts,
)
from handrail.workflows.conditions import MISSING, Compare, Condition, Facts, comparisons, holds, nest_values
from handrail.workflows.contracts.check import find_violations
from handrail.workflows.limits import MAX_SIMULATION_WORK, Effort
from handrail.workflows.part_contents import conditions_of, walk_rules

MOST_VARIANTS = 24
"""Limit for the valid artifacts of one step that differ in what conditions read."""


_VALUES: dict[InputType, Any] = {
    "string": "a text",
    "number": 1,
    "integer": 1,
    "boolean": True,
    "array": ["item"],
    "object": {"name": "value"},
    "any": "a text",
}
"""A value of each type that an input may declare."""


class MadeReport(msgspec.Struct, frozen=True, kw_only=True):
    """A report of the simulated agent; its label is unique within a step."""

    label: str
    notes: str = ""
    artifacts: tuple[dict[str, Any], ...] = ()
    context: dict[str, Any] = {}
    option: int | None = None


_ENDS = ("done", "gap", "closed")
_MOST_COMBINED = 4
"""Up to so many children, their ends are tried in every combination. With more, only one at a time differs
from the others.
"""


def make_joins(step: Delegate) -> list[MadeReport]:
    """Return the results with which a step can continue: its children done, done with gaps, or closed and
    left out.
    """
    names = [f"{step.children[0].id}_{number}" for number in (1, 2)] if step.for_each else []
    names = names or [child.id for child in step.children]
    every = list(product(_ENDS, repeat=len(names))) if len(names) <= _MOST_COMBINED else []
    for place in range(0 if every else len(names)):
        every += [tuple(end if at == place else "done" for at in range(len(names))) for end in _ENDS]
    found = []
    for ends in dict.fromkeys(every):
        rows: list[dict[str, Any]] = [
            {"child": name, "status": "done" if end == "done" else "done_with_gaps", "artifacts": []}
            for name, end in zip(names, ends, strict=True)
            if end != "closed"
        ]
        label = ", ".join(f"{name} {end}" for name, end in zip(names, ends, strict=True))
        found.append(MadeReport(label=label, context={step.collect: rows} if step.collect else {}))
    return found


def valid_reports(workflow: CompiledWorkflow, step: Step, state: Running, notes: str) -> list[MadeReport]:
    """Return reports that must be accepted, one for each way that the run could continue from here."""
    beside = [assessment_example(gate) for gate in step.gates]
    beside += list(_make_required(workflow, step, state))
    beside += [{"kind": USER_INPUT, "answer": "yes", "givenBy": "user"}] if step.user_only else []
    return [
        MadeReport(label=label, notes=notes, artifacts=(*found, *beside))
        for label, found in islice(_delivered(workflow, step, state), MOST_VARIANTS)
    ]


def _make_required(workflow: CompiledWorkflow, step: Step, state: Running) -> Iterator[dict[str, Any]]:
    """Yield the artifacts that the step requires in addition to that of its own contract."""
    for ref in list_required_contracts(step):
        example = fit_example(place_of(workflow, state, step), workflow.contracts[ref])
        assert example is not None, "the walk assumes a report where none can be made"
        yield example


def make_required_values(workflow: CompiledWorkflow, step: Step, facts: Facts) -> dict[str, Any]:
    """Return a value for each name that the step requires and that was not sent."""
    lacking = [name for name in list_required_values(step) if facts.values.get(name) in (None, "")]
    return {name: _make_value(workflow.inputs.get(name, InputSpec())) for name in lacking}


def _make_value(spec: InputSpec) -> Any:
    return spec.enum[0] if spec.enum else _VALUES[spec.type]


def report_without_artifact(
    workflow: CompiledWorkflow, step: Step, state: Running, notes: str
) -> MadeReport | None:
    """Return a report without the artifact that the step's contract requires, or None without a contract."""
    if not step.contract:
        return None
    whole = valid_reports(workflow, step, state, notes)[0]
    kind = workflow.contracts[step.contract].artifact_kind
    rest = tuple(held for held in whole.artifacts if held["kind"] != kind)
    return MadeReport(label="no artifact", notes=notes, artifacts=rest)


PLAIN_NOTES = "Done, with the evidence in the report."
"""Notes for a step without rules, and for one whose rules no generated notes satisfy."""


def notes_for(rules: tuple[Rule, ...]) -> str | None:
    """Return generated notes that satisfy every rule, or None if patterns or schemas require more."""
    if not rules:
        return PLAIN_NOTES
    every = list(walk_rules(rules))
    texts = [one.value for one in every if isinstance(one, ContainsRule)]
    least = max((one.minimum for one in every if isinstance(one, LengthRule)), default=0)
    notes = " ".join(texts).ljust(least, ".")
    return None if list_broken_rules(rules, notes) else notes


def _delivered(
    workflow: CompiledWorkflow, step: Step, state: Running
) -> Iterator[tuple[str, tuple[dict[str, Any], ...]]]:
    """Yield artifacts for the step's contract, in every form that a condition can distinguish."""
    if not step.contract:
        yield "notes", ()
        return
    contract = workflow.contracts[step.contract]
    example = fit_example(place_of(workflow, state, step), contract)
    assert example is not None, "the walk assumes a report where none can be made"
    if contract.artifact_kind == LOOP_CONTROL:
        yield "stop", (example | {"decision": "stop"},)
        yield "continue", (example | {"decision": "continue"},)
        return
    if contract.artifact_kind == CAPABILITY_OBSERVATION and step.capability:
        seen = example | {"capability": step.capability}
        yield "available", (seen | {"status": "available"},)
        if workflow.capabilities.get(step.capability) != "required":
            yield "unavailable", (seen | {"status": "unavailable"},)
        return
    yield "example", (example,)
    for held in used_conditions(workflow).values():
        for atom in comparisons(held):
            if atom.artifact != contract.artifact_kind:
                continue
            for value in try_both_ways(atom):
                varied = _with_member(example, atom.field, value)
                if varied is not None and not find_violations(contract.schema, varied):
                    varied = _with_own_option(contract.artifact_kind, varied)
                    shown = msgspec.json.encode(None if value is MISSING else value).decode()
                    yield f"{atom.field}={shown}", (varied,)


def _with_own_option(kind: str, varied: dict[str, Any]) -> dict[str, Any]:
    """Return a decision that chooses among its own options: the first of them is chosen."""
    if kind != DECISION or not find_contradictions(kind, varied):
        return varied
    first, *others = varied["options"]
    return varied | {"options": [first | {"id": varied["chosen"]}, *others]}


def _with_member(document: dict[str, Any], path: str, value: Any) -> dict[str, Any] | None:
    """Return a copy with another value at a dotted path, or None if there is no such path."""
    copied: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(document))
    place: Any = copied
    *outer, last = path.split(".")
    for name in outer:
        place = place.get(name) if isinstance(place, dict) else None
    if not isinstance(place, dict) or not last:
        return None
    if value is MISSING:
        place.pop(last, None)
    else:
        place[last] = value
    return copied


# Values to try: some that make each comparison hold and some that do not.


Paths: TypeAlias = dict[str, list[Any]]
"""Values to try, by dotted path; MISSING means that the value is left out."""

MOST_ITEMS = 4
"""Limit for the different items with which an array is tried."""
SEARCHED = 1_024
"""Limit for the combinations tried to make one condition hold, and to make it fail."""


def simulation_effort() -> Effort:
    """Return the budget of one simulation, for finding values and for walking."""
    trouble = f"The simulation takes more than {MAX_SIMULATION_WORK} places and values to try."
    return Effort(MAX_SIMULATION_WORK, trouble, "Use fewer loops over one list and shorter lists of values.")


def loops_in(parts: Iterable[Part]) -> Iterator[Loop]:
    """Return every loop, outer ones first."""
    return (part for part in walk_parts(parts) if isinstance(part, Loop))


def lists_in(workflow: CompiledWorkflow) -> list[ForEach]:
    """Return the lists that loops go through, and those that are delegated item by item."""
    repeats = [loop.repeat for loop in loops_in(workflow.steps)]
    each = [repeat for repeat in repeats if isinstance(repeat, ForEach)]
    handed = [leaf for leaf in leaves_of(workflow).values() if isinstance(leaf, Delegate) and leaf.for_each]
    return [*each, *(ForEach(input=leaf.for_each, item=leaf.item) for leaf in handed)]


def used_conditions(workflow: CompiledWorkflow) -> dict[str, Condition]:
    """Return the conditions that parts, loops, fragments, confirmations and children name."""
    named = {name for part in walk_parts(workflow.steps) for name in conditions_of(part)}
    return {name: workflow.conditions[name] for name in sorted(named)}


def input_paths(workflow: CompiledWorkflow, iterations: int, effort: Effort) -> Paths:
    """Return the values to try for each input that a start may give: inputs that steer the run, and
    required ones.

    Raise Fault WORK_LIMIT_EXCEEDED if there are too many.
    """
    used = used_conditions(workflow).values()
    atoms = [atom for held in used for atom in comparisons(held) if atom.input]
    each = lists_in(workflow)
    inner = {repeat.item for repeat in each} | {repeat.index for repeat in each if repeat.index}
    inner |= decided_names(workflow).keys()  # a start must not give these
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
    workflow: CompiledWorkflow, paths: Paths, most: int, effort: Effort
) -> tuple[list[dict[str, Any]], int]:
    """Return the contexts to begin with, and the number of possible combinations.

    If there are too many: each value once, and for each condition one context that meets it and one that
    does not. Raise Fault WORK_LIMIT_EXCEEDED if that takes too much work.
    """
    possible = prod(map(len, paths.values()))
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


def flip_condition(condition: Condition, paths: Paths, facts: Facts, effort: Effort) -> dict[str, Any] | None:
    """Return a change of context that flips a condition, or None if no tried value does."""
    now = holds(condition, facts, "", effort)
    for assignment in _assignments(condition, paths):
        changed = nest_values(assignment)
        if changed.keys() & facts.chosen.keys():
            continue  # an agent cannot replace what an option set
        tried = Facts(values={**facts.values, **changed}, artifacts=facts.artifacts)
        if holds(condition, tried, "", effort) != now:
            return changed
    return None


def try_both_ways(atom: Compare) -> list[Any]:
    """Return values with which a comparison holds and with which it does not."""
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
            return [value - 1, value, value + 1] if is_number(value) else [value, f"{value}~", ""]
        case "exists":
            return ["text", MISSING]
        case never:
            assert_never(never)


def _both(condition: Condition, paths: Paths, effort: Effort) -> Iterator[dict[str, Any]]:
    """Yield one assignment with which a condition holds and one with which it does not, if they exist."""
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
    """Return the values that a declaration itself suggests."""
    tried: list[Any] = [] if spec.default is UNSET else [spec.default]
    if spec.enum:
        _add(tried, spec.enum, effort)
    elif spec.type == "boolean":
        _add(tried, [True, False], effort)
    elif spec.required and not tried:
        tried.append(_VALUES[spec.type])
    return tried


def _allowed(spec: InputSpec, values: Iterable[Any]) -> list[Any]:
    """Return the values that a start with this declaration accepts; an optional one may also be left out."""
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
    """Return arrays with no item, one, several different ones, and more than the loop may take."""
    items = _items(repeat.item, each, atoms, iterations, effort)
    several = [items[place % len(items)] for place in range(max(iterations, len(items)))]
    more = [items[place % len(items)] for place in range(len(several) + 2)]
    arrays: list[Any] = []
    _add(arrays, [several, [], items[:1], more], effort)
    return arrays


def _items(
    item: str, each: list[ForEach], atoms: list[Compare], iterations: int, effort: Effort, depth: int = 0
) -> list[Any]:
    """Return different items for a loop variable, with the members that conditions read and inner loops go
    through.
    """
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
