"""A run as a rail: the preferred path straight down, forks in lanes beside it, drawn as SVG. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from handrail.projections.html.elements import Html, element
from handrail.views.runs import RailNode

ROW = 26
LANE = 18
MARGIN = 14
_LABEL = 60
_CHARACTER = 7
_KINDS = {"step": "", "checkpoint": "checkpoint, ", "blocked_attempt": "blocked, "}


def draw_rail(nodes: Sequence[RailNode]) -> Html:
    """Draw the picture. The list beside it says the same to screen readers."""
    at = {node.id: node for node in nodes}
    text_at = MARGIN + (max(node.lane for node in nodes) + 1) * LANE + 6
    links = [_link(at[node.parent], node) for node in nodes if node.parent in at]
    words = [
        element(
            "text",
            _cut(_KINDS[node.kind] + node.title),
            x=text_at,
            y=_y(node) + 4,
            class_="now" if _is_now(node) else _aside(node).strip() or None,
        )
        for node in nodes
    ]
    width = text_at + _LABEL * _CHARACTER
    height = len(nodes) * ROW + MARGIN
    return element(
        "svg",
        *links,
        *map(_mark, nodes),
        *words,
        class_="rail",
        width=width,
        height=height,
        viewBox=f"0 0 {width} {height}",
        aria_hidden="true",
        focusable="false",
    )


def _mark(node: RailNode) -> Html:
    """Circle for a step, square for a checkpoint, triangle for blocked: no colour is needed."""
    x, y = _x(node), _y(node)
    style = "mark" + (" tip" if _is_now(node) else "") + _aside(node)
    match node.kind:
        case "checkpoint":
            return element("rect", x=x - 5, y=y - 5, width=10, height=10, class_=style)
        case "blocked_attempt":
            return element("path", d=f"M{x} {y - 6}L{x + 6} {y + 5}H{x - 6}Z", class_=style + " blocked")
        case _:
            return element("circle", cx=x, cy=y, r=6, class_=style)


def _link(parent: RailNode, node: RailNode) -> Html:
    x, y = _x(parent), _y(parent)
    way = f"M{x} {y}V{_y(node)}"
    if node.lane != parent.lane:
        turn = y + ROW // 2
        way = f"M{x} {y}V{turn}Q{x} {_y(node)} {_x(node)} {_y(node)}"
    return element("path", d=way, class_="way" + _aside(node))


def _is_now(node: RailNode) -> bool:
    return node.is_tip and node.is_on_path


def _aside(node: RailNode) -> str:
    return "" if node.is_on_path else " aside"


def _x(node: RailNode) -> int:
    return MARGIN + node.lane * LANE


def _y(node: RailNode) -> int:
    return MARGIN + node.row * ROW


def _cut(text: str) -> str:
    return text if len(text) <= _LABEL else text[: _LABEL - 1] + "…"
