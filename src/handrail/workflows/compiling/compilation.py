"""What the compiler is given besides the source, the parts in their places, and what it answers. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

import msgspec

from handrail.workflows.compiled import Contract, Pinned, Provenance
from handrail.workflows.model import (
    SourceAction,
    SourceChoice,
    SourceDelegate,
    SourceLoop,
    SourceStep,
    SourceWorkflow,
    When,
)
from handrail.workflows.problem import Problem

# Parts between source and compiled: every step in its final place, with its origin
#
# Templates are expanded and probes are in; prompts, conditions and contracts are still as authored.


class PlacedLeaf(msgspec.Struct, frozen=True, kw_only=True):
    """A step, a choice, an action, or a step that hands out work."""

    part: SourceStep | SourceChoice | SourceAction | SourceDelegate
    whens: tuple[When, ...] = ()
    """All must hold: those of the calls it was expanded from, outermost first, and its own."""
    provenance: Provenance = Provenance()
    capability: str = ""
    """Of a probe: what it observes."""

    @property
    def id(self) -> str:
        return self.part.id


class PlacedLoop(msgspec.Struct, frozen=True, kw_only=True):
    """A loop with its expanded body; `loop.body` is not looked at any more."""

    loop: SourceLoop
    body: tuple[Placed, ...]
    whens: tuple[When, ...] = ()
    provenance: Provenance = Provenance()

    @property
    def id(self) -> str:
        return self.loop.loop_id


Placed: TypeAlias = PlacedLeaf | PlacedLoop


def walk(parts: tuple[Placed, ...]) -> Iterator[Placed]:
    """Every part in the order of the file, a loop before its body."""
    for part in parts:
        yield part
        if isinstance(part, PlacedLoop):
            yield from walk(part.body)


def pointer_of(part: Placed) -> str:
    return part.loop.pointer if isinstance(part, PlacedLoop) else part.part.pointer


def name_origins(source: SourceWorkflow, parts: tuple[Placed, ...]) -> tuple[Placed, ...]:
    """Of a workflow that extends another: which of the two each part came from."""
    if source.overlay is None:
        return parts
    told: list[Placed] = []
    for part in parts:
        placed: Placed = part
        if isinstance(placed, PlacedLoop):
            placed = msgspec.structs.replace(placed, body=name_origins(source, placed.body))
        if placed.provenance.kind == "authored":
            is_own = placed.id in source.overlay.own_parts
            origin = Provenance(
                kind="overlay" if is_own else "base", origin=source.id if is_own else source.overlay.base_id
            )
            placed = msgspec.structs.replace(placed, provenance=origin)
        told.append(placed)
    return tuple(told)


# What the compiler gets and gives

DecisionKind: TypeAlias = Literal["template", "feature", "capability_probe", "contract", "input"]


class BaseCompilation(msgspec.Struct, frozen=True, kw_only=True):
    """What an overlay is compiled on."""

    pinned: Pinned
    pointers: dict[str, str]
    """Id of each step and loop to its place in the base."""


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What a source may name without holding it. The same surroundings give the same hash everywhere."""

    contracts: dict[str, Contract] = {}
    """The project's own contracts by id."""
    broken_contracts: dict[str, str] = {}
    """Id of a project's contract that cannot be used to the reason."""
    base: BaseCompilation | None = None
    """Of an overlay: its base."""
    routines: tuple[SourceWorkflow, ...] = ()
    """Routines that `wr.templates.routine.<name>` stands for; of two with one name the first counts,
    and one with open names comes last."""
    workflows: dict[str, SourceWorkflow] = {}
    """What a step may hand out, by id."""
    workflow_ids: tuple[str, ...] = ()
    """All that one could name: what a misspelt one may have meant."""


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """One thing the compiler added that the author did not write out."""

    kind: DecisionKind
    origin: str
    """The builtin, contract or input that it comes from."""
    step_id: str
    """The step or loop it concerns; empty when it concerns the whole workflow."""
    why: str


class Compilation(msgspec.Struct, frozen=True, kw_only=True):
    """`pinned` is None when a problem is an error."""

    pinned: Pinned | None
    problems: tuple[Problem, ...] = ()
    decisions: tuple[Decision, ...] = ()
    inline: tuple[tuple[SourceWorkflow, Compilation], ...] = ()
    """Children that are written inside the workflow."""
    pointers: dict[str, str] = {}
    """Id of each compiled step and loop to its place in the author's file."""
