"""The compiler's input, its intermediate data (conditions, names), and its result. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from hashlib import sha256
from typing import Any, TypeAlias, assert_never

import msgspec

from handrail.contract.json.canonical import canonical_bytes
from handrail.contract.outcome import Json
from handrail.contract.suggest import find_nearest
from handrail.workflows.builtins.placement import PLACEHOLDER
from handrail.workflows.builtins.prompt_texts import CAPABILITIES
from handrail.workflows.compiled import (
    Contract,
    Count,
    Delegate,
    ForEach,
    InputSpec,
    Loop,
    Part,
    Pinned,
    Provenance,
    loop_variables,
    names_set_inside,
)
from handrail.workflows.conditions import (
    GENERATED_PREFIX,
    AlwaysTrue,
    And,
    Condition,
    ConditionId,
    LoopControl,
    comparisons,
    split_artifact,
)
from handrail.workflows.model import (
    ConditionRef,
    InlineCondition,
    RepeatUntil,
    RepeatWhile,
    SourceAction,
    SourceChoice,
    SourceDelegate,
    SourceLoop,
    SourceRepeat,
    SourceStep,
    SourceWorkflow,
    When,
)
from handrail.workflows.part_contents import conditions_of, texts_of
from handrail.workflows.problem import NO_EDIT, Findings, Problem, guess_surely, quote_name, replace_value

# Parts between source and compiled form: every step in its final place, with its origin. Templates are
# expanded and probes are in; prompts, conditions and contracts are still as authored.


class PlacedLeaf(msgspec.Struct, frozen=True, kw_only=True):
    """A step, a choice, an action, or a step that delegates work."""

    part: SourceStep | SourceChoice | SourceAction | SourceDelegate
    whens: tuple[When, ...] = ()
    """Conditions that must all hold: those of the calls around it, outermost first, and its own."""
    provenance: Provenance = Provenance()
    capability: str = ""
    """For a probe: the capability that it observes."""

    @property
    def id(self) -> str:
        return self.part.id


class PlacedLoop(msgspec.Struct, frozen=True, kw_only=True):
    """A loop with its expanded body; `loop.body` is not used any more."""

    loop: SourceLoop
    body: tuple[Placed, ...]
    whens: tuple[When, ...] = ()
    provenance: Provenance = Provenance()

    @property
    def id(self) -> str:
        return self.loop.loop_id


Placed: TypeAlias = PlacedLeaf | PlacedLoop


def walk(parts: tuple[Placed, ...]) -> Iterator[Placed]:
    """Yield every part in the order of the file, a loop before its body."""
    for part in parts:
        yield part
        if isinstance(part, PlacedLoop):
            yield from walk(part.body)


def pointer_of(part: Placed) -> str:
    return part.loop.pointer if isinstance(part, PlacedLoop) else part.part.pointer


def name_origins(source: SourceWorkflow, parts: tuple[Placed, ...]) -> tuple[Placed, ...]:
    """For a workflow that extends another, return for each part which of the two it came from."""
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
    """The base with which a customisation is compiled."""

    pinned: Pinned
    pointers: dict[str, str]
    """Ids of steps and loops, each with its place in the base."""


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What a source may name without containing it. The same surroundings give the same hash everywhere."""

    contracts: dict[str, Contract] = {}
    """The project's own contracts by id."""
    broken_contracts: dict[str, str] = {}
    """Ids of a project's contracts that cannot be used, each with the reason."""
    base: BaseCompilation | None = None
    """For a customisation: its base."""
    routines: tuple[SourceWorkflow, ...] = ()
    """Routines for `wr.templates.routine.<name>`. If two have one name the first counts, and one with open
    names comes last.
    """
    workflows: dict[str, SourceWorkflow] = {}
    """Workflows that a step may delegate, by id."""
    workflow_ids: tuple[str, ...] = ()
    """All ids that a step could name, for suggestions on misspelt ones."""


