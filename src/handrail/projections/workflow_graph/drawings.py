"""A workflow graph as an outline of plain lines, as a Mermaid flowchart, and as one SVG. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import assert_never

import msgspec

from handrail.projections.workflow_graph.graph import (
    GraphEdge,
    GraphNode,
    GuardedItem,
    HandedOutItem,
    Item,
    LoopItem,
    NodeKind,
    WorkflowGraph,
)

# The outline: the content of a condition or a loop is beside a rail

_MARKS = {"step": "o", "choice": "<>", "action": "!", "delegate": "o", "child": "+"}
_RAIL = "|  "


def draw_text(graph: WorkflowGraph) -> str:
    """The outline, one newline at the end.

    `o` marks a step, `+` what it hands out, `<>` a choice with its options below, `!` an action, `?` a
    condition, with the options that lead into it, `@` a loop.
    """
    words = {edge.source: edge.label for edge in graph.edges if edge.kind == "option"} | {
        edge.target: edge.label for edge in graph.edges if edge.kind == "hands_out"
    }
    words |= {target: f"({told})" for target, told in steering_words(graph).items()}
    heading = _line(f"{graph.workflow_id}: {graph.name}")
    return "\n".join([heading, *_lines(graph.outline, words, "")]) + "\n"


def steering_words(graph: WorkflowGraph) -> dict[str, str]:
    """By condition node: the choices whose options lead into it."""
    told: dict[str, list[str]] = {}
    for edge in graph.edges:
        if edge.kind == "steers":
            told.setdefault(edge.target, []).append(f"{edge.source}: {edge.label}")
    return {target: "; ".join(words) for target, words in told.items()}


def _lines(items: Sequence[Item], words: Mapping[str, str], rail: str) -> Iterator[str]:
    for item in items:
        match item:
            case GraphNode():
                yield from (rail + line for line in _node(item, words))
            case GuardedItem(condition=condition):
                steered = f" {_line(words[condition.id])}" if condition.id in words else ""
                yield f"{rail}? if {_line(condition.title)}{steered}"
                yield from _lines(item.items, words, rail + _RAIL)
            case LoopItem(box=box):
                yield f"{rail}@ {_line(box.label)}{_notes(box.notes)}"
                yield from _lines(item.items, words, rail + _RAIL)
            case HandedOutItem():
                yield from _lines((item.step,), words, rail)
                yield from _lines(item.children, words, rail + _RAIL)
            case never:
                assert_never(never)


def _node(node: GraphNode, words: Mapping[str, str]) -> Iterator[str]:
    told = _line(words.get(node.id, ""))
    match node.kind:
        case "start" | "end":
            yield node.title
        case "repeat" | "condition":
            return  # the heading of the loop or of the condition says it
        case "child":
            yield f"{_MARKS[node.kind]} {_line(node.title)}{_notes(node.notes)}{f' {told}' if told else ''}"
        case "step" | "choice" | "action" | "delegate":
            name = f"{node.id}: {node.title}" if node.title else node.id
            yield f"{_MARKS[node.kind]} {_line(name)}{_notes(node.notes)}"
            if told:
                yield f"     {told}"
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
    "delegate": ("[[", "]]"),
    "child": ("[/", "/]"),
    "condition": ("((", "))"),
    "repeat": ("((", "))"),
}
_DASHED = frozenset({"skip", "again", "hands_out"})
_STEERING = "==>"
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
    lines = ["flowchart TD", f"  %% {_line(graph.workflow_id)}"]
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
            case HandedOutItem():
                yield from _items((item.step, *item.children), names, indent)
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
    return "\n".join((node.title or node.id, *_small_print(node)))


def _small_print(node: GraphNode) -> tuple[str, ...]:
    """What stands below the title: the id, unless it is derived, and the notes."""
    has_id = bool(node.title) and ":" not in node.id
    return (*((node.id,) if has_id else ()), *node.notes)


def _edge(edge: GraphEdge, names: dict[str, str]) -> str:
    arrow = "-.->" if edge.kind in _DASHED else _STEERING if edge.kind == "steers" else "-->"
    label = f'|"{_escaped(edge.label)}"|' if edge.label else ""
    return f"  {names[edge.source]} {arrow}{label} {names[edge.target]}"


def _escaped(text: str) -> str:
    """Text inside a quoted label: entities for what the language or its HTML would read."""
    lines = text.translate(_ENTITIES).splitlines()
    return "<br/>".join(_line(line) for line in lines)


# One self-contained SVG: top to bottom, loops as boxes, choices as hexagons. Only integers are written and no
# real font is measured, so the same graph gives the same bytes everywhere.

# Text inside an SVG: cut into lines that fit, escaped, never measured

_LINE = 16
_MOST_LINES = 4
"""Of one text; the tooltip of its shape has the whole."""
_CHARACTERS = {
    "node": 50,
    "small node": 56,
    "hexagon": 44,
    "small hexagon": 48,
    "small": 56,
    "heading": 56,
}
"""What fits into one line, by place, with a wide font."""
_CHARACTER_WIDTH = 6
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"})


class Words(msgspec.Struct, frozen=True, kw_only=True):
    """Lines around one middle, the small ones last."""

    lines: tuple[str, ...]
    small: tuple[str, ...] = ()
    style: str = ""

    @property
    def height(self) -> int:
        return _LINE * (len(self.lines) + len(self.small))

    def drawn(self, middle: int, top: int, *, on_paper: bool = False) -> str:
        """The text elements; on paper, with something behind them that hides the line they stand on."""
        styled = [(line, self.style) for line in self.lines] + [(line, "small") for line in self.small]
        paper = self._paper(middle, top) if on_paper else ""
        return paper + "".join(
            f'<text{_class(style)} x="{middle}" y="{top + _LINE * number + 12}">{escape_xml(line)}</text>'
            for number, (line, style) in enumerate(styled)
        )

    def _paper(self, middle: int, top: int) -> str:
        half = _CHARACTER_WIDTH * max(len(line) for line in (*self.lines, *self.small)) // 2 + 4
        return (
            f'<rect class="paper" x="{middle - half}" y="{top}" width="{2 * half}" height="{self.height}"/>'
        )


def wrap_text(text: str, place: str) -> tuple[str, ...]:
    """At most a few lines that fit the place; what does not fit ends in an ellipsis."""
    width = _CHARACTERS[place]
    lines = [line for part in text.splitlines() for line in textwrap.wrap(part, width)]
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 1], lines[_MOST_LINES - 1][: width - 1] + "…"]
    return tuple(lines)


def escape_xml(text: str) -> str:
    """XML text; what XML cannot hold becomes U+FFFD."""
    held = "".join(
        character if character.isprintable() or character == "\n" else "\N{REPLACEMENT CHARACTER}"
        for character in text
    )
    return held.translate(_ESCAPES)


def _class(style: str) -> str:
    return f' class="{style}"' if style else ""


# The drawing

_HALF = 180
"""Half the width of a node."""
_GAP = 26
"""Between two items that nothing is written between."""
_PADDING = 12
_LANE = 24
"""What one more line beside the nodes needs."""
_DOT = 5
_STEER = 10
"""What one more line from a choice to a condition needs."""
_MOST_STEERING = 12
"""Lines of this kind; the words on the way into each condition say the same for all of them."""
_SLANT = 20
"""How far the tips of a hexagon stand out."""

_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1f2328;text-anchor:middle}"
    ".small{font-size:11px;fill:#57606a}.heading{font-size:12px;fill:#57606a}"
    ".node{fill:#fff;stroke:#57606a}.choice{fill:#fff;stroke:#1b6b57}"
    ".action{fill:#f3f1ec;stroke:#57606a}.terminal{fill:#e2f0eb;stroke:#1b6b57}"
    ".loop{fill:#f3f1ec;stroke:#8c959f;stroke-dasharray:5 3}"
    ".way{fill:none;stroke:#57606a}.steer{fill:none;stroke:#1b6b57;stroke-dasharray:1 3}"
    ".side{fill:none;stroke:#8c959f;stroke-dasharray:4 3}"
    ".dot{fill:#57606a}.paper{fill:#fff;fill-opacity:.9}.ground{fill:#fff}"
    "@media(prefers-color-scheme:dark){text{fill:#e6e8e9}.small{fill:#a4abb2}.heading{fill:#a4abb2}"
    ".node{fill:#1a1d20;stroke:#8d949b}.choice{fill:#1a1d20;stroke:#72c9af}.action{fill:#212529;stroke:#8d949b}"
    ".terminal{fill:#17302a;stroke:#72c9af}.loop{fill:#16181b;stroke:#6f767e}.way{stroke:#8d949b}"
    ".side{stroke:#6f767e}.steer{stroke:#72c9af}.dot{fill:#8d949b}.paper,.ground{fill:#1a1d20}}"
)
_MARKER = (
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" '
    'orient="auto"><path d="M0 0L8 4L0 8z" fill="#57606a"/></marker></defs>'
)


def draw_svg(graph: WorkflowGraph) -> str:
    """The whole document, one newline at the end."""
    left, right = _extents(graph.outline)
    steering = [edge for edge in graph.edges if edge.kind == "steers"]
    left += _STEER * min(len(steering), _MOST_STEERING)
    drawing = _Drawing(graph, left + _PADDING)
    drawing.items(graph.outline)
    drawing.steer(steering)
    width, height = left + right + 2 * _PADDING, drawing.y + _PADDING
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img">',
        f"<title>{escape_xml(f'{graph.workflow_id}: {graph.name}')}</title>",
        f"<style>{_STYLE}</style>",
        _MARKER,
        f'<rect class="ground" width="{width}" height="{height}"/>',
        *drawing.boxes,
        *drawing.ways,
        *drawing.shapes,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _extents(items: Sequence[Item]) -> tuple[int, int]:
    """How far the items reach to the left and to the right of the middle."""
    sides = [_extent(item) for item in items]
    return max((left for left, _ in sides), default=_HALF), max((right for _, right in sides), default=_HALF)


def _extent(item: Item) -> tuple[int, int]:
    match item:
        case GraphNode():
            return _HALF, _HALF
        case GuardedItem():
            left, right = _extents(item.items)
            return left, right + _LANE
        case LoopItem():
            left, right = _extents(item.items)
            return left + _LANE + _PADDING, right + _PADDING
        case HandedOutItem():
            return _HALF + _LANE, _HALF
        case never:
            assert_never(never)


class _Drawing:
    """What is drawn so far, from top to bottom along one middle line. `y` is the bottom of it."""

    def __init__(self, graph: WorkflowGraph, middle: int) -> None:
        self.middle = middle
        self.y = _PADDING
        self.boxes: list[str] = []
        self.ways: list[str] = []
        self.shapes: list[str] = []
        self._options = {edge.source: edge.label for edge in graph.edges if edge.kind == "option"}
        self._steered = steering_words(graph)
        self._handed = {edge.target: edge.label for edge in graph.edges if edge.kind == "hands_out"}
        self._middles: dict[str, int] = {}
        """The y of the middle of each node."""
        self._label = ""
        """What stands on the way into the next item."""
        self._arrivals: list[tuple[int, int]] = []
        """Ways past something that end at the next item: the x of their lane, the y they come from."""

    def items(self, items: Sequence[Item]) -> None:
        for item in items:
            match item:
                case GraphNode():
                    self._node(item)
                case GuardedItem():
                    self._guarded(item)
                case LoopItem():
                    self._boxed(item)
                case HandedOutItem():
                    self._handed_out(item)
                case never:
                    assert_never(never)

    def _node(self, node: GraphNode) -> None:
        match node.kind:
            case "start":
                self._pill(node)
            case "end":
                self._enter()
                self._pill(node)
            case "condition" | "repeat":
                self._enter()
                self._dot(node)
            case "choice":
                self._enter()
                self._hexagon(node)
                self._label = self._options.get(node.id, "")
            case "step" | "action" | "delegate" | "child":
                self._enter()
                self._rectangle(node)
            case never:
                assert_never(never)

    def _guarded(self, item: GuardedItem) -> None:
        self._node(item.condition)
        from_y = self.y - _DOT
        steered = self._steered.get(item.condition.id, "")
        self._label = f"if {item.condition.title}" + (f"\n({steered})" if steered else "")
        self.items(item.items)
        _, right = _extents(item.items)
        self._arrivals.append((self.middle + right + _LANE // 2, from_y))

    def _handed_out(self, item: HandedOutItem) -> None:
        """The children below their step, beside a line that leads to each of them."""
        self._node(item.step)
        from_y, lane = self._middles[item.step.id], self.middle - _HALF - _LANE // 2
        for child in item.children:
            self.y += _PADDING
            self._rectangle(child, self._handed[child.id])
            self.ways.append(
                f'<path class="side" d="M{self.middle - _HALF} {from_y}H{lane}V{self._middles[child.id]}'
                f'H{self.middle - _HALF}" marker-end="url(#arrow)"/>'
            )

    def steer(self, edges: Sequence[GraphEdge]) -> None:
        """From each choice, left of everything, to the conditions that its options decide."""
        for number, edge in enumerate(edges[:_MOST_STEERING]):
            lane = _PADDING + _STEER * number
            y, to_y = self._middles[edge.source], self._middles[edge.target]
            self.ways.append(
                f'<path class="steer" d="M{self.middle - _HALF} {y}H{lane}V{to_y}H{self.middle - _DOT}" '
                f'marker-end="url(#arrow)"><title>{escape_xml(edge.label)}</title></path>'
            )

    def _boxed(self, item: LoopItem) -> None:
        left, right = _extents(item.items)
        x, width = self.middle - left - _LANE - _PADDING, left + right + _LANE + 2 * _PADDING
        self._enter()
        top = self.y
        heading = Words(
            lines=wrap_text("\n".join((item.box.label, *item.box.notes)), "heading"), style="heading"
        )
        self.y += heading.height + 2 * _PADDING
        entry_y = self.y
        place = len(self.boxes)
        self.items(item.items)
        repeat_y = self.y - _DOT
        lane = self.middle - left - _LANE // 2
        self.ways.append(
            f'<path class="side" d="M{self.middle - _DOT} {repeat_y}H{lane}V{entry_y + 6}'
            f'H{self.middle - 2}" marker-end="url(#arrow)"/>'
        )
        bottom = self.y + _PADDING
        self.ways.append(f'<path class="way" d="M{self.middle} {self.y}V{bottom}"/>')
        self.y = bottom
        box = f'<rect class="loop" x="{x}" y="{top}" width="{width}" height="{bottom - top}" rx="8"/>'
        self.boxes.insert(
            place, box + heading.drawn(self.middle, top + _PADDING // 2)
        )  # below the boxes inside it

    def _enter(self) -> None:
        """The arrow into the next item, the words on it, and the ways that join it."""
        words = Words(lines=wrap_text(self._label, "small"), style="small")
        start = self.y
        self.y += _GAP + words.height + (_GAP // 2 if self._arrivals else 0)
        self.ways.append(f'<path class="way" d="M{self.middle} {start}V{self.y}" marker-end="url(#arrow)"/>')
        if words.lines:
            self.shapes.append(words.drawn(self.middle, start + _GAP // 4, on_paper=True))
        for lane, from_y in self._arrivals:
            self.ways.append(
                f'<path class="side" d="M{self.middle + _DOT} {from_y}H{lane}V{self.y - _PADDING}'
                f'H{self.middle + 2}" marker-end="url(#arrow)"/>'
            )
        self._label, self._arrivals = "", []

    def _pill(self, node: GraphNode) -> None:
        words = Words(lines=(node.title,))
        self._box(node, words, "terminal", _HALF // 3, (words.height + _PADDING) // 2)

    def _dot(self, node: GraphNode) -> None:
        shape = f'<circle class="dot" cx="{self.middle}" cy="{self.y + _DOT}" r="{_DOT}"/>'
        self._shape(node, shape, Words(lines=()), 2 * _DOT)

    def _rectangle(self, node: GraphNode, told: str = "") -> None:
        style = "action" if node.kind in ("action", "child") else "node"
        self._box(node, _words(node, "node", told), style, _HALF, 4)

    def _box(self, node: GraphNode, words: Words, style: str, half: int, corner: int) -> None:
        height = words.height + _PADDING
        shape = (
            f'<rect class="{style}" x="{self.middle - half}" y="{self.y}" width="{2 * half}" '
            f'height="{height}" rx="{corner}"/>'
        )
        self._shape(node, shape, words, height)

    def _hexagon(self, node: GraphNode) -> None:
        words = _words(node, "hexagon")
        height = words.height + _PADDING
        left, right = self.middle - _HALF, self.middle + _HALF
        top, middle, bottom = self.y, self.y + height // 2, self.y + height
        points = (
            f"{left},{middle} {left + _SLANT},{top} {right - _SLANT},{top} "
            f"{right},{middle} {right - _SLANT},{bottom} {left + _SLANT},{bottom}"
        )
        self._shape(node, f'<polygon class="choice" points="{points}"/>', words, height)

    def _shape(self, node: GraphNode, shape: str, words: Words, height: int) -> None:
        told = escape_xml("\n".join(filter(None, (node.title, *_small_print(node)))))
        text = words.drawn(self.middle, self.y + (height - words.height) // 2)
        self.shapes.append(f"<g><title>{told}</title>{shape}{text}</g>")
        self._middles[node.id] = self.y + height // 2
        self.y += height


def _words(node: GraphNode, place: str, told: str = "") -> Words:
    """The title, then the id and the notes in small print."""
    title = wrap_text(node.title or node.id, place)
    below = [line for note in (*_small_print(node), told) for line in wrap_text(note, f"small {place}")]
    return Words(lines=title, small=tuple(below))
