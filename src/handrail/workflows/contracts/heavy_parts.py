"""Find what would take too long in a run: loops, conditions, rules, contracts. Pure.

The same checks apply to a file and to a compiled workflow from elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, assert_never

import msgspec

from handrail.contract.outcome import Fault
from handrail.workflows.compiled import (
    CompiledWorkflow,
    Count,
    ForEach,
    Loop,
    Part,
    PatternRule,
    SchemaRule,
    Step,
    Until,
    While,
    walk_parts,
)
from handrail.workflows.conditions import Condition, LoopControl, comparisons
from handrail.workflows.contracts.check import check_rule_schema, count_schema_places
from handrail.workflows.contracts.patterns import estimate_work
from handrail.workflows.limits import (
    MAX_COMPARISONS,
    MAX_CONTRACT_PLACES,
    MAX_MATCH_WORK,
    MAX_MOVE_PLACES,
    MAX_NOTES_CHARACTERS,
    MAX_READ_COMPARISONS,
    MAX_RULES,
    MAX_SCHEMA_PLACES,
)
from handrail.workflows.part_contents import conditions_of, walk_rules


class HeavyPart(msgspec.Struct, frozen=True, kw_only=True):
    """Something that has to be smaller. `part_id` is empty for a condition."""

    part_id: str = ""
    condition_id: str = ""
    key: str = ""
    """The member of the part."""
    message: str
    fix: str


def find_heavy_parts(workflow: CompiledWorkflow) -> Iterator[HeavyPart]:
    """Yield everything in a workflow that could keep a call busy."""
    yield from find_heavy_contracts(workflow)
    sizes = {name: sum(1 for _ in comparisons(held)) for name, held in workflow.conditions.items()}
    yield from _long_conditions(workflow, sizes)
    measure = _Measure(workflow.conditions, sizes)
    measure.passed(workflow.steps)
    yield from measure.heavy
    steps = [part for part in walk_parts(workflow.steps) if isinstance(part, Step)]
    held = [rule for step in steps for rule in walk_rules(step.rules)]
    count = sum(1 for rule in held if isinstance(rule, PatternRule | SchemaRule))
    if count > MAX_RULES:
        message = f"The rules of all steps have {count} patterns and schemas; the limit is {MAX_RULES}."
        yield HeavyPart(message=message, fix="Use contains rules, or a contract that says the same once.")
        return
    for step in steps:
        yield from _heavy_rules(step)


def find_heavy_contracts(workflow: CompiledWorkflow) -> Iterator[HeavyPart]:
    """Yield the contracts of a workflow if together they are too large; checked before any of them
    is tried.
    """
    if count_contract_places(workflow) > MAX_CONTRACT_PLACES:
        message = f"The schemas of all contracts have more than {MAX_CONTRACT_PLACES} places together."
        yield HeavyPart(message=message, fix="Name fewer contracts, or split the workflow.")


def count_contract_places(workflow: CompiledWorkflow) -> int:
    """Return the places of all contracts' schemas, counted no further than one beyond the limit."""
    places = 0
    for contract in workflow.contracts.values():
        try:
            places += count_schema_places(contract.schema)
        except Fault:  # too large on its own, which is reported for that contract
            places += MAX_SCHEMA_PLACES
        if places > MAX_CONTRACT_PLACES:
            break
    return places


def _long_conditions(workflow: CompiledWorkflow, sizes: dict[str, int]) -> Iterator[HeavyPart]:
    for name, size in sizes.items():
        if size > MAX_COMPARISONS:
            message = f"The condition {name} has {size} comparisons; the limit is {MAX_COMPARISONS}."
            yield HeavyPart(condition_id=name, message=message, fix="Compare with a list (in), or split it.")
    read = sum(sizes.get(name, 0) for part in walk_parts(workflow.steps) for name in conditions_of(part))
    if read > MAX_READ_COMPARISONS:
        message = (
            f"The conditions of all parts have {read} comparisons together; "
            f"the limit is {MAX_READ_COMPARISONS}."
        )
        yield HeavyPart(
            message=message, fix="Put parts with one condition into one loop, or split the workflow."
        )