class Compilation(msgspec.Struct, frozen=True, kw_only=True):
    """The result; `pinned` is None if a problem is an error."""

    pinned: Pinned | None
    problems: tuple[Problem, ...] = ()
    inline: tuple[tuple[SourceWorkflow, Compilation], ...] = ()
    """Children that are written inside the workflow."""
    pointers: dict[str, str] = {}
    """Ids of compiled steps and loops, each with its place in the author's file."""


def report_unknown(
    found: Findings,
    what: str,
    name: str,
    known: Iterable[str],
    pointer: str,
    stand_in: str,
    meant: Json = None,
) -> None:
    """Report an unknown id; a warning names the stand-in. `meant` is the id that was certainly meant."""
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
    """Return ids to ask about, and the certain one.

    If the part up to the last dot is right, only the rest is compared: a long prefix makes
    unrelated ids alike.
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
    """Return where a thing of this name is declared, if it is not declared here."""
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


# Plain JSON in one form only: a value that equals its default is left out. msgspec's own `omit_defaults`
# compares by identity, so a default that an author wrote out could stay or go with the way its text was
# read. A hash must not depend on that.


def to_plain_json(value: Any) -> Json:
    """Return plain JSON: structs become objects with wire names; tuples become lists."""
    if isinstance(value, msgspec.Struct):
        return _object(value)
    if isinstance(value, dict):
        return {key: to_plain_json(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain_json(inner) for inner in value]
    return value


def _object(value: msgspec.Struct) -> dict[str, Json]:
    config = value.__struct_config__
    form: dict[str, Json] = {config.tag_field: config.tag} if config.tag_field is not None else {}
    for name, encoded, default in _fields(type(value)):
        held = getattr(value, name)
        is_default = type(held) is type(default) and held == default
        if held is not msgspec.UNSET and not (config.omit_defaults and is_default):
            form[encoded] = to_plain_json(held)
    return form


@cache
def _fields(kind: type[msgspec.Struct]) -> list[tuple[str, str, Any]]:
    """Return each field's name, wire name and default."""
    return [
        (
            field.name,
            field.encode_name,
            field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory(),
        )
        for field in msgspec.structs.fields(kind)
    ]


# The table: declared conditions by their id, the others by a derived one

_SHORTEST = 12


_ASKED = ("user", "person", "human", "owner", "required", "manual", "yes")
"""Words that say that a person is asked, and name no condition."""


class ConditionTable:
    """Every condition by id. Equal inline conditions share one id, made of their digest."""

    def __init__(self, declared: dict[str, Condition], trail: Findings, truths: Collection[str] = ()) -> None:
        """Create a table; `truths` are boolean inputs, because some authors name one in place of a
        condition.
        """
        self._declared = declared
        self._truths = truths
        self._trail = trail
        self._held: dict[ConditionId, Condition] = dict(declared)

    def id_of(self, *named: When | None) -> ConditionId:
        """Return the id of the condition that all of them hold; empty if there are none."""
        whens = tuple(when for when in named if when is not None)
        found = tuple(self.condition(when) for when in whens)
        match whens:
            case ():
                return ""
            case (ConditionRef(condition_id=name),) if name in self._declared:
                return name
            case (_,):
                return self._add(found[0])
            case _:
                return self._add(And(of=found))

    def sorted(self) -> dict[ConditionId, Condition]:
        return dict(sorted(self._held.items()))

    def condition(self, when: When) -> Condition:
        """Return the condition itself. An unknown id is reported, and replaced by `always_true`."""
        match when:
            case InlineCondition(condition=condition):
                return condition
            case ConditionRef(condition_id=name, pointer=pointer):
                if name not in self._declared:
                    meant, stand_in = self._meant(name, pointer), "It is taken to hold."
                    report_unknown(self._trail, "condition", name, self._declared, pointer, stand_in, meant)
                return self._declared.get(name, AlwaysTrue())
            case never:
                assert_never(never)

    def _meant(self, name: str, pointer: str) -> Json:
        if name in self._truths:
            return {"kind": "compare", "input": name, "op": "equals", "value": True}
        truth = {"always": "true", "never": "false"}.get(name, name)
        if pointer.endswith("/requireConfirmation"):
            return {"true": True, "false": False}.get("true" if name in _ASKED else truth)
        return {"kind": f"always_{truth}"} if truth in ("true", "false") else None

    def _add(self, condition: Condition) -> ConditionId:
        name = sha256(canonical_bytes(to_plain_json(condition))).hexdigest()
        length = _SHORTEST
        # An author may have taken the short name for something else; a longer one is still theirs to find.
        while self._held.get(GENERATED_PREFIX + name[:length], condition) != condition:
            length += 4
        self._held[GENERATED_PREFIX + name[:length]] = condition
        return GENERATED_PREFIX + name[:length]


