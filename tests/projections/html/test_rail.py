"""The rail of a run: the preferred path in lane 0, forks beside it, and no two nodes in one place."""

from __future__ import annotations

from handrail.projections.html.rail import draw_rail
from handrail.projections.run_graph import lay_out, run_graph
from tests.engine.written_log import RUN_ID, WrittenLog
from tests.projections.html.test_elements import Seen


def test_the_preferred_path_is_straight_and_forks_stand_beside_it() -> None:
    log = WrittenLog("a", "b", "c", "d")
    first = log.start()
    second = log.advance(first, "one")
    lost = log.walk(second, "left", "left again")
    saved = log.checkpoint(second, "saved")
    kept = log.walk(second, "kept", "kept again")

    placed = lay_out(run_graph(log.history, RUN_ID))

    lanes = {node.node_id: lane for node, lane in placed}
    assert lanes[first.node_id] == lanes[second.node_id] == lanes[kept.node_id] == 0
    assert lanes[lost.node_id] == lanes[saved.node_id] == 1
    assert len(placed) == 7
    assert placed[-1] == (log.history.nodes[kept.node_id], 0)


def test_a_fork_of_a_fork_goes_one_lane_further() -> None:
    log = WrittenLog("a", "b", "c", "d")
    first = log.start()
    side = log.advance(first, "side")
    log.advance(side, "deep one")
    log.advance(side, "deep two")
    log.walk(first, "main", "main again")

    placed = lay_out(run_graph(log.history, RUN_ID))

    assert sorted(lane for _, lane in placed) == [0, 0, 0, 1, 1, 2]


def test_the_picture_has_one_mark_and_one_label_per_node_and_is_hidden_from_screen_readers() -> None:
    placed = {"kind": "step", "title": "<b>" + "x" * 100, "lane": 0, "is_on_path": True}
    first = {**placed, "id": "nod_1", "parent": None, "row": 0, "is_tip": False}
    last = {**placed, "id": "nod_2", "parent": "nod_1", "row": 1, "is_tip": True}

    seen = Seen(draw_rail([first, last]).markup)

    tags = [tag for tag, _ in seen.tags]
    assert (tags.count("circle"), tags.count("text"), tags.count("path"), tags.count("b")) == (2, 2, 1, 0)
    assert seen.tags[0][1]["aria-hidden"] == "true"
    assert all(len(text) == 60 for text in seen.texts)
