"""What is declared and never used: usually a misspelt name somewhere else. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from handrail.workflows.compiled import (
    Action,
    Choice,
    CompiledWorkflow,
    ForEach,
    Leaf,
    Loop,
    Part,
    Step,
    Until,
    While,
)
from handrail.workflows.compiling.implicit_inputs import names_of
from handrail.workflows.compiling.placeholders import names_in
from handrail.workflows.compiling.trail import Trail
from handrail.workflows.conditions import ConditionId
from handrail.workflows.model import SourceLoop, SourcePart, SourceStep, SourceTemplateCall, SourceWorkflow
from handrail.workflows.reading.findings import child, shown


def check_usage(source: SourceWorkflow, workflow: CompiledWorkflow, trail: Trail) -> None:
    conditions = set(_condition_ids(workflow.steps)) | set(_authored_refs(source.steps))
    _report(source.inputs, _used_inputs(source, workflow), "/inputs", "input", trail)
    _report(source.functions, set(_functions(source.steps)), "/functions", "function", trail)
    for place, name in enumerate(source.conditions):
        if name not in conditions:
            _warn(f"/conditions/{place}", f"The condition {shown(name)}", trail)
    reported = {gate.assessment_id for step in _steps(source.steps) for gate in step.gates}
    for assessment in source.assessments:
        if assessment.id not in reported:
            _warn(assessment.pointer, f"The assessment {shown(assessment.id)}", trail)
    texts = "\n".join(_texts(workflow))
    for place, reference in enumerate(source.references):
        if not any(name in texts for name in (reference.id, reference.title, reference.source)):
            message = f"No prompt mentions the reference {shown(reference.id)}."
            fix = "Say in a step when to read it; it is listed at the start in any case."
            trail.report("unused", f"/references/{place}", message, fix, "hint")


def _report(declared: dict[str, Any], used: set[str], pointer: str, what: str, trail: Trail) -> None:
    for name in declared:
        if name not in used:
            _warn(child(pointer, name), f"The {what} {shown(name)}", trail)


def _warn(pointer: str, what: str, trail: Trail) -> None:
    trail.report("unused", pointer, f"{what} is never used.", "Use it, or remove it.", "warning")


def _used_inputs(source: SourceWorkflow, workflow: CompiledWorkflow) -> set[str]:
    used = {name for text in _texts(workflow) for name in names_in(text)}
    used |= {name for text in source.functions.values() for name in names_in(text)}
    used |= {
        name for one in set(_condition_ids(workflow.steps)) for name in names_of(workflow.conditions[one])
    }
    used |= {spec.counted_by.partition(".")[0] for spec in workflow.inputs.values()}
    for part in _all(workflow.steps):
        if isinstance(part, Loop) and isinstance(part.repeat, ForEach):
            used.add(part.repeat.input.partition(".")[0])
        if isinstance(part, Step) and part.user_only is not None:
            used.add(part.user_only.input)
        if isinstance(part, Action):
            used |= {name for text in _strings(part.params) for name in names_in(text)}
    # An argument may be settled while its template is expanded and leave no trace.
    return used | {name for text in _strings(_arguments(source.steps)) for name in names_in(text)}


def _all(parts: tuple[Part, ...]) -> Iterator[Part]:
    for part in parts:
        yield part
        if isinstance(part, Loop):
            yield from _all(part.body)


def leaves(parts: tuple[Part, ...]) -> Iterator[Leaf]:
    """Every step, choice and action of a compiled workflow, in order."""
    for part in _all(parts):
        if not isinstance(part, Loop):
            yield part


def _texts(workflow: CompiledWorkflow) -> Iterator[str]:
    for part in leaves(workflow.steps):
        match part:
            case Step():
                yield part.title
                yield part.prompt
                yield from (fragment.text for fragment in part.fragments)
            case Choice():
                yield part.title
                yield part.prompt
                yield from (option.description for option in part.options)
            case Action():
                yield part.title


def _condition_ids(parts: tuple[Part, ...]) -> Iterator[ConditionId]:
    for part in _all(parts):
        if part.when:
            yield part.when
        if isinstance(part, Loop) and isinstance(part.repeat, While | Until):
            yield part.repeat.condition
        if isinstance(part, Step):
            yield from (fragment.when for fragment in part.fragments if fragment.when)
            if isinstance(part.require_confirmation, str):
                yield part.require_confirmation


def _authored_refs(parts: tuple[SourcePart, ...]) -> Iterator[ConditionId]:
    """Declared conditions of template calls: joined with others, they have no id of their own any more."""
    for part in parts:
        for when in (part.when, getattr(part, "require_confirmation", None)):
            name = getattr(when, "condition_id", "")
            if name:
                yield name
        if isinstance(part, SourceLoop):
            yield from _authored_refs(part.body)


def _steps(parts: tuple[SourcePart, ...]) -> Iterator[SourceStep]:
    for part in parts:
        if isinstance(part, SourceStep):
            yield part
        elif isinstance(part, SourceLoop):
            yield from _steps(part.body)


def _functions(parts: tuple[SourcePart, ...]) -> Iterator[str]:
    for step in _steps(parts):
        yield from step.function_refs


def _arguments(parts: tuple[SourcePart, ...]) -> list[Any]:
    found: list[Any] = []
    for part in parts:
        if isinstance(part, SourceTemplateCall):
            found.append(part.args)
        elif isinstance(part, SourceLoop):
            found += _arguments(part.body)
    return found


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
