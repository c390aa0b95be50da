"""Which step asks for which value: whatever steers a run is requested before it is first read. Pure.

A value steers a run when a condition or a loop reads it and nothing inside the workflow sets it. It is
asked for by the last step that surely runs before the place that reads it, and by those after it that
may run, as long as nobody sent it. A value that decides about another round is asked for in every round.

This is computed from the compiled workflow when a step is shown, so it is in no hash, and runs that were
pinned long ago ask too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias, assert_never

import msgspec

from handrail.contract.wording import shortened
from handrail.workflows.compiled import (
    Action,
    Choice,
    CompiledWorkflow,
    Count,
    ForEach,
    InputSpec,
    Leaf,
    Loop,
    Part,
    Step,
    Until,
    While,
)
from handrail.workflows.conditions import Compare, Facts, LoopControl, comparisons
from handrail.workflows.own_values import loop_variables, set_inside

AT_START = ""
"""In place of a step: the value is read before any step could ask for it."""
MOST_ASKED = 12
"""Values that one step asks for at most."""
MOST_VALUES = 8
_ORDERED = ("gt", "gte", "lt", "lte")


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """A value that a step asks for, and what it may be, in words: `low | high`."""

    name: str
    allowed: str
    description: str = ""
    is_every_round: bool = False


class Steering(msgspec.Struct, frozen=True, kw_only=True):
    """A value that steers the run."""

    name: str
    values: tuple[Any, ...] = ()
    """What conditions compare it with."""
    is_list: bool = False
    """A loop goes through it."""
    asked_at: tuple[str, ...] = ()
    """Ids of the steps that ask, AT_START among them; in the order of the workflow."""
    every_round_at: frozenset[str] = frozenset()


def steering_values(workflow: CompiledWorkflow) -> dict[str, Steering]:
    """Every value that steers the run, in the order in which they are first read."""
    search = _Search(workflow)
    search.walk(workflow.steps, (), frozenset())
    return {
        name: Steering(
            name=name,
            values=tuple(found.values),
            is_list=found.is_list,
            asked_at=tuple(found.asked_at),
            every_round_at=frozenset(found.every_round_at),
        )
        for name, found in search.found.items()
    }


def asked_at(workflow: CompiledWorkflow, step_id: str, facts: Facts) -> list[Ask]:
    """What a step asks for now: what nobody sent yet, and what decides about another round."""
    asks = []
    for held in steering_values(workflow).values():
        if step_id not in held.asked_at:
            continue
        is_every_round = step_id in held.every_round_at
        if is_every_round or not _is_known(workflow, held, facts):
            asks.append(ask_for(workflow, held, is_every_round=is_every_round))
    return asks[:MOST_ASKED]


def ask_for(workflow: CompiledWorkflow, held: Steering, *, is_every_round: bool = False) -> Ask:
    """The value as a step asks for it."""
    spec = workflow.inputs.get(held.name, InputSpec(implicit=True))
    return Ask(
        name=held.name,
        allowed=_allowed(spec, held),
        description=shortened(spec.description),
        is_every_round=is_every_round,
    )


def _is_known(workflow: CompiledWorkflow, held: Steering, facts: Facts) -> bool:
    """An empty list that nobody sent is no answer: a loop over it would pass in silence."""
    value = facts.values.get(held.name)
    spec = workflow.inputs.get(held.name)
    is_empty_default = held.is_list and value == [] and spec is not None and spec.default == []
    return value is not None and not is_empty_default


def _allowed(spec: InputSpec, held: Steering) -> str:
    if spec.enum:
        return _listed(spec.enum)
    if held.is_list or spec.type == "array":
        return "a list; [] if there is nothing"
    if spec.type in ("integer", "number") or _are_numbers(held.values):
        return "a number"
    if spec.type == "boolean" or any(isinstance(value, bool) for value in held.values):
        return "true | false"
    if spec.type == "object":
        return "an object"
    return f"{_listed(held.values)} | …" if held.values else "any text"


def _are_numbers(values: tuple[Any, ...]) -> bool:
    return bool(values) and all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in values
    )


def _listed(values: Iterable[Any]) -> str:
    shown = [
        shortened(value) if isinstance(value, str) and value else msgspec.json.encode(value).decode()[:80]
        for value in values
    ]
    return " | ".join([*shown[:MOST_VALUES], *(["…"] if len(shown) > MOST_VALUES else [])])


_Recent: TypeAlias = tuple[tuple[str, int], ...]
"""Steps that can ask for what comes next, each with how many loops are around it: the last one that surely
ran, then those that may have run since."""


class _Found:
    """One value while the workflow is searched."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.is_list = False
        self.asked_at: dict[str, None] = {}
        self.every_round_at: set[str] = set()
        self.first_loops: tuple[str, ...] = ()


