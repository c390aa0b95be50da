"""What the next call must send, as a frame to fill in: known names, and a mark in place of work. Pure.

Assessment gates and the values that steer a run are here too, because the frame asks for them. A frame
never has an example value: copied as it is, that would be recorded as work. A mark that is returned
unfilled, from a frame or from a printed example, is refused by its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, assert_never

import msgspec
from msgspec import json
from msgspec.structs import replace

from handrail.contract.ids import Autonomy
from handrail.contract.wording import shorten
from handrail.engine.artifact_shapes import (
    ASSESSMENT,
    CAPABILITY_OBSERVATION,
    LOOP_CONTROL,
    USER_INPUT,
    Judgement,
)
from handrail.engine.events import Blocked
from handrail.engine.owners import is_known, is_unsent
from handrail.engine.reasons import (
    Blocker,
    CapabilityPointer,
    ContextKey,
    OutputContract,
    WorkflowStep,
    shorten_message,
    waits_for_person,
    waits_for_run,
)
from handrail.workflows.compiled import (
    Action,
    Choice,
    CompiledWorkflow,
    Contract,
    Count,
    Delegate,
    ForEach,
    Gate,
    InputSpec,
    Leaf,
    Loop,
    Part,
    Step,
    Until,
    While,
    derive_once,
    list_required_contracts,
    loop_variables,
    names_set_inside,
    resolve_ref,
)
from handrail.workflows.conditions import Compare, Facts, LoopControl, comparisons, nest_values
from handrail.workflows.prompt_sections import USER_WORDS

# Assessment gates: levels that a step must report, some of which demand a follow-up first

ANY_LEVEL = "<level>"
"""Placeholder for the level of a dimension that declares none."""
ANY_RATIONALE = "<what each level rests on>"
"""Placeholder for the agent's own reasons."""


def gate_of(step: Step | None, assessment_id: str) -> Gate | None:
    """Return the gate of a step that this assessment is for."""
    gates = step.gates if step is not None else ()
    return next((gate for gate in gates if gate.assessment_id == assessment_id), None)


def find_misfits(gate: Gate, judgement: Judgement) -> list[tuple[str, str]]:
    """Return where an assessment does not have the dimensions and levels that its gate declares: place and
    fault.
    """
    missing = [name for name in gate.dimensions if name not in judgement.dimensions]
    issues = [(f"/dimensions/{name}", f"{name} is missing") for name in missing]
    for name, level in judgement.dimensions.items():
        levels = gate.dimensions.get(name)
        if levels is None:
            short = shorten_message(name, 60)
            issues.append((f"/dimensions/{short}", f"{short} is not a dimension"))
        elif levels and level not in levels:
            message = f"{name} cannot be {shorten_message(level, 60)}; levels: {', '.join(levels)}"
            issues.append((f"/dimensions/{name}", message))
    return issues


def find_demand(gate: Gate, judgement: Judgement) -> tuple[str, str] | None:
    """Return the first dimension and level that require a follow-up before the run goes on, or None."""
    return next((held for held in judgement.dimensions.items() if held[1] in gate.followups), None)


def assessment_example(gate: Gate) -> dict[str, Any]:
    """Return an assessment that is accepted: for each dimension, the first level that requires no
    follow-up.
    """
    dimensions = {
        name: next(
            (level for level in levels if level not in gate.followups), levels[-1] if levels else ANY_LEVEL
        )
        for name, levels in gate.dimensions.items()
    }
    head = {"kind": ASSESSMENT, "assessmentId": gate.assessment_id}
    return head | {"dimensions": dimensions, "rationale": ANY_RATIONALE}


def list_levels(gate: Gate) -> str:
    """Return the dimensions with their levels, for a sentence."""
    return "; ".join(f"{name}: {', '.join(levels)}" for name, levels in gate.dimensions.items())


# Which step asks for which value
#
# A value steers a run if a condition or a loop reads it and nothing inside the workflow sets it. The last
# step that surely runs before the value is read asks for it, and so do the later steps that may run, until
# it is sent. A value that decides about another round is asked for in every round.
#
# The search runs on the compiled workflow when a step is shown. So it is in no hash, and runs that were
# pinned long ago ask too.

