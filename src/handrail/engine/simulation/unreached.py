"""Steps that no walk came to: dead where that is proven, untried where only the limits were met. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from handrail.engine.simulation.report import DeadStep
from handrail.workflows.checking.possible_values import Domains
from handrail.workflows.checking.satisfiable import never_holds
from handrail.workflows.compiled import (
    Action,
    Choice,
    CompiledWorkflow,
    Count,
    ForEach,
    Loop,
    Part,
    Until,
    While,
)
from handrail.workflows.compiling.condition_table import parts_of
from handrail.workflows.condition_words import condition_label
from handrail.workflows.conditions import And, Compare, Condition, LoopControl


class Walked(msgspec.Struct, frozen=True, kw_only=True):
    """What all the walks saw."""

    reached: frozenset[str]
    held: frozenset[str]
    """Conditions that held somewhere."""
    entered: frozenset[str]
    """Loops that ran."""
    is_whole: bool
    """Whether every start was tried and no walk was cut short."""
    iterations: int
    """How often a loop ran at most."""


class Unreached(msgspec.Struct, frozen=True, kw_only=True):
    """The two kinds, which must not be confused: a dead step is a mistake, an untried one is not."""

    dead: tuple[DeadStep, ...]
    untried: tuple[DeadStep, ...]


def unreached(workflow: CompiledWorkflow, walked: Walked) -> Unreached:
    """Every step, choice and action that no walk reached, with the reason."""
    judge = _Judge(workflow, walked)
    dead: list[DeadStep] = []
    untried: list[DeadStep] = []
    for part, around in leaves(workflow.steps):
        if part.id in walked.reached:
            continue
        reason = judge.why(part, around)
        if judge.is_dead(part, around):
            dead.append(DeadStep(step_id=part.id, reason=reason))
        else:
            untried.append(DeadStep(step_id=part.id, reason=f"the limits of the simulation: {reason}"))
    return Unreached(dead=tuple(dead), untried=tuple(untried))


def leaves(parts: tuple[Part, ...], around: tuple[Loop, ...] = ()) -> Iterator[tuple[Part, tuple[Loop, ...]]]:
    """Every step, choice and action with the loops around it, outermost first."""
    for part in parts:
        if isinstance(part, Loop):
            yield from leaves(part.body, (*around, part))
        else:
            yield part, around


class _Judge:
    """What is known about one workflow."""

    def __init__(self, workflow: CompiledWorkflow, walked: Walked) -> None:
        self._workflow = workflow
        self._walked = walked
        self._domains = Domains(workflow)
        self._changing = frozenset(_changing(workflow.steps))

    def is_dead(self, part: Part, around: tuple[Loop, ...]) -> bool:
        """Certain: no values open the way; or every way was walked, and nothing on it was left out."""
        on_the_way = list(self._conditions(part, around))
        if on_the_way and never_holds(And(of=tuple(on_the_way)), self._domains, can_decide=False):
            return True
        return self._walked.is_whole and not any(map(self._is_open, on_the_way)) and not self._is_cut(around)

    def why(self, part: Part, around: tuple[Loop, ...]) -> str:
        """The outermost thing that kept every walk away."""
        for outer in (*around, part):
            if outer.when and outer.when not in self._walked.held:
                whose = "its condition" if outer is part else f"the condition of the loop {outer.id}"
                return f"{whose} {condition_label(self._workflow.conditions, outer.when)} never held"
            if isinstance(outer, Loop) and outer.id not in self._walked.entered:
                return f"the loop {outer.id} never ran"
        return "no walk leads there"

    def _conditions(self, part: Part, around: tuple[Loop, ...]) -> Iterator[Condition]:
        """What must hold on the way to a part; a loop's own decision always can."""
        for outer in (*around, part):
            if outer.when:
                yield self._workflow.conditions[outer.when]
            if isinstance(outer, Loop) and isinstance(outer.repeat, While):
                condition = self._workflow.conditions[outer.repeat.condition]
                if not any(isinstance(one, LoopControl) for one in parts_of(condition)):
                    yield condition

    def _is_open(self, condition: Condition) -> bool:
        """Whether it looks at something of which not every value was tried."""
        return any(
            isinstance(one, Compare) and (bool(one.artifact) or one.input.partition(".")[0] in self._changing)
            for one in parts_of(condition)
        )

    def _is_cut(self, around: tuple[Loop, ...]) -> bool:
        return any(loop.max_iterations > self._walked.iterations for loop in around)


def _changing(parts: tuple[Part, ...]) -> Iterator[str]:
    """Names whose values come up on the way: loop variables, what choices set, what actions save."""
    for part in parts:
        match part:
            case Loop(repeat=ForEach(item=item, index=index)):
                yield from (item, index)
            case Loop(repeat=Count(index=index)):
                yield index
            case Loop(repeat=While() | Until()):
                pass
            case Choice(options=options):
                yield from (name for option in options for name in option.sets)
            case Action(save_as=name):
                yield name
            case _:
                pass
        if isinstance(part, Loop):
            yield from _changing(part.body)
