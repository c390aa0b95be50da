"""The parts between source and compiled: every step in its final place, with its origin. Pure.

Templates are expanded and probes are in; prompts, conditions and contracts are still as authored.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import msgspec

from handrail.workflows.compiled import Provenance
from handrail.workflows.model import SourceAction, SourceChoice, SourceLoop, SourceStep, When


class PlacedLeaf(msgspec.Struct, frozen=True, kw_only=True):
    """A step, choice or action."""

    part: SourceStep | SourceChoice | SourceAction
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
