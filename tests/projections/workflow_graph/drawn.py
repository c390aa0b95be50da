"""Workflows to draw, compiled from what an author would write."""

from __future__ import annotations

import json
from typing import Any

from handrail.projections.workflow_graph.graph import WorkflowGraph, workflow_graph
from handrail.workflows.compiling.compiler import compile_workflow
from handrail.workflows.reading.reader import read_workflow


def step(step_id: str, **more: Any) -> dict[str, Any]:
    return {"id": step_id, "title": step_id.capitalize(), "prompt": f"Do {step_id}.", **more}


def choice(choice_id: str, *options: str) -> dict[str, Any]:
    listed = [{"id": option, "label": option.capitalize()} for option in options]
    return {"type": "choice", "id": choice_id, "title": "Which", "prompt": "Choose.", "options": listed}


def loop(loop_id: str, *body: dict[str, Any], **more: Any) -> dict[str, Any]:
    repeat = {} if {"while", "until", "forEach", "count"} & set(more) else {"count": 2}
    return {"type": "loop", "loopId": loop_id, "maxIterations": 3, "body": list(body), **repeat, **more}


def graph_of(*steps: dict[str, Any], **more: Any) -> WorkflowGraph:
    """The graph of a workflow with these steps; `is_large` and `keep_going` are its conditions."""
    document = {
        "id": "project.drawn",
        "name": "Drawn",
        "description": "For drawings.",
        "inputs": {"size": {"type": "string", "enum": ["small", "large"]}, "files": {"type": "array"}},
        "conditions": [
            {"id": "is_large", "kind": "compare", "input": "size", "op": "equals", "value": "large"},
            {"id": "keep_going", "kind": "loop_control", "continueWhen": "continue"},
        ],
        "steps": list(steps),
        **more,
    }
    reading = read_workflow(json.dumps(document).encode())
    assert reading.workflow is not None, reading.problems
    compilation = compile_workflow(reading.workflow)
    assert compilation.pinned is not None, compilation.problems
    return workflow_graph(compilation.pinned.workflow)


def everything() -> WorkflowGraph:
    """Every construct once: a condition, a choice, loops inside each other, a template, a confirmation."""
    return graph_of(
        step("look", requireConfirmation=True),
        step("dig", when="is_large", output={"contractRef": "wr.contracts.plan"}),
        choice("way", "left", "right"),
        loop(
            "outer",
            loop("inner", step("try"), forEach={"input": "files", "as": "file"}),
            step("weigh", when="is_large"),
            **{"while": {"kind": "condition_ref", "conditionId": "keep_going"}, "when": "is_large"},
        ),
        {"type": "template_call", "id": "hand", "templateId": "wr.templates.handoff_summary"},
    )
