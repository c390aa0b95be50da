"""A workflow graph as an outline of plain lines, and as a Mermaid flowchart. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import assert_never

from handrail.projections.workflow_graph.graph import (
    GraphEdge,
    GraphNode,
    GuardedItem,
    Item,
    LoopItem,
    NodeKind,
    WorkflowGraph,
)

# The outline: the content of a condition or a loop is beside a rail

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
            case GuardedItem():
                yield f"{rail}? if {_line(item.condition.title)}"
                yield from _lines(item.items, options, rail + _RAIL)
            case LoopItem(box=box):
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


_SHAPES: dict[NodeKind, tuple[str, str]] = {
    "start": ("([", "])"),
    "end": ("([", "])"),
    "step": ("[", "]"),
    "choice": ("{", "}"),
    "action": ("[[", "]]"),
    "condition": ("((", "))"),
    "repeat": ("((", "))"),
}
_DASHED = frozenset({"skip", "again"})
_ENTITIES = str.maketrans(
    {
        "#": "#35;",
        '"': "#quot;",
        "&": "#amp;",
        "<": "#lt;",
        ">": "#gt;",
        "`": "#96;",
        "|": "#124;",
        "\\": "#92;",
    }
)


# The flowchart


def draw_mermaid(graph: WorkflowGraph) -> str:
    """The text of the flowchart, one newline at the end."""
    names = {node.id: f"n{number}" for number, node in enumerate(graph.nodes)}
    lines = ["flowchart TD", f"  %% {_plain(graph.workflow_id)}"]
    lines += _items(graph.outline, names, "  ")
    lines += [_edge(edge, names) for edge in graph.edges]
    return "\n".join(lines) + "\n"


def _items(items: Sequence[Item], names: dict[str, str], indent: str) -> Iterator[str]:
    for item in items:
        match item:
            case GraphNode():
                yield f"{indent}{names[item.id]}{_shaped(item)}"
            case GuardedItem():
                yield f"{indent}{names[item.condition.id]}{_shaped(item.condition)}"
                yield from _items(item.items, names, indent)
            case LoopItem(box=box):
                label = _escaped("\n".join((box.label, *box.notes)))
                yield f'{indent}subgraph {names[box.last]}box["{label}"]'
                yield from _items(item.items, names, indent + "  ")
                yield f"{indent}end"
            case never:
                assert_never(never)


def _shaped(node: GraphNode) -> str:
    opening, closing = _SHAPES[node.kind]
    return f'{opening}"{_escaped(_label(node))}"{closing}'


def _label(node: GraphNode) -> str:
    if node.kind in ("condition", "repeat"):
        return "?" if node.kind == "condition" else "again?"
    if node.kind in ("start", "end"):
        return node.title
    return "\n".join((node.title or node.id, *((node.id,) if node.title else ()), *node.notes))


def _edge(edge: GraphEdge, names: dict[str, str]) -> str:
    arrow = "-.->" if edge.kind in _DASHED else "-->"
    label = f'|"{_escaped(edge.label)}"|' if edge.label else ""
    return f"  {names[edge.source]} {arrow}{label} {names[edge.target]}"


def _escaped(text: str) -> str:
    """Text inside a quoted label: entities for what the language or its HTML would read."""
    lines = text.translate(_ENTITIES).splitlines()
    return "<br/>".join(_plain(line) for line in lines)


def _plain(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)
