"""Declarations that nothing uses, validation that proves nothing, validation that nothing passes. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, assert_never

from handrail.contract.json.places import join_pointer
from handrail.workflows.compiled import (
    Action,
    AllOf,
    AnyOf,
    Choice,
    CompiledWorkflow,
    ContainsRule,
    Delegate,
    ForEach,
    LengthRule,
    Loop,
    Part,
    PatternRule,
    Rule,
    SchemaRule,
    Step,
    list_leaves,
    walk_parts,
)
from handrail.workflows.compiling.compilation import Trail
from handrail.workflows.compiling.implicit_inputs import condition_names, placeholder_names
from handrail.workflows.conditions import ConditionId
from handrail.workflows.contracts.check import explain_unsatisfiable
from handrail.workflows.model import (
    ConditionRef,
    SourceChoice,
    SourcePart,
    SourceStep,
    SourceTemplateCall,
    SourceWorkflow,
    walk_source,
)
from handrail.workflows.part_contents import conditions_of, strings_in, texts_of
from handrail.workflows.reading.findings import quote_name

# Declared and never used: usually a misspelt name somewhere else


def check_usage(source: SourceWorkflow, workflow: CompiledWorkflow, trail: Trail) -> None:
    conditions = _condition_ids(workflow.steps) | _authored_refs(source.steps)
    conditions |= {getattr(slot.when, "condition_id", "") for slot in source.slots}
    used = _used_inputs(source, workflow)
    _report(source.inputs, used, "/inputs", "input", trail)
    if source.kind == "workflow":  # what calls a routine may read what the routine sets
        _check_choices(source.steps, used, trail)
    steps = [part for part in walk_source(source.steps) if isinstance(part, SourceStep)]
    called = {one for step in steps for one in step.function_refs}
    _report(source.functions, called, "/functions", "function", trail)
    for place, name in enumerate(source.conditions):
        if name not in conditions:
            _warn(f"/conditions/{place}", f"The condition {quote_name(name)}", trail)
    reported = {gate.assessment_id for step in steps for gate in step.gates}
    for assessment in source.assessments:
        if assessment.id not in reported:
            _warn(assessment.pointer, f"The assessment {quote_name(assessment.id)}", trail)
    texts = "\n".join(_texts(workflow))
    for place, reference in enumerate(source.references):
        if not any(name in texts for name in (reference.id, reference.title, reference.source)):
            message = f"No prompt mentions the reference {quote_name(reference.id)}."
            fix = "Say in a step when to read it; it is listed at the start in any case."
            trail.report("unused", f"/references/{place}", message, fix, "hint")


def _check_choices(parts: tuple[SourcePart, ...], used: set[str], trail: Trail) -> None:
    """A choice whose options lead the same way; one that sets nothing is asked for the record."""
    for part in walk_source(parts):
        if not isinstance(part, SourceChoice):
            continue
        sets = [option.sets for option in part.options]
        names = sorted({name for one in sets for name in one})
        apart = [name for name in names if any(one.get(name) != sets[0].get(name) for one in sets)]
        if names and not used.intersection(name.partition(".")[0] for name in apart):
            why = (
                f"nothing reads {', '.join(map(quote_name, apart))}" if apart else "its options set the same"
            )
            message = f"The choice {quote_name(part.id)} decides nothing: {why}."
            fix = "Set a value that a condition or a text reads."
            trail.report("unused", part.pointer, message, fix, "warning")


def _report(declared: dict[str, Any], used: set[str], pointer: str, what: str, trail: Trail) -> None:
    for name in declared:
        if name not in used:
            _warn(join_pointer(pointer, name), f"The {what} {quote_name(name)}", trail)


def _warn(pointer: str, what: str, trail: Trail) -> None:
    trail.report("unused", pointer, f"{what} is never used.", "Use it, or remove it.", "warning")


def _used_inputs(source: SourceWorkflow, workflow: CompiledWorkflow) -> set[str]:
    parts = list(walk_parts(workflow.steps))
    # An argument may be settled while its template is expanded and leave no trace.
    calls = [part.args for part in walk_source(source.steps) if isinstance(part, SourceTemplateCall)]
    actions = [part.params for part in parts if isinstance(part, Action)]
    texts = (*_texts(workflow), *source.functions.values(), *strings_in([calls, actions]))
    used = {name for text in texts for name in placeholder_names(text)}
    used |= {
        name for one in _condition_ids(workflow.steps) for name in condition_names(workflow.conditions[one])
    }
    used |= {spec.counted_by.partition(".")[0] for spec in workflow.inputs.values()}
    for part in parts:
        if isinstance(part, Loop) and isinstance(part.repeat, ForEach):
            used.add(part.repeat.input.partition(".")[0])
        if isinstance(part, Step) and part.user_only is not None:
            used.add(part.user_only.input)
        if isinstance(part, Delegate):
            used.add(part.for_each.partition(".")[0])
    return used


def _texts(workflow: CompiledWorkflow) -> Iterator[str]:
    for part in list_leaves(workflow.steps):
        yield part.title
        yield from texts_of(part, {})
        if isinstance(part, Choice):
            yield from (option.description for option in part.options)


def _condition_ids(parts: tuple[Part, ...]) -> set[ConditionId]:
    return {name for part in walk_parts(parts) for name in conditions_of(part)}


def _authored_refs(parts: tuple[SourcePart, ...]) -> set[ConditionId]:
    """Declared conditions of template calls: joined with others, they have no id of their own any more."""
    whens = [
        when
        for part in walk_source(parts)
        for when in (part.when, getattr(part, "require_confirmation", None))
    ]
    return {when.condition_id for when in whens if isinstance(when, ConditionRef)}


_FLAGS = frozenset(
    {
        *("complete", "completed", "done", "finished", "success", "successful", "passed", "verified"),
        *("validated", "ready", "ok", "approved"),
    }
)
_FILLERS = frozenset(
    {
        *("is", "are", "all", "has", "have", "been", "everything", "the", "this", "task", "step", "work"),
        *("status", "verification", "validation", "review", "test", "tests", "true", "yes", "1"),
    }
)
_WORD = re.compile(r"[a-z0-9]+")
_PATTERN_CLASS = re.compile(r"\\[bBsSdDwW]|\(\?[a-z]+\)")


def check_validation(workflow: CompiledWorkflow, pointers: dict[str, str], trail: Trail) -> None:
    for step in list_leaves(workflow.steps):
        if not isinstance(step, Step):
            continue
        pointer = pointers.get(step.id, "")
        if step.rules and all(_is_flag(rule) for rule in step.rules):
            fix = "Ask for evidence: what was run and what it showed, or wr.contracts.verification_report."
            message = f"The validation of {step.id} accepts a claim that it is done, without any evidence."
            trail.report("flag_only_validation", join_pointer(pointer, "validation"), message, fix, "warning")
        contract = workflow.contracts.get(step.contract)
        if contract is not None and _is_flag_schema(contract.schema):
            message = f"The contract {step.contract} asks for nothing but a flag."
            fix = "Let it ask for evidence: what was run and what it showed."
            trail.report("flag_only_validation", join_pointer(pointer, "output"), message, fix, "warning")


def find_impossible_rules(step: Step) -> list[str]:
    """Why no notes pass the validation of a step; empty where some may."""
    reasons = [reason for rule in step.rules if (reason := _impossible(rule))]
    return reasons or list(_too_long(step.rules))


def _too_long(rules: tuple[Rule, ...]) -> Iterator[str]:
    """A text that must be there has more characters than notes may have."""
    joint = [inner for rule in rules for inner in (rule.of if isinstance(rule, AllOf) else (rule,))]
    most = min((rule.maximum for rule in joint if isinstance(rule, LengthRule) and rule.maximum), default=0)
    for rule in joint:
        if isinstance(rule, ContainsRule) and most and len(rule.value) > most:
            yield f"they must contain {len(rule.value)} characters and may have {most}."


def _is_flag(rule: Rule) -> bool:
    """Whether a bare claim passes: words such as "complete = true" and nothing else."""
    match rule:
        case ContainsRule(value=value):
            return _is_claim(value)
        case PatternRule(pattern=pattern):
            return _is_claim(_PATTERN_CLASS.sub(" ", pattern))
        case LengthRule(minimum=least):
            return least < 20
        case SchemaRule(schema=schema):
            return _is_flag_schema(schema)
        case AllOf(of=rules):
            return all(_is_flag(inner) for inner in rules)
        case AnyOf(of=rules):
            return any(_is_flag(inner) for inner in rules)
        case never:
            assert_never(never)


def _is_claim(text: str) -> bool:
    words = set(_WORD.findall(text.lower()))
    return bool(words & _FLAGS) and words <= _FLAGS | _FILLERS


def _impossible(rule: Rule) -> str:
    match rule:
        case SchemaRule(schema=schema):
            return explain_unsatisfiable(schema) or ""
        case AllOf(of=rules):
            return next((reason for inner in rules if (reason := _impossible(inner))), "")
        case AnyOf(of=rules):
            reasons = [_impossible(inner) for inner in rules]
            return reasons[0] if reasons and all(reasons) else ""
        case ContainsRule() | PatternRule() | LengthRule():
            return ""
        case never:
            assert_never(never)


def _is_flag_schema(schema: dict[str, Any]) -> bool:
    """Whether true and false are all that is required."""
    properties = schema.get("properties")
    required = schema.get("required")
    if not isinstance(properties, dict) or not isinstance(required, list):
        return False
    asked = [properties.get(name) for name in required if name != "kind"]
    return bool(asked) and all(_is_boolean(one) for one in asked)


def _is_boolean(schema: Any) -> bool:
    return isinstance(schema, dict) and (schema.get("type") == "boolean" or schema.get("const") is True)
