"""Steps no run reaches, conditions that never hold, loops that never decide. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from handrail.workflows.checking.possible_values import Domains
from handrail.workflows.checking.satisfiable import never_holds
from handrail.workflows.compiled import (
    CompiledWorkflow,
    Count,
    ForEach,
    Loop,
    Part,
    Step,
    Until,
    While,
)
from handrail.workflows.compiling.condition_table import parts_of
from handrail.workflows.compiling.loop_deciders import LOOP_CONTROL
from handrail.workflows.compiling.trail import Trail
from handrail.workflows.condition_words import condition_label
from handrail.workflows.conditions import Compare, ConditionId, LoopControl
from handrail.workflows.problem import ProblemCode


def check_reachability(workflow: CompiledWorkflow, pointers: dict[str, str], trail: Trail) -> None:
    """Warnings only: such a workflow still runs, it does less than its author thinks."""
    _Reach(workflow, pointers, trail).check(workflow.steps, None)


class _Reach:
    """One walk over the parts."""

    def __init__(self, workflow: CompiledWorkflow, pointers: dict[str, str], trail: Trail) -> None:
        self._conditions = workflow.conditions
        self._domains = Domains(workflow)
        self._pointers = pointers
        self._trail = trail

    def check(self, parts: tuple[Part, ...], loop: Loop | None) -> None:
        for part in parts:
            if part.when and self._never(part.when):
                self._dead(part, part.when)
                continue
            if isinstance(part, Loop):
                self._check_loop(part)
            elif isinstance(part, Step):
                self._check_step(part, loop)

    def _check_loop(self, loop: Loop) -> None:
        match loop.repeat:
            case While(condition=condition):
                is_decision = isinstance(self._conditions[condition], LoopControl)
                if not is_decision and self._never(condition):
                    why = "its condition cannot hold before the first iteration"
                    self._warn("unreachable_step", loop.id, f"The loop {loop.id} never starts: {why}.")
                    return
            case Until(condition=condition):
                if self._never(condition, can_decide=True):
                    message = f"The loop {loop.id} never ends before its limit: {self._why(condition)}"
                    self._warn("impossible_condition", loop.id, message)
            case ForEach() | Count():
                pass
        self.check(loop.body, loop)

    def _check_step(self, step: Step, loop: Loop | None) -> None:
        for condition in _asides(step):
            if self._never(condition):
                message = f"Something in {step.id} never happens: {self._why(condition)}"
                self._warn("impossible_condition", step.id, message)
        if step.contract == LOOP_CONTROL and loop is None:
            message = f"{step.id} decides about a loop but is in none."
            self._warn("loop_without_decision", step.id, message, "Move it into the loop's body.")
        elif step.contract == LOOP_CONTROL and step.when:
            message = f"{step.id} decides about the loop, but its condition may skip it."
            fix = "Remove its condition, or let another step of the body decide."
            self._warn("loop_without_decision", step.id, message, fix)

    def _never(self, condition: ConditionId, *, can_decide: bool = False) -> bool:
        return never_holds(self._conditions[condition], self._domains, can_decide=can_decide)

    def _dead(self, part: Part, condition: ConditionId) -> None:
        message = f"No run reaches {part.id}: {self._why(condition)}"
        self._warn("unreachable_step", part.id, message)

    def _why(self, condition: ConditionId) -> str:
        for part in parts_of(self._conditions[condition]):
            if isinstance(part, Compare) and part.artifact and not self._domains.delivers(part.artifact):
                return f"no step delivers an artifact of the kind {part.artifact}."
            if isinstance(part, LoopControl):
                return "a loop's decision is only there for the while and until of that loop."
        said = condition_label(self._conditions, condition)
        return f"its condition {said} can never hold with the declared inputs."

    def _warn(self, code: ProblemCode, step_id: str, message: str, fix: str = "") -> None:
        pointer = self._pointers.get(step_id, "")
        advice = fix or "Correct the condition, or remove the part."
        self._trail.report(code, pointer, message, advice, "warning")


def _asides(step: Step) -> Iterator[ConditionId]:
    """Conditions of a step that do not decide whether it runs."""
    yield from (fragment.when for fragment in step.fragments if fragment.when)
    if isinstance(step.require_confirmation, str):
        yield step.require_confirmation
