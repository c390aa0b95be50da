"""A run as a rail: the preferred path straight down, forks in lanes beside it, drawn as SVG. Pure."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from handrail.contract.ids import NodeId
from handrail.contract.outcome import make_from
from handrail.engine.events import NodeKind
from handrail.engine.history import Node
from handrail.projections.html.elements import Html, element
from handrail.projections.run_graph import RunGraph

MOST_ROWS = 2_500
"""A longer run shows its newest nodes."""

ROW = 26
LANE = 18
MARGIN = 14
_LABEL = 60
_CHARACTER = 7


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """The place of one node."""

    node_id: NodeId
    parent: NodeId | None
    kind: NodeKind
    row: int
    lane: int
    is_preferred: bool
    is_tip: bool


class Rail(msgspec.Struct, frozen=True, kw_only=True):
    """All nodes of a run, top to bottom."""

    places: tuple[Place, ...]
    omitted: int = 0


def lay_out(graph: RunGraph) -> Rail:
    """Lay out rows in reading order. A branch gets the lane beside its parent and its own rows."""
    by_id = {node.node_id: node for node in graph.nodes}
    places: list[Place] = []
    waiting = [(graph.nodes[0].node_id, 0)]
    while waiting:
        node_id, lane = waiting.pop()
        node = by_id[node_id]
        places.append(_place(graph, node, len(places), lane))
        below = sorted(graph.children[node_id], key=lambda child: child in graph.preferred_path)
        for number, child in enumerate(reversed(below)):
            waiting.append((child, lane if number == 0 else lane + 1))
    omitted = max(0, len(places) - MOST_ROWS)
    kept = [msgspec.structs.replace(place, row=place.row - omitted) for place in places[omitted:]]
    return Rail(places=tuple(kept), omitted=omitted)


def draw_rail(rail: Rail, label: Callable[[NodeId], str]) -> Html:
    """Draw the picture. The list beside it says the same to screen readers."""
    at = {place.node_id: place for place in rail.places}
    lanes = max(place.lane for place in rail.places)
    text_at = MARGIN + (lanes + 1) * LANE + 6
    links = [
        _link(at[place.parent], place)
        for place in rail.places
        if place.parent is not None and place.parent in at
    ]
    marks = [_mark(place) for place in rail.places]
    words = [
        element(
            "text",
            _cut(label(place.node_id)),
            x=text_at,
            y=_y(place) + 4,
            class_="now" if place.is_tip and place.is_preferred else None if place.is_preferred else "aside",
        )
        for place in rail.places
    ]
    width = text_at + _LABEL * _CHARACTER
    height = len(rail.places) * ROW + MARGIN
    return element(
        "svg",
        *links,
        *marks,
        *words,
        class_="rail",
        width=width,
        height=height,
        viewBox=f"0 0 {width} {height}",
        aria_hidden="true",
        focusable="false",
    )


def _place(graph: RunGraph, node: Node, row: int, lane: int) -> Place:
    is_preferred, is_tip = node.node_id in graph.preferred_path, not graph.children[node.node_id]
    return make_from(Place, node, row=row, lane=lane, is_preferred=is_preferred, is_tip=is_tip)


def _mark(place: Place) -> Html:
    """Circle for a step, square for a checkpoint, triangle for blocked: no colour is needed."""
    x, y = _x(place), _y(place)
    style = "mark" + (" tip" if place.is_tip and place.is_preferred else "") + _aside(place)
    match place.kind:
        case "checkpoint":
            return element("rect", x=x - 5, y=y - 5, width=10, height=10, class_=style)
        case "blocked_attempt":
            return element("path", d=f"M{x} {y - 6}L{x + 6} {y + 5}H{x - 6}Z", class_=style + " blocked")
        case "step":
            return element("circle", cx=x, cy=y, r=6, class_=style)


def _link(parent: Place, place: Place) -> Html:
    x, y = _x(parent), _y(parent)
    way = f"M{x} {y}V{_y(place)}"
    if place.lane != parent.lane:
        turn = y + ROW // 2
        way = f"M{x} {y}V{turn}Q{x} {_y(place)} {_x(place)} {_y(place)}"
    return element("path", d=way, class_="way" + _aside(place))


def _aside(place: Place) -> str:
    return "" if place.is_preferred else " aside"


def _x(place: Place) -> int:
    return MARGIN + place.lane * LANE


def _y(place: Place) -> int:
    return MARGIN + place.row * ROW


def _cut(text: str) -> str:
    return text if len(text) <= _LABEL else text[: _LABEL - 1] + "…"
