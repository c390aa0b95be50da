"""Validation that proves nothing, and validation that nothing passes. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, assert_never

from handrail.workflows.checking.usage import leaves
from handrail.workflows.compiled import (
    AllOf,
    AnyOf,
    CompiledWorkflow,
    ContainsRule,
    Contract,
    LengthRule,
    PatternRule,
    Rule,
    SchemaRule,
    Step,
)
from handrail.workflows.compiling.trail import Trail
from handrail.workflows.contract_check import unsatisfiable
from handrail.workflows.reading.findings import child

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
    for step in leaves(workflow.steps):
        if not isinstance(step, Step):
            continue
        pointer = pointers.get(step.id, "")
        if step.rules and all(_is_flag(rule) for rule in step.rules):
            fix = "Ask for evidence: what was run and what it showed, or wr.contracts.verification_report."
            message = f"The validation of {step.id} accepts a claim that it is done, without any evidence."
            trail.report("flag_only_validation", child(pointer, "validation"), message, fix, "warning")
        contract = workflow.contracts.get(step.contract)
        if contract is not None and _is_flag_contract(contract):
            message = f"The contract {step.contract} asks for nothing but a flag."
            fix = "Let it ask for evidence: what was run and what it showed."
            trail.report("flag_only_validation", child(pointer, "output"), message, fix, "warning")


def impossible_rules(step: Step) -> list[str]:
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
            return unsatisfiable(schema) or ""
        case AllOf(of=rules):
            return next((reason for inner in rules if (reason := _impossible(inner))), "")
        case AnyOf(of=rules):
            reasons = [_impossible(inner) for inner in rules]
            return reasons[0] if reasons and all(reasons) else ""
        case ContainsRule() | PatternRule() | LengthRule():
            return ""
        case never:
            assert_never(never)


def _is_flag_contract(contract: Contract) -> bool:
    return _is_flag_schema(contract.schema)


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
