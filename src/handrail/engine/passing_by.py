"""What a run passed by on its way to a node, and why, from the recorded trace. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, assert_never

import msgspec

from handrail.contract.wording import shortened
from handrail.engine.navigate import (
    DetectedNonTipAdvance,
    EnteredLoop,
    EvaluatedCondition,
    ExitedLoop,
    SelectedStep,
    SkippedStep,
    TraceEntry,
    loop_named,
)
from handrail.workflows.compiled import CompiledWorkflow, Count, ForEach, Loop, Until, While
from handrail.workflows.condition_words import condition_words
from handrail.workflows.conditions import MISSING, Condition, Facts, comparisons, named_value
from handrail.workflows.own_values import loop_variables, set_inside

MOST_WORDS = 200
"""Characters that tell why one part was passed by."""


class PassedBy(msgspec.Struct, frozen=True, kw_only=True):
    """A step or loop that did not run."""

    step_id: str
    why: str
    condition_id: str = ""


class CutShort(msgspec.Struct, frozen=True, kw_only=True):
    """A loop that ended at its limit while there was more to do."""

    loop_id: str
    rounds: int
    left: str
    """What was not done, in words."""


def parts_passed_by(
    workflow: CompiledWorkflow, trace: Iterable[TraceEntry], facts: Facts
) -> tuple[PassedBy, ...]:
    """Every step and loop that a move did not enter, each once, in the order of the move."""
    found: dict[str, PassedBy] = {}
    for entry in trace:
        match entry:
            case SkippedStep(step_id=step_id, condition_id=condition_id):
                why = _unmet(workflow, workflow.conditions[condition_id], facts)
                passed = PassedBy(step_id=step_id, why=why, condition_id=condition_id)
                found.setdefault(step_id, passed)
            case ExitedLoop(loop_id=loop_id, iterations=0):
                why = _no_round(workflow, loop_named(workflow, loop_id), facts)
                found.setdefault(loop_id, PassedBy(step_id=loop_id, why=why))
            case (
                ExitedLoop() | EnteredLoop() | EvaluatedCondition() | SelectedStep() | DetectedNonTipAdvance()
            ):
                pass
            case never:
                assert_never(never)
    return tuple(found.values())


def loops_cut_short(
    workflow: CompiledWorkflow, trace: Iterable[TraceEntry], facts: Facts
) -> tuple[CutShort, ...]:
    """Every loop that a move left because of its limit; each once, however often it came by."""
    left = {
        entry.loop_id: entry
        for entry in trace
        if isinstance(entry, ExitedLoop) and entry.reason == "limit_reached"
    }
    return tuple(
        CutShort(
            loop_id=entry.loop_id,
            rounds=entry.iterations,
            left=_left(workflow, loop_named(workflow, entry.loop_id), entry.iterations, facts),
        )
        for entry in left.values()
    )


def _counter(workflow: CompiledWorkflow, name: str) -> str:
    """The value that says how long a list of numbers is; empty for any other list."""
    spec = workflow.inputs.get(name)
    return spec.counted_by if spec is not None else ""


def _left(workflow: CompiledWorkflow, loop: Loop, rounds: int, facts: Facts) -> str:
    match loop.repeat:
        case ForEach(input=name):
            items = named_value(facts.values, name)
            more = len(items) - rounds if isinstance(items, list) else 0
            if _counter(workflow, name):
                return f"{more} rounds were not made"
            return f"{more} items of {name} were not worked on" if more > 0 else f"items of {name} are left"
        case Count(count=count):
            return f"{count - rounds} rounds were not made"
        case While():
            return "another round was wanted"
        case Until():
            return "what it works towards was not reached"
        case never:
            assert_never(never)


def _no_round(workflow: CompiledWorkflow, loop: Loop, facts: Facts) -> str:
    match loop.repeat:
        case ForEach(input=name):
            items = named_value(facts.values, name)
            counter = _counter(workflow, name)
            if counter:
                value = named_value(facts.values, counter)
                return f"{counter} was not sent" if value is MISSING else f"{counter} is {_shown(value)}"
            if items is MISSING or items is None:
                return f"{name} was not sent"
            return f"{name} is empty" if isinstance(items, list) else f"{name} is no list"
        case While(condition=condition_id) | Until(condition=condition_id):
            return _unmet(workflow, workflow.conditions[condition_id], facts)
        case Count():
            return "it has no rounds"
        case never:
            assert_never(never)


def _unmet(workflow: CompiledWorkflow, condition: Condition, facts: Facts) -> str:
    """What the part needs, and how it stands with the values that this rests on."""
    own = frozenset(set_inside(workflow.steps)) | _variables(workflow)
    told: dict[str, str] = {}
    for atom in comparisons(condition):
        if atom.input and atom.input.partition(".")[0] not in own:
            value = named_value(facts.values, atom.input)
            told[atom.input] = (
                f"{atom.input} was not sent" if value is MISSING else f"{atom.input} is {_shown(value)}"
            )
    needs = condition_words(condition)
    if len(needs) > MOST_WORDS:
        needs = needs[: MOST_WORDS - 1] + "…"
    states = "; ".join(told.values())
    if len(states) > MOST_WORDS:
        states = states[: MOST_WORDS - 1] + "…"
    return f"needs {needs}" + (f"; {states}" if states else "")


def _variables(workflow: CompiledWorkflow) -> frozenset[str]:
    waiting = list(workflow.steps)
    names: frozenset[str] = frozenset()
    while waiting:
        part = waiting.pop()
        if isinstance(part, Loop):
            names |= loop_variables(part)
            waiting.extend(part.body)
    return names


def _shown(value: Any) -> str:
    return shortened(msgspec.json.encode(value).decode())