AT_START = ""
"""In place of a step id: the value is read before any step could ask for it."""
MOST_ASKED = 12
"""Limit for the values that one step asks for."""
MOST_VALUES = 8
LONGEST_DESCRIPTION = 300
"""Limit in characters for an author's description of a value: readers decide by it, so it is long enough to
be read to its end.
"""


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """A value that a step asks for, and what it may be, in words: `low | high`. Empty if its description
    says it.
    """

    name: str
    allowed: str
    description: str = ""


class Steering(msgspec.Struct, frozen=True, kw_only=True):
    """A value that steers the run."""

    name: str
    values: tuple[Any, ...] = ()
    """The values with which conditions compare it."""
    is_list: bool = False
    """Whether a loop goes through it."""
    asked_at: tuple[str, ...] = ()
    """Ids of the steps that ask for it, including AT_START; in the order of the workflow."""
    every_round_at: frozenset[str] = frozenset()
    first_loops: tuple[str, ...] = ()
    """The loops around the place where the value is first read."""


def steering_values(workflow: CompiledWorkflow) -> Mapping[str, Steering]:
    """Return every value that steers the run, in the order in which they are first read."""
    return derive_once(workflow, _find_steering)


def _find_steering(workflow: CompiledWorkflow) -> dict[str, Steering]:
    search = _InputSearch(workflow)
    search.walk(workflow.steps, _Here())
    return search.found


def list_asks(workflow: CompiledWorkflow, leaf: Leaf, facts: Facts) -> list[Ask]:
    """Return what a step asks for now: values that were not sent yet, and values that decide about another
    round.
    """
    asks = [
        make_ask(workflow, held)
        for held in steering_values(workflow).values()
        if leaf.id in held.asked_at
        if leaf.id in held.every_round_at or not is_known(workflow, held.name, facts, is_list=held.is_list)
    ]
    known = {ask.name for ask in asks}
    own = leaf.asks if isinstance(leaf, Step) else ()
    unsent = [name for name in own if name not in known and is_unsent(workflow, name, facts)]
    added = [Ask(name=one, allowed=_listed(workflow.inputs.get(one, InputSpec()).enum)) for one in unsent]
    return [*asks, *added][:MOST_ASKED]


def make_ask(workflow: CompiledWorkflow, held: Steering) -> Ask:
    """Return the value as a step asks for it."""
    spec = workflow.inputs.get(held.name, InputSpec(implicit=True))
    description = shorten(spec.description, LONGEST_DESCRIPTION)
    return Ask(name=held.name, allowed=_allowed(spec, held), description=description)


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
    return bool(values) and all(type(value) in (int, float) for value in values)


def _listed(values: Iterable[Any]) -> str:
    shown = [
        shorten(one) if isinstance(one, str) and one else json.encode(one).decode()[:80] for one in values
    ]
    return " | ".join([*shown[:MOST_VALUES], *(["…"] if len(shown) > MOST_VALUES else [])])


_Recent: TypeAlias = tuple[tuple[str, int], ...]
"""Steps that can ask for the next value, each with the number of loops around it: the last one that surely
ran, then those that may have run since.
"""


class _Here(msgspec.Struct, frozen=True, kw_only=True):
    """The position of the search: the loops around it, and their counters."""

    recent: _Recent = ()
    loops: tuple[str, ...] = ()
    counted: frozenset[str] = frozenset()


