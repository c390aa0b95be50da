"""What conditions and prompts may look at, folded along the lineage of a node. Pure.

A fork never sees its sibling's facts: context, artifacts and loop decisions are those of the ancestors.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from typing import Any

from msgspec import UNSET

from handrail.contract.ids import NodeId
from handrail.engine.events import Artifact
from handrail.engine.history import History, Node
from handrail.engine.navigate import deciding_loop, loop_values
from handrail.engine.reported import LOOP_CONTROL, LoopDecision, read_as
from handrail.engine.state import LoopFrame, Running, State, frames_of
from handrail.workflows.compiled import CompiledWorkflow
from handrail.workflows.conditions import Facts, named_value
from handrail.workflows.limits import MAX_ITERATIONS


def first_facts(workflow: CompiledWorkflow, context: dict[str, Any]) -> Facts:
    """Before the first node: defaults and what the start brought."""
    gathered = _Gathered(workflow, (), Facts(values=_defaults(workflow)))
    gathered.take_context(context)
    return gathered.facts()


def facts_at(history: History, workflow: CompiledWorkflow, node_id: NodeId) -> Facts:
    """What holds at a node."""
    return _held_at(history, workflow, node_id).facts()


def facts_after(
    history: History,
    workflow: CompiledWorkflow,
    node: Node,
    context: dict[str, Any],
    artifacts: Iterable[Artifact],
) -> Facts:
    """What will hold once a report at this node is accepted; it decides where the run goes."""
    gathered = _held_at(history, workflow, node.node_id)
    gathered.take_context(context)
    gathered.take_artifacts(artifacts, node.state)
    return gathered.facts()


def with_report(
    workflow: CompiledWorkflow,
    facts: Facts,
    state: Running,
    context: dict[str, Any],
    artifacts: Iterable[Artifact],
) -> Facts:
    """The facts of a position with a report at it applied: `facts_after` for those who keep no history."""
    gathered = _Gathered(workflow, state.loops, facts)
    gathered.take_context(context)
    gathered.take_artifacts(artifacts, state)
    return gathered.facts()


def carried_to(facts: Facts, before: Running, after: Running) -> Facts:
    """The same facts seen from a later position: decisions of iterations that ended do not count there."""
    same = 0
    for left, right in zip(before.loops, after.loops, strict=False):
        if left != right:
            break
        same += 1
    current = {frame.loop_id for frame in after.loops[:same]}
    kept = {loop_id: told for loop_id, told in facts.loop_decisions.items() if loop_id in current}
    return Facts(values=facts.values, artifacts=facts.artifacts, loop_decisions=kept)


def inside_loops(workflow: CompiledWorkflow, state: Running, facts: Facts) -> Facts:
    """The same facts with the items and indexes of the loops around a position."""
    values = loop_values(workflow, state.loops, facts.values)
    return Facts(values=values, artifacts=facts.artifacts, loop_decisions=facts.loop_decisions)


def _held_at(history: History, workflow: CompiledWorkflow, node_id: NodeId) -> _Gathered:
    held = history.inherited[node_id]
    frames = frames_of(history.nodes[node_id].state)
    decisions: dict[str, str] = {}
    for named, decided in sorted(held.decisions.items(), key=lambda told: told[1].index):
        _decide(decisions, workflow, frames, named, decided.decision, decided.frames)
    begun = Facts(
        values={**_defaults(workflow), **held.context}, artifacts=held.artifacts, loop_decisions=decisions
    )
    return _Gathered(workflow, frames, begun)


def _defaults(workflow: CompiledWorkflow) -> dict[str, Any]:
    return {name: spec.default for name, spec in workflow.inputs.items() if spec.default is not UNSET}


def _decide(
    decisions: dict[str, str],
    workflow: CompiledWorkflow,
    frames: tuple[LoopFrame, ...],
    named: str,
    decision: str,
    made_in: tuple[LoopFrame, ...],
) -> None:
    """Take a decision over if it is about an iteration around this position, outer iterations included."""
    loop_id = named or deciding_loop(workflow, made_in)
    depth = next((place for place, frame in enumerate(made_in, 1) if frame.loop_id == loop_id), 0)
    if depth and made_in[:depth] == frames[:depth]:
        decisions[loop_id] = decision


def _is_counted(value: Any) -> bool:
    """Whether a list is one that was made of a number, and follows it."""
    return isinstance(value, list) and value == list(range(1, len(value) + 1))


class _Gathered:
    """Facts under way, seen from a position."""

    def __init__(self, workflow: CompiledWorkflow, frames: tuple[LoopFrame, ...], begun: Facts) -> None:
        self._workflow = workflow
        self._frames = frames
        self._values = dict(begun.values)
        self._artifacts = dict(begun.artifacts)
        self._decisions = dict(begun.loop_decisions)
        self._counted = {
            name
            for name, spec in workflow.inputs.items()
            if spec.counted_by and _is_counted(begun.values.get(name))
        }

    def take_context(self, delta: dict[str, Any]) -> None:
        defaults = _defaults(self._workflow)
        for key, value in delta.items():
            if value is not None:
                self._values[key] = value
            elif key in defaults:
                self._values[key] = defaults[key]
            else:
                self._values.pop(key, None)

    def take_artifacts(self, artifacts: Iterable[Artifact], reported_at: State) -> None:
        """Only what was found valid counts."""
        for artifact in artifacts:
            if not artifact.contract_ref:
                continue
            self._artifacts[artifact.kind] = artifact.body
            told = read_as(LoopDecision, artifact.body) if artifact.kind == LOOP_CONTROL else None
            if told is not None:
                made_in = frames_of(reported_at)
                _decide(self._decisions, self._workflow, self._frames, told.loop_id, told.decision, made_in)

    def facts(self) -> Facts:
        for name, spec in self._workflow.inputs.items():
            if spec.counted_by and (name not in self._values or name in self._counted):
                self._count(name, named_value(self._values, spec.counted_by))
        return Facts(values=self._values, artifacts=self._artifacts, loop_decisions=self._decisions)

    def _count(self, name: str, most: Any) -> None:
        """The numbers up to a value; there is no list while that is no number."""
        if isinstance(most, int | float) and not isinstance(most, bool) and isfinite(most):
            self._values[name] = list(range(1, min(int(most), MAX_ITERATIONS + 1) + 1))
