"""The graph of a workflow: every way through it is an edge, and nothing else is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from handrail.projections.workflow_graph.drawings import draw_svg, draw_text
from handrail.projections.workflow_graph.graph import GraphNode, Item, WorkflowGraph, graph_document
from tests.projections.workflow_graph.drawn import choice, everything, graph_of, loop, step


def ways(graph: WorkflowGraph) -> list[str]:
    """Each edge as `source > target kind label`."""
    return [f"{edge.source} > {edge.target} {edge.kind} {edge.label}".rstrip() for edge in graph.edges]


def test_steps_follow_each_other_from_start_to_end() -> None:
    assert ways(graph_of(step("a"), step("b"))) == [":start > a next", "a > b next", "b > :end next"]


def test_a_condition_leads_into_its_step_or_past_it() -> None:
    assert ways(graph_of(step("a", when="is_large"), step("b"))) == [
        ":start > :if:a next",
        ':if:a > a enter if size = "large"',
        "a > b next",
        ":if:a > b skip otherwise",
        "b > :end next",
    ]


def test_neighbours_with_one_condition_stand_behind_it_together() -> None:
    assert ways(graph_of(step("a", when="is_large"), step("b", when="is_large"))) == [
        ":start > :if:a next",
        ':if:a > a enter if size = "large"',
        "a > b next",
        "b > :end next",
        ":if:a > :end skip otherwise",
    ]


def test_condition_is_asked_again_behind_a_turning_choice() -> None:
    found = ways(graph_of(steering("way", when="is_large"), step("b", when="is_large")))

    assert ":if:way > :if:b skip otherwise" in found
    assert "way > :if:b option left | right" in found


def test_choice_leads_to_the_conditions_it_decides() -> None:
    graph = graph_of(steering("way"), step("a"), step("b", when="is_large"))

    assert [way for way in ways(graph) if " steers " in way] == ["way > :if:b steers right"]
    assert '? if size = "large" (way: right)' in draw_text(graph)
    assert 'class="steer"' in draw_svg(graph)


def test_a_loop_that_may_run_not_even_once_has_a_way_past_it() -> None:
    each = ways(graph_of(loop("each", step("a"), forEach={"input": "files", "as": "file"})))
    meanwhile = ways(graph_of(loop("meanwhile", step("a"), **{"while": "is_large"})))
    asking = ways(graph_of(loop("asking", step("a"), **{"while": "keep_going"})))

    assert ":any:each > :end skip no item" in each
    assert ":any:meanwhile > :end skip not even once" in meanwhile
    assert ":start > a next" in asking


def test_delegated_work_stands_between_its_step_and_the_next() -> None:
    child = {"id": "look", "inputs": {}, "steps": [step("inside")]}
    handing = {"children": [child, {**child, "id": "dig"}]}
    graph = graph_of({"id": "first", "title": "First", "delegate": handing}, step("then"))

    assert ways(graph)[1:] == [
        "first > :child:first:look hands_out",
        "first > :child:first:dig hands_out",
        ":child:first:look > then next",
        ":child:first:dig > then next",
        "then > :end next",
    ]
    assert "|  + look [runs " in draw_text(graph)
    assert ">look<" in draw_svg(graph)


def steering(choice_id: str, **more: str) -> dict[str, Any]:
    drawn = choice(choice_id, "left", "right")
    for option, size in zip(drawn["options"], ("small", "large"), strict=True):
        option["set"] = {"size": size}
    return {**drawn, **more}


def test_the_options_of_a_choice_stand_on_the_way_out_of_it() -> None:
    assert ways(graph_of(choice("way", "left", "right"))) == [
        ":start > way next",
        "way > :end option left | right",
    ]


def test_a_loop_leads_back_to_its_first_node_and_on() -> None:
    graph = graph_of(loop("rounds", step("a"), step("b")))

    assert ways(graph)[1:] == [
        "a > b next",
        "b > :again:rounds next",
        ":again:rounds > a again again",
        ":again:rounds > :end leave done",
    ]
    assert [(box.id, box.label, box.first, box.last) for box in graph.loops] == [
        ("rounds", "Loop rounds: 2 times, at most 3 times", "a", ":again:rounds")
    ]


def test_what_is_special_about_a_step_is_noted() -> None:
    notes = {node.id: node.notes for node in everything().nodes}

    assert notes["look"] == ("waits for confirmation",)
    assert notes["dig"] == ("delivers wr.contracts.plan",)
    assert notes["weigh"] == ("delivers wr.contracts.loop_control",)
    assert notes["hand"][-1] == "from template wr.templates.handoff_summary"


def test_outer_loops_come_before_inner_ones_and_hold_them() -> None:
    graph = everything()

    assert [(box.id, box.loop) for box in graph.loops] == [("outer", ""), ("inner", "outer")]
    assert graph.loops[0].label == "Loop outer: while the body decides continue, at most 3 times"
    assert graph.loops[1].label == "Loop inner: for each file of files, at most 3 times"
    assert {node.id: node.loop for node in graph.nodes}["try"] == "inner"


def test_every_edge_joins_two_nodes() -> None:
    graph = everything()

    ids = [node.id for node in graph.nodes]
    assert len(set(ids)) == len(ids)
    assert {edge.source for edge in graph.edges} == set(ids) - {":end"}
    assert {edge.target for edge in graph.edges} == set(ids) - {":start"}


def test_the_outline_holds_every_node_once() -> None:
    graph = everything()

    def listed(items: Sequence[Item]) -> list[str]:
        found: list[str] = []
        for item in items:
            head = item if isinstance(item, GraphNode) else item.head
            found += [head.id] if isinstance(head, GraphNode) else []
            found += [] if isinstance(item, GraphNode) else listed(item.items)
        return found

    assert listed(graph.outline) == [node.id for node in graph.nodes]


def test_the_document_has_nodes_edges_and_loops_as_plain_data() -> None:
    document = graph_document(graph_of(step("a")))

    assert list(document) == ["workflow_id", "name", "nodes", "edges", "loops"]
    assert document["nodes"][1] == {"id": "a", "kind": "step", "title": "A", "notes": [], "loop": ""}
    assert document["edges"][0] == {"source": ":start", "target": "a", "kind": "next", "label": ""}