# Names in texts


def placeholder_names(text: str, kinds: Collection[str] = ()) -> Iterator[str]:
    """Yield the values that a text asks for, without their members, in order and with repetitions.

    A member of an artifact of one of these kinds is no value.
    """
    for match in PLACEHOLDER.finditer(text):
        if split_artifact(match[1])[0] not in kinds:
            yield match[1].partition(".")[0]


# Inputs that conditions, loops and prompts use without a declaration. They are part of the compiled
# workflow, so that a start can name them and a simulation can vary them. What a choice sets, an action
# saves or a loop counts comes from inside and is not an input.

IMPLICIT = InputSpec(implicit=True)


def find_implicit_inputs(
    parts: tuple[Part, ...],
    conditions: Mapping[ConditionId, Condition],
    functions: Mapping[str, str],
    declared: Mapping[str, InputSpec],
    kinds: frozenset[str],
) -> dict[str, InputSpec]:
    """Return undeclared names in use that nothing inside the workflow sets, sorted; `kinds` are of its
    artifacts.
    """
    known = set(declared) | set(names_set_inside(parts))
    used = {name for name in _used(parts, conditions, functions, frozenset(), kinds) if name not in known}
    return dict.fromkeys(sorted(used), IMPLICIT)


def condition_names(condition: Condition) -> Iterator[str]:
    """Return the values that a condition reads, without their members."""
    return (part.input.partition(".")[0] for part in comparisons(condition) if part.input)


def _used(
    parts: tuple[Part, ...],
    conditions: Mapping[ConditionId, Condition],
    functions: Mapping[str, str],
    counted: frozenset[str],
    kinds: frozenset[str],
) -> Iterator[str]:
    """Yield names in use; `counted` are the variables of the loops around, which are not inputs there."""
    for part in parts:
        names = [name for one in conditions_of(part) for name in condition_names(conditions[one])]
        if isinstance(part, Loop):
            if isinstance(part.repeat, ForEach):
                names.append(part.repeat.input.partition(".")[0])
            yield from _used(part.body, conditions, functions, counted | loop_variables(part), kinds)
        else:
            if isinstance(part, Delegate):
                counted = counted | {part.item}
                names.append(part.for_each.partition(".")[0])
            names += [name for text in texts_of(part, functions) for name in placeholder_names(text, kinds)]
        yield from (name for name in names if name and name not in counted)


# Steps that a run can begin with: they show what must be clear before anything is done


def find_first_steps(parts: tuple[Placed, ...], table: ConditionTable) -> frozenset[str]:
    """Return the ids of steps and choices that no other part certainly precedes."""
    found: set[str] = set()
    _collect(parts, table, found)
    return frozenset(found)


def _collect(parts: tuple[Placed, ...], table: ConditionTable, found: set[str]) -> bool:
    """Collect parts that may come first; return whether one certainly does, so that nothing after it can."""
    for part in parts:
        match part:
            case PlacedLeaf(part=SourceAction()):
                continue  # Handrail runs it itself: nobody reads it
            case PlacedLeaf(capability=capability) if capability:
                continue  # a probe asks one question and nothing else
            case PlacedLeaf():
                found.add(part.id)
                is_certain = True
            case PlacedLoop():
                is_certain = _collect(part.body, table, found) and _runs_once(part.loop.repeat, table)
        if is_certain and not part.whens:
            return True
    return False


def _runs_once(repeat: SourceRepeat, table: ConditionTable) -> bool:
    match repeat:
        case Count() | RepeatUntil():
            return True
        case RepeatWhile(condition=when):
            return isinstance(table.condition(when), LoopControl)
        case ForEach():
            return False