class _Search:
    """One pass over a workflow in its own order."""

    def __init__(self, workflow: CompiledWorkflow) -> None:
        self._conditions = workflow.conditions
        self._inside = frozenset(set_inside(workflow.steps))
        self._counters = {name: spec.counted_by for name, spec in workflow.inputs.items() if spec.counted_by}
        self.found: dict[str, _Found] = {}

    def walk(
        self,
        parts: tuple[Part, ...],
        loops: tuple[str, ...],
        counted: frozenset[str],
        recent: _Recent = (),
    ) -> _Recent:
        """The steps that can ask for what follows these parts."""
        for part in parts:
            self._read(part.when, recent, loops, counted)
            if isinstance(part, Loop):
                recent = self._loop(part, loops, counted, recent)
                continue
            here = (part.id, len(loops))
            self._read_at_leaf(part, recent or (here,), loops, counted)
            recent = (*recent, here) if part.when else (here,)
        return recent

    def _loop(
        self,
        loop: Loop,
        loops: tuple[str, ...],
        counted: frozenset[str],
        recent: _Recent,
    ) -> _Recent:
        inner = counted | loop_variables(loop)
        is_entered = not loop.when
        match loop.repeat:
            case ForEach(input=name):
                counter = self._counters.get(name, "")
                if counter:
                    self._use(counter.partition(".")[0], [1], recent, loops, counted)
                else:
                    self._use(name.partition(".")[0], [], recent, loops, counted, is_list="." not in name)
                is_entered = False
            case While(condition=one):
                self._read(one, recent, loops, counted)
                is_entered = is_entered and isinstance(self._conditions[one], LoopControl)
            case Count(count=count):
                is_entered = is_entered and count > 0
            case Until():
                pass
            case never:
                assert_never(never)
        within = (*loops, loop.id)
        last = self.walk(loop.body, within, inner, recent)
        if isinstance(loop.repeat, While | Until):
            self._read(loop.repeat.condition, last, within, inner, is_every_round=True)
        return last if is_entered else tuple(dict.fromkeys((*recent, *last)))

    def _read_at_leaf(
        self, leaf: Leaf, recent: _Recent, loops: tuple[str, ...], counted: frozenset[str]
    ) -> None:
        match leaf:
            case Step(fragments=fragments, require_confirmation=confirmed):
                for fragment in fragments:
                    self._read(fragment.when, recent, loops, counted)
                if isinstance(confirmed, str):
                    self._read(confirmed, recent, loops, counted)
            case Choice() | Action():
                pass
            case never:
                assert_never(never)

    def _read(
        self,
        condition_id: str,
        recent: _Recent,
        loops: tuple[str, ...],
        counted: frozenset[str],
        *,
        is_every_round: bool = False,
    ) -> None:
        if not condition_id:
            return
        for atom in comparisons(self._conditions[condition_id]):
            if atom.input:
                head, _, member = atom.input.partition(".")
                values = [] if member else _compared_with(atom)
                self._use(head, values, recent, loops, counted, is_every_round=is_every_round)

    def _use(
        self,
        name: str,
        values: list[Any],
        recent: _Recent,
        loops: tuple[str, ...],
        counted: frozenset[str],
        *,
        is_list: bool = False,
        is_every_round: bool = False,
    ) -> None:
        if name in counted or name in self._inside:
            return
        if name not in self.found:
            self.found[name] = _Found()
            self.found[name].first_loops = loops
        found = self.found[name]
        found.is_list = found.is_list or is_list
        found.values += [value for value in values if not _is_among(value, found.values)]
        if not recent:
            found.asked_at[AT_START] = None
        for step_id, depth in recent:
            found.asked_at[step_id] = None
            # What is first read inside a loop, and can be asked for inside it, belongs to each round.
            is_of_round = bool(loops) and found.first_loops[: len(loops)] == loops and depth >= len(loops)
            if depth >= len(loops) and (is_every_round or is_of_round):
                found.every_round_at.add(step_id)


def _compared_with(atom: Compare) -> list[Any]:
    if atom.op == "exists" or (atom.value is None and atom.op not in _ORDERED):
        return []
    if atom.op == "in":
        return list(atom.value) if isinstance(atom.value, list | tuple) else [atom.value]
    return [atom.value]


def _is_among(value: Any, values: list[Any]) -> bool:
    return any(type(value) is type(held) and value == held for held in values)
