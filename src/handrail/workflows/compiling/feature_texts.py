"""The text that features add to prompts: deduplicated, in the order of their ids. Pure."""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.workflows.builtins.registry import all_features, find_feature
from handrail.workflows.builtins.specs import Addition, CapabilityUse, FeatureSpec, Site
from handrail.workflows.compiling.arguments import Taken, checked
from handrail.workflows.compiling.trail import Trail
from handrail.workflows.model import SourceFeature, SourceWorkflow
from handrail.workflows.reading.findings import child


class _Applied(msgspec.Struct, frozen=True, kw_only=True):
    spec: FeatureSpec
    config: dict[str, Any]


class FeatureTexts(msgspec.Struct, frozen=True, kw_only=True):
    """The features of one workflow, ready to be asked about each step."""

    applied: tuple[_Applied, ...]
    capabilities: dict[str, CapabilityUse]
    trail: Trail

    def around(self, step_id: str, site: Site) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The texts before and after the prompt of a step."""
        site = msgspec.structs.replace(site, capabilities=self.capabilities)
        before: list[str] = []
        after: list[str] = []
        for one in self.applied:
            added = one.spec.adds(one.config, site)
            for addition in added:
                (before if addition.place == "before" else after).append(_text(addition))
            if added:
                self.trail.decide("feature", one.spec.id, step_id, one.spec.title)
        return tuple(before), tuple(after)


def feature_texts(source: SourceWorkflow, trail: Trail) -> FeatureTexts:
    """Find and configure each feature once; the order in the file carries no meaning."""
    applied: dict[str, _Applied] = {}
    seen: dict[str, SourceFeature] = {}
    for feature in source.features:
        spec = find_feature(feature.id)
        if spec is None:
            known = [one.id for one in all_features()]
            place = f"{feature.pointer}/id" if feature.config else feature.pointer
            trail.unknown("feature", feature.id, known, place, "It is left out.")
        elif feature.id in seen:
            _check_repeat(feature, seen[feature.id], trail)
        else:
            seen[feature.id] = feature
            taken = Taken(owner=feature.id, specs=spec.config)
            config = checked(taken, feature.config, child(feature.pointer, "config"), trail)
            if config is not None:
                applied[feature.id] = _Applied(spec=spec, config=config)
    return FeatureTexts(
        applied=tuple(applied[name] for name in sorted(applied)),
        capabilities=source.capabilities,
        trail=trail,
    )


def _check_repeat(feature: SourceFeature, first: SourceFeature, trail: Trail) -> None:
    if feature.config != first.config:
        message = f"{feature.id} is configured twice, in two ways."
        trail.report("duplicate_id", feature.pointer, message, "Keep one of them.")


def _text(addition: Addition) -> str:
    return f"## {addition.heading}\n{addition.text.strip()}" if addition.heading else addition.text