class _InputSearch:
    """One pass over a workflow in its own order."""

    def __init__(self, workflow: CompiledWorkflow) -> None:
        self._conditions = workflow.conditions
        self._inside = frozenset(names_set_inside(workflow.steps))
        self._counters = {name: spec.counted_by for name, spec in workflow.inputs.items() if spec.counted_by}
        self.found: dict[str, Steering] = {}

    def walk(self, parts: tuple[Part, ...], here: _Here) -> _Recent:
        """Return the steps that can ask for what follows these parts."""
        for part in parts:
            self._read(part.when, here)
            if isinstance(part, Loop):
                recent = self._loop(part, here)
            else:
                own = (part.id, len(here.loops))
                self._read_at_leaf(part, replace(here, recent=here.recent or (own,)))
                recent = (*here.recent, own) if part.when else (own,)
            here = replace(here, recent=recent)
        return here.recent

    def _loop(self, loop: Loop, here: _Here) -> _Recent:
        is_entered = not loop.when
        match loop.repeat:
            case ForEach(input=name):
                counter = self._counters.get(name, "")
                if counter:
                    self._use(counter.partition(".")[0], [1], here)
                else:
                    self._use(name.partition(".")[0], [], here, is_list="." not in name)
                is_entered = False
            case While(condition=one):
                self._read(one, here)
                is_entered = is_entered and isinstance(self._conditions[one], LoopControl)
            case Count(count=count):
                is_entered = is_entered and count > 0
            case Until():
                pass
            case never:
                assert_never(never)
        within = replace(here, loops=(*here.loops, loop.id), counted=here.counted | loop_variables(loop))
        last = self.walk(loop.body, within)
        if isinstance(loop.repeat, While | Until):
            self._read(loop.repeat.condition, replace(within, recent=last), is_every_round=True)
        return last if is_entered else tuple(dict.fromkeys((*here.recent, *last)))

    def _read_at_leaf(self, leaf: Leaf, here: _Here) -> None:
        match leaf:
            case Step(fragments=fragments, require_confirmation=asked):
                read = [*(one.when for one in fragments), asked if isinstance(asked, str) else ""]
            case Delegate(children=children):
                read = [child.when for child in children]
            case Choice() | Action():
                read = []
            case never:
                assert_never(never)
        for condition_id in read:
            self._read(condition_id, here)

    def _read(self, condition_id: str, here: _Here, *, is_every_round: bool = False) -> None:
        if not condition_id:
            return
        for atom in comparisons(self._conditions[condition_id]):
            if atom.input:
                head, _, member = atom.input.partition(".")
                values = [] if member else _compared_with(atom)
                self._use(head, values, here, is_every_round=is_every_round)

    def _use(
        self,
        name: str,
        values: list[Any],
        here: _Here,
        *,
        is_list: bool = False,
        is_every_round: bool = False,
    ) -> None:
        if name in here.counted or name in self._inside:
            return
        found = self.found.get(name) or Steering(name=name, first_loops=here.loops)
        # A value that is first read inside a loop, and can be asked for inside it, belongs to each round.
        depth = len(here.loops)
        is_of_round = is_every_round or (depth > 0 and found.first_loops[:depth] == here.loops)
        asked_at = [step_id for step_id, _ in here.recent] or [AT_START]
        self.found[name] = replace(
            found,
            values=(*found.values, *(one for one in values if not _is_among(one, found.values))),
            is_list=found.is_list or is_list,
            asked_at=tuple(dict.fromkeys((*found.asked_at, *asked_at))),
            every_round_at=found.every_round_at.union(
                step_id for step_id, loops in here.recent if is_of_round and loops >= depth
            ),
        )


def _compared_with(atom: Compare) -> list[Any]:
    if atom.op == "exists" or atom.value is None:
        return []
    if atom.op == "in":
        return list(atom.value) if isinstance(atom.value, list | tuple) else [atom.value]
    return [atom.value]


def _is_among(value: Any, values: Sequence[Any]) -> bool:
    return any(type(value) is type(held) and value == held for held in values)


# Frames

TO_FILL_IN = "…"
"""Placeholder for a value that the agent has to write."""
_OF_TYPE = {"integer": "… number", "number": "… number", "boolean": "… true or false"}
"""The same for values that are not text."""
MARKS = frozenset({TO_FILL_IN, *_OF_TYPE.values(), USER_WORDS, ANY_LEVEL, ANY_RATIONALE})
"""Every placeholder in Handrail's frames and examples for text that only the agent or the user can give."""
DEEPEST = 6
INNER_BYTES = 100
"""Limit in bytes for nested members in a frame, about 40 tokens; a mark replaces those beyond."""
_BESIDE_A_NAME = 7
_INNER_LEVELS = 3


def mark_of(spec: InputSpec | None) -> str | list[str]:
    """Return the placeholder for the value of an input, in the required type."""
    kind = "" if spec is None else spec.type
    return [TO_FILL_IN] if kind == "array" else _OF_TYPE.get(kind, TO_FILL_IN)


def make_frame(
    workflow: CompiledWorkflow, leaf: Leaf, loop_id: str, asks: Sequence[Ask], autonomy: Autonomy
) -> dict[str, Any]:
    """Return what a report on a pending step contains, beside its token."""
    frame: dict[str, Any] = {}
    context: dict[str, Any] = {ask.name: mark_of(workflow.inputs.get(ask.name)) for ask in asks}
    match leaf:
        case Step():
            output: dict[str, Any] = {} if leaf.notes_optional else {"notesMarkdown": TO_FILL_IN}
            artifacts = list(_artifacts(workflow, leaf, loop_id, autonomy))
            if artifacts:
                output["artifacts"] = artifacts
            if output:
                frame["output"] = output
            needed = leaf.user_only
            if needed is not None and needed.input and autonomy != "full_auto_never_stop":
                context[needed.input] = TO_FILL_IN
        case Action(save_as=name):
            context |= {name: TO_FILL_IN} if name and not leaf.is_own else {}
        case Choice(non_assumable=kind) | Delegate(non_assumable=kind):
            # In never-stop mode the choice is disclosed with its reason.
            if kind is not None and autonomy == "full_auto_never_stop":
                frame["output"] = {"notesMarkdown": TO_FILL_IN}
        case never:
            assert_never(never)
    return frame | ({"context": context} if context else {})


