"""Small workflows as an author writes them, read and compiled for tests."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from handrail.workflows.compiled import CompiledWorkflow, Leaf, Loop, Part, Step
from handrail.workflows.compiling.compilation import Compilation, Surroundings
from handrail.workflows.compiling.compiler import compile_workflow
from handrail.workflows.model import SourceWorkflow
from handrail.workflows.reading.reader import read_workflow


def step(step_id: str, prompt: str = "Do it.", **more: Any) -> dict[str, Any]:
    return {"id": step_id, "title": f"Title of {step_id}", "prompt": prompt, **more}


def loop(loop_id: str, *body: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "loop", "loopId": loop_id, "maxIterations": 3, "body": list(body), **more}


def choice(choice_id: str, **more: Any) -> dict[str, Any]:
    options = [{"id": "yes", "label": "Yes"}, {"id": "no", "label": "No"}]
    return {
        "type": "choice",
        "id": choice_id,
        "title": f"Title of {choice_id}",
        "prompt": "Choose.",
        "options": options,
        **more,
    }


def call(template_id: str, **more: Any) -> dict[str, Any]:
    return {"type": "template_call", "templateId": template_id, **more}


def document(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A whole workflow."""
    return {
        "id": "project.sample",
        "name": "Sample",
        "description": "A workflow for tests.",
        "steps": list(steps),
        **more,
    }


def source(written: dict[str, Any]) -> SourceWorkflow:
    reading = read_workflow(json.dumps(written).encode())
    assert reading.workflow is not None, reading.problems
    return reading.workflow


def open_source(written: dict[str, Any]) -> SourceWorkflow:
    """As a file from elsewhere is after its translation."""
    return msgspec.structs.replace(source(written), has_open_names=True)


def compilation(written: dict[str, Any] | SourceWorkflow, around: Surroundings | None = None) -> Compilation:
    return compile_workflow(written if isinstance(written, SourceWorkflow) else source(written), around)


def compiled(
    written: dict[str, Any] | SourceWorkflow, around: Surroundings | None = None
) -> CompiledWorkflow:
    """The compiled workflow of a source without errors."""
    done = compilation(written, around)
    assert done.pinned is not None, done.problems
    return done.pinned.workflow


def found(done: Compilation) -> list[tuple[str, str, str]]:
    """Severity, code and pointer of every problem."""
    return [(problem.severity, problem.code, problem.pointer) for problem in done.problems]


def parts(workflow: CompiledWorkflow) -> dict[str, Part]:
    """Every part by its id, those inside loops included, in order."""
    held: dict[str, Part] = {}
    waiting = list(workflow.steps)
    while waiting:
        part = waiting.pop(0)
        held[part.id] = part
        if isinstance(part, Loop):
            waiting = [*part.body, *waiting]
    return held


def leaf(workflow: CompiledWorkflow, part_id: str) -> Leaf:
    part = parts(workflow)[part_id]
    assert not isinstance(part, Loop)
    return part


def step_of(workflow: CompiledWorkflow, step_id: str) -> Step:
    part = parts(workflow)[step_id]
    assert isinstance(part, Step)
    return part
