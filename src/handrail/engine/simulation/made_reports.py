"""Reports that an agent could send for a step: all kinds that must be accepted, many that must not. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, product
from typing import Any, assert_never, get_args

import msgspec

from handrail.contract.outcome import Fault
from handrail.engine.artifact_shapes import (
    ASSESSMENT,
    CAPABILITY_OBSERVATION,
    DECISION,
    LOOP_CONTROL,
    USER_INPUT,
    find_contradictions,
)
from handrail.engine.events import Capability
from handrail.engine.judge.assess import place_of
from handrail.engine.judge.report_frame import assessment_example
from handrail.engine.judge.requirements import fit_example, list_broken_rules
from handrail.engine.navigate import Running
from handrail.engine.simulation.candidates import try_both_ways, used_conditions
from handrail.workflows.compiled import (
    AllOf,
    AnyOf,
    CompiledWorkflow,
    ContainsRule,
    Delegate,
    Gate,
    LengthRule,
    PatternRule,
    Rule,
    SchemaRule,
    Step,
)
from handrail.workflows.conditions import MISSING, comparisons
from handrail.workflows.contracts.check import find_violations, make_invalid_variants
from handrail.workflows.contracts.samples import make_sample

MOST_VARIANTS = 24
"""Valid artifacts of one step that differ in what conditions look at."""
MOST_INVALID = 60


class MadeReport(msgspec.Struct, frozen=True, kw_only=True):
    """What the simulated agent sends; the label tells reports of one step apart."""

    label: str
    notes: str = ""
    artifacts: tuple[dict[str, Any], ...] = ()
    context: dict[str, Any] = {}
    option: int | None = None


_ENDS = ("done", "gap", "closed")
_MOST_COMBINED = 4
"""Children whose ends are tried in every combination; of more, one at a time differs from the others."""


def make_joins(step: Delegate) -> list[MadeReport]:
    """What a step goes on with whose children are done, done with gaps, or closed and left out."""
    names = [f"{step.children[0].id}_{number}" for number in (1, 2)] if step.for_each else []
    names = names or [child.id for child in step.children]
    every = list(product(_ENDS, repeat=len(names))) if len(names) <= _MOST_COMBINED else []
    for place in range(0 if every else len(names)):
        every += [tuple(end if at == place else "done" for at in range(len(names))) for end in _ENDS]
    found = []
    for ends in dict.fromkeys(every):
        rows: list[dict[str, Any]] = [
            {"child": name, "status": "done" if end == "done" else "done_with_gaps", "artifacts": []}
            for name, end in zip(names, ends, strict=True)
            if end != "closed"
        ]
        label = ", ".join(f"{name} {end}" for name, end in zip(names, ends, strict=True))
        found.append(MadeReport(label=label, context={step.collect: rows} if step.collect else {}))
    return found


def valid_reports(workflow: CompiledWorkflow, step: Step, state: Running, notes: str) -> list[MadeReport]:
    """Reports that must be accepted, one per way the run could go on from here."""
    beside = [*(assessment_example(gate) for gate in step.gates), *_user_input(step)]
    return [
        MadeReport(label=label, notes=notes, artifacts=(*found, *beside))
        for label, found in islice(_delivered(workflow, step, state), MOST_VARIANTS)
    ]


def invalid_reports(workflow: CompiledWorkflow, step: Step, state: Running, notes: str) -> list[MadeReport]:
    """Reports that differ from an accepted one in one thing and must not be accepted."""
    whole = valid_reports(workflow, step, state, notes)[0]
    made = [
        MadeReport(label=label, notes=notes, artifacts=artifacts)
        for label, artifacts in islice(_spoiled(workflow, step, whole), MOST_INVALID)
    ]
    if step.notes_required or list_broken_rules(step.rules, ""):
        made.append(msgspec.structs.replace(whole, label="no notes", notes=""))
    return made


def notes_for(rules: tuple[Rule, ...]) -> str | None:
    """Make up notes that keep every rule; None if that fails."""
    if not rules:
        return "Done, with the evidence in the report."
    notes = " ".join(piece for rule in rules for piece in _pieces(rule))
    least = max((held.minimum for rule in rules for held in _lengths(rule)), default=0)
    notes = notes.ljust(least, ".")
    if not list_broken_rules(rules, notes):
        return notes
    try:
        document = next((make_sample(rule.schema) for rule in rules if isinstance(rule, SchemaRule)), None)
    except Fault:  # the smallest one is too large to be made up
        return None
    written = "" if document is None else msgspec.json.encode(document).decode()
    return written if written and not list_broken_rules(rules, written) else None


def _delivered(
    workflow: CompiledWorkflow, step: Step, state: Running
) -> Iterator[tuple[str, tuple[dict[str, Any], ...]]]:
    """What the step's contract asks for, in every form that a condition tells apart."""
    if not step.contract:
        yield "notes", ()
        return
    contract = workflow.contracts[step.contract]
    example = fit_example(place_of(workflow, state, step), contract)
    assert example is not None, "the walk assumes a report where none can be made"
    if contract.artifact_kind == LOOP_CONTROL:
        yield "stop", (example | {"decision": "stop"},)
        yield "continue", (example | {"decision": "continue"},)
        return
    if contract.artifact_kind == CAPABILITY_OBSERVATION and step.capability:
        seen = example | {"capability": step.capability}
        yield "available", (seen | {"status": "available"},)
        if workflow.capabilities.get(step.capability) != "required":
            yield "unavailable", (seen | {"status": "unavailable"},)
        return
    yield "example", (example,)
    for held in used_conditions(workflow).values():
        for atom in comparisons(held):
            if atom.artifact != contract.artifact_kind:
                continue
            for value in try_both_ways(atom):
                varied = _with_member(example, atom.field, value)
                if varied is not None and not find_violations(contract.schema, varied):
                    varied = _with_own_option(contract.artifact_kind, varied)
                    shown = msgspec.json.encode(None if value is MISSING else value).decode()
                    yield f"{atom.field}={shown}", (varied,)