def make_retry_frame(
    contracts: Mapping[str, Contract], frame: dict[str, Any], blocked: Blocked
) -> dict[str, Any]:
    """Return the part of a step's frame that a retry must send: the rest was kept.

    It includes everything that blocks the report, so the call is enough once it is filled in.
    """
    sendable = [one for one in blocked.every_blocker if not waits_for_person(one)]
    pointers = [blocker.pointer for blocker in sendable if not waits_for_run(blocker)]
    refs = {pointer.contract_ref for pointer in pointers if isinstance(pointer, OutputContract)}
    wanting = [contracts[ref] for ref in refs if ref in contracts]
    kinds = {contract.artifact_kind for contract in wanting}
    keys = {pointer.key for pointer in pointers if isinstance(pointer, ContextKey)}
    output = frame.get("output", {})
    wanted: dict[str, Any] = {}
    if any(map(_is_about_notes, blocked.every_blocker)):
        wanted["notesMarkdown"] = TO_FILL_IN
    asked_user = any(blocker.code == "USER_ONLY_DEPENDENCY" for blocker in sendable)
    example = blocked.example or {}
    shown = {  # The example beside the call has the members of these, so the frame does not repeat them.
        contract.artifact_kind
        for contract in wanting
        if contract.artifact_kind == example.get("kind") != ASSESSMENT
        and _shows_all(contract.schema, example, contract.schema, _INNER_LEVELS)
    }
    artifacts = [
        {"kind": held["kind"], TO_FILL_IN: TO_FILL_IN} if held["kind"] in shown else held
        for held in output.get("artifacts", ())
        if held["kind"] in kinds or (asked_user and held["kind"] == USER_INPUT)
    ]
    if artifacts:
        wanted["artifacts"] = artifacts
    found = add_observations({"output": wanted} if wanted else {}, blocked.every_blocker)
    marks = {key: frame.get("context", {}).get(key, TO_FILL_IN) for key in keys}
    return found | ({"context": nest_values(marks)} if keys else {})


def add_observations(frame: dict[str, Any], blockers: Sequence[Blocker]) -> dict[str, Any]:
    """Return the frame of a step whose last attempt lacked a capability, with an observation of that
    capability.
    """
    output = frame.get("output", {})
    artifacts = list(output.get("artifacts", ()))
    for blocker in blockers:
        if isinstance(blocker.pointer, CapabilityPointer):
            capability = blocker.pointer.capability
            artifacts = [held for held in artifacts if held.get("capability") != capability]
            artifacts.append(_observation(capability))
    return frame | {"output": output | {"artifacts": artifacts}} if artifacts else frame


def _observation(capability: str) -> dict[str, Any]:
    known = {"kind": CAPABILITY_OBSERVATION, "capability": capability}
    return known | {"status": TO_FILL_IN, "summary": TO_FILL_IN}


