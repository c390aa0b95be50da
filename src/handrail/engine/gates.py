"""Assessment gates: levels a step must report, some of which demand a follow-up first. Pure."""

from __future__ import annotations

from typing import Any

from handrail.engine.reasons import fitting
from handrail.engine.reported import ASSESSMENT, Judgement
from handrail.workflows.compiled import Gate, Step

ANY_LEVEL = "<level>"
"""Stands for the level of a dimension that declares none."""
ANY_RATIONALE = "<what each level rests on>"
"""Stands for the agent's own reasons."""


def gate_of(step: Step | None, assessment_id: str) -> Gate | None:
    """The gate of a step that this assessment is for."""
    gates = step.gates if step is not None else ()
    return next((gate for gate in gates if gate.assessment_id == assessment_id), None)


def misfits(gate: Gate, judgement: Judgement) -> list[tuple[str, str]]:
    """Where an assessment does not have the dimensions and levels that its gate declares: place and fault."""
    issues = [
        (f"/dimensions/{name}", f"{name} is missing")
        for name in gate.dimensions
        if name not in judgement.dimensions
    ]
    for name, level in judgement.dimensions.items():
        levels = gate.dimensions.get(name)
        if levels is None:
            issues.append((f"/dimensions/{fitting(name, 60)}", f"{fitting(name, 60)} is not a dimension"))
        elif levels and level not in levels:
            said = f"{name} cannot be {fitting(level, 60)}; levels: {', '.join(levels)}"
            issues.append((f"/dimensions/{name}", said))
    return issues


def demanded(gate: Gate, judgement: Judgement) -> tuple[str, str] | None:
    """The first dimension and level that demand a follow-up before the run goes on."""
    found = ((name, level) for name, level in judgement.dimensions.items() if level in gate.followups)
    return next(found, None)


def assessment_example(gate: Gate) -> dict[str, Any]:
    """An assessment that passes: of each dimension the first level that demands nothing."""
    dimensions = {
        name: next(
            (level for level in levels if level not in gate.followups), levels[-1] if levels else ANY_LEVEL
        )
        for name, levels in gate.dimensions.items()
    }
    return {
        "kind": ASSESSMENT,
        "assessmentId": gate.assessment_id,
        "dimensions": dimensions,
        "rationale": ANY_RATIONALE,
    }


def listed_levels(gate: Gate) -> str:
    """The dimensions with their levels, for a sentence."""
    return "; ".join(f"{name}: {', '.join(levels)}" for name, levels in gate.dimensions.items())
