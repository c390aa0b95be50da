"""What templates bring along joins what the calling workflow declares; the caller's own word wins. Pure."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from handrail.workflows.builtins.specs import Brings, CapabilityUse
from handrail.workflows.compiling.trail import Trail
from handrail.workflows.model import SourceWorkflow

_STRENGTH: dict[CapabilityUse, int] = {"disabled": 0, "preferred": 1, "required": 2}


def joined(source: SourceWorkflow, brought: Iterable[tuple[Brings, str]], trail: Trail) -> SourceWorkflow:
    """The workflow with everything its templates rely on; each comes with the place of its call."""
    assessments = {one.id: one for one in source.assessments}
    references = {one.id: one for one in source.references}
    features = {one.id: one for one in source.features}
    capabilities = dict(source.capabilities)
    more = []
    for brings, pointer in brought:
        assessments = {one.id: one for one in brings.assessments} | assessments
        references = {**references, **{one.id: one for one in brings.references if one.id not in references}}
        more += [one for one in brings.features if one.id not in features]
        features.update({one.id: one for one in more})
        for name, use in sorted(brings.capabilities.items()):
            capabilities[name] = _stronger(name, capabilities.get(name), use, pointer, trail)
    return msgspec.structs.replace(
        source,
        assessments=tuple(assessments.values()),
        references=tuple(references.values()),
        features=(*source.features, *more),
        capabilities=capabilities,
    )


def _stronger(
    name: str, own: CapabilityUse | None, wanted: CapabilityUse, pointer: str, trail: Trail
) -> CapabilityUse:
    if own is None:
        return wanted
    if own == "disabled" and wanted == "required":
        message = f"A template called here requires {name}, which this workflow disables."
        fix = f"Remove the call, or do not disable {name}."
        trail.report("bad_value", pointer, message, fix, trail.severity_of_unknown)
    return max(own, wanted, key=_STRENGTH.__getitem__) if own != "disabled" else own