def find_marks(value: Any, name: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield the places of a report that still have a mark, by name, and the mark. Frames are never deep."""
    if isinstance(value, str):
        if value.strip() in MARKS:
            yield name, value.strip()
    elif depth > DEEPEST:
        return
    elif isinstance(value, dict):
        for key, held in value.items():
            yield from [(name, key)] if key == TO_FILL_IN else find_marks(held, f"{name}.{key}", depth + 1)
    elif isinstance(value, list | tuple):
        for place, held in enumerate(value):
            yield from find_marks(held, f"{name}[{place}]", depth + 1)


def _is_about_notes(blocker: Blocker) -> bool:
    is_of_step = isinstance(blocker.pointer, WorkflowStep) and blocker.code.endswith("_REQUIRED_OUTPUT")
    return is_of_step and not waits_for_run(blocker)


def _artifacts(
    workflow: CompiledWorkflow, step: Step, loop_id: str, autonomy: Autonomy
) -> Iterator[dict[str, Any]]:
    named = (workflow.contracts.get(ref) for ref in (step.contract, *list_required_contracts(step)))
    for contract in (one for one in named if one is not None):
        yield _frame(contract, _known(contract.artifact_kind, step, loop_id))
    for gate in step.gates:
        yield _assessment(gate)
    needed = step.user_only
    if needed is not None and not needed.input and autonomy != "full_auto_never_stop":
        yield {"kind": USER_INPUT, "answer": TO_FILL_IN, "givenBy": "user"}


def _known(kind: str, step: Step, loop_id: str) -> dict[str, Any]:
    """Return known names that need no work: the loop that a decision is about, the capability that was
    tried.
    """
    if kind == LOOP_CONTROL and loop_id:
        return {"loopId": loop_id}
    if kind == CAPABILITY_OBSERVATION and step.capability:
        return {"capability": step.capability}
    return {}


def _frame(contract: Contract, known: dict[str, Any]) -> dict[str, Any]:
    schema = contract.schema
    properties = schema.get("properties", {})
    required = [name for name in schema.get("required", ()) if name != "kind" and name not in known]
    marks = _Marks(schema)
    return (
        {"kind": contract.artifact_kind}
        | known
        | {name: marks.of(properties.get(name, {}), contract.example.get(name), 0) for name in required}
    )


class _Marks:
    """Builds marks in the shape that a schema requires; a value with only one possibility is that value.

    Members of an object are named up to the size limit. Rows of a list are named if the example beside the
    frame does not show them, as in a list that it leaves empty: without that, an agent would learn of them
    by failing.
    """

    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self._left = INNER_BYTES

    def of(self, schema: Any, shown: Any, level: int) -> Any:
        schema = resolve_ref(schema, self._root)
        if not isinstance(schema, dict):
            return TO_FILL_IN
        if "const" in schema:
            return schema["const"]
        match schema.get("type"):
            case "array":
                items, row = resolve_ref(schema.get("items"), self._root), _first(shown)
                is_rows = isinstance(row, dict) or (isinstance(items, dict) and items.get("type") == "object")
                blank = {TO_FILL_IN: TO_FILL_IN} if is_rows else TO_FILL_IN
                is_shown = _shows_all(items, row, self._root, _INNER_LEVELS - level)
                return [blank if is_shown else self._inner(items, row, level) or blank]
            case "object":
                return self._inner(schema, shown, level) or {TO_FILL_IN: TO_FILL_IN}
            case kind:
                return _OF_TYPE.get(str(kind), TO_FILL_IN)

    def _inner(self, schema: Any, shown: Any, level: int) -> dict[str, Any] | None:
        """Return an object with its required names, up to the size limit, or None if it names none."""
        names = list(schema.get("required", ())) if isinstance(schema, dict) else []
        fitting = [] if level >= _INNER_LEVELS else list(self._afforded(names))
        if not fitting:
            return None
        properties = schema.get("properties", {})
        held = shown if isinstance(shown, dict) else {}
        named = {name: self.of(properties.get(name, {}), held.get(name), level + 1) for name in fitting}
        return named if len(fitting) == len(names) else named | {TO_FILL_IN: TO_FILL_IN}

    def _afforded(self, names: list[str]) -> Iterator[str]:
        for name in names:
            cost = len(name.encode()) + _BESIDE_A_NAME
            if cost > self._left:
                return
            self._left -= cost
            yield name


def _first(shown: Any) -> Any:
    return shown[0] if isinstance(shown, list) and shown else None


def _shows_all(schema: Any, shown: Any, root: dict[str, Any], levels: int) -> bool:
    """Whether an example has every required member, including those of its members and rows."""
    schema = resolve_ref(schema, root)
    if not isinstance(schema, dict) or levels < 0:
        return True
    if schema.get("type") == "array" or "items" in schema:
        return _shows_all(schema.get("items"), _first(shown), root, levels)
    required, properties = schema.get("required", ()), schema.get("properties", {})
    held = shown if isinstance(shown, dict) else {}
    return all(
        name in held and _shows_all(properties.get(name), held[name], root, levels - 1) for name in required
    )


def _assessment(gate: Gate) -> dict[str, Any]:
    dimensions = dict.fromkeys(sorted(gate.dimensions), TO_FILL_IN)
    return {"kind": ASSESSMENT, "assessmentId": gate.assessment_id, "dimensions": dimensions}
