"""What a simulation is asked and what it answers. Pure."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from handrail.contract.ids import Autonomy
from handrail.contract.outcome import Answer
from handrail.engine.navigate import LoopExit

ProblemKind: TypeAlias = Literal["does_not_end", "valid_refused"]

ALL_MODES: tuple[Autonomy, ...] = ("guided", "full_auto_stop_on_user_deps", "full_auto_never_stop")


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How far a simulation goes; over a limit it stops and says so."""

    max_paths: int = 20_000
    """Walks per mode that end, or that meet a walk already taken."""
    max_loop_iterations: int = 2
    """Loops run none, one and this many times; one more iteration stands for their own limit."""
    max_starts: int = 64
    """Sets of input values to begin with."""
    max_positions: int = 20_000
    """Positions looked at per mode."""


class Coverage(Answer, frozen=True, kw_only=True):
    """Steps, choices and actions that some walk reached."""

    reached: int
    total: int


class DeadStep(Answer, frozen=True, kw_only=True):
    """A step that no walk reached, and why; as a dead step: that no run reaches."""

    step_id: str
    reason: str


class PromptSize(Answer, frozen=True, kw_only=True):
    """The largest prompt of a step that some walk read."""

    step_id: str
    size_bytes: int
    tokens: int


class LoopEnds(Answer, frozen=True, kw_only=True):
    """After how many iterations walks left a loop, and why. One more than asked for stands for its limit."""

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
    """What the walks of one mode showed."""

    mode: Autonomy
    coverage: Coverage
    paths: int
    completed: int
    truncated: bool
    problems: list[SimulationProblem]


class Report(Answer, frozen=True, kw_only=True):
    """What all the walks showed. The same workflow and limits give the same report."""

    ok: bool
    """Some walk came to the end, every step was reached or only untried, and nothing went wrong."""
    workflow_id: str
    coverage: Coverage
    by_mode: dict[Autonomy, Coverage]
    dead_steps: list[DeadStep]
    """No run comes there."""
    paths: int
    """Walks of all modes."""
    completed: int
    """Those of them that came to the end of the workflow."""
    starts_tried: int
    starts_possible: int
    """How many combinations of input values there are; not all of them are tried where there are many."""
    truncated: bool
    """The limits came first: not every way was walked, or a step was not tried."""
    prompts: list[PromptSize]
    problems: list[SimulationProblem]
    untried: list[DeadStep] = []
    """No walk came there, which says nothing about a run."""
    loops: list[LoopEnds] = []
    unproven: list[str] = []
    """Steps for whose rules or contract no report could be made up; a fitting one was assumed."""
