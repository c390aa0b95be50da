"""A workflow without an agent and without cost: all branches within bounds, in every mode. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from handrail.contract.estimate import estimate_tokens
from handrail.contract.vocabulary import Autonomy
from handrail.engine.simulation.candidates import input_paths, loops_in, starts
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
from handrail.engine.simulation.walking import Walks, clipped
from handrail.workflows.compiled import CompiledWorkflow, Loop, Part

DEFAULT_LIMITS = Limits()


def simulate(
    workflow: CompiledWorkflow, limits: Limits = DEFAULT_LIMITS, modes: tuple[Autonomy, ...] = ALL_MODES
) -> Report:
    """Walk the workflow and report what was reached, what was not, and what would go wrong."""
    *_, report = simulated(workflow, limits, modes)
    assert isinstance(report, Report), "the report comes last"
    return report


def simulated(
    workflow: CompiledWorkflow, limits: Limits = DEFAULT_LIMITS, modes: tuple[Autonomy, ...] = ALL_MODES
) -> Iterator[ModeWalked | Report]:
    """The same, mode by mode: each as soon as it is walked, then the report on all of them."""
    short = clipped(workflow, limits.max_loop_iterations)
    paths = input_paths(short, limits.max_loop_iterations)
    contexts, possible = starts(short, limits.max_loop_iterations, limits.max_starts)
    walks = {mode: Walks(short, mode, limits, paths) for mode in modes}
    total = sum(1 for _ in _leaves(workflow.steps))
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
    yield _report(workflow, walks, len(contexts), possible)


def _report(workflow: CompiledWorkflow, walks: dict[Autonomy, Walks], tried: int, possible: int) -> Report:
    leaves = [part.id for part, _ in _leaves(workflow.steps)]
    reached = {step_id for taken in walks.values() for step_id in taken.texts}
    texts = {
        step_id: max((taken.texts.get(step_id, "") for taken in walks.values()), key=len)
        for step_id in leaves
        if step_id in reached
    }
    is_truncated = any(taken.truncated for taken in walks.values())
    return Report(
        workflow_id=workflow.id,
        coverage=Coverage(reached=len(reached), total=len(leaves)),
        by_mode={
            mode: Coverage(reached=len(taken.texts), total=len(leaves)) for mode, taken in walks.items()
        },
        dead_steps=tuple(_dead(workflow, walks, is_truncated)),
        paths=sum(taken.paths_taken for taken in walks.values()),
        completed=sum(taken.completed for taken in walks.values()),
        starts_tried=tried,
        starts_possible=possible,
        truncated=is_truncated,
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


def _dead(workflow: CompiledWorkflow, walks: dict[Autonomy, Walks], is_truncated: bool) -> Iterator[DeadStep]:
    reached = {step_id for taken in walks.values() for step_id in taken.texts}
    held = {name for taken in walks.values() for name in taken.held}
    entered = {name for taken in walks.values() for name in taken.entered}
    for part, around in _leaves(workflow.steps):
        if part.id not in reached:
            yield DeadStep(step_id=part.id, reason=_why(part, around, held, entered, is_truncated))


def _why(part: Part, around: tuple[Loop, ...], held: set[str], entered: set[str], is_truncated: bool) -> str:
    """The outermost thing that kept every walk away."""
    for outer in (*around, part):
        if outer.when and outer.when not in held:
            whose = "its condition" if outer is part else f"the condition of the loop {outer.id}"
            return f"{whose} {outer.when} never held"
        if isinstance(outer, Loop) and outer.id not in entered:
            return f"the loop {outer.id} never ran"
    return "the limits of the simulation came first" if is_truncated else "no walk leads there"


def _leaves(
    parts: tuple[Part, ...], around: tuple[Loop, ...] = ()
) -> Iterator[tuple[Part, tuple[Loop, ...]]]:
    for part in parts:
        if isinstance(part, Loop):
            yield from _leaves(part.body, (*around, part))
        else:
            yield part, around
