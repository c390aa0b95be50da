"""The inputs of a workflow, in a few words for a list."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from handrail.contract.outcome import make_from
from handrail.engine.judge.report_frame import make_ask, steering_values
from handrail.views.workflows import InputOutline
from handrail.workflows.compiled import CompiledWorkflow, InputSpec, Step, list_leaves

BY_THE_START = "start"
"""Stands in place of a step if a value is read before the first one, so only the start can give it."""
MOST_ASKING = 5


def outline_inputs(inputs: Mapping[str, InputSpec]) -> list[InputOutline]:
    """Return outlines of the declared inputs; an implicit one is only a word that a
    condition or prompt uses.
    """
    return [_outline(name, spec) for name, spec in inputs.items() if not spec.implicit]


def outline_steering_inputs(workflow: CompiledWorkflow) -> list[InputOutline]:
    """Return outlines of everything that steers the run, declared or not, with the steps that ask for it."""
    steering = steering_values(workflow)
    shown = {held.name: held for held in outline_inputs(workflow.inputs)}
    for name, held in steering.items():
        spec = workflow.inputs.get(name, InputSpec(implicit=True))
        asked = [step_id or BY_THE_START for step_id in held.asked_at][:MOST_ASKING]
        shown[name] = replace(
            shown.get(name, _outline(name, spec)),
            allowed="" if spec.enum else make_ask(workflow, held).allowed,
            asked_at=asked,
        )
    for leaf in list_leaves(workflow.steps):
        for name in leaf.asks if isinstance(leaf, Step) else ():
            if name in shown and leaf.id not in shown[name].asked_at:
                shown[name] = replace(shown[name], asked_at=[*shown[name].asked_at, leaf.id][:MOST_ASKING])
    return list(shown.values())


def _outline(name: str, spec: InputSpec) -> InputOutline:
    return make_from(InputOutline, spec, name=name, enum=list(spec.enum))


MOST_DESCRIPTION = 160
"""Most characters of a description in a row."""
