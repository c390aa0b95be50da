"""The rail of a run: the preferred path in lane 0, forks beside it, and no two nodes in one place."""

from __future__ import annotations

import pytest

from handrail.projections.html.rail import draw_rail, lay_out
from handrail.projections.run_graph import run_graph
from tests.engine.written_log import RUN_ID, WrittenLog
from tests.projections.html.test_elements import Seen


def test_the_preferred_path_is_straight_and_forks_stand_beside_it() -> None:
    log = WrittenLog("a", "b", "c", "d")
    first = log.start()
    second = log.advance(first, "one")
    lost = log.walk(second, "left", "left again")
    saved = log.checkpoint(second, "saved")
    kept = log.walk(second, "kept", "kept again")

    rail = lay_out(run_graph(log.history, RUN_ID))

    lanes = {place.node_id: place.lane for place in rail.places}
    assert lanes[first.node_id] == lanes[second.node_id] == lanes[kept.node_id] == 0
    assert lanes[lost.node_id] == lanes[saved.node_id] == 1
    assert [place.row for place in rail.places] == list(range(7))
    assert rail.places[-1].node_id == kept.node_id
    assert [place.node_id for place in rail.places if place.is_tip and place.is_preferred] == [kept.node_id]


def test_a_fork_of_a_fork_goes_one_lane_further() -> None:
    log = WrittenLog("a", "b", "c", "d")
    first = log.start()
    side = log.advance(first, "side")
    log.advance(side, "deep one")
    log.advance(side, "deep two")
    log.walk(first, "main", "main again")

    rail = lay_out(run_graph(log.history, RUN_ID))

    assert sorted(place.lane for place in rail.places) == [0, 0, 0, 1, 1, 2]


def test_the_picture_has_one_mark_and_one_label_per_node_and_is_hidden_from_screen_readers() -> None:
    log = WrittenLog("a", "b")
    log.advance(log.start(), "x")
    rail = lay_out(run_graph(log.history, RUN_ID))

    seen = Seen(draw_rail(rail, lambda node_id: "<b>" + "x" * 100).markup)

    tags = [tag for tag, _ in seen.tags]
    assert (tags.count("circle"), tags.count("text"), tags.count("path"), tags.count("b")) == (2, 2, 1, 0)
    assert seen.tags[0][1]["aria-hidden"] == "true"
    assert all(len(text) == 60 for text in seen.texts)


@pytest.mark.thorough
def test_a_long_run_shows_its_newest_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("handrail.projections.html.rail.MOST_ROWS", 50)
    log = WrittenLog("a")
    node = log.start()
    for number in range(60):
        node = log.checkpoint(node, f"n{number}")
    graph = run_graph(log.history, RUN_ID)

    rail = lay_out(graph)
    markup = draw_rail(rail, lambda node_id: node_id).markup

    assert (len(rail.places), rail.omitted) == (50, 11)
    assert rail.places[-1].node_id == node.node_id
    assert node.node_id in markup
