"""Drawings as text, Mermaid and SVG: complete, escaped, the same every time, and nothing overlaps."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

from handrail.projections.workflow_graph.drawings import draw_mermaid, draw_svg, draw_text
from tests.projections.workflow_graph.drawn import everything, graph_of, loop, step

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "<script>\"'&`|#]})\\ \u202e\x07 end"


def test_text_shows_conditions_choices_and_loops_beside_a_rail() -> None:
    assert draw_text(everything()).splitlines() == [
        "project.drawn: Drawn",
        "Start",
        "o look: Look [waits for confirmation]",
        '? if size = "large"',
        "|  o dig: Dig [delivers wr.contracts.plan]",
        "<> way: Which",
        "     left | right",
        '? if size = "large"',
        "|  @ Loop outer: while the body decides continue, at most 3 times",
        "|  |  ? if files has items",
        "|  |  |  @ Loop inner: for each file of files, at most 3 times",
        "|  |  |  |  o try: Try",
        '|  |  ? if size = "large"',
        "|  |  |  o weigh: Weigh [delivers wr.contracts.loop_control]",
        "o hand: Hand over [delivers wr.contracts.handoff] [from template wr.templates.handoff_summary]",
        "Complete",
    ]


def test_mermaid_draws_loops_choices_and_words_on_edges() -> None:
    lines = draw_mermaid(everything()).splitlines()

    assert lines[0] == "flowchart TD"
    assert '  n4{"Which<br/>way"}' in lines
    assert '  n4 -->|"left #124; right"| n5' in lines
    assert '  n2 -->|"if size = #quot;large#quot;"| n3' in lines
    assert '  n2 -.->|"otherwise"| n4' in lines
    boxes = [line.strip() for line in lines if line.strip().startswith("subgraph")]
    assert [re.sub(r"^subgraph \w+", "", box) for box in boxes] == [
        '["Loop outer: while the body decides continue, at most 3 times"]',
        '["Loop inner: for each file of files, at most 3 times"]',
    ]
    assert sum(line.strip() == "end" for line in lines) == 2


def test_mermaid_text_cannot_leave_its_label() -> None:
    drawing = draw_mermaid(graph_of(step("a", title=HOSTILE)))

    line = next(line for line in drawing.splitlines() if "script" in line)
    label = line[line.index('["') + 2 : line.rindex('"]')]
    assert not set(label.replace("<br/>", "")) & set('"<>`|\\\x07\u202e')


def test_svg_is_one_well_formed_document() -> None:
    drawing = draw_svg(everything())

    root = ElementTree.fromstring(drawing)
    assert root.tag == SVG + "svg"
    assert not re.findall(r"href|src=|url\((?!#)|@import|<script|<foreignObject", drawing)
    assert root.findtext(f"{SVG}title") == "project.drawn: Drawn"


def test_svg_escapes_what_authors_write() -> None:
    root = ElementTree.fromstring(draw_svg(graph_of(step("a", title=HOSTILE))))

    titles = [title.text or "" for title in root.iter(SVG + "title")]
    assert any("<script>\"'&`|#]})\\" in title for title in titles)
    assert not any(element.tag.endswith("script") for element in root.iter())


def boxes_of(root: ElementTree.Element) -> list[tuple[int, int, int, int]]:
    """Left, top, right and bottom of every node that is a rectangle."""
    found = []
    for group in root.iter(SVG + "g"):
        for shape in group:
            if shape.tag == SVG + "rect":
                x, y, width, height = (int(shape.attrib[name]) for name in ("x", "y", "width", "height"))
                found.append((x, y, x + width, y + height))
    return found


def test_svg_nodes_stand_below_each_other_inside_the_picture() -> None:
    root = ElementTree.fromstring(draw_svg(everything()))

    width, height = int(root.attrib["width"]), int(root.attrib["height"])
    boxes = boxes_of(root)
    assert len(boxes) == 8
    for (_, _, _, bottom), (_, top, _, _) in pairwise(boxes):
        assert bottom < top
    assert all(left >= 0 and right <= width and bottom <= height for left, _, right, bottom in boxes)


def test_svg_loop_boxes_lie_inside_the_picture() -> None:
    root = ElementTree.fromstring(draw_svg(everything()))

    outer, inner = (
        [int(box.attrib[name]) for name in ("x", "y", "width", "height")]
        for box in root.iter(SVG + "rect")
        if box.attrib.get("class") == "loop"
    )
    assert 0 <= outer[0] < inner[0]
    assert outer[1] < inner[1]
    assert inner[0] + inner[2] < outer[0] + outer[2] <= int(root.attrib["width"])
    assert inner[1] + inner[3] < outer[1] + outer[3] <= int(root.attrib["height"])


def test_svg_long_words_are_cut_and_whole_in_the_tooltip() -> None:
    title = "word " * 39 + "end"

    root = ElementTree.fromstring(draw_svg(graph_of(step("a", title=title))))

    lines = [text.text or "" for text in root.iter(SVG + "text")]
    assert max(map(len, lines)) <= 56
    assert any(title in (held.text or "") for held in root.iter(SVG + "title"))


def test_eight_loops_inside_each_other_are_drawn() -> None:
    nested = step("deep")
    for depth in range(8):
        nested = loop(f"l{depth}", nested)

    root = ElementTree.fromstring(draw_svg(graph_of(nested)))

    assert len([box for box in root.iter(SVG + "rect") if box.attrib.get("class") == "loop"]) == 8
