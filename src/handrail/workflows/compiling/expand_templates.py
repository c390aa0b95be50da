"""Expand builtins: the steps of templates and the texts of features, with their arguments. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, assert_never

import msgspec

from handrail.contract.json.canonical import canonical_bytes
from handrail.contract.json.places import join_pointer
from handrail.contract.outcome import make_from
from handrail.contract.suggest import find_nearest
from handrail.contract.wording import quote
from handrail.workflows.builtins.placement import default_prefix, make_routine_template, parse_placeholder
from handrail.workflows.builtins.prompt_texts import FEATURES
from handrail.workflows.builtins.specs import (
    CapabilityUse,
    FeatureSpec,
    Site,
    TemplateContext,
    TemplateNeeds,
    TemplateSpec,
)
from handrail.workflows.builtins.templates import TEMPLATES, find_feature, find_template
from handrail.workflows.compiled import InputSpec, Provenance
from handrail.workflows.compiling.compilation import (
    Placed,
    PlacedLeaf,
    PlacedLoop,
    Surroundings,
    report_unknown,
)
from handrail.workflows.conditions import is_same_value
from handrail.workflows.limits import MAX_ID_CHARACTERS, MAX_LOOP_DEPTH, MAX_PARTS
from handrail.workflows.model import (
    SourceAction,
    SourceChoice,
    SourceDelegate,
    SourceFeature,
    SourceLoop,
    SourcePart,
    SourceStep,
    SourceTemplateCall,
    SourceWorkflow,
    When,
    walk_source,
)
from handrail.workflows.problem import NO_EDIT, Findings, guess_surely, quote_name, rename_key
from handrail.workflows.reading.repairs import INPUT_FITS, find_free_id

# Arguments of templates and settings of features: checked, with defaults


class Signature(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of a template or feature, and their rules."""

    owner: str
    """Its id, for messages."""
    specs: Mapping[str, InputSpec]
    takes_inputs: bool = False
    """Whether `{{name}}` is allowed in place of a value of any type."""
    names_inputs: tuple[str, ...] = ()
    """Which values must be `{{name}}`."""
    inputs: Mapping[str, InputSpec] = {}
    """The calling workflow's declarations, which `{{name}}` refers to."""


def check_values(
    taken: Signature, given: dict[str, Any], pointer: str, trail: Findings
) -> dict[str, Any] | None:
    """Return the values with defaults; None if one cannot be used, which is reported."""
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
    """Report an unknown parameter; return whether it may be ignored."""
    sure = guess_surely(name, taken.specs)
    near = [sure] if sure else find_nearest(name, taken.specs)
    names = ", ".join(sorted(taken.specs)) or "nothing"
    fix = f"Did you mean {' or '.join(near)}?" if near else f"Remove it; {taken.owner} takes {names}."
    edit = rename_key(pointer, sure) if sure else NO_EDIT
    message = f"{taken.owner} does not take {quote_name(name)}."
    trail.report("bad_argument", pointer, message, fix, edit, severity=trail.severity_of_unknown)
    return trail.has_open_names


