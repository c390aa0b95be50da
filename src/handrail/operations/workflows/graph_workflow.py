"""`workflow graph`: draw a workflow."""

from __future__ import annotations

from typing import Annotated, Any, assert_never

import msgspec
from msgspec import UNSET, Meta

from handrail.contract.disclosure.fields import Shape
from handrail.operations.workflows.examine_workflows import (
    WorkflowChoice,
    load_chosen_workflow,
)
from handrail.projections.workflow_graph.drawings import draw_mermaid, draw_svg, draw_text
from handrail.projections.workflow_graph.graph import WorkflowGraph, graph_document, workflow_graph
from handrail.runtime.operation import Maybe, Operation
from handrail.runtime.runtime import ReadPorts
from handrail.views.workflows import DrawnAs, WorkflowDrawing


class GraphWorkflow(WorkflowChoice, frozen=True, kw_only=True):
    """The workflow, and the form of the drawing."""

    drawn_as: Maybe[Annotated[DrawnAs, Meta(description="How to draw it; default mermaid.")]] = msgspec.field(
        default=UNSET, name="as"
    )


def graph_workflow(rt: ReadPorts, request: GraphWorkflow) -> WorkflowDrawing:
    """Return a drawing of the compiled workflow: what is executed, with what Handrail added and why."""
    drawn_as = "mermaid" if request.drawn_as is UNSET else request.drawn_as
    pinned = load_chosen_workflow(rt, request)
    return WorkflowDrawing(
        workflow_id=pinned.workflow.id,
        workflow_hash=pinned.workflow_hash,
        drawn_as=drawn_as,
        drawing=_drawing(workflow_graph(pinned.workflow, pinned.slots), drawn_as),
    )


def _drawing(graph: WorkflowGraph, drawn_as: DrawnAs) -> str | dict[str, Any]:
    match drawn_as:
        case "mermaid":
            return draw_mermaid(graph)
        case "svg":
            return draw_svg(graph)
        case "text":
            return draw_text(graph)
        case "json":
            return graph_document(graph)
        case never:
            assert_never(never)


OPERATION = Operation(
    name="workflow.graph",
    effect="read",
    where="client",
    summary="Draw a workflow: steps, choices, loops and the conditions between them.",
    input=GraphWorkflow,
    output=WorkflowDrawing,
    perform=graph_workflow,
    shape=Shape(levels={"minimal": ("workflow_id", "workflow_hash", "drawing")}, untrusted=("drawing",)),
    errors=("WORKFLOW_INVALID", "WORKFLOW_NOT_FOUND"),
)
