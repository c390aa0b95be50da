"""The texts that features add to prompts, and the values that templates and features take. Pure.

Texts are deduplicated and come in the order of the feature ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from handrail.contract.json.places import join_pointer
from handrail.contract.suggest import find_nearest
from handrail.contract.wording import quote
from handrail.workflows.builtins.placement import parse_placeholder
from handrail.workflows.builtins.prompt_texts import FEATURES
from handrail.workflows.builtins.registry import find_feature
from handrail.workflows.builtins.specs import CapabilityUse, FeatureSpec, Site
from handrail.workflows.compiled import InputSpec
from handrail.workflows.compiling.compilation import report_unknown
from handrail.workflows.conditions import is_same_value
from handrail.workflows.model import SourceFeature, SourceWorkflow
from handrail.workflows.problem import NO_EDIT, rename_key
from handrail.workflows.reading.findings import Findings, guess_surely, quote_name
from handrail.workflows.reading.value_fit import INPUT_FITS

# Arguments of templates and settings of features: checked, with defaults


class Signature(msgspec.Struct, frozen=True, kw_only=True):
    """What something takes, and under which rules."""

    owner: str
    """Its id, for messages."""
    specs: Mapping[str, InputSpec]
    takes_inputs: bool = False
    """Whether `{{name}}` may stand for a value of any type."""
    names_inputs: tuple[str, ...] = ()
    """Which values must be `{{name}}`."""
    inputs: Mapping[str, InputSpec] = {}
    """What the calling workflow declares, which `{{name}}` stands for."""


def check_values(
    taken: Signature, given: dict[str, Any], pointer: str, trail: Findings
) -> dict[str, Any] | None:
    """The values with defaults; None when one cannot be used, which has been reported."""
    is_sound = True
    for name in sorted(set(given) - set(taken.specs)):
        is_sound = _spare(taken, name, join_pointer(pointer, name), trail) and is_sound
    values = {name: spec.default for name, spec in taken.specs.items() if spec.default is not msgspec.UNSET}
    for name, spec in taken.specs.items():
        if name in given:
            values[name] = given[name]
            trouble = _trouble(taken, name, spec, given[name])
        elif spec.required:
            wanted = spec.description or f"{INPUT_FITS[spec.type][1]}."
            trouble = (f"{taken.owner} needs {name}.", f"Add {name}: {wanted}")
        else:
            continue
        if trouble is not None:
            trail.report("bad_argument", join_pointer(pointer, name) if name in given else pointer, *trouble)
            is_sound = False
        elif name in given and (doubt := _doubt(taken, name, spec, given[name])) is not None:
            trail.report("bad_argument", join_pointer(pointer, name), *doubt, severity="warning")
    return values if is_sound else None


def _spare(taken: Signature, name: str, pointer: str, trail: Findings) -> bool:
    """Report a name that is not taken; whether it may be ignored."""
    sure = guess_surely(name, taken.specs)
    near = [sure] if sure else find_nearest(name, taken.specs)
    names = ", ".join(sorted(taken.specs)) or "nothing"
    fix = f"Did you mean {' or '.join(near)}?" if near else f"Remove it; {taken.owner} takes {names}."
    edit = rename_key(pointer, sure) if sure else NO_EDIT
    message = f"{taken.owner} does not take {quote_name(name)}."
    trail.report("bad_argument", pointer, message, fix, edit, severity=trail.severity_of_unknown)
    return trail.has_open_names


def _trouble(taken: Signature, name: str, spec: InputSpec, value: Any) -> tuple[str, str] | None:
    """What is wrong with a value, and its fix."""
    if parse_placeholder(value) and (taken.takes_inputs or name in taken.names_inputs):
        return None
    if name in taken.names_inputs:
        fix = 'Declare an array input and write its name in double braces here, such as "{{files}}".'
        return f"{name} must name an input, because a loop goes through it.", fix
    fits, words = INPUT_FITS[spec.type]
    if not fits(value):
        return f"{name} is not {words}.", f"Write {words}."
    if spec.enum and not any(is_same_value(value, one) for one in spec.enum):
        words = ", ".join(str(one) for one in spec.enum)
        near = find_nearest(str(value), [str(one) for one in spec.enum])
        fix = f"Did you mean {' or '.join(near)}?" if near else f"Use one of {words}."
        return f"{name} cannot be {quote(str(value))}.", fix
    return None


def _doubt(taken: Signature, name: str, spec: InputSpec, value: Any) -> tuple[str, str] | None:
    """Why the value of an input may not be what is taken; a prompt shows it all the same."""
    declared = taken.inputs.get(parse_placeholder(value))
    if declared is None or declared.implicit:
        return None
    held, wanted = INPUT_FITS[declared.type][1], INPUT_FITS[spec.type][1]
    kinds = {declared.type, spec.type}
    if len(kinds) == 2 and "any" not in kinds and spec.type != "string" and kinds != {"integer", "number"}:
        fix = f"Declare it as {wanted}, or name another input."
        return f"{name} is meant to be {wanted}, and the input {value} is {held}.", fix
    shared = [one for one in spec.enum or () if any(is_same_value(one, own) for own in declared.enum or ())]
    if spec.enum and declared.enum and not shared:
        words = ", ".join(str(one) for one in spec.enum)
        return f"{name} takes {words}, and the input {value} is none of them.", "Name another input."
    return None


# Texts


class FeatureTexts(msgspec.Struct, frozen=True, kw_only=True):
    """The features of one workflow, ready to be asked about each step."""

    applied: tuple[tuple[FeatureSpec, dict[str, Any]], ...]
    capabilities: dict[str, CapabilityUse]

    def around(self, site: Site) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The texts before and after the prompt of a step."""
        site = msgspec.structs.replace(site, capabilities=self.capabilities)
        before: list[str] = []
        after: list[str] = []
        for spec, config in self.applied:
            for addition in spec.adds(config, site):
                heading, text = addition.heading, addition.text
                section = f"## {heading}\n{text.strip()}" if heading else text
                (before if addition.place == "before" else after).append(section)
        return tuple(before), tuple(after)


def collect_feature_texts(source: SourceWorkflow, trail: Findings) -> FeatureTexts:
    """Find and configure each feature once; the order in the file carries no meaning."""
    applied: dict[str, tuple[FeatureSpec, dict[str, Any]]] = {}
    seen: dict[str, SourceFeature] = {}
    for feature in source.features:
        spec = find_feature(feature.id)
        if spec is None:
            known = [one.id for one in FEATURES]
            place = f"{feature.pointer}/id" if feature.config else feature.pointer
            report_unknown(trail, "feature", feature.id, known, place, "It is left out.")
        elif feature.id in seen:
            if feature.config != seen[feature.id].config:
                message = f"{feature.id} is configured twice, in two ways."
                trail.report("duplicate_id", feature.pointer, message, "Keep one of them.")
        else:
            seen[feature.id] = feature
            taken = Signature(owner=feature.id, specs=spec.config)
            config = check_values(taken, feature.config, f"{feature.pointer}/config", trail)
            if config is not None:
                applied[feature.id] = (spec, config)
    return FeatureTexts(
        applied=tuple(applied[name] for name in sorted(applied)),
        capabilities=source.capabilities,
    )
