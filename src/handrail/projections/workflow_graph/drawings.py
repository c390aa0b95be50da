"""A workflow graph as a text outline, as a Mermaid flowchart, and as one SVG. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from handrail.projections.workflow_graph.graph import (
    GraphEdge,
    GraphLoop,
    GraphNode,
    Item,
    Nest,
    NestKind,
    NodeKind,
    WorkflowGraph,
)


def _list_words(graph: WorkflowGraph) -> dict[str, str]:
    """Return the text beside a node: the options of a choice, when a child is delegated, or for a condition
    the choices whose options lead into it.
    """
    words: dict[str, str] = {}
    for edge in graph.edges:
        if edge.kind == "option":
            words[edge.source] = edge.label
        elif edge.kind == "hands_out":
            words[edge.target] = edge.label
        elif edge.kind == "steers":
            before = f"{words[edge.target]}; " if edge.target in words else ""
            words[edge.target] = f"{before}{edge.source}: {edge.label}"
    return words


def _line(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)


# The outline: the content of a condition or a loop is indented beside a vertical line

_MARKS = {"step": "o", "choice": "<>", "action": "!", "delegate": "o"}
_RAIL = "|  "


def draw_text(graph: WorkflowGraph) -> str:
    """Return the outline, with one newline at the end.

    `o` marks a step, `+` what it delegates, `<>` a choice with its options below, `!` an action, `?` a
    condition, with the options that lead into it, `@` a loop.
    """
    heading = _line(f"{graph.workflow_id}: {graph.name}")
    return "\n".join([heading, *_lines(graph.outline, _list_words(graph), "")]) + "\n"


def _lines(items: Sequence[Item], words: Mapping[str, str], rail: str) -> Iterator[str]:
    for item in items:
        head = item.head if isinstance(item, Nest) else item
        yield from (rail + line for line in _describe(head, words))
        if isinstance(item, Nest):
            yield from _lines(item.items, words, rail + _RAIL)


def _describe(head: GraphNode | GraphLoop, words: Mapping[str, str]) -> list[str]:
    notes = "".join(f" [{_line(note)}]" for note in head.notes)
    if isinstance(head, GraphLoop):
        return [f"@ {_line(head.label)}{notes}"]
    beside = _line(words.get(head.id, ""))
    match head.kind:
        case "start" | "end":
            return [head.title]
        case "repeat":
            return []  # the heading of the loop already says it
        case "condition":
            return [f"? if {_line(head.title)}{f' ({beside})' if beside else ''}"]
        case "child":
            return [f"+ {_line(head.title)}{notes}{f' {beside}' if beside else ''}"]
        case _:
            name = f"{head.id}: {head.title}" if head.title else head.id
            return [f"{_MARKS[head.kind]} {_line(name)}{notes}", *([f"     {beside}"] if beside else [])]


# The flowchart

_SHAPES: dict[NodeKind, tuple[str, str]] = {
    "start": ("([", "])"),
    "end": ("([", "])"),
    "step": ("[", "]"),
    "choice": ("{", "}"),
    "action": ("[[", "]]"),
    "delegate": ("[[", "]]"),
    "child": ("[/", "/]"),
    "condition": ("((", "))"),
    "repeat": ("((", "))"),
}
_ARROWS = {"skip": "-.->", "again": "-.->", "hands_out": "-.->", "steers": "==>"}
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


def draw_mermaid(graph: WorkflowGraph) -> str:
    """Return the text of the flowchart, with one newline at the end."""
    names = {node.id: f"n{number}" for number, node in enumerate(graph.nodes)}
    lines = ["flowchart TD", f"  %% {_line(graph.workflow_id)}"]
    lines += _items(graph.outline, names, "  ")
    lines += [_edge(edge, names) for edge in graph.edges]
    return "\n".join(lines) + "\n"


def _items(items: Sequence[Item], names: dict[str, str], indent: str) -> Iterator[str]:
    for item in items:
        head = item.head if isinstance(item, Nest) else item
        inside = item.items if isinstance(item, Nest) else ()
        if isinstance(head, GraphLoop):
            label = _escaped("\n".join((head.label, *head.notes)))
            yield f'{indent}subgraph {names[head.last]}box["{label}"]'
            yield from _items(inside, names, indent + "  ")
            yield f"{indent}end"
        else:
            opening, closing = _SHAPES[head.kind]
            yield f'{indent}{names[head.id]}{opening}"{_escaped(_label(head))}"{closing}'
            yield from _items(inside, names, indent)


def _label(node: GraphNode) -> str:
    if node.kind in ("condition", "repeat"):
        return "?" if node.kind == "condition" else "again?"
    return "\n".join((node.title or node.id, *_small_print(node)))


def _small_print(node: GraphNode) -> tuple[str, ...]:
    """Return the text below the title: the id, unless it is derived, and the notes."""
    has_id = bool(node.title) and ":" not in node.id
    return (*((node.id,) if has_id else ()), *node.notes)


def _edge(edge: GraphEdge, names: dict[str, str]) -> str:
    label = f'|"{_escaped(edge.label)}"|' if edge.label else ""
    return f"  {names[edge.source]} {_ARROWS.get(edge.kind, '-->')}{label} {names[edge.target]}"


def _escaped(text: str) -> str:
    """Return text for a quoted label, with entities for what Mermaid or its HTML would interpret."""
    lines = text.translate(_ENTITIES).splitlines()
    return "<br/>".join(_line(line) for line in lines)


# One self-contained SVG: top to bottom, loops as boxes, lines around skipped parts beside them. It uses
# only integers and measures no real font, so the same graph gives the same bytes everywhere.

_LINE = 16
_MOST_LINES = 4
"""Characters shown of one text; the tooltip of its shape has all of it."""
_CHARACTERS = 50
"""Characters that fit into one line of a node in a wide font; small print is smaller."""
_SMALL_CHARACTERS = 56
_HALF = 180
"""Half the width of a node."""
_GAP = 26
"""Space between two items without text between them."""
_PADDING = 12
_LANE = 24
"""Space for one more line beside the nodes."""
_DOT = 5
_STEER = 10
"""Space for one more line from a choice to a condition."""
_MOST_STEERING = 12
"""Most such lines; the text on the way into each condition says the same for all of them."""
_BESIDE: dict[NestKind, tuple[int, int]] = {
    "guarded": (0, _LANE),
    "loop": (_LANE + _PADDING, _PADDING),
    "handed_out": (_LANE, 0),
}
"""Space for the lines around something, to the left and right of its content."""
_BOXES: dict[NodeKind, tuple[str, int, int]] = {
    "start": ("terminal", _HALF // 3, 14),
    "end": ("terminal", _HALF // 3, 14),
    "step": ("node", _HALF, 4),
    "delegate": ("node", _HALF, 4),
    "choice": ("choice", _HALF, 20),
    "action": ("action", _HALF, 4),
    "child": ("action", _HALF, 4),
}
"""Style of a node, half its width, and the radius of its corners."""
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"})
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1f2328;text-anchor:middle}"
    ".small{font-size:11px;fill:#57606a}.heading{font-size:12px;fill:#57606a}"
    ".told{font-size:11px;fill:#57606a;paint-order:stroke;stroke:#fff;stroke-width:6px}"
    ".node{fill:#fff;stroke:#57606a}.choice{fill:#fff;stroke:#1b6b57}"
    ".action{fill:#f3f1ec;stroke:#57606a}.terminal{fill:#e2f0eb;stroke:#1b6b57}"
    ".loop{fill:#f3f1ec;stroke:#8c959f;stroke-dasharray:5 3}"
    ".way{fill:none;stroke:#57606a}.steer{fill:none;stroke:#1b6b57;stroke-dasharray:1 3}"
    ".side{fill:none;stroke:#8c959f;stroke-dasharray:4 3}.dot{fill:#57606a}.ground{fill:#fff}"
    "@media(prefers-color-scheme:dark){text{fill:#e6e8e9}.small,.heading,.told{fill:#a4abb2}"
    ".told{stroke:#1a1d20}.node,.choice{fill:#1a1d20;stroke:#8d949b}.choice{stroke:#72c9af}"
    ".action{fill:#212529;stroke:#8d949b}.terminal{fill:#17302a;stroke:#72c9af}"
    ".loop{fill:#16181b;stroke:#6f767e}.way{stroke:#8d949b}.side{stroke:#6f767e}.steer{stroke:#72c9af}"
    ".dot{fill:#8d949b}.ground{fill:#1a1d20}}"
)
_MARKER = (
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" '
    'orient="auto"><path d="M0 0L8 4L0 8z" fill="#57606a"/></marker></defs>'
)


def draw_svg(graph: WorkflowGraph) -> str:
    """Return the whole SVG document, with one newline at the end."""
    left, right = _measure_sides(graph.outline)
    steering = [edge for edge in graph.edges if edge.kind == "steers"][:_MOST_STEERING]
    left += _STEER * len(steering) + _PADDING
    drawing = _Drawing(_list_words(graph), left)
    drawing.items(graph.outline)
    drawing.steer(steering)
    width, height = left + right + _PADDING, drawing.y + _PADDING
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img">',
        f"<title>{_escape_xml(f'{graph.workflow_id}: {graph.name}')}</title>",
        f"<style>{_STYLE}</style>",
        _MARKER,
        f'<rect class="ground" width="{width}" height="{height}"/>',
        *drawing.boxes,
        *drawing.ways,
        *drawing.shapes,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _measure_sides(items: Sequence[Item]) -> tuple[int, int]:
    """Return how far the items reach to the left and to the right of the middle."""
    left = right = _HALF
    for item in items:
        if isinstance(item, Nest):
            inside, beside = _measure_sides(item.items), _BESIDE[item.kind]
            left, right = max(left, inside[0] + beside[0]), max(right, inside[1] + beside[1])
    return left, right


class _Drawing:
    """The drawing so far, from top to bottom along one middle line; `y` is its bottom."""

    def __init__(self, words: Mapping[str, str], middle: int) -> None:
        self._words = words
        self._middle = middle
        self.y = _PADDING
        self.boxes: list[str] = []
        self.ways: list[str] = []
        self.shapes: list[str] = []
        self._middles: dict[str, int] = {}
        """For each node: the y of its middle."""
        self._label = ""
        """Text on the line into the next item."""
        self._arrivals: list[tuple[int, int]] = []
        """Lines past something that end at the next item: the x of their lane, and the y where they start."""

    def items(self, items: Sequence[Item]) -> None:
        for item in items:
            if isinstance(item, GraphNode):
                self._node(item)
            elif isinstance(item.head, GraphLoop):
                self._loop(item, item.head)
            elif item.kind == "guarded":
                self._guarded(item, item.head)
            else:
                self._handed_out(item, item.head)

    def steer(self, edges: Sequence[GraphEdge]) -> None:
        """Draw a line from each choice, left of everything, to the conditions that its options decide."""
        for number, edge in enumerate(edges):
            lane, edge_at = _PADDING + _STEER * number, self._middle - _HALF
            bend = f"M{edge_at} {self._middles[edge.source]}H{lane}V{self._middles[edge.target]}"
            self._way("steer", f"{bend}H{self._middle - _DOT}", edge.label)

    def _node(self, node: GraphNode) -> None:
        if node.kind != "start":
            self._enter()
        if node.kind in ("condition", "repeat"):
            shape = f'<circle class="dot" cx="{self._middle}" cy="{self.y + _DOT}" r="{_DOT}"/>'
            self._shape(node, shape, [], 2 * _DOT)
            return
        self._box(node)
        if node.kind == "choice":
            self._label = self._words.get(node.id, "")

    def _guarded(self, item: Nest, condition: GraphNode) -> None:
        self._node(condition)
        from_y, steered = self.y - _DOT, self._words.get(condition.id, "")
        self._label = f"if {condition.title}" + (f"\n({steered})" if steered else "")
        self.items(item.items)
        self._arrivals.append((self._middle + _measure_sides(item.items)[1] + _LANE // 2, from_y))

    def _handed_out(self, item: Nest, step: GraphNode) -> None:
        """Draw the children below their step, with a line to each of them."""
        self._node(step)
        edge, lane = self._middle - _HALF, self._middle - _HALF - _LANE // 2
        for child in item.items:
            assert isinstance(child, GraphNode), "a step delegates runs"
            self.y += _PADDING
            self._box(child, self._words.get(child.id, ""))
            self._way("side", f"M{edge} {self._middles[step.id]}H{lane}V{self._middles[child.id]}H{edge}")

    def _loop(self, item: Nest, loop: GraphLoop) -> None:
        left, right = _measure_sides(item.items)
        self._enter()
        top, place = self.y, len(self.boxes)
        heading = [(line, "heading") for line in _wrap("\n".join((loop.label, *loop.notes)), _CHARACTERS)]
        words = self._text(heading, top + _PADDING // 2)
        self.y += _LINE * len(heading) + 2 * _PADDING
        entry_y = self.y
        self.items(item.items)
        lane = self._middle - left - _LANE // 2
        back = f"M{self._middle - _DOT} {self.y - _DOT}H{lane}V{entry_y + 6}H{self._middle - 2}"
        self._way("side", back)
        self.ways.append(f'<path class="way" d="M{self._middle} {self.y}V{self.y + _PADDING}"/>')
        self.y += _PADDING
        box = (
            f'<rect class="loop" x="{self._middle - left - _LANE - _PADDING}" y="{top}" '
            f'width="{left + right + _LANE + 2 * _PADDING}" height="{self.y - top}" rx="8"/>'
        )
        self.boxes.insert(place, box + words)  # below the boxes inside it

    def _enter(self) -> None:
        """Draw the arrow into the next item, its text, and the lines that join it."""
        words = [(line, "told") for line in _wrap(self._label, _SMALL_CHARACTERS)]
        start = self.y
        self.y += _GAP + _LINE * len(words) + (_GAP // 2 if self._arrivals else 0)
        self._way("way", f"M{self._middle} {start}V{self.y}")
        self.shapes.append(self._text(words, start + _GAP // 4))
        for lane, from_y in self._arrivals:
            bend = f"M{self._middle + _DOT} {from_y}H{lane}V{self.y - _PADDING}"
            self._way("side", f"{bend}H{self._middle + 2}")
        self._label, self._arrivals = "", []

    def _box(self, node: GraphNode, beside: str = "") -> None:
        """Draw the title, then the id and the notes in small print."""
        style, half, corner = _BOXES[node.kind]
        lines = [(line, "name") for line in _wrap(node.title or node.id, _CHARACTERS)]
        if node.kind not in ("start", "end"):
            below = (*_small_print(node), beside)
            lines += [(line, "small") for note in below for line in _wrap(note, _SMALL_CHARACTERS)]
        height = _LINE * len(lines) + _PADDING
        shape = (
            f'<rect class="{style}" x="{self._middle - half}" y="{self.y}" width="{2 * half}" '
            f'height="{height}" rx="{corner}"/>'
        )
        self._shape(node, shape, lines, height)

    def _shape(self, node: GraphNode, shape: str, lines: Sequence[tuple[str, str]], height: int) -> None:
        title = _escape_xml("\n".join(filter(None, (node.title, *_small_print(node)))))
        text = self._text(lines, self.y + _PADDING // 2)
        self.shapes.append(f"<g><title>{title}</title>{shape}{text}</g>")
        self._middles[node.id] = self.y + height // 2
        self.y += height

    def _text(self, lines: Sequence[tuple[str, str]], top: int) -> str:
        return "".join(
            f'<text class="{style}" x="{self._middle}" y="{top + _LINE * number + 12}">'
            f"{_escape_xml(line)}</text>"
            for number, (line, style) in enumerate(lines)
        )

    def _way(self, style: str, bends: str, label: str = "") -> None:
        title = f"<title>{_escape_xml(label)}</title>" if label else ""
        self.ways.append(f'<path class="{style}" d="{bends}" marker-end="url(#arrow)">{title}</path>')


def _wrap(text: str, width: int) -> list[str]:
    """Return as many lines as fit; an ellipsis ends text that does not fit."""
    lines = [line for part in text.splitlines() for line in textwrap.wrap(part, width)]
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 1], lines[_MOST_LINES - 1][: width - 1] + "…"]
    return lines


def _escape_xml(text: str) -> str:
    """Return escaped XML text; characters that XML cannot contain become U+FFFD."""
    held = "".join(
        character if character.isprintable() or character == "\n" else "\N{REPLACEMENT CHARACTER}"
        for character in text
    )
    return held.translate(_ESCAPES)
