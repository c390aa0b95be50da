"""What the translation of every part needs to know about its workflow. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from handrail.contract.outcome import Json
from handrail.workflows.dialect.assessment_forms import Assessments
from handrail.workflows.dialect.crossing import Crossing, Object
from handrail.workflows.dialect.function_forms import Functions
from handrail.workflows.dialect.identifiers import Identifiers
from handrail.workflows.dialect.pointers import child


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
        self.moved = {
            name for step in _all_steps(steps) for name in _body_ids(step.value) if name in self.named
        }
        """Steps that belong into a loop and not where they stand."""
        self.placed: set[str] = set()
        """Pointers of the steps that have been moved."""
        self.open_loops: list[str] = []
        """Pointers of the loops around the part that is translated."""
        self._loop_ids = {
            step.pointer: self.ids.claim(*_wanted_loop_id(step), crossing)
            for step in _all_steps(steps)
            if is_loop(step.value)
        }

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
    body, pointer = loop.value.get("body"), child(loop.pointer, "body")
    if isinstance(body, list):
        return [Source(one, child(pointer, index)) for index, one in enumerate(body)]
    return [] if body is None else [Source(body, pointer)]


def _wanted_loop_id(loop: Source) -> tuple[str, str]:
    """What artifacts call the loop, and where that is written."""
    source = loop_settings(loop.value).get("conditionSource")
    if isinstance(source, dict) and isinstance(source.get("loopId"), str) and source["loopId"].strip():
        return source["loopId"], f"{loop.pointer}/loop/conditionSource/loopId"
    for name in ("loopId", "id"):
        if isinstance(loop.value.get(name), str) and loop.value[name].strip():
            return loop.value[name], child(loop.pointer, name)
    return "loop", loop.pointer


def _all_steps(steps: list[Source]) -> Iterator[Source]:
    """Every step that is written out, in the order of the file."""
    for step in steps:
        if isinstance(step.value, dict):
            yield step
            if is_loop(step.value):
                yield from _all_steps(body_sources(step))


def _body_ids(value: Object) -> list[str]:
    return [
        one.value for one in body_sources(Source(value, "")) if is_loop(value) and isinstance(one.value, str)
    ]
