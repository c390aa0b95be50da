"""What a compiled part names and says: its conditions, its texts, its rules. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, assert_never

from handrail.workflows.compiled import (
    Action,
    AllOf,
    AnyOf,
    Choice,
    ContainsRule,
    Delegate,
    Leaf,
    LengthRule,
    Loop,
    Part,
    PatternRule,
    Rule,
    SchemaRule,
    Step,
    Until,
    While,
)
from handrail.workflows.conditions import ConditionId


def conditions_at(part: Part) -> Iterator[tuple[str, ConditionId]]:
    """The conditions that a part names, each with its place in it: for itself, its rounds, its texts, its
    question, its children.
    """
    named = [("/when", part.when)]
    match part:
        case Loop(repeat=While(condition=name)):
            named.append(("/while", name))
        case Loop(repeat=Until(condition=name)):
            named.append(("/until", name))
        case Step(fragments=fragments, require_confirmation=asked):
            named += [(f"/promptFragments/{place}/when", one.when) for place, one in enumerate(fragments)]
            named.append(("/requireConfirmation", asked if isinstance(asked, str) else ""))
        case Delegate(children=children):
            named += [("/delegate", child.when) for child in children]
        case _:
            pass
    return ((place, name) for place, name in named if name)


def conditions_of(part: Part) -> Iterator[ConditionId]:
    """The conditions that a part names, wherever it does."""
    return (name for _, name in conditions_at(part))


def texts_of(leaf: Leaf, functions: Mapping[str, str]) -> list[str]:
    """The texts of a part in which values are named."""
    match leaf:
        case Step():
            named = [functions[name] for name in leaf.functions if name in functions]
            return [leaf.prompt, *(fragment.text for fragment in leaf.fragments), *named]
        case Choice():
            return [leaf.prompt]
        case Delegate(children=children):
            given = [value for child in children for value in (child.brief, *child.inputs.values())]
            return [value for value in given if isinstance(value, str)]
        case Action():
            return []
        case never:
            assert_never(never)


def walk_rules(rules: Iterable[Rule]) -> Iterator[ContainsRule | PatternRule | LengthRule | SchemaRule]:
    """Every rule that says something itself, those inside others included."""
    for rule in rules:
        if isinstance(rule, AllOf | AnyOf):
            yield from walk_rules(rule.of)
        else:
            yield rule


def strings_in(value: Any) -> Iterator[str]:
    """Every text in a JSON value, keys aside."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from strings_in(inner)


def leaves_in_loops(
    parts: Iterable[Part], around: tuple[Loop, ...] = ()
) -> Iterator[tuple[Leaf, tuple[Loop, ...]]]:
    """Every step, choice, action and delegation with the loops around it, outermost first."""
    for part in parts:
        if isinstance(part, Loop):
            yield from leaves_in_loops(part.body, (*around, part))
        else:
            yield part, around
