"""Where a run stands: a position in its compiled workflow, never a list of finished steps. Pure."""

from typing import TypeAlias

import msgspec


class LoopFrame(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One loop around the position, outermost first; the first iteration is 0."""

    loop_id: str
    iteration: int


class Running(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    tag_field="kind",
    tag="running",
    omit_defaults=True,
):
    """A step is pending."""

    step_id: str
    loops: tuple[LoopFrame, ...] = ()


class Complete(msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind", tag="complete"):
    """Nothing is pending any more."""


State: TypeAlias = Running | Complete


def frames_of(state: State) -> tuple[LoopFrame, ...]:
    """The loops around a position; a finished run has none."""
    return state.loops if isinstance(state, Running) else ()


def step_key(state: Running) -> str:
    """The name of a step instance: `loop@i/loop@j::stepId`, or the bare id outside loops."""
    if not state.loops:
        return state.step_id
    return "/".join(f"{frame.loop_id}@{frame.iteration}" for frame in state.loops) + "::" + state.step_id
