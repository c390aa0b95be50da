"""The source model from a document that fits the grammar. Pure.

Nothing is checked here: the document has been, so a value that does not fit is a broken assumption.
"""

from __future__ import annotations

import msgspec

from handrail.workflows.compiled import InputSpec, Recommended, Reference
from handrail.workflows.model import SourceAssessment, SourceFeature, SourceWorkflow
from handrail.workflows.reading.build_conditions import Object, Origin, build_condition
from handrail.workflows.reading.build_parts import build_parts

DEFAULT_VERSION = "1.0.0"


def build_workflow(document: Object, origin: Origin) -> SourceWorkflow:
    return SourceWorkflow(
        id=document["id"],
        kind=document.get("kind", "workflow"),
        name=document["name"],
        description=document["description"],
        version=document.get("version", DEFAULT_VERSION),
        agent_role=document.get("agentRole", ""),
        guidance=tuple(document.get("guidance", ())),
        preconditions=tuple(document.get("preconditions", ())),
        questions=tuple(document.get("questions", ())),
        inputs=msgspec.convert(document.get("inputs", {}), dict[str, InputSpec]),
        recommended=msgspec.convert(document.get("recommended", {}), Recommended),
        capabilities=document.get("capabilities", {}),
        features=_features(document, origin),
        references=msgspec.convert(document.get("references", []), tuple[Reference, ...]),
        functions=document.get("functions", {}),
        conditions={one["id"]: build_condition(one) for one in document.get("conditions", ())},
        assessments=_assessments(document, origin),
        steps=build_parts(document["steps"], "/steps", origin),
        about=document.get("about", ""),
        examples=tuple(document.get("examples", ())),
        tags=tuple(document.get("tags", ())),
        extra=document.get("extra", {}),
    )


def _features(document: Object, origin: Origin) -> tuple[SourceFeature, ...]:
    return tuple(
        SourceFeature(id=feature, pointer=origin(f"/features/{index}"))
        if isinstance(feature, str)
        else SourceFeature(
            id=feature["id"], config=feature.get("config", {}), pointer=origin(f"/features/{index}")
        )
        for index, feature in enumerate(document.get("features", ()))
    )


def _assessments(document: Object, origin: Origin) -> tuple[SourceAssessment, ...]:
    return tuple(
        SourceAssessment(
            id=one["id"],
            purpose=one["purpose"],
            dimensions={name: tuple(levels) for name, levels in one["dimensions"].items()},
            pointer=origin(f"/assessments/{index}"),
        )
        for index, one in enumerate(document.get("assessments", ()))
    )
