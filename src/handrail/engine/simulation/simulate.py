"""A workflow without an agent and without cost: all branches within bounds, in every mode. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from handrail.contract.estimate import estimate_tokens
from handrail.contract.vocabulary import Autonomy
from handrail.engine.simulation.candidates import input_paths, loops_in, simulation_effort, starts
from handrail.engine.simulation.report import (
    ALL_MODES,
    Coverage,
    Limits,
    LoopEnds,
    ModeWalked,
    PromptSize,
    Report,
)
from handrail.engine.simulation.unreached import Walked, leaves, unreached
from handrail.engine.simulation.walking import Walks, clipped
from handrail.workflows.compiled import CompiledWorkflow

DEFAULT_LIMITS = Limits()


def simulate(
    workflow: CompiledWorkflow, limits: Limits = DEFAULT_LIMITS, modes: tuple[Autonomy, ...] = ALL_MODES
) -> Report:
    """Walk the workflow and report what was reached, what was not, and what would go wrong.

    Raises Fault WORK_LIMIT_EXCEEDED when already the values to begin with are too many.
    """
    *_, report = simulated(workflow, limits, modes)
    assert isinstance(report, Report), "the report comes last"
    return report


def simulated(
    workflow: CompiledWorkflow, limits: Limits = DEFAULT_LIMITS, modes: tuple[Autonomy, ...] = ALL_MODES
) -> Iterator[ModeWalked | Report]:
    """The same, mode by mode: each as soon as it is walked, then the report on all of them."""
    short = clipped(workflow, limits.max_loop_iterations)
    effort = simulation_effort()
    paths = input_paths(short, limits.max_loop_iterations, effort)
    contexts, possible = starts(short, limits.max_loop_iterations, limits.max_starts, effort)
    walks = {mode: Walks(short, mode, limits, paths, effort) for mode in modes}
    total = sum(1 for _ in leaves(workflow.steps))
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
    steps = [part.id for part, _ in leaves(workflow.steps)]
    reached = {step_id for taken in walks.values() for step_id in taken.texts}
    texts = {
        step_id: max((taken.texts.get(step_id, "") for taken in walks.values()), key=len)
        for step_id in steps
        if step_id in reached
    }
    is_truncated = any(taken.truncated for taken in walks.values())
    missed = unreached(
        workflow,
        Walked(
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
