"""The rail of a run: the preferred path in lane 0, forks beside it, and no two nodes in one place."""

from __future__ import annotations

from typing import Any

from handrail.views.runs import RailNode
from handrail_serve.pages.rail_drawing import draw_rail
from tests.journeys.conversation import viewed
from tests.projections.html.test_elements import Seen


def test_picture_has_one_mark_and_one_label_per_node() -> None:
    texts = ("step_id", "pending_title", "at", "verdict", "level", "person", "summary", "option", "tree_id")
    flags = ("is_fork", "has_notes", "is_imported", "is_diverged", "is_person_imported")
    placed: dict[str, Any] = {**dict.fromkeys(texts, ""), **dict.fromkeys(flags, False)}
    placed |= {"artifact_count": 0, "gap_count": 0, "passed": [], "passed_omitted": 0}
    placed |= {"answer": None, "changed": None, "seconds": 0, "attempts": 0}
    placed |= {"kind": "step", "title": "<b>" + "x" * 100, "lane": 0, "is_on_path": True}
    first = {**placed, "id": "nod_1", "parent": None, "row": 0, "is_tip": False}
    last = {**placed, "id": "nod_2", "parent": "nod_1", "row": 1, "is_tip": True}

    seen = Seen(draw_rail([viewed(RailNode, first), viewed(RailNode, last)]).markup)

    tags = [tag for tag, _ in seen.tags]
    assert (tags.count("circle"), tags.count("text"), tags.count("path"), tags.count("b")) == (2, 2, 1, 0)
    assert seen.tags[0][1]["aria-hidden"] == "true"
    assert all(len(text) == 60 for text in seen.texts)
