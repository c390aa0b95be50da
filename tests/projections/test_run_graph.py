"""The graph of a run: tips, and the preferred tip by rule instead of by clock."""

from __future__ import annotations

from collections.abc import Mapping

from handrail.contract.ids import NodeId
from handrail.engine.decide import decide_advance
from handrail.engine.history import History, Node
from handrail.engine.navigate import Running
from handrail.engine.tips import find_tip
from handrail.projections.run_graph import run_graph
from tests.engine.written_log import AT, RUN_ID, WrittenLog, attempt, tried, work


def drawn_history(nodes: Mapping[str, tuple[str | None, int, int]]) -> History:
    """A history with these nodes: name -> (parent, index of creation, index of the last event)."""
    made = {
        NodeId(name): Node(
            node_id=NodeId(name),
            run_id=RUN_ID,
            kind="step",
            parent=None if parent is None else NodeId(parent),
            state=Running(step_id="a"),
            tag=name,
            index=created,
            at=AT,
            steps_done=0,
        )
        for name, (parent, created, _) in nodes.items()
    }
    children: dict[NodeId, tuple[NodeId, ...]] = {}
    for node in made.values():
        if node.parent is not None:
            children[node.parent] = (*children.get(node.parent, ()), node.node_id)
    last = {NodeId(name): latest for name, (_, _, latest) in nodes.items()}
    empty = WrittenLog().history
    return History(
        session_id=empty.session_id,
        head_digest=empty.head_digest,
        nodes=made,
        children=children,
        last_index=last,
    )


def check_preferred(nodes: Mapping[str, tuple[str | None, int, int]], expected: str) -> None:
    graph = run_graph(drawn_history(nodes), RUN_ID)

    assert graph.preferred_tip == expected


def test_the_clock_decides_nothing() -> None:
    log = WrittenLog()
    first = log.start()
    plans = [
        decide_advance(log.history, *tried(log.workflow, first, attempt(number), work())) for number in (1, 2)
    ]
    log.take(plans[0], at="2099-01-01T00:00:00.000Z")
    log.take(plans[1], at="1999-01-01T00:00:00.000Z")

    assert find_tip(log.history, RUN_ID).node_id == plans[1][1].scope.node_id


def test_highest_index_on_the_way_counts() -> None:
    check_preferred({"root": (None, 0, 9), "x": ("root", 1, 1), "y": ("root", 2, 3)}, "y")
    check_preferred(
        {
            "root": (None, 0, 0),
            "x": ("root", 1, 8),
            "below_x": ("x", 2, 2),
            "y": ("root", 3, 5),
        },
        "below_x",
    )


def test_a_tie_is_broken_by_creation() -> None:
    check_preferred({"root": (None, 0, 9), "later": ("root", 5, 5), "earlier": ("root", 4, 7)}, "later")


def test_a_second_tie_is_broken_by_the_name() -> None:
    check_preferred({"root": (None, 0, 9), "b": ("root", 4, 5), "a": ("root", 4, 7)}, "b")
