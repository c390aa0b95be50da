"""Simulates a workflow without an agent: all branches within bounds, in every mode. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from handrail.contract.disclosure.estimate import estimate_tokens
from handrail.contract.ids import Autonomy
from handrail.engine.simulation.candidates import input_paths, list_starts, loops_in, simulation_effort
from handrail.engine.simulation.report import (
    ALL_MODES,
    Coverage,
    DeadStep,
    Limits,
    LoopEnds,
    ModeWalked,
    PromptSize,
    Report,
)
from handrail.engine.simulation.walk import Walks, clip_loops
from handrail.workflows.checking.reachability import Domains, never_holds
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
from handrail.workflows.conditions import And, Compare, Condition, LoopControl, label_condition

# Steps that no walk reached: dead where that is proven, untried where only a limit was reached


class WalkSummary(msgspec.Struct, frozen=True, kw_only=True):
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


class UnreachedSteps(msgspec.Struct, frozen=True, kw_only=True):
    """A dead step is a mistake; an untried one is not."""

    dead: tuple[DeadStep, ...]
    untried: tuple[DeadStep, ...]


def list_unreached(workflow: CompiledWorkflow, walked: WalkSummary) -> UnreachedSteps:
    """Every step, choice and action that no walk reached, with the reason."""
    judge = _Judge(workflow, walked)
    dead: list[DeadStep] = []
    untried: list[DeadStep] = []
    for part, around in list_leaves(workflow.steps):
        if part.id in walked.reached:
            continue
        reason = judge.why(part, around)
        if judge.is_dead(part, around):
            dead.append(DeadStep(step_id=part.id, reason=reason))
        else:
            untried.append(DeadStep(step_id=part.id, reason=f"the limits of the simulation: {reason}"))
    return UnreachedSteps(dead=tuple(dead), untried=tuple(untried))


def list_leaves(
    parts: tuple[Part, ...], around: tuple[Loop, ...] = ()
) -> Iterator[tuple[Part, tuple[Loop, ...]]]:
    """Every step, choice and action with the loops around it, outermost first."""
    for part in parts:
        if isinstance(part, Loop):
            yield from list_leaves(part.body, (*around, part))
        else:
            yield part, around


class _Judge:
    """What is known about one workflow."""

    def __init__(self, workflow: CompiledWorkflow, walked: WalkSummary) -> None:
        self._workflow = workflow
        self._walked = walked
        self._domains = Domains(workflow)
        self._changing = frozenset(_changing(workflow.steps))

    def is_dead(self, part: Part, around: tuple[Loop, ...]) -> bool:
        """Whether it is certain: no values lead there, or every way was walked and nothing was left out."""
        on_the_way = list(self._conditions(part, around))
        if on_the_way and never_holds(And(of=tuple(on_the_way)), self._domains, can_decide=False):
            return True
        return self._walked.is_whole and not any(map(self._is_open, on_the_way)) and not self._is_cut(around)

    def why(self, part: Part, around: tuple[Loop, ...]) -> str:
        """The outermost thing that kept every walk away."""
        for outer in (*around, part):
            if outer.when and outer.when not in self._walked.held:
                whose = "its condition" if outer is part else f"the condition of the loop {outer.id}"
                return f"{whose} {label_condition(self._workflow.conditions, outer.when)} never held"
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
        """Whether it reads something of which not every value was tried."""
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


DEFAULT_LIMITS = Limits()


# The simulation


def simulate(
    workflow: CompiledWorkflow, limits: Limits = DEFAULT_LIMITS, modes: tuple[Autonomy, ...] = ALL_MODES
) -> Report:
    """Walk the workflow and report what was reached, what was not, and what would go wrong.

    Raises Fault WORK_LIMIT_EXCEEDED when the values to start with are already too many.
    """
    *_, report = simulate_modes(workflow, limits, modes)
    assert isinstance(report, Report), "the report comes last"
    return report


def simulate_modes(
    workflow: CompiledWorkflow, limits: Limits = DEFAULT_LIMITS, modes: tuple[Autonomy, ...] = ALL_MODES
) -> Iterator[ModeWalked | Report]:
    """The same, mode by mode: each as soon as it is walked, then the report on all of them."""
    short = clip_loops(workflow, limits.max_loop_iterations)
    effort = simulation_effort()
    paths = input_paths(short, limits.max_loop_iterations, effort)
    contexts, possible = list_starts(short, limits.max_loop_iterations, limits.max_starts, effort)
    walks = {mode: Walks(short, mode, limits, paths, effort) for mode in modes}
    total = sum(1 for _ in list_leaves(workflow.steps))
    for mode, taken in walks.items():
        for context in contexts:
            taken.take(context)
        yield ModeWalked(
            mode=mode,
            coverage=Coverage(reached=len(taken.texts), total=total),
            paths=taken.paths_taken,
            completed=taken.completed,
            truncated=taken.truncated,
            problems=tuple(taken.problems),
        )
    yield _report(workflow, walks, _Tried(limits=limits, starts=len(contexts), possible=possible))


class _Tried(msgspec.Struct, frozen=True, kw_only=True):
    """How far the walks went."""

    limits: Limits
    starts: int
    possible: int


def _report(workflow: CompiledWorkflow, walks: dict[Autonomy, Walks], tried: _Tried) -> Report:
    steps = [part.id for part, _ in list_leaves(workflow.steps)]
    reached = {step_id for taken in walks.values() for step_id in taken.texts}
    texts = {
        step_id: max((taken.texts.get(step_id, "") for taken in walks.values()), key=len)
        for step_id in steps
        if step_id in reached
    }
    is_truncated = any(taken.truncated for taken in walks.values())
    missed = list_unreached(
        workflow,
        WalkSummary(
            reached=frozenset(reached),
            held=frozenset(name for taken in walks.values() for name in taken.held),
            entered=frozenset(name for taken in walks.values() for name in taken.entered),
            is_whole=not is_truncated and tried.possible <= tried.limits.max_starts,
            iterations=tried.limits.max_loop_iterations + 1,
        ),
    )
    return Report(
        workflow_id=workflow.id,
        coverage=Coverage(reached=len(reached), total=len(steps)),
        by_mode={mode: Coverage(reached=len(taken.texts), total=len(steps)) for mode, taken in walks.items()},
        dead_steps=missed.dead,
        untried=missed.untried,
        paths=sum(taken.paths_taken for taken in walks.values()),
        completed=sum(taken.completed for taken in walks.values()),
        starts_tried=tried.starts,
        starts_possible=tried.possible,
        truncated=is_truncated or bool(missed.untried) or tried.starts < tried.possible,
        prompts=tuple(
            PromptSize(step_id=step_id, size_bytes=len(text.encode()), tokens=estimate_tokens(text) or 0)
            for step_id, text in texts.items()
        ),
        problems=tuple(problem for taken in walks.values() for problem in taken.problems),
        loops=tuple(_loop_ends(workflow, walks)),
        unproven=tuple(sorted({step_id for taken in walks.values() for step_id in taken.unproven()})),
    )


def _loop_ends(workflow: CompiledWorkflow, walks: dict[Autonomy, Walks]) -> Iterator[LoopEnds]:
    exits = sorted({found for taken in walks.values() for found in taken.exits})
    for loop in loops_in(workflow.steps):
        ended = [found for found in exits if found[0] == loop.id]
        yield LoopEnds(
            loop_id=loop.id,
            iterations=tuple(sorted({iterations for _, iterations, _ in ended})),
            reasons=tuple(sorted({reason for _, _, reason in ended})),
        )
