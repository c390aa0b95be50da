"""The contents of a compiled part: its conditions, texts, rules and children. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, assert_never

import msgspec

from handrail.workflows.compiled import (
    Action,
    AllOf,
    AnyOf,
    Child,
    Choice,
    CompiledWorkflow,
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
from handrail.workflows.conditions import (
    MISSING,
    PLACEHOLDER,
    ConditionId,
    Facts,
    fill_placeholders,
    holds,
    named_value,
)


def conditions_at(part: Part) -> Iterator[tuple[str, ConditionId]]:
    """Return the conditions that a part names, each with its place: its own, its iterations, texts, question
    and children.
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
    """Return the conditions that a part names, in any place."""
    return (name for _, name in conditions_at(part))


def texts_of(leaf: Leaf, functions: Mapping[str, str]) -> list[str]:
    """Return the texts of a part in which values are named."""
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
    """Yield every rule that is not a group, including those inside groups."""
    for rule in rules:
        if isinstance(rule, AllOf | AnyOf):
            yield from walk_rules(rule.of)
        else:
            yield rule


def strings_in(value: Any) -> Iterator[str]:
    """Yield every text in a JSON value, except keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from strings_in(inner)


def leaves_in_loops(
    parts: Iterable[Part], around: tuple[Loop, ...] = ()
) -> Iterator[tuple[Leaf, tuple[Loop, ...]]]:
    """Yield every step, choice, action and delegation with the loops around it, outermost first."""
    for part in parts:
        if isinstance(part, Loop):
            yield from leaves_in_loops(part.body, (*around, part))
        else:
            yield part, around


# What a step delegates, given the present values


class Handout(msgspec.Struct, frozen=True, kw_only=True):
    """One piece of work that is delegated."""

    child_id: str
    child: Child
    inputs: dict[str, Any]


def list_handouts(workflow: CompiledWorkflow, step: Delegate, facts: Facts) -> tuple[Handout, ...]:
    """Return everything that a step delegates. `facts` include the loops' values; without its list there is
    none.
    """
    return tuple(
        Handout(child_id=child_id, child=child, inputs=_fill_object(child.inputs, given.values))
        for child_id, child, given in _list_children(step, facts)
        if not child.when or holds(workflow.conditions[child.when], given)
    )


def _list_children(step: Delegate, facts: Facts) -> Iterator[tuple[str, Child, Facts]]:
    if not step.for_each:
        yield from ((child.id, child, facts) for child in step.children)
        return
    items = named_value(facts.values, step.for_each)
    for place, item in enumerate(items if isinstance(items, list) else ()):
        given = msgspec.structs.replace(facts, values={**facts.values, step.item: item})
        yield from ((f"{child.id}_{place + 1}", child, given) for child in step.children)


def lacks_list(step: Delegate, facts: Facts) -> bool:
    """Whether a step goes through a list that was not given."""
    return bool(step.for_each) and not isinstance(named_value(facts.values, step.for_each), list)


def _fill_object(given: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    filled = {name: _fill(value, values) for name, value in given.items()}
    return {name: value for name, value in filled.items() if value is not MISSING}


def _fill(value: Any, values: Mapping[str, Any]) -> Any:
    """Return the value for a text that is one name; in other texts each name is replaced by its value."""
    match value:
        case str():
            whole = PLACEHOLDER.fullmatch(value.strip())
            if whole is not None:
                return named_value(values, whole[1])
            return fill_text(value, values)
        case dict():
            return _fill_object(value, values)
        case list():
            return [one for one in (_fill(inner, values) for inner in value) if one is not MISSING]
        case _:
            return value


def fill_text(text: str, values: Mapping[str, Any]) -> str:
    """Return a text with its names replaced by their values."""
    return fill_placeholders(text, lambda found: _show(named_value(values, found[1]), found[1]))


def _show(value: Any, name: str) -> str:
    if value is MISSING:
        return f"(not given: {name})"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
