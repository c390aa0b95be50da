"""Rules for notes, from a document that fits the grammar; a rule without a message gets a plain one. Pure."""

from __future__ import annotations

from typing import Any

from handrail.workflows.compiled import (
    AllOf,
    AnyOf,
    ContainsRule,
    LengthRule,
    PatternRule,
    Rule,
    SchemaRule,
)


def build_rule(value: dict[str, Any]) -> Rule:
    message: str = value.get("message", "")
    match value["type"]:
        case "all":
            return AllOf(of=tuple(build_rule(rule) for rule in value["of"]))
        case "any":
            return AnyOf(of=tuple(build_rule(rule) for rule in value["of"]))
        case "contains":
            text = value["value"]
            return ContainsRule(value=text, message=message or f'The notes must contain "{text}".')
        case "regex":
            pattern = value["pattern"]
            return PatternRule(
                pattern=pattern,
                flags="".join(sorted(value.get("flags", ""))),
                message=message or f"The notes must match the pattern {pattern}.",
            )
        case "length":
            return _length(value, message)
        case _:
            default = "The notes must be a JSON document that fits the schema of the step."
            return SchemaRule(schema=value["schema"], message=message or default)


def _length(value: dict[str, Any], message: str) -> LengthRule:
    least = int(value.get("minimum", 0))
    most = int(value["maximum"]) if "maximum" in value else None
    bounds = f"at least {least}" if most is None else f"{least} to {most}"
    return LengthRule(
        minimum=least, maximum=most, message=message or f"The notes must have {bounds} characters."
    )
