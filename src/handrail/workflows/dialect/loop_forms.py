"""Loops of the other dialect: what a part needs to know about its workflow, and how a loop repeats. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from typing import NamedTuple

from handrail.contract.json.places import join_pointer
from handrail.contract.outcome import Json
from handrail.workflows.dialect.assessment_forms import Assessments, Functions
from handrail.workflows.dialect.condition_forms import to_condition
from handrail.workflows.dialect.crossing import (
    Crossing,
    Identifiers,
    Object,
    as_json,
    native_name,
    native_path,
    show_value,
)
from handrail.workflows.limits import MAX_ITERATIONS

# What every part needs to know about its workflow


class Source(NamedTuple):
    """A value of the original document and its place there."""

    value: Json
    pointer: str


class PartContext:
    """The workflow around the parts: its ids, functions and assessments, and steps that loops name by id."""

    def __init__(self, crossing: Crossing, steps: list[Source], assessments: Assessments) -> None:
        self.crossing = crossing
        self.assessments = assessments
        self.functions = Functions()
        self.ids = Identifiers()
        self.named: dict[str, Source] = {}
        """Top-level steps by the id that the body of a loop may use."""
        for step in steps:
            if isinstance(step.value, dict) and isinstance(step.value.get("id"), str):
                self.named.setdefault(step.value["id"], step)
        loops = [step for step in _all_steps(steps) if is_loop(step.value)]
        held = [one.value for loop in loops for one in body_sources(loop)]
        self.moved = {name for name in held if isinstance(name, str) and name in self.named}
        """Steps that belong in a loop and not at their place in the file."""
        self.placed: set[str] = set()
        """Pointers of the steps that have been moved."""
        self.open_loops: list[str] = []
        """Pointers of the loops around the part that is translated."""
        self._loop_ids = {loop.pointer: self.ids.claim(*_wanted_loop_id(loop), crossing) for loop in loops}

    def loop_id(self, loop: Source) -> str:
        """The id of a loop; the second use of a loop that is named twice gets another one."""
        claimed = self._loop_ids.pop(loop.pointer, "")
        return claimed or self.ids.claim(*_wanted_loop_id(loop), self.crossing)


def is_loop(value: Json) -> bool:
    return isinstance(value, dict) and (value.get("type") == "loop" or isinstance(value.get("loop"), dict))


def loop_settings(value: Object) -> Object:
    settings = value.get("loop")
    return settings if isinstance(settings, dict) else {}


def body_sources(loop: Source) -> list[Source]:
    """What the body of a loop holds, as it is written: steps and ids of steps."""
    body, pointer = loop.value.get("body"), f"{loop.pointer}/body"
    if isinstance(body, list):
        return [Source(one, f"{pointer}/{index}") for index, one in enumerate(body)]
    return [] if body is None else [Source(body, pointer)]


def _wanted_loop_id(loop: Source) -> tuple[str, str]:
    """What artifacts call the loop, and where that is written."""
    source = loop_settings(loop.value).get("conditionSource")
    if isinstance(source, dict) and isinstance(source.get("loopId"), str) and source["loopId"].strip():
        return source["loopId"], f"{loop.pointer}/loop/conditionSource/loopId"
    for name in ("loopId", "id"):
        if isinstance(loop.value.get(name), str) and loop.value[name].strip():
            return loop.value[name], join_pointer(loop.pointer, name)
    return "loop", loop.pointer


def _all_steps(steps: list[Source]) -> Iterator[Source]:
    """Every step that is written out, in the order of the file."""
    for step in steps:
        if isinstance(step.value, dict):
            yield step
            if is_loop(step.value):
                yield from _all_steps(body_sources(step))


DEFAULT_ITERATIONS = 100
ITERATION = "currentIteration"
ITEM = "currentItem"
INDEX = "currentIndex"
"""The names of loop variables that the author did not name."""

# How a loop repeats

_LOOP_CONTROL = "wr.contracts.loop_control"
_KNOWN = frozenset(
    {
        "type",
        "condition",
        "conditionSource",
        "items",
        "itemVar",
        "indexVar",
        "count",
        "iterationVar",
        "maxIterations",
    }
)


def add_repeat(crossing: Crossing, loop: Source, native: str, part: Object) -> None:
    """Add the repetition to the native loop, whose body is already there."""
    settings, pointer = loop_settings(loop.value), f"{loop.pointer}/loop"
    crossing.keep_others(pointer, settings, _KNOWN, "a loop")
    part["maxIterations"] = _max_iterations(crossing, settings, pointer)
    match settings.get("type"):
        case "forEach":
            _for_each(crossing, settings, pointer, native, part)
        case "for":
            _counted(crossing, settings, pointer, native, part)
        case "until":
            _conditional(crossing, settings, pointer, native, part, "until")
        case kind:
            if kind != "while":
                message = f"A loop of the type {show_value(kind)} is not known; it is read as while."
                crossing.changed(f"{pointer}/type", message, "Use while, until, for or forEach.")
            _conditional(crossing, settings, pointer, native, part, "while")


def _max_iterations(crossing: Crossing, settings: Object, pointer: str) -> int:
    number = _whole(settings.get("maxIterations"))
    if number is not None and 1 <= number <= MAX_ITERATIONS:
        return number
    used = DEFAULT_ITERATIONS if number is None else min(max(number, 1), MAX_ITERATIONS)
    message = f"maxIterations is not a whole number from 1 to {MAX_ITERATIONS}; {used} is used."
    crossing.changed(f"{pointer}/maxIterations", message, 'Write "maxIterations".')
    return used


def _conditional(
    crossing: Crossing, settings: Object, pointer: str, native: str, part: Object, kind: str
) -> None:
    source, place = settings.get("conditionSource"), f"{pointer}/conditionSource"
    holder, at = (source, place) if isinstance(source, dict) else (settings, pointer)
    written, inner = holder.get("condition"), join_pointer(native, kind)
    condition = to_condition(crossing, written, f"{at}/condition", inner)
    if condition is None:
        crossing.came_from(inner, at)
        _note_decision(crossing, source, place, pointer)
        condition = {"kind": "loop_control", "continueWhen": "continue" if kind == "while" else "stop"}
    part[kind] = condition
    _note_uncounted(crossing, settings, pointer, part)


def _note_decision(crossing: Crossing, source: Json, place: str, pointer: str) -> None:
    """Say where the decision of the last step stands in for something else."""
    if not isinstance(source, dict):
        message = "The loop does not say when it ends; the last step of its body decides."
        crossing.changed(pointer, message, "Write a condition, or a conditionSource.")
    elif source.get("contractRef", _LOOP_CONTROL) != _LOOP_CONTROL:
        message = f"A loop is decided by a {_LOOP_CONTROL} artifact here, and by no other."
        crossing.changed(f"{place}/contractRef", message, f"Use {_LOOP_CONTROL}.")


def _note_uncounted(crossing: Crossing, settings: Object, pointer: str, part: Object) -> None:
    name = _name(settings.get("iterationVar"), ITERATION)
    if _uses(part, name):
        message = (
            f"Nothing counts the iterations of such a loop here; {name} has a value only when a step sets it."
        )
        crossing.changed(f"{pointer}/iterationVar", message, "Let a step of the body keep count.")


def _for_each(crossing: Crossing, settings: Object, pointer: str, native: str, part: Object) -> None:
    items = settings.get("items")
    crossing.came_from(f"{native}/forEach", f"{pointer}/items")
    if isinstance(items, str) and items.strip():
        source = native_path(items)
    else:
        source = _own_list(crossing, part, items if isinstance(items, list) else [], "items")
        if not isinstance(items, list):
            message = "The loop does not say which list it goes through; it is skipped until one is given."
            crossing.changed(pointer, message, f'Write "items", or give {source} as context.')
    each: Object = {"input": source, "as": _name(settings.get("itemVar"), ITEM)}
    index = _name(settings.get("indexVar"), INDEX)
    if isinstance(settings.get("indexVar"), str) or _uses(part, index):
        each["indexAs"] = index
    part["forEach"] = each
    _note_uncounted(crossing, settings, pointer, part)


def _counted(crossing: Crossing, settings: Object, pointer: str, native: str, part: Object) -> None:
    """A number of times. The counter begins at 1, so a loop that shows it goes through a list of numbers."""
    count = settings.get("count")
    place = f"{pointer}/count"
    crossing.came_from(f"{native}/count", place)
    crossing.came_from(f"{native}/forEach", place)
    number = _whole(count)
    name = _name(settings.get("iterationVar"), ITERATION)
    if number is None and isinstance(count, str) and count.strip():
        _counted_by_variable(crossing, native_path(count), name, place, part)
        return
    if number is None or number < 1:
        message = (
            "The loop never runs."
            if number == 0
            else "The loop does not say how often it runs; it is skipped."
        )
        crossing.changed(place, message, 'Write "count".')
        part["when"] = {"kind": "always_false"}
    times = min(max(number or 1, 1), part["maxIterations"])
    if _uses(part, name):
        source = _own_list(crossing, part, list(range(1, times + 1)), "numbers")
        part["forEach"] = {"input": source, "as": name}
    else:
        part["count"] = times


def _counted_by_variable(crossing: Crossing, variable: str, name: str, place: str, part: Object) -> None:
    """As often as a variable says: through the numbers up to its value."""
    source = _own_list(crossing, part, [], "numbers")
    numbers: Object = crossing.inputs[source]
    del numbers["default"]
    numbers["countedBy"] = variable
    crossing.came_from(f"/inputs/{source}/countedBy", place)
    crossing.inputs.setdefault(variable.partition(".")[0], {"type": "any", "implicit": True})
    part["forEach"] = {"input": source, "as": name}


def _own_list(crossing: Crossing, part: Object, items: list[Json], what: str) -> str:
    """An input that only this loop uses, with the list as its default."""
    name = native_name(f"{part['loopId']}_{what}".replace("-", "_"))
    description = f"What the loop {part['loopId']} goes through."
    crossing.inputs[name] = {"type": "array", "default": items, "implicit": True, "description": description}
    return name


def _uses(part: Object, name: str) -> bool:
    return name in as_json(part["body"])


def _name(written: Json, otherwise: str) -> str:
    return native_name(written) if isinstance(written, str) and written.strip() else otherwise


def _whole(value: Json) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        return None
    return int(value)
