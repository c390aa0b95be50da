"""A run graph as plain lines for a terminal: the preferred path straight down, forks beside it. Pure."""

from __future__ import annotations

from collections.abc import Callable

from handrail.contract.ids import NodeId
from handrail.engine.history import Node
from handrail.projections.run_graph import RunGraph

MOST_RAILS = 24
"""Lines beside each other; every node repeats those it stands beside."""
_MARKS = {"step": "o", "checkpoint": "#", "blocked_attempt": "x"}


def draw_run(graph: RunGraph, label: Callable[[Node], str]) -> list[str]:
    """One line per node; a branch is indented.

    `*` marks the preferred tip, `o` a step, `#` a checkpoint, `x` a blocked attempt.
    """
    by_id = {node.node_id: node for node in graph.nodes}
    lines: list[str] = []
    stack: list[tuple[NodeId, str, str]] = [(graph.nodes[0].node_id, "", "")]
    while stack:
        node_id, rail, turn = stack.pop()
        node = by_id[node_id]
        mark = "*" if node_id == graph.preferred_tip else _MARKS[node.kind]
        lines.append(f"{rail}{turn}{mark} {label(node)}")
        below = _preferred_last(graph, node_id)
        # Beside a branch the straight line goes on; branches inside branches inside branches stay there.
        inner = rail + ("|  " if turn and len(rail) < 3 * MOST_RAILS else "")
        for place, child in enumerate(reversed(below)):
            is_straight = place == 0
            stack.append((child, inner, "" if is_straight else "|\\ "))
    return lines


def _preferred_last(graph: RunGraph, node_id: NodeId) -> list[NodeId]:
    """Side branches first, so that the straight line continues below them."""
    below = list(graph.children[node_id])
    below.sort(key=lambda child: child in graph.preferred_path)
    return below
