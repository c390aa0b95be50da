"""Probes for required capabilities: steps before all others that find out, never a guess. Pure.

EXEC "Capabilities": required is probed early; preferred is tried where it is needed.
"""

from __future__ import annotations

from handrail.workflows.builtins.registry import all_capabilities, find_capability
from handrail.workflows.compiled import Provenance
from handrail.workflows.compiling.placed import Placed, PlacedLeaf, walk
from handrail.workflows.compiling.trail import Trail
from handrail.workflows.model import SourceStep, SourceWorkflow

CAPABILITY_OBSERVATION = "wr.contracts.capability_observation"


def with_probes(source: SourceWorkflow, parts: tuple[Placed, ...], trail: Trail) -> tuple[Placed, ...]:
    """The parts with a probe in front for each required capability that nothing in them observes first."""
    taken = {part.id for part in walk(parts)}
    probes = tuple(
        probe
        for capability, use in sorted(source.capabilities.items())
        if use == "required" and not _is_probed(parts, capability)
        if (probe := _probe(capability, taken, trail)) is not None
    )
    return (*probes, *parts)


def _is_probed(parts: tuple[Placed, ...], capability: str) -> bool:
    """Whether a step that always runs observes it: a top-level one without a condition."""
    return any(
        isinstance(part, PlacedLeaf) and part.capability == capability and not part.whens for part in parts
    )


def _probe(capability: str, taken: set[str], trail: Trail) -> PlacedLeaf | None:
    spec = find_capability(capability)
    if spec is None:
        known = [one.id for one in all_capabilities()]
        pointer = f"/capabilities/{capability}"
        trail.unknown("capability", capability, known, pointer, "It is not probed.")
        return None
    step_id = _free(f"probe_{capability}", taken)
    trail.decide("capability_probe", capability, step_id, "the workflow requires it, so it is probed first")
    return PlacedLeaf(
        part=SourceStep(
            id=step_id,
            title=f"Probe: {spec.title}",
            prompt=spec.probe,
            contract_ref=CAPABILITY_OBSERVATION,
            pointer=f"/capabilities/{capability}",
        ),
        provenance=Provenance(kind="capability_probe", origin=capability),
        capability=capability,
    )


def _free(wanted: str, taken: set[str]) -> str:
    """The id, or the id with the lowest number that makes it free."""
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted}_{number}", number + 1
    taken.add(name)
    return name
