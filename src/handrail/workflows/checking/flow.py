"""Errors in a workflow that compiles: values read too early, and gates that no report can pass.
Pure.

Each finding is an error. A workflow with open names runs as it is, and its author gets a warning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, assert_never

import msgspec

from handrail.contract.json.places import join_pointer
from handrail.workflows.builtins.placement import PLACEHOLDER
from handrail.workflows.checking.operations import Operations
from handrail.workflows.checking.value_checks import (
    UNSURE,
    Slot,
    check_comparison,
    check_schema_patterns,
    slots_in,
)
from handrail.workflows.compiled import (
    Action,
    Choice,
    CompiledWorkflow,
    Delegate,
    ForEach,
    Gate,
    Leaf,
    Loop,
    Part,
    Schema,
    Step,
    While,
    loop_variables,
    names_set_inside,
    resolve_ref,
)
from handrail.workflows.compiling.compilation import placeholder_names
from handrail.workflows.conditions import (
    And,
    Compare,
    Condition,
    ConditionId,
    Facts,
    LoopControl,
    Not,
    Or,
    decided,
    holds,
    replace_leaves,
    split_artifact,
)
from handrail.workflows.contracts.check import find_violations
from handrail.workflows.model import SourceWorkflow
from handrail.workflows.part_contents import conditions_at, leaves_in_loops, strings_in, texts_of
from handrail.workflows.problem import (
    NO_EDIT,
    Findings,
    Problem,
    drop_edits,
    guess_name,
    guess_surely,
    quote_name,
    rename_key,
    replace_value,
)

_ASSESSMENT = "wr.assessment"
_ANY_TIME = frozenset({"wr.gap", "wr.workflow_divergence", "wr.capability_observation", "wr.user_input"})
"""Kinds of artifacts that any report may contain."""
_AFTER_ITS_WORK = ("/while", "/until", "/requireConfirmation")
"""Places where a condition may read what its own part delivers."""


def check_flow(
    source: SourceWorkflow,
    workflow: CompiledWorkflow,
    pointers: Mapping[str, str],
    operations: Operations | None,
) -> tuple[Problem, ...]:
    """Find everything that would otherwise show only in a run.

    `pointers` map ids of parts to their places in the file; without `operations` no action is
    checked.
    """
    walk = _Flow(source, workflow, pointers, operations)
    walk.parts(workflow.steps, frozenset(), frozenset())
    if source.has_open_names:
        return drop_edits(walk.found.problems)
    check_rendered(walk.found, workflow, pointers)
    return tuple(walk.found.problems)


class _Flow:
    """One walk over the parts, in the order in which a run reaches them."""

    def __init__(
        self,
        source: SourceWorkflow,
        workflow: CompiledWorkflow,
        pointers: Mapping[str, str],
        operations: Operations | None,
    ) -> None:
        self.found = Findings("warning" if source.has_open_names else "error")
        self._workflow = workflow
        self._pointers = pointers
        self._operations = operations
        self._declared = {name: f"/conditions/{place}" for place, name in enumerate(source.conditions)}
        self._schemas = {one.artifact_kind: one.schema for one in workflow.contracts.values()}
        declared = {name for name, spec in workflow.inputs.items() if not spec.implicit}
        self._inside = set(names_set_inside(workflow.steps)) - declared - {""}
        """Values that only parts of the workflow set."""
        self._given_so_far: set[str] = set()
        """Values that earlier parts set, or parts of a loop around for its next iteration."""
        self._under: set[str] = set()
        """The conditions of the present part and of the loops around it."""
        self._given_under: dict[str, set[str]] = {}
        """For each value the conditions of the parts that set it; none if some part certainly sets it."""
        self._is_open = source.has_open_names

    def parts(self, parts: tuple[Part, ...], before: frozenset[str], around: frozenset[str]) -> None:
        """Check parts; `before` is what earlier parts deliver, `around` what the loops around do in some
        iteration.
        """
        held = self._under
        for part in parts:
            pointer, delivered = self._pointers.get(part.id, ""), frozenset(self._delivered(part))
            self._under = held | ({part.when} if part.when else set())
            for place, name in conditions_at(part):
                own = delivered if place in _AFTER_ITS_WORK else frozenset[str]()
                self._reads(name, pointer + place, before | around | own)
            match part:
                case Step():
                    self._step(part, pointer)
                    self._show_texts(part, pointer, before | around)
                case Loop():
                    self._loop(part, pointer, before, around, delivered)
                case Action():
                    self._action(part, pointer)
                case Delegate():
                    pass
                case Choice():
                    self._shows([part.prompt], pointer, before | around)
                case never:
                    assert_never(never)
            before |= delivered
            self._given_so_far.update(names_set_inside((part,)))
            for name in names_set_inside((part,)) if not isinstance(part, Loop) else ():
                self._given_under[name] = self._under & self._given_under.get(name, self._under)
        self._under = held

    def _step(self, step: Step, pointer: str) -> None:
        asked: set[str] = set()
        for place, gate in enumerate(step.gates):
            self._gate(gate, f"{pointer}/gates/{place}")
            if gate.assessment_id in asked:
                named = quote_name(gate.assessment_id)
                message = f"No report passes: the step asks twice for the assessment {named}."
                fix = "Keep one of the two, with the followups of both."
                self.found.report("impassable_gate", f"{pointer}/gates/{place}", message, fix)
            asked.add(gate.assessment_id)
        if (contract := self._workflow.contracts.get(step.contract)) is not None:
            here = f"{pointer}/output/contractRef"
            check_schema_patterns(self.found, contract.schema, here, step.contract)

    def _show_texts(self, step: Step, pointer: str, there: frozenset[str]) -> None:
        """Check texts; a fragment with a condition is read under it."""
        under = self._under
        fragments = {one.text: one.when for one in step.fragments if one.when}
        texts = [one for one in texts_of(step, self._workflow.functions) if one not in fragments]
        self._shows(texts, pointer, there)
        for text, when in fragments.items():
            self._under = under | {when}
            self._shows([text], pointer, there)
        self._under = under

    def _shows(self, texts: list[str], pointer: str, there: frozenset[str]) -> None:
        """Check that a text that names a part of an artifact comes after the step that delivers it."""
        paths = {match[1]: match[0] for text in texts for match in PLACEHOLDER.finditer(text)}
        for path, written in paths.items():
            kind, member = split_artifact(path)
            schema = self._schemas.get(kind)
            head = path.partition(".")[0]
            if head in self._inside - self._given_so_far and not self._is_open:
                message = f"Only later steps give {written}; the agent reads here that it was not given."
                fix = "Show it in a step behind the one that gives it."
                self.found.warn("read_too_early", pointer, message, fix)
            elif (
                head in self._inside and self._given_under.get(head) and not self._under and not self._is_open
            ):
                message = (
                    f"Only a step that may be left out gives {written}; then the agent reads here that it"
                )
                fix = "Give this step the same condition, or say in words what holds without it."
                self.found.warn("read_too_early", pointer, f"{message} was not given.", fix)
            if schema is None or not member or path.partition(".")[0] in self._workflow.inputs:
                continue
            known = list(schema.get("properties", ()))
            if kind not in there:
                message = f"{{{{{path}}}}} is shown here, but only later steps deliver {kind}."
                fix = "Show it in a step behind the one that delivers it."
                self.found.report("read_too_early", pointer, message, fix, within=written)
            elif known and member.partition(".")[0] not in known:
                message = f"{kind} has no member {quote_name(member.partition('.')[0])}."
                near = guess_name(member, known)
                fix = f"Did you mean {{{{{kind}.{near}}}}}?" if near else f"Use one of {', '.join(known)}."
                self.found.report("undeclared_name", pointer, message, fix, within=written)

    def _gate(self, gate: Gate, pointer: str) -> None:
        """Check that some assessment can pass the gate: one level of each dimension, in a form its contract
        accepts.
        """
        passing: dict[str, str] = {}
        for dimension, levels in gate.dimensions.items():
            free = [level for level in levels if level not in gate.followups]
            passing[dimension] = free[0] if free else ""
            if levels and not free:
                message = f"No level of {quote_name(dimension)} passes: each demands a follow-up first."
                fix = "Take the level with which the run may go on out of followups."
                self.found.report("impassable_gate", f"{pointer}/followups", message, fix)
                return
        report = {
            "kind": _ASSESSMENT,
            "assessmentId": gate.assessment_id,
            "dimensions": passing,
            "rationale": "What each level rests on.",
        }
        for wrong in find_violations(self._schemas.get(_ASSESSMENT, {}), report)[:1]:
            message = f"No report can pass it: {wrong.pointer} of an assessment does not fit. {wrong.message}"
            fix = "Give its levels shorter names."
            self.found.report("impassable_gate", pointer, message, fix)

    def _action(self, action: Action, pointer: str) -> None:
        if self._operations is None:
            return
        known = self._operations.names
        if action.operation in known:
            self._parameters(action, self._operations, pointer)
            return
        near, sure = guess_name(action.operation, known), guess_surely(action.operation, known)
        noun = action.operation.partition(".")[0]
        beside = [one for one in sorted(known) if one.startswith(f"{noun}.")]
        listed = beside or [one for one in sorted(known) if one.startswith("code.")]  # Handrail runs these
        fix = f"Did you mean {near}?" if near else f"Use one of {', '.join(listed)}."
        place = f"{pointer}/operation"
        message = f"There is no operation {quote_name(action.operation)}."
        self.found.report("unknown_id", place, message, fix, replace_value(place, sure) if sure else NO_EDIT)

    def _parameters(self, action: Action, operations: Operations, pointer: str) -> None:
        """Check the parameters, because an operation refuses a call with one that it does not know."""
        known = operations.parameters(action.operation)
        for name in sorted(set(action.params) - known):
            place, free = join_pointer(f"{pointer}/params", name), known - set(action.params)
            near, sure = guess_name(name, free), guess_surely(name, free)
            fix = f"Did you mean {near}?" if near else f"Use one of {', '.join(sorted(known)) or 'none'}."
            message = f"{action.operation} does not take {quote_name(name)}."
            self.found.report(
                "bad_argument", place, message, fix, rename_key(place, sure) if sure else NO_EDIT
            )
        if set(action.params) <= known:
            self._values(action, operations, pointer)

    def _values(self, action: Action, operations: Operations, pointer: str) -> None:
        """Check values without placeholders. A run fills in placeholders, and the agent may add what is
        missing, such as a token.
        """
        plain = {
            name: value
            for name, value in action.params.items()
            if not any(True for text in strings_in(value) for _ in placeholder_names(text))
        }
        for name, why in operations.refused_values(action.operation, plain):
            if why:
                place = join_pointer(f"{pointer}/params", name)
                message = f"{action.operation} refuses this {quote_name(name)}: {why}."
                self.found.report("bad_argument", place, message, "Write a value that it takes.")
            elif name not in action.params:
                message = f"{action.operation} needs {quote_name(name)}, which is not given here."
                fix = f"Add {quote_name(name)}, or say in a step before where the agent finds it."
                self.found.warn("bad_argument", f"{pointer}/params", message, fix)

    def _loop(
        self, loop: Loop, pointer: str, before: frozenset[str], around: frozenset[str], body: frozenset[str]
    ) -> None:
        """Check a loop; `body` is what its parts deliver."""
        match loop.repeat:
            case While(condition=name):
                late = body - before - around
                condition = self._workflow.conditions[name]
                if late and not isinstance(condition, LoopControl) and not _can_hold_without(condition, late):
                    message = (
                        f"The loop {loop.id} never starts: it reads {', '.join(sorted(late))} before its "
                        "first iteration, and only its body delivers that."
                    )
                    fix = "Use until, which is checked after each iteration, or deliver it before the loop."
                    self.found.report("read_too_early", f"{pointer}/while", message, fix)
            case ForEach(input=name) if loop.provenance.kind == "template":
                spec = self._workflow.inputs.get(name)
                if spec is not None and not spec.implicit and spec.type not in ("array", "any"):
                    message = f"A loop goes through {quote_name(name)}, which is declared as {spec.type}."
                    self.found.report("not_a_list", pointer, message, f'Declare {name} with "type": "array".')
            case _:
                pass
        self._given_so_far.update(names_set_inside(loop.body))
        self.parts(loop.body, before, around | body)

    def _delivered(self, part: Part) -> Iterator[str]:
        """Yield the kinds of artifacts that a part asks for, conditional or not."""
        match part:
            case Step():
                contract = self._workflow.contracts.get(part.contract)
                if contract is not None:
                    yield contract.artifact_kind
                if part.gates:
                    yield _ASSESSMENT
            case Loop(body=body):
                for inner in body:
                    yield from self._delivered(inner)
            case Choice() | Action() | Delegate():
                pass
            case never:
                assert_never(never)

    def _reads(self, name: ConditionId, pointer: str, there: frozenset[str]) -> None:
        start = self._declared.get(name, pointer)
        for place, compare in _comparisons(self._workflow.conditions[name], start):
            if compare.artifact:
                self._reads_artifact(compare, place, there)

    def _reads_artifact(self, compare: Compare, pointer: str, there: frozenset[str]) -> None:
        kind = compare.artifact
        if kind in there:
            self._reads_field(compare, pointer)
        elif kind in self._schemas:
            message = f"{kind} is read here, but only later steps deliver it."
            fix = "Deliver it in a step before this one, or read it behind the step that does."
            self.found.report("read_too_early", f"{pointer}/artifact", message, fix)
        elif kind not in _ANY_TIME:
            named = self._workflow.contracts.get(kind)
            of_contract = "" if named is None else named.artifact_kind
            near, sure = of_contract or guess_name(kind, there), of_contract or guess_surely(kind, there)
            fix = f"Did you mean {near}?" if near else "Let a step before this one deliver it."
            edit = replace_value(f"{pointer}/artifact", sure) if sure else NO_EDIT
            message = f"No step delivers an artifact of the kind {quote_name(kind)}."
            self.found.report("read_too_early", f"{pointer}/artifact", message, fix, edit)

    def _reads_field(self, compare: Compare, pointer: str) -> None:
        root = self._schemas.get(compare.artifact)
        schema: Any = root
        before = ""
        for part in compare.field.split(".") if compare.field and root is not None else ():
            schema = resolve_ref(schema, root or {})
            kinds = _kinds(schema)
            if kinds and "object" not in kinds:
                self._no_members(compare, pointer, before.removesuffix("."), kinds)
                return
            if not isinstance(schema, dict) or not isinstance(schema.get("properties"), dict):
                return
            if part not in schema["properties"]:
                self._no_field(compare, pointer, part, before, schema)
                return
            schema = schema["properties"][part]
            before = f"{before}{part}."
        spec = _spec_of(resolve_ref(schema, root or {})) if compare.field else {}
        if spec:
            check_comparison(self.found, spec, msgspec.to_builtins(compare), pointer)

    def _no_members(self, compare: Compare, pointer: str, held: str, kinds: list[str]) -> None:
        """Report a condition that reads an item of a list; conditions read members of objects."""
        is_list = "array" in kinds
        message = (
            f"{held} of {compare.artifact} is {'a list' if is_list else ' or '.join(kinds)}, without members."
        )
        fix = f"Compare {held} itself" + (
            ", or let the contract hold what the condition needs as a member of its own." if is_list else "."
        )
        self.found.report("undeclared_name", f"{pointer}/field", message, fix)

    def _no_field(self, compare: Compare, pointer: str, part: str, before: str, schema: Schema) -> None:
        """Report an unknown field, unless the schema is open, so that an artifact may have more members
        than it names.
        """
        known = list(schema["properties"])
        near, sure = guess_name(part, known), guess_surely(part, known)
        rest = compare.field[len(before) + len(part) :]
        fix = f"Did you mean {near}?" if near else f"Use one of {', '.join(known)}."
        edit = replace_value(f"{pointer}/field", f"{before}{sure}{rest}") if sure else NO_EDIT
        if schema.get("additionalProperties") is False:
            message = f"{compare.artifact} has no member {quote_name(part)}."
            self.found.report("undeclared_name", f"{pointer}/field", message, fix, edit)
        elif part != "kind" and schema.get("additionalProperties") in (None, True):
            message = f"The contract of {compare.artifact} names no member {quote_name(part)}."
            fix = (
                f"Did you mean {near}?"
                if near
                else f"Name {quote_name(part)} in its schema, so that agents send it."
            )
            self.found.warn("undeclared_name", f"{pointer}/field", message, fix)


def _comparisons(condition: Condition, pointer: str) -> Iterator[tuple[str, Compare]]:
    match condition:
        case Compare():
            yield pointer, condition
        case And(of=parts) | Or(of=parts):
            for place, part in enumerate(parts):
                yield from _comparisons(part, f"{pointer}/of/{place}")
        case Not(of=part):
            yield from _comparisons(part, f"{pointer}/of")
        case _:
            pass


def _can_hold_without(condition: Condition, kinds: frozenset[str]) -> bool:
    """Whether a condition may hold while no artifact of these kinds exists, whatever else is true."""

    def is_open(one: Compare | LoopControl) -> bool:
        return isinstance(one, Compare) and one.artifact not in kinds

    return holds(replace_leaves(condition, lambda one, up: decided(up) if is_open(one) else one), Facts())


def _kinds(schema: Any) -> list[str]:
    """Return the types that a schema names; none if it leaves them open."""
    kind = schema.get("type") if isinstance(schema, dict) else None
    return [kind] if isinstance(kind, str) else kind if isinstance(kind, list) else []


def _spec_of(schema: Any) -> dict[str, Any]:
    """Return the schema of a value that a comparison reads; empty if it is open."""
    if not isinstance(schema, dict):
        return {}
    enum = [schema["const"]] if "const" in schema else schema.get("enum")
    kind = schema.get("type")
    declared = kind if isinstance(kind, str) and kind in ("string", "number", "integer", "boolean") else "any"
    return {"type": declared, **({"enum": enum} if isinstance(enum, list) and enum else {})}


# Placeholders in prompts as a run renders them: what contracts, features and templates bring along. What the
# author wrote is checked in its own place.


def check_rendered(found: Findings, workflow: CompiledWorkflow, pointers: Mapping[str, str]) -> None:
    """Report every placeholder that gets no value, once for each part that shows it."""
    declared = {name for name, spec in workflow.inputs.items() if not spec.implicit}
    given = frozenset(declared | set(names_set_inside(workflow.steps)))
    kinds = {contract.artifact_kind for contract in workflow.contracts.values()}
    for leaf, around in leaves_in_loops(workflow.steps):
        own = {leaf.item} if isinstance(leaf, Delegate) else set[str]()
        known = given.union(own, *map(loop_variables, around))
        reported: set[str] = set()
        for text in texts_of(leaf, workflow.functions):
            for slot in slots_in(text, known):
                written = text[slot.start : slot.end]
                kind, member = split_artifact(slot.path)
                is_artifact = slot.name not in known and kind in kinds and bool(member)
                is_filled = slot.kind in UNSURE or (
                    slot.kind == "name" and (slot.name in known or is_artifact)
                )
                if not is_filled and written not in reported:
                    reported.add(written)
                    _report(found, workflow, leaf, slot, written, known, pointers.get(leaf.id, ""))


def _report(
    found: Findings,
    workflow: CompiledWorkflow,
    leaf: Leaf,
    slot: Slot,
    written: str,
    known: frozenset[str],
    pointer: str,
) -> None:
    contract = workflow.contracts.get(leaf.contract) if isinstance(leaf, Step) else None
    is_of_contract = contract is not None and written in contract.guidance
    near = guess_name(slot.name, known) if slot.name else ""
    origin = f"the contract {leaf.contract}" if is_of_contract and isinstance(leaf, Step) else "its prompt"
    message = f"Nothing fills {quote_name(written)}, which {leaf.id} shows from {origin}."
    fix = f"Did you mean {{{{{near}}}}}?" if near else f"Declare {quote_name(slot.name)} under inputs."
    if slot.kind != "name":
        fix = "Write a declared name in double braces there, or say it in words."
    # A template of another collection gets its names from whoever calls it, and a run asks for them.
    is_certain = slot.kind == "name" and leaf.provenance.kind != "template"
    report = found.report if is_certain else found.warn
    report("bad_placeholder", f"{pointer}/output/contractRef" if is_of_contract else pointer, message, fix)
