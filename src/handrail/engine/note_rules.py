"""The rules a step sets for its notes, and which of them some notes break. Pure."""

from __future__ import annotations

from typing import assert_never

import msgspec

from handrail.contract.effort import Effort
from handrail.workflows.compiled import (
    AllOf,
    AnyOf,
    ContainsRule,
    LengthRule,
    PatternRule,
    Rule,
    SchemaRule,
)
from handrail.workflows.limits import MAX_MATCH_WORK


def broken_rules(rules: tuple[Rule, ...], notes: str) -> list[str]:
    """What each broken rule says, in the author's order.

    Raises Fault WORK_LIMIT_EXCEEDED where the patterns are too much for notes of this length.
    """
    effort = Effort(
        MAX_MATCH_WORK,
        "The patterns that the notes of this step are held against take too long on notes of this length.",
        "Send shorter notes, and put the rest into an artifact; nothing was stored.",
    )
    return [message for rule in rules for message in _broken(rule, notes, effort)]


def rule_words(rule: Rule) -> str:
    """What a rule demands, as the end of the sentence "The notes are accepted only if they"."""
    match rule:
        case AllOf(of=parts):
            return "; and ".join(rule_words(part) for part in parts)
        case AnyOf(of=parts):
            return " or ".join(rule_words(part) for part in parts)
        case ContainsRule(value=value, message=message):
            return _with_message(f"contain {_in_json(value)}", message)
        case PatternRule(pattern=pattern, flags=flags, message=message):
            beside = f" with the flags {flags}" if flags else ""
            return _with_message(f"match the pattern {_in_json(pattern)}{beside}", message)
        case LengthRule(minimum=minimum, maximum=maximum, message=message):
            most = "" if maximum is None else f" and at most {maximum}"
            return _with_message(f"have at least {minimum}{most} characters", message)
        case SchemaRule(schema=schema, message=message):
            return _with_message(f"are one JSON document of this schema: {_in_json(schema)}", message)
        case never:
            assert_never(never)


def _with_message(demand: str, message: str) -> str:
    return f"{demand} ({message.strip()})" if message.strip() else demand


def _in_json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _broken(rule: Rule, notes: str, effort: Effort) -> list[str]:
    match rule:
        case AllOf(of=parts):
            return [message for part in parts for message in _broken(part, notes, effort)]
        case AnyOf(of=parts):
            broken = [_broken(part, notes, effort) for part in parts]
            if not all(broken):
                return []
            return ["One of these must hold: " + " / ".join(messages[0] for messages in broken)]
        case ContainsRule(value=value, message=message):
            return [] if value.lower() in notes.lower() else [message]
        case PatternRule(pattern=pattern, flags=flags, message=message):
            return [] if _is_matched(pattern, flags, notes, effort) else [message]
        case LengthRule(minimum=minimum, maximum=maximum, message=message):
            is_long_enough = len(notes) >= minimum
            return [] if is_long_enough and (maximum is None or len(notes) <= maximum) else [message]
        case SchemaRule(schema=schema, message=message):
            return [] if _is_document_of(schema, notes) else [message]
        case never:
            assert_never(never)


def _is_matched(pattern: str, flags: str, notes: str, effort: Effort) -> bool:
    from handrail.workflows.patterns import is_found, match_work  # noqa: PLC0415 - few rules hold a pattern

    effort.spend(match_work(pattern, len(notes)))
    return is_found(pattern, flags, notes)


def _is_document_of(schema: dict[str, object], notes: str) -> bool:
    try:
        document = msgspec.json.decode(notes.encode())
    except msgspec.DecodeError:
        return False
    from handrail.workflows.contract_check import violations  # noqa: PLC0415 - few rules hold a schema

    return not violations(schema, document)
