"""A workflow graph as plain lines; what a condition or a loop holds stands beside a rail. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import assert_never

from handrail.projections.workflow_graph.graph import Boxed, GraphNode, Guarded, Item, WorkflowGraph

_MARKS = {"step": "o", "choice": "<>", "action": "!"}
_RAIL = "|  "


def draw_text(graph: WorkflowGraph) -> str:
    """The outline, one newline at the end.

    `o` marks a step, `<>` a choice with its options below, `!` an action, `?` a condition, `@` a loop.
    """
    options = {edge.source: edge.label for edge in graph.edges if edge.kind == "option"}
    heading = _line(f"{graph.workflow_id}: {graph.name}")
    return "\n".join([heading, *_lines(graph.outline, options, "")]) + "\n"


def _lines(items: Sequence[Item], options: Mapping[str, str], rail: str) -> Iterator[str]:
    for item in items:
        match item:
            case GraphNode():
                yield from (rail + line for line in _node(item, options))
            case Guarded():
                yield f"{rail}? if {_line(item.condition.title)}"
                yield from _lines(item.items, options, rail + _RAIL)
            case Boxed(box=box):
                yield f"{rail}@ {_line(box.label)}{_notes(box.notes)}"
                yield from _lines(item.items, options, rail + _RAIL)
            case never:
                assert_never(never)


def _node(node: GraphNode, options: Mapping[str, str]) -> Iterator[str]:
    match node.kind:
        case "start" | "end":
            yield node.title
        case "repeat" | "condition":
            return  # the heading of the loop or of the condition says it
        case "step" | "choice" | "action":
            name = f"{node.id}: {node.title}" if node.title else node.id
            yield f"{_MARKS[node.kind]} {_line(name)}{_notes(node.notes)}"
            if node.id in options:
                yield f"     {_line(options[node.id])}"
        case never:
            assert_never(never)


def _notes(notes: Sequence[str]) -> str:
    return "".join(f" [{_line(note)}]" for note in notes)


def _line(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)