class _Passed(NamedTuple):
    """A stretch of parts: the places a run may pass in it without a step, and whether it must reach
    a step.

    If it must: the places before the first such step, and those after the last.
    """

    head: int
    tail: int
    stops: bool


class _Measure:
    """Measures how far it can be from one step to the next, whatever the conditions decide."""

    def __init__(self, conditions: dict[str, Condition], sizes: dict[str, int]) -> None:
        self._conditions = conditions
        self._sizes = sizes
        self.heavy: list[HeavyPart] = []

    def passed(self, parts: tuple[Part, ...]) -> _Passed:
        head, places, stops = 0, 0, False
        for part in parts:
            inner = self._loop(part) if isinstance(part, Loop) else _Passed(0, 0, stops=True)
            before = places + 1 + self._sizes.get(part.when, 0)
            self._limit(part, before + inner.head)
            if inner.stops and not part.when:
                head = head if stops else before + inner.head
                places, stops = inner.tail, True
            else:
                places = max(before + (0 if inner.stops else inner.head), inner.tail)
        return _Passed(head if stops else places, places, stops=stops)

    def _loop(self, loop: Loop) -> _Passed:
        body = self.passed(loop.body)
        rounds, is_entered, asked = self._rounds(loop)
        if not body.stops:
            places = rounds * (1 + asked + body.head)
            self._limit(loop, places)
            return _Passed(places, places, stops=False)
        self._limit(loop, body.tail + 1 + asked + body.head)
        return _Passed(1 + asked + body.head, body.tail + 1 + asked, stops=is_entered)

    def _limit(self, part: Part, places: int) -> None:
        """Report the first place of the file from which the next step is too far away."""
        if places <= MAX_MOVE_PLACES or self.heavy:
            return
        message = (
            f"The loop {part.id} may pass {places} places without coming to a step; "
            if isinstance(part, Loop)
            else f"The way to {part.id} may pass {places} places without coming to a step; "
        )
        fix = "Lower the counts of its loops, or let a step in them run in every round."
        self.heavy.append(
            HeavyPart(
                part_id=part.id, key="loop", message=f"{message}the limit is {MAX_MOVE_PLACES}.", fix=fix
            )
        )

    def _rounds(self, loop: Loop) -> tuple[int, bool, int]:
        """Return iterations without a step, whether the loop surely begins, and the comparisons of each
        iteration.
        """
        match loop.repeat:
            case Count(count=count):
                return min(count, loop.max_iterations), count > 0, 0
            case ForEach():
                return loop.max_iterations, False, 0
            case While(condition=name) | Until(condition=name):
                is_decided = isinstance(self._conditions.get(name), LoopControl)
                # Each decision is used up by one round, and only a step brings another.
                rounds = 1 if is_decided and isinstance(loop.repeat, While) else loop.max_iterations
                is_entered = isinstance(loop.repeat, Until) or is_decided
                return rounds, is_entered, self._sizes.get(name, 0)
            case never:
                assert_never(never)


def _heavy_rules(step: Step) -> Iterator[HeavyPart]:
    """Yield patterns and schemas of its rules, because libraries that run them cannot be interrupted."""
    patterns = [rule for rule in walk_rules(step.rules) if isinstance(rule, PatternRule)]
    if patterns:
        work = 0
        for held in patterns:
            work += estimate_work(held.pattern, held.flags, MAX_NOTES_CHARACTERS)
            if work > MAX_MATCH_WORK:
                message = f"The patterns of {step.id} take too long together on long notes."
                fix = "Use fewer patterns, shorter ones, or a contains rule."
                yield HeavyPart(part_id=step.id, key="validation", message=message, fix=fix)
                break
    for rule in walk_rules(step.rules):
        if isinstance(rule, SchemaRule):
            trouble = check_rule_schema(rule.schema)
            if trouble is not None:
                message = f"A schema of {step.id} cannot be used. {trouble.message}"
                yield HeavyPart(part_id=step.id, key="validation", message=message, fix=trouble.fix)
