"""What the compiler is given besides the source, what it finds on the way, and what it answers. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

import msgspec

from handrail.contract.json.canonical import canonical_bytes
from handrail.contract.outcome import Json
from handrail.contract.suggest import find_nearest
from handrail.workflows.builtins.prompt_texts import CAPABILITIES
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
from handrail.workflows.problem import NO_EDIT, Findings, Problem, guess_surely, quote_name, replace_value

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
    named: list[Placed] = []
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
        named.append(placed)
    return tuple(named)


# What the compiler gets and gives


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


class Compilation(msgspec.Struct, frozen=True, kw_only=True):
    """`pinned` is None when a problem is an error."""

    pinned: Pinned | None
    problems: tuple[Problem, ...] = ()
    inline: tuple[tuple[SourceWorkflow, Compilation], ...] = ()
    """Children that are written inside the workflow."""
    pointers: dict[str, str] = {}
    """Id of each compiled step and loop to its place in the author's file."""


def report_unknown(
    found: Findings,
    what: str,
    name: str,
    known: Iterable[str],
    pointer: str,
    stand_in: str,
    meant: Json = None,
) -> None:
    """An id that names nothing; a warning says what stands in. `meant` is what it surely stands for."""
    names = sorted(known)
    near, sure = ([], "") if found.is_full else _near(name, names)
    fix = f"Did you mean {' or '.join(near)}?" if near else _elsewhere(what, name) + _choices(what, names)
    message = f"There is no {what} {quote_name(name)}."
    if found.has_open_names:
        message = f"{message} {stand_in}"
    edit = replace_value(pointer, sure) if sure else NO_EDIT
    if meant is not None:
        fix, edit = f"Write {canonical_bytes(meant).decode()}.", replace_value(pointer, meant)
    found.report("unknown_id", pointer, message, fix, edit, severity=found.severity_of_unknown)


def _near(name: str, names: list[str]) -> tuple[list[str], str]:
    """What to ask about, and the one that is certain.

    Compared behind the last dot where that much is right: a long prefix would make strangers alike.
    """
    prefix, _, own = name.rpartition(".")
    beside = {other.rpartition(".")[2]: other for other in names if other.rpartition(".")[0] == prefix}
    if not beside:
        ending = [other for other in names if not prefix and other.endswith(f".{name}")]
        sure = ending[0] if len(ending) == 1 else guess_surely(name, names)
        return ([sure] if sure else find_nearest(name, names)), sure
    sure = beside.get(guess_surely(own, beside), "")
    return ([sure] if sure else [beside[one] for one in find_nearest(own, beside)]), sure


def _elsewhere(what: str, name: str) -> str:
    """Where a thing of this name is written, if it is not here."""
    if what == "feature" and any(name == one.id for one in CAPABILITIES):
        return f'That is a capability: write "capabilities": {{"{name}": "preferred"}} beside steps. '
    if what == "contract" and not name.startswith("wr."):
        return "A contract of the project is a file in .handrail/contracts that holds its id. "
    return ""


def _choices(what: str, names: list[str]) -> str:
    if not names:
        return f"Declare it, or remove the reference: there is no {what} here."
    listed = ", ".join(names[:12])
    return f"Use one of {listed}{' and others' if len(names) > 12 else ''}."
