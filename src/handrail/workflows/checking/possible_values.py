"""Which values a comparison may meet: enough of them to try every way it can turn out. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from math import floor
from typing import Any, TypeAlias

import msgspec

from handrail.contract.effort import Effort
from handrail.workflows.builtins.registry import all_contracts
from handrail.workflows.compiled import Action, Choice, CompiledWorkflow, InputSpec, Loop, Part
from handrail.workflows.compiling.condition_table import parts_of
from handrail.workflows.conditions import MISSING, Compare, Condition
from handrail.workflows.limits import MAX_TRIED_COMPARISONS
from handrail.workflows.reading.value_fit import INPUT_FITS

Subject: TypeAlias = tuple[str, str, str]
"""What a comparison looks at: input, artifact, field."""

_FRESH = "\U0010fffd"
"""A text that nobody compares with, and that sorts behind every other."""
_OTHERS: tuple[Any, ...] = ("", _FRESH, True, False, 0, [], {})


class Domain(msgspec.Struct, frozen=True, kw_only=True):
    """The values to try; where it is open, a container may hold what nobody listed."""

    values: tuple[Any, ...]
    is_open: bool = False


class Domains:
    """The domains of one workflow."""

    def __init__(self, workflow: CompiledWorkflow) -> None:
        self.effort = Effort(MAX_TRIED_COMPARISONS, "The conditions take too long to try.", "")
        """What is left for trying; where nothing is, a condition may hold."""
        self._inputs = workflow.inputs
        self._set_inside = _values_set(workflow.steps)
        self._schemas = {spec.artifact_kind: spec.schema for spec in all_contracts()}
        self._schemas |= {one.artifact_kind: one.schema for one in workflow.contracts.values()}

    def delivers(self, artifact_kind: str) -> bool:
        """Whether an artifact of this kind can be there at all."""
        return artifact_kind in self._schemas

    def of(self, subject: Subject, conditions: Iterable[Condition]) -> Domain:
        """What the subject may be, as far as these conditions can tell its values apart."""
        name, artifact, field = subject
        constants = tuple(_constants(subject, conditions))
        if artifact:
            return self._artifact_domain(artifact, field, constants)
        spec = self._inputs.get(name)
        if spec is None or spec.implicit or name in self._set_inside.unknown:
            return _free(constants)
        return _with(_input_domain(spec, constants), self._set_inside.known.get(name, ()))

    def _artifact_domain(self, kind: str, field: str, constants: tuple[Any, ...]) -> Domain:
        schema: Any = self._schemas.get(kind)
        if schema is None:
            return Domain(values=(MISSING,))
        for part in field.split(".") if field else ():
            if not isinstance(schema, dict) or "$ref" in schema:
                return _free(constants)
            inner = schema.get("properties", {}).get(part)
            if inner is None:
                is_closed = schema.get("additionalProperties") is False
                return Domain(values=(MISSING,)) if is_closed else _free(constants)
            schema = inner
        return _schema_domain(schema, constants)


class _SetInside(msgspec.Struct, frozen=True, kw_only=True):
    """Values that the workflow itself gives: known ones by name, and names that may become anything."""

    known: dict[str, tuple[Any, ...]]
    unknown: frozenset[str]


def _values_set(parts: tuple[Part, ...]) -> _SetInside:
    known: dict[str, tuple[Any, ...]] = {}
    unknown: set[str] = set()
    waiting = list(parts)
    while waiting:
        match waiting.pop():
            case Loop(body=body):
                waiting += body
            case Choice(options=options):
                for option in options:
                    for name, value in option.sets.items():
                        known[name] = (*known.get(name, ()), value)
            case Action(save_as=name):
                unknown.add(name)
            case _:
                pass
    return _SetInside(known=known, unknown=frozenset(unknown))


def _input_domain(spec: InputSpec, constants: tuple[Any, ...]) -> Domain:
    absent = () if spec.required or spec.default is not msgspec.UNSET else (MISSING,)
    if spec.enum:
        return Domain(values=(*spec.enum, *absent))
    if spec.type == "boolean":
        return Domain(values=(True, False, *absent))
    fits = INPUT_FITS[spec.type][0]
    values = tuple(value for value in _free(constants).values if value is not MISSING and fits(value))
    return Domain(values=(*values, *absent), is_open=spec.type in ("string", "array", "object", "any"))


def _schema_domain(schema: Any, constants: tuple[Any, ...]) -> Domain:
    """The artifact may be absent, so its members always may, too."""
    if not isinstance(schema, dict):
        return _free(constants)
    if "const" in schema:
        return Domain(values=(schema["const"], MISSING))
    if isinstance(schema.get("enum"), list):
        return Domain(values=(*schema["enum"], MISSING))
    kind = schema.get("type")
    if kind == "boolean":
        return Domain(values=(True, False, MISSING))
    if not isinstance(kind, str) or kind not in INPUT_FITS:
        return _free(constants)
    return _with(_input_domain(InputSpec(type=kind), constants), (MISSING,))  # type: ignore[arg-type]  # checked above


def _free(constants: tuple[Any, ...]) -> Domain:
    return Domain(values=_distinct((*_around(constants), *_OTHERS, MISSING)), is_open=True)


def _with(domain: Domain, more: Iterable[Any]) -> Domain:
    return msgspec.structs.replace(domain, values=_distinct((*domain.values, *more)))


def _constants(subject: Subject, conditions: Iterable[Condition]) -> Iterator[Any]:
    for condition in conditions:
        for part in parts_of(condition):
            if isinstance(part, Compare) and subject_of(part) == subject:
                yield from part.value if part.op == "in" and isinstance(part.value, list) else (part.value,)


def subject_of(part: Compare) -> Subject:
    return part.input, part.artifact, part.field


def _around(constants: tuple[Any, ...]) -> Iterator[Any]:
    """Each constant, and something on both sides of it and between neighbours."""
    yield from constants
    numbers = sorted(one for one in constants if isinstance(one, int | float) and not isinstance(one, bool))
    for number in (*numbers, *((low + high) / 2 for low, high in pairwise(numbers))):
        # Whole numbers on both sides, and some so far away that rounding does not bring them back.
        yield from (number, floor(number), floor(number) + 1, number - 1, number + 1)
        yield from (number - 1 - abs(number), number + 1 + abs(number))
    for text in constants:
        if isinstance(text, str):
            yield text + "\x00"


def _distinct(values: Iterable[Any]) -> tuple[Any, ...]:
    found: dict[str, Any] = {}
    for value in values:
        found.setdefault(f"{type(value).__name__} {value!r}", value)
    return tuple(found.values())