def _with_own_option(kind: str, varied: dict[str, Any]) -> dict[str, Any]:
    """A decision chooses among its own options: the first of them is the chosen one."""
    if kind != DECISION or not find_contradictions(kind, varied):
        return varied
    first, *others = varied["options"]
    return varied | {"options": [first | {"id": varied["chosen"]}, *others]}


def _with_member(document: dict[str, Any], path: str, value: Any) -> dict[str, Any] | None:
    """A copy with another value at a dotted path; None when there is no such place."""
    copied: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(document))
    place: Any = copied
    *outer, last = path.split(".")
    for name in outer:
        place = place.get(name) if isinstance(place, dict) else None
    if not isinstance(place, dict) or not last:
        return None
    if value is MISSING:
        place.pop(last, None)
    else:
        place[last] = value
    return copied


def _spoiled(
    workflow: CompiledWorkflow, step: Step, whole: MadeReport
) -> Iterator[tuple[str, tuple[dict[str, Any], ...]]]:
    if step.contract:
        contract = workflow.contracts[step.contract]
        rest = tuple(held for held in whole.artifacts if held["kind"] != contract.artifact_kind)
        yield "no artifact", rest
        delivered = next(held for held in whole.artifacts if held["kind"] == contract.artifact_kind)
        yield "misspelt kind", (*rest, delivered | {"kind": contract.artifact_kind.upper()})
        if contract.artifact_kind == LOOP_CONTROL:
            yield "another loop", (*rest, delivered | {"loopId": "no-such-loop"})
        if contract.artifact_kind == CAPABILITY_OBSERVATION and _is_required(workflow, step):
            yield "capability unavailable", (*rest, delivered | {"status": "unavailable"})
        if contract.artifact_kind == CAPABILITY_OBSERVATION and step.capability:
            another = next(name for name in get_args(Capability) if name != step.capability)
            yield "another capability", (*rest, delivered | {"capability": another})
        for number, variant in enumerate(make_invalid_variants(contract), 1):
            yield f"spoiled artifact {number}", (*rest, {"kind": contract.artifact_kind} | variant)
    for gate in step.gates:
        others = tuple(held for held in whole.artifacts if held.get("assessmentId") != gate.assessment_id)
        yield f"no assessment {gate.assessment_id}", others
        for label, dimensions in _bad_levels(gate):
            told = {"kind": ASSESSMENT, "assessmentId": gate.assessment_id, "dimensions": dimensions}
            yield f"assessment {gate.assessment_id} {label}", (*others, told)
    if step.user_only is not None and not step.user_only.input:
        yield "no answer", tuple(held for held in whole.artifacts if held["kind"] != USER_INPUT)


def _bad_levels(gate: Gate) -> Iterator[tuple[str, dict[str, str]]]:
    good: dict[str, str] = assessment_example(gate)["dimensions"]
    for name, levels in gate.dimensions.items():
        yield f"without {name}", {key: level for key, level in good.items() if key != name}
        if levels:  # a dimension without levels takes any
            yield f"with an unknown level of {name}", good | {name: "no such level"}
        for level in levels:
            if level in gate.followups:
                yield f"with {name} {level}", good | {name: level}


def _is_required(workflow: CompiledWorkflow, step: Step) -> bool:
    return bool(step.capability) and workflow.capabilities.get(step.capability) == "required"


def _user_input(step: Step) -> list[dict[str, Any]]:
    if step.user_only is None:
        return []
    return [{"kind": USER_INPUT, "answer": "yes", "givenBy": "user"}]


def _pieces(rule: Rule) -> list[str]:
    """Text that helps to keep a rule."""
    match rule:
        case ContainsRule(value=value):
            return [value]
        case PatternRule(pattern=pattern):
            return [_plain(pattern)]
        case AllOf(of=parts):
            return [piece for part in parts for piece in _pieces(part)]
        case AnyOf(of=parts):
            return [piece for part in parts for piece in _pieces(part)]
        case LengthRule() | SchemaRule():
            return []
        case never:
            assert_never(never)


def _lengths(rule: Rule) -> list[LengthRule]:
    match rule:
        case LengthRule():
            return [rule]
        case AllOf(of=parts) | AnyOf(of=parts):
            return [held for part in parts for held in _lengths(part)]
        case ContainsRule() | PatternRule() | SchemaRule():
            return []
        case never:
            assert_never(never)


def _plain(pattern: str) -> str:
    """What a simple pattern matches: its first alternative, classes as one of their members."""
    text = pattern.split("|")[0].replace("(?:", "").replace("(?i)", "")
    text = re.sub(r"\\d[+*]?", "1", text)
    text = re.sub(r"\\w[+*]?", "a", text)
    text = re.sub(r"\\[sb][+*]?", " ", text)
    text = re.sub(r"\.[+*]", "a", text)
    return re.sub(r"\\(.)", r"\1", re.sub(r"(?<!\\)[()^$?+*]", "", text))
