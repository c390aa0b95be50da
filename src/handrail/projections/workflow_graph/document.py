"""A workflow graph as data, for programs that draw it themselves. Pure."""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.projections.workflow_graph.graph import WorkflowGraph


def graph_document(graph: WorkflowGraph) -> dict[str, Any]:
    """Nodes, edges and loops by id."""
    document: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(graph))
    del document["outline"]
    return document
