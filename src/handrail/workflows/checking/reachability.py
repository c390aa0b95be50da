"""Warn of steps that no run reaches, conditions that never hold, and loops that never decide. Pure."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from handrail.workflows.builtins.contracts import CONTRACTS
from handrail.workflows.compiled import (
    Action,
    Choice,
    CompiledWorkflow,
    Count,
    ForEach,
    Loop,
    Part,
    Step,
    Until,
    While,
    list_leaves,
)
from handrail.workflows.compiling.assemble import LOOP_CONTROL
from handrail.workflows.conditions import (
    MISSING,
    Compare,
    Condition,
    ConditionId,
    Facts,
    LoopControl,
    comparisons,
    decided,
    holds,
    label_condition,
    parts_of,
    replace_leaves,
)
from handrail.workflows.limits import MAX_TRIED_COMPARISONS, Effort
from handrail.workflows.part_contents import conditions_of
from handrail.workflows.problem import Findings, ProblemCode

# The values that a comparison may meet, where they are listed
#
# Of a text, a number or a list that may be anything, nothing is tried: whatever it is compared with may hold.

Subject: TypeAlias = tuple[str, str, str]
"""The value that a comparison reads: input, artifact, field."""
Values: TypeAlias = tuple[Any, ...] | None
"""All values that a subject may have; None if they are not listed."""


class Domains:
    """The values that the subjects of one workflow may have."""

    def __init__(self, workflow: CompiledWorkflow) -> None:
        self.effort = Effort(MAX_TRIED_COMPARISONS, "The conditions take too long to try.", "")
        """Work left for trying values; if none is left, a condition counts as one that may hold."""
        self._inputs = workflow.inputs
        self._known, self._unknown = _values_set(workflow.steps)
        self._schemas = {spec.artifact_kind: spec.schema for spec in CONTRACTS}
        self._schemas |= {one.artifact_kind: one.schema for one in workflow.contracts.values()}

    def delivers(self, artifact_kind: str) -> bool:
        """Whether an artifact of this kind can exist at all."""
        return artifact_kind in self._schemas

    def of(self, subject: Subject) -> Values:
        name, artifact, field = subject
        if artifact:
            return self._artifact_values(artifact, field)
        spec = self._inputs.get(name)
        if spec is None or spec.implicit or name in self._unknown:
            return None
        values = spec.enum or ((True, False) if spec.type == "boolean" else ())
        absent = () if spec.required or spec.default is not msgspec.UNSET else (MISSING,)
        return (*values, *absent, *self._known.get(name, ())) if values else None

    def _artifact_values(self, kind: str, field: str) -> Values:
        """Return the values of a member, which may always be absent, because the artifact may be."""
        schema: Any = self._schemas.get(kind)
        if schema is None:
            return (MISSING,)
        for part in field.split(".") if field else ():
            if not isinstance(schema, dict) or "$ref" in schema:
                return None
            is_closed = schema.get("additionalProperties") is False
            schema = schema.get("properties", {}).get(part)
            if schema is None:
                return (MISSING,) if is_closed else None
        if not isinstance(schema, dict):
            return None
        listed = [schema["const"]] if "const" in schema else schema.get("enum")
        if schema.get("type") == "boolean":
            listed = listed or [True, False]
        return (*listed, MISSING) if isinstance(listed, list) else None


def _values_set(parts: tuple[Part, ...]) -> tuple[dict[str, list[Any]], set[str]]:
    """Return the values that the workflow itself sets: known ones by name, and names that may get
    any value.
    """
    known: dict[str, list[Any]] = {}
    leaves = list(list_leaves(parts))
    for option in (one for leaf in leaves if isinstance(leaf, Choice) for one in leaf.options):
        for name, value in option.sets.items():
            known.setdefault(name, []).append(value)
    return known, {leaf.save_as for leaf in leaves if isinstance(leaf, Action)}


def subject_of(part: Compare) -> Subject:
    return part.input, part.artifact, part.field


# Whether a condition can ever hold
#
# "Never" is certain. The answer is "perhaps" if trying would take too long or the values are open.

MOST_TRIES = 4_096


def never_holds(condition: Condition, domains: Domains, *, can_decide: bool) -> bool:
    """Whether no values make it hold; `can_decide` says whether a loop's decision can exist."""
    asked = list(comparisons(condition))
    subjects = dict.fromkeys(map(subject_of, asked))
    tried = {one: listed for one in subjects if (listed := domains.of(one)) is not None}
    tries = prod(map(len, tried.values()))
    if tries > MOST_TRIES or not domains.effort.affords(tries * len(asked)):
        return False
    names = {subject: f"value{place}" for place, subject in enumerate(tried)}

    def ask(one: Compare | LoopControl, up: bool) -> Condition:
        """Return the engine's result for a value under a name without a dot; an open value may hold."""
        if isinstance(one, LoopControl):
            return decided(up and can_decide)
        name = names.get(subject_of(one))
        return decided(up) if name is None else replace(one, input=name, artifact="", field="")

    settled = replace_leaves(condition, ask)
    for chosen in product(*tried.values()):
        values = zip(names.values(), chosen, strict=True)
        if holds(settled, Facts(values={name: value for name, value in values if value is not MISSING})):
            return False
    return True


# Steps, conditions and loops of a workflow


def check_reachability(workflow: CompiledWorkflow, pointers: dict[str, str], trail: Findings) -> None:
    """Return warnings, because such a workflow still runs but does less than its author intends."""
    _Reach(workflow, pointers, trail).check(workflow.steps, None)


class _Reach:
    """One walk over the parts."""

    def __init__(self, workflow: CompiledWorkflow, pointers: dict[str, str], trail: Findings) -> None:
        self._conditions = workflow.conditions
        self._domains = Domains(workflow)
        self._pointers = pointers
        self._trail = trail

    def check(self, parts: tuple[Part, ...], loop: Loop | None) -> None:
        for part in parts:
            if part.when and self._never(part.when):
                message = f"No run reaches {part.id}: {self._why(part.when)}"
                self._warn("unreachable_step", part.id, message)
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
        for condition in conditions_of(step):
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

    def _why(self, condition: ConditionId) -> str:
        for part in parts_of(self._conditions[condition]):
            if isinstance(part, Compare) and part.artifact and not self._domains.delivers(part.artifact):
                return f"no step delivers an artifact of the kind {part.artifact}."
            if isinstance(part, LoopControl):
                return "a loop's decision is only there for the while and until of that loop."
        label = label_condition(self._conditions, condition)
        return f"its condition {label} can never hold with the declared inputs."

    def _warn(self, code: ProblemCode, step_id: str, message: str, fix: str = "") -> None:
        pointer = self._pointers.get(step_id, "")
        advice = fix or "Correct the condition, or remove the part."
        self._trail.report(code, pointer, message, advice)