def _trouble(taken: Signature, name: str, spec: InputSpec, value: Any) -> tuple[str, str] | None:
    """Return what is wrong with a value, and its fix."""
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
    """Return why the value of an input may not be accepted; a prompt shows it all the same."""
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
    """The features of one workflow, ready to be applied to each step."""

    applied: tuple[tuple[FeatureSpec, dict[str, Any]], ...]
    capabilities: dict[str, CapabilityUse]

    def around(self, site: Site) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the texts before and after the prompt of a step."""
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
    """Return the features, each found and configured once; the order in the file has no meaning."""
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


# Templates: each call is replaced by its steps, in place, up to a limit

# What templates bring along; what the caller declares wins

_STRENGTH: dict[CapabilityUse, int] = {"disabled": 0, "preferred": 1, "required": 2}


def join_template_needs(
    source: SourceWorkflow, brought: Iterable[tuple[TemplateNeeds, str]], trail: Findings
) -> SourceWorkflow:
    """Return the workflow with everything that its templates need, each with the place of its call."""
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
    name: str, own: CapabilityUse | None, wanted: CapabilityUse, pointer: str, trail: Findings
) -> CapabilityUse:
    if own is None:
        return wanted
    if own == "disabled" and wanted == "required":
        message = f"A template called here requires {name}, which this workflow disables."
        fix = f"Remove the call, or do not disable {name}."
        trail.report("bad_value", pointer, message, fix, severity=trail.severity_of_unknown)
    return max(own, wanted, key=_STRENGTH.__getitem__) if own != "disabled" else own


# Expanding calls

CAPABILITY_PROBE = "wr.templates.capability_probe"
CAPABILITY_OBSERVATION = "wr.contracts.capability_observation"


class _TemplatePlace(msgspec.Struct, frozen=True, kw_only=True):
    """The place of a part: the calls and the number of loops around it."""

    calls: tuple[str, ...] = ()
    """Templates being expanded, outermost first."""
    whens: tuple[When, ...] = ()
    """Conditions of the calls around, which apply to every expanded part."""
    loops: int = 0
    capability: str = ""


def expand_templates(
    source: SourceWorkflow, around: Surroundings, trail: Findings
) -> tuple[tuple[Placed, ...], SourceWorkflow]:
    """Return the parts without any call, and the workflow with what the templates need.

    Problems are reported at the author's call.
    """
    expander = _Expander(source, around, trail)
    parts = expander.place(source.steps, _TemplatePlace())
    return parts, join_template_needs(source, expander.brought, trail)


def calls_routine(parts: tuple[SourcePart, ...]) -> bool:
    """Whether a part calls something other than a builtin template, so that routines are needed."""
    return any(
        isinstance(part, SourceTemplateCall) and find_template(part.template_id) is None
        for part in walk_source(parts)
    )


class _Expander:
    """One expansion: the ids in use and the number of parts still allowed."""

    def __init__(self, source: SourceWorkflow, around: Surroundings, trail: Findings) -> None:
        self._source = source
        self._trail = trail
        # A translated routine serves its neighbours and never replaces one of ours.
        ordered = sorted(around.routines, key=lambda one: one.has_open_names)
        specs = [make_routine_template(one) for one in ordered]
        self._routines = {spec.id: spec for spec in reversed(specs)}
        self._taken = set(_ids(source.steps))
        self._left = MAX_PARTS
        self.brought: list[tuple[TemplateNeeds, str]] = []

    def place(self, parts: tuple[SourcePart, ...], where: _TemplatePlace) -> tuple[Placed, ...]:
        return tuple(placed for part in parts for placed in self._placed(part, where))

    def _placed(self, part: SourcePart, where: _TemplatePlace) -> tuple[Placed, ...]:
        if not self._may_add(part):
            return ()
        provenance = Provenance(kind="template", origin=where.calls[-1]) if where.calls else Provenance()
        whens = where.whens if part.when is None else (*where.whens, part.when)
        match part:
            case SourceStep() | SourceChoice() | SourceAction() | SourceDelegate():
                is_probe = isinstance(part, SourceStep) and part.contract_ref == CAPABILITY_OBSERVATION
                capability = where.capability if is_probe else ""
                return (PlacedLeaf(part=part, whens=whens, provenance=provenance, capability=capability),)
            case SourceLoop():
                inside = msgspec.structs.replace(where, whens=(), loops=where.loops + 1)
                if inside.loops > MAX_LOOP_DEPTH:
                    message = f"Loops are nested more than {MAX_LOOP_DEPTH} deep when templates are expanded."
                    self._trail.report(
                        "too_large", part.pointer, message, "Call the template outside of the loops."
                    )
                body = self.place(part.body, inside)
                return (PlacedLoop(loop=part, body=body, whens=whens, provenance=provenance),)
            case SourceTemplateCall():
                return self._called(part, msgspec.structs.replace(where, whens=whens))
            case never:
                assert_never(never)

    def _called(self, call: SourceTemplateCall, where: _TemplatePlace) -> tuple[Placed, ...]:
        if call.template_id in where.calls:
            self._report_cycle(call, where)
            return ()
        spec = self._find(call.template_id)
        if spec is None:
            return self._stand_in(call, where)
        taken = make_from(Signature, spec, owner=spec.id, specs=spec.args, inputs=self._source.inputs)
        args = check_values(taken, call.args, f"{call.pointer}/args", self._trail)
        if args is None:
            return ()
        parts = self._expanded(spec, call, args)
        self.brought.append((spec.brings, call.pointer))
        self._taken.update(_ids(parts))
        inside = msgspec.structs.replace(
            where,
            calls=(*where.calls, spec.id),
            capability=str(args.get("capability", "")) if spec.id == CAPABILITY_PROBE else "",
        )
        return self.place(parts, inside)

    def _expanded(
        self, spec: TemplateSpec, call: SourceTemplateCall, args: dict[str, Any]
    ) -> tuple[SourcePart, ...]:
        """Return the template's parts under ids that no other part has."""
        wanted = call.id or default_prefix(spec.id)
        prefix, number = wanted, 2
        own = {call.id} if call.id else set()
        while True:
            parts = spec.expand(args, make_from(TemplateContext, call, self._source, prefix=prefix))
            if not self._taken - own & set(_ids(parts)):
                return parts
            prefix, number = f"{wanted}_{number}", number + 1

    def _find(self, template_id: str) -> TemplateSpec | None:
        found = find_template(template_id) or self._routines.get(template_id)
        if found is None and self._trail.has_open_names:
            # Files from elsewhere write hyphens where our routines have underscores.
            found = self._routines.get(template_id.replace("-", "_"))
        return found

    def _stand_in(self, call: SourceTemplateCall, where: _TemplatePlace) -> tuple[Placed, ...]:
        known = [one.id for one in TEMPLATES] + list(self._routines)
        stand_in = "A step that names the routine stands in for it."
        report_unknown(
            self._trail, "template", call.template_id, known, f"{call.pointer}/templateId", stand_in
        )
        if not self._trail.has_open_names:
            return ()
        name = call.template_id.rpartition(".")[2]
        plain = re.sub("[^a-z0-9_-]", "_", name.lower())[:MAX_ID_CHARACTERS] or "routine"
        step = SourceStep(
            id=call.id or find_free_id(plain, self._taken),
            title=call.title or f"Follow the routine {name}",
            prompt=_stand_in_prompt(call),
            require_confirmation=call.require_confirmation,
            pointer=call.pointer,
        )
        self._taken.add(step.id)
        provenance = Provenance(kind="template", origin=call.template_id)
        return (PlacedLeaf(part=step, whens=where.whens, provenance=provenance),)

    def _may_add(self, part: SourcePart) -> bool:
        """Count every part and every call, so that nested calls always end."""
        self._left -= 1
        if self._left == -1:
            message = f"The workflow has more than {MAX_PARTS} parts when its templates are expanded."
            fix = "Call fewer templates, or split the workflow."
            self._trail.report("too_large", part.pointer, message, fix)
        return self._left >= 0

    def _report_cycle(self, call: SourceTemplateCall, where: _TemplatePlace) -> None:
        start = where.calls.index(call.template_id)
        cycle = " > ".join((*where.calls[start:], call.template_id))
        fix = "Remove one of these calls, so that the expansion ends."
        self._trail.report("template_cycle", call.pointer, f"Templates call each other: {cycle}.", fix)


def _ids(parts: tuple[SourcePart, ...]) -> list[str]:
    named = (part.loop_id if isinstance(part, SourceLoop) else part.id for part in walk_source(parts))
    return [name for name in named if name]


def _stand_in_prompt(call: SourceTemplateCall) -> str:
    lines = [f"Follow the routine {call.template_id}. It is not part of this workflow: look for it first."]
    if call.args:
        lines.append("With these arguments:")
        lines += [f"- {name}: {_shown(value)}" for name, value in sorted(call.args.items())]
    lines.append("Write down which routine you followed, what you did and what came out of it.")
    return "\n".join(lines)


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else canonical_bytes(value).decode()
