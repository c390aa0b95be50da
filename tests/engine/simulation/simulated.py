"""What tests take from a simulation: its report, and a context to begin with."""

from __future__ import annotations

from typing import Any

from handrail.contract.ids import Autonomy
from handrail.engine.simulation.made_reports import input_paths, list_starts, simulation_effort
from handrail.engine.simulation.report import ALL_MODES, Limits, Report
from handrail.engine.simulation.simulate import simulate_modes
from handrail.workflows.compiled import CompiledWorkflow

DEFAULT_LIMITS = Limits()


def simulate(
    workflow: CompiledWorkflow, limits: Limits = DEFAULT_LIMITS, modes: tuple[Autonomy, ...] = ALL_MODES
) -> Report:
    *_, report = simulate_modes(workflow, limits, modes)
    assert isinstance(report, Report)
    return report


def first_start(workflow: CompiledWorkflow) -> dict[str, Any]:
    """A context that a run of this workflow may begin with."""
    paths = input_paths(workflow, 1, simulation_effort())
    return list_starts(workflow, paths, 4, simulation_effort())[0][0]
