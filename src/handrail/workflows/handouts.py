"""What a step hands out, from the values at hand: which children, with which inputs. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from handrail.workflows.compiled import Child, CompiledWorkflow, Delegate
from handrail.workflows.conditions import MISSING, PLACEHOLDER, Facts, holds, named_value


class Handout(msgspec.Struct, frozen=True, kw_only=True):
    """One piece of work that is handed out."""

    child_id: str
    child: Child
    inputs: dict[str, Any]


def list_handouts(workflow: CompiledWorkflow, step: Delegate, facts: Facts) -> tuple[Handout, ...]:
    """Everything that a step hands out. `facts` include the loops' values; without its list there is none."""
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
    """Whether a step goes through a list that nobody sent."""
    return bool(step.for_each) and not isinstance(named_value(facts.values, step.for_each), list)


def _fill_object(given: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    filled = {name: _fill(value, values) for name, value in given.items()}
    return {name: value for name, value in filled.items() if value is not MISSING}


def _fill(value: Any, values: Mapping[str, Any]) -> Any:
    """A text that is one name becomes the value itself; other names in texts are replaced by theirs."""
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
    """A text with its names replaced by their values."""
    return PLACEHOLDER.sub(lambda found: _show(named_value(values, found[1]), found[1]), text)


def _show(value: Any, name: str) -> str:
    if value is MISSING:
        return f"(not given: {name})"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
