"""`workflow.simulate`: walk a workflow without an agent. A verdict."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, assert_never

import msgspec
from msgspec import UNSET, Meta

from handrail.contract.catalogue import WORKFLOW_INVALID
from handrail.contract.disclosure.fields import Shape
from handrail.contract.ids import Autonomy
from handrail.contract.outcome import Fault, Success
from handrail.contract.wording import format_count, quote
from handrail.engine.simulation.report import (
    ALL_MODES,
    Limits,
    ModeWalked,
    Report,
)
from handrail.engine.simulation.simulate import simulate_modes
from handrail.operations.workflows.examine_workflows import WorkflowChoice, load_chosen_workflow
from handrail.runtime.operation import Maybe, Operation, ReportOnly, StreamItem
from handrail.runtime.runtime import ReadPorts
from handrail.workflows.compiled import Pinned

MOST_PATHS = 100_000
MOST_STARTS = 4_096
_MOST_SHOWN = 5


class SimulateWorkflow(WorkflowChoice, frozen=True, kw_only=True):
    """The workflow, and the limits of the walk."""

    mode: Maybe[Annotated[Autonomy, Meta(description="Only this autonomy; default all three.")]] = UNSET
    max_paths: Maybe[
        Annotated[int, Meta(description="Walks per mode; default 2000.", ge=1, le=MOST_PATHS)]
    ] = UNSET
    max_starts: Maybe[
        Annotated[int, Meta(description="Sets of input values; default 64.", ge=1, le=MOST_STARTS)]
    ] = UNSET
    report_only: Maybe[ReportOnly] = UNSET


class Simulation(Report, frozen=True, kw_only=True):
    """What the walks showed of the workflow with this hash."""

    workflow_hash: str


def simulate_workflow(rt: ReadPorts, request: SimulateWorkflow) -> Simulation:
    """Return the result of the walks.

    Raise Fault WORKFLOW_INVALID with the report for a negative verdict, unless the caller asked for a report
    only.
    """
    pinned = load_chosen_workflow(rt, request)
    *_, report = _walks(rt, pinned, request)
    assert isinstance(report, Report), "the report comes last"
    return _judge(_to_simulation(pinned, report), request)


def stream_simulation(rt: ReadPorts, request: SimulateWorkflow) -> Iterator[StreamItem | Success]:
    """Yield each mode as soon as it is walked, then the whole result."""
    pinned = load_chosen_workflow(rt, request)
    for walked in _walks(rt, pinned, request):
        match walked:
            case ModeWalked():
                yield StreamItem(data=msgspec.to_builtins(walked))
            case Report() as report:
                yield Success(data=msgspec.to_builtins(_judge(_to_simulation(pinned, report), request)))
            case never:
                assert_never(never)


def _judge(found: Simulation, request: SimulateWorkflow) -> Simulation:
    if found.ok or request.report_only is True:
        return found
    raise Fault(
        WORKFLOW_INVALID,
        f"{quote(found.workflow_id)} does not pass: {_reason(found)}"[:1024],
        details={"workflow_id": found.workflow_id[:128], "report": msgspec.to_builtins(found)},
        hint="Look at the report, correct the workflow, then simulate again.",
    )


def _walks(rt: ReadPorts, pinned: Pinned, request: SimulateWorkflow) -> Iterator[ModeWalked | Report]:
    modes = ALL_MODES if request.mode is UNSET else (request.mode,)
    limits = Limits()
    if request.max_paths is not UNSET:
        limits = msgspec.structs.replace(limits, max_paths=request.max_paths)
    if request.max_starts is not UNSET:
        limits = msgspec.structs.replace(limits, max_starts=request.max_starts)
    for count, walked in enumerate(simulate_modes(pinned.workflow, limits, modes), 1):
        rt.progress.report(min(count, len(modes)), len(modes), "modes walked")
        rt.interruptions.end_here()
        yield _add_children(pinned, walked, limits, modes) if isinstance(walked, Report) else walked


def _add_children(pinned: Pinned, report: Report, limits: Limits, modes: tuple[Autonomy, ...]) -> Report:
    """Return the report with the problems of delegated steps, under the name of their child run."""
    problems, dead = list(report.problems), list(report.dead_steps)
    for child in pinned.children:
        own, _, name = child.workflow.id.partition("--")
        if own != pinned.workflow.id:
            continue
        *_, below = simulate_modes(child.workflow, limits, modes)
        assert isinstance(below, Report), "the report comes last"
        name = name.replace("--", "/")
        problems += [msgspec.structs.replace(one, step_id=f"{name}/{one.step_id}") for one in below.problems]
        dead += [msgspec.structs.replace(one, step_id=f"{name}/{one.step_id}") for one in below.dead_steps]
    is_fine = report.ok and not problems and not dead
    return msgspec.structs.replace(report, ok=is_fine, problems=problems, dead_steps=dead)


def _to_simulation(pinned: Pinned, report: Report) -> Simulation:
    return Simulation(workflow_hash=pinned.workflow_hash, **msgspec.structs.asdict(report))


def _reason(found: Simulation) -> str:
    """Return the first problem, as a sentence."""
    if found.problems:
        first = found.problems[0]
        wrong = format_count(len(found.problems), "walk goes", "walks go")
        return f"{wrong} wrong, first at {first.step_id}: {first.message}"
    if found.dead_steps:
        named = ", ".join(one.step_id for one in found.dead_steps[:_MOST_SHOWN])
        return f"no walk reaches {len(found.dead_steps)} of its steps: {named}."
    return "no walk reaches the end."


OPERATION = Operation(
    name="workflow.simulate",
    effect="read",
    where="client",
    summary="Walk every branch of a workflow without an agent.",
    input=SimulateWorkflow,
    output=Simulation,
    perform=simulate_workflow,
    stream=stream_simulation,
    shape=Shape(
        levels={
            "minimal": (
                "ok",
                "workflow_id",
                "coverage",
                "dead_steps",
                "problems",
                "truncated",
            ),
        },
        drop_order=("prompts", "by_mode", "unproven", "untried"),
        windows=("prompts", "problems", "dead_steps", "untried"),
    ),
    errors=(
        "WORKFLOW_INVALID",
        "WORKFLOW_NOT_FOUND",
        "WORK_LIMIT_EXCEEDED",
    ),
)
