"""The limits of a simulation and its report. Pure."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from handrail.contract.ids import Autonomy
from handrail.contract.outcome import Answer
from handrail.engine.navigate import LoopExit

ProblemKind: TypeAlias = Literal["does_not_end", "valid_refused"]

ALL_MODES: tuple[Autonomy, ...] = ("guided", "full_auto_stop_on_user_deps", "full_auto_never_stop")


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of a simulation; it stops at a limit and reports that."""

    max_paths: int = 20_000
    """Walks per mode, each ended at the end of the workflow or where it met an earlier walk."""
    max_loop_iterations: int = 2
    """Loops run zero, one and this many times; one more iteration represents their own limit."""
    max_starts: int = 64
    """Sets of input values with which walks begin."""
    max_positions: int = 20_000
    """Positions visited per mode."""


class Coverage(Answer, frozen=True, kw_only=True):
    """The number of steps, choices and actions that a walk reached."""

    reached: int
    total: int


class DeadStep(Answer, frozen=True, kw_only=True):
    """A step that no walk reached, and why. In `dead_steps`, no run can reach it."""

    step_id: str
    reason: str


class PromptSize(Answer, frozen=True, kw_only=True):
    """The largest prompt of a step in any walk."""

    step_id: str
    size_bytes: int
    tokens: int


class LoopEnds(Answer, frozen=True, kw_only=True):
    """The iterations after which walks left a loop, and why. One more than the requested number represents
    its limit.
    """

    loop_id: str
    iterations: list[int]
    reasons: list[LoopExit]


class SimulationProblem(Answer, frozen=True, kw_only=True):
    """Something that would go wrong in a run."""

    kind: ProblemKind
    step_id: str
    mode: Autonomy
    message: str


class ModeWalked(Answer, frozen=True, kw_only=True):
    """The results of the walks of one mode."""

    mode: Autonomy
    coverage: Coverage
    paths: int
    completed: int
    truncated: bool
    problems: list[SimulationProblem]


class Report(Answer, frozen=True, kw_only=True):
    """The results of all walks. The same workflow and limits give the same report."""

    ok: bool
    """Whether a walk reached the end, every step was reached or only untried, and nothing went wrong."""
    workflow_id: str
    coverage: Coverage
    by_mode: dict[Autonomy, Coverage]
    dead_steps: list[DeadStep]
    """Steps that no run can reach."""
    paths: int
    """Number of walks in all modes."""
    completed: int
    """Number of those that reached the end of the workflow."""
    starts_tried: int
    starts_possible: int
    """Number of combinations of input values; if there are many, not all of them are tried."""
    truncated: bool
    """Whether a limit was reached, so that not every way was walked or a step was not tried."""
    prompts: list[PromptSize]
    problems: list[SimulationProblem]
    untried: list[DeadStep] = []
    """Steps that no walk reached; runs may still reach them."""
    loops: list[LoopEnds] = []
    unproven: list[str] = []
    """Steps for whose rules or contract no report could be generated; a valid one was assumed."""
