"""The differences between two compiled workflows, place by place. Pure.

Lists whose items have ids are compared by id, so a step that is inserted in front changes no other step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from handrail.contract.json.places import join_pointer
from handrail.workflows.compiled import CompiledWorkflow, Loop, Part
from handrail.workflows.conditions import GENERATED_PREFIX, Condition, ConditionId, describe_condition

Conditions: TypeAlias = Mapping[ConditionId, Condition]


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One place that differs. The pointer names items of a list by their ids."""

    pointer: str
    action: Literal["added", "removed", "changed", "reordered"]
    before: Any = None
    after: Any = None


def list_differences(before: Any, after: Any, pointer: str = "") -> Iterator[Difference]:
    """Yield every place where two JSON values differ, in the order of the newer one, removed ones last."""
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _members(before, after, pointer)
    elif (old := _by_id(before)) is not None and (new := _by_id(after)) is not None:
        yield from _members(old, new, pointer)
        kept = [name for name in old if name in new]
        if kept != [name for name in new if name in old]:
            yield Difference(pointer=pointer, action="reordered", before=list(old), after=list(new))
    elif _text(before) != _text(after):
        yield Difference(pointer=pointer, action="changed", before=before, after=after)


def _members(before: dict[str, Any], after: dict[str, Any], pointer: str) -> Iterator[Difference]:
    for name, value in after.items():
        place = join_pointer(pointer, name)
        if name in before:
            yield from list_differences(before[name], value, place)
        else:
            yield Difference(pointer=place, action="added", after=value)
    for name, value in before.items():
        if name not in after:
            place = join_pointer(pointer, name)
            yield Difference(pointer=place, action="removed", before=value)


class StepDifference(msgspec.Struct, frozen=True, kw_only=True):
    """One step, choice, action or loop that was added, removed or changed."""

    step_id: str
    change: Literal["added", "removed", "changed"]
    title: str
    places: tuple[Difference, ...] = ()
    """For a changed one: the places that changed, as pointers into it."""


def list_step_differences(before: CompiledWorkflow, after: CompiledWorkflow) -> Iterator[StepDifference]:
    """Yield the differences step by step, in the order of the newer workflow, removed ones last.

    The body of a loop is not compared with the loop: its steps are compared on their own.
    """
    old, new = (dict(_flat_parts(one.steps, one.conditions)) for one in (before, after))
    for name, part in new.items():
        if name not in old:
            yield StepDifference(step_id=name, change="added", title=part.get("title", ""))
        elif places := tuple(list_differences(old[name], part)):
            title = part.get("title", "")
            yield StepDifference(step_id=name, change="changed", title=title, places=places)
    for name, part in old.items():
        if name not in new:
            yield StepDifference(step_id=name, change="removed", title=part.get("title", ""))


def _flat_parts(
    parts: tuple[Part, ...], conditions: Conditions, loop: str = ""
) -> Iterator[tuple[str, dict[str, Any]]]:
    for part in parts:
        plain: dict[str, Any] = msgspec.to_builtins(part)
        for key in ("body", "provenance"):  # the origin of a step does not change what it does
            plain.pop(key, None)
        yield part.id, _spell_conditions(plain, conditions) | ({"loop": loop} if loop else {})
        if isinstance(part, Loop):
            yield from _flat_parts(part.body, conditions, part.id)


def make_readable(workflow: CompiledWorkflow) -> dict[str, Any]:
    """Return the workflow for readers: a condition without an id is written out as text where it is used."""
    unnamed = {name: one for name, one in workflow.conditions.items() if name.startswith(GENERATED_PREFIX)}
    named = {name: one for name, one in workflow.conditions.items() if name not in unnamed}
    plain: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(workflow, conditions=named))
    return plain | {"steps": _spell_conditions(plain["steps"], unnamed)}


_NAMING = frozenset({"when", "condition", "requireConfirmation"})
"""Keys whose values name a condition."""


def _spell_conditions(value: Any, conditions: Conditions) -> Any:
    """Return the value with the text of each condition in place of its name, so that a changed condition
    shows.
    """
    if isinstance(value, list | tuple):
        return [_spell_conditions(one, conditions) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        key: describe_condition(conditions[one])
        if key in _NAMING and isinstance(one, str) and one in conditions
        else _spell_conditions(one, conditions)
        for key, one in value.items()
    }


def _text(value: Any) -> bytes:
    """Return a text that is equal for equal JSON; in Python, True equals 1."""
    return msgspec.json.encode(value, order="sorted")


def _by_id(value: Any) -> dict[str, Any] | None:
    """Return the items by id; None unless it is a list in which every item has an id of its own."""
    if not isinstance(value, list | tuple):
        return None
    ids = [item.get("id") if isinstance(item, dict) else None for item in value]
    if not all(isinstance(name, str) for name in ids) or len(set(ids)) < len(ids):
        return None
    return {str(name): item for name, item in zip(ids, value, strict=True)}
