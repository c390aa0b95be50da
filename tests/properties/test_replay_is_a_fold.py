"""Law: folding any prefix and then the rest equals folding all of it; the log alone decides what is told."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.contract.ids import NodeId
from handrail.engine.facts import facts_at
from handrail.engine.folding import extend, fold
from handrail.engine.history import History, Node, context_at, path_to
from handrail.engine.navigate import Complete
from handrail.projections.overview import session_status
from handrail.projections.recap import recap_at
from handrail.projections.run_graph import current_artifacts, draw_run, run_graph
from tests.engine.contracts import CONTRACTS, FINDING, finding
from tests.engine.written_log import RUN_ID, SESSION_ID, WrittenLog, step, work, workflow_of

pytestmark = pytest.mark.thorough

deltas = st.dictionaries(st.sampled_from(["x", "y", "z"]), st.none() | st.integers(0, 9), max_size=3)
kinds_of_move = st.sampled_from(["advance", "blocked", "checkpoint"])
moves = st.tuples(kinds_of_move, st.integers(0, 1_000), st.text("aé", max_size=5), deltas)
plays = st.lists(moves, max_size=14)
Play: TypeAlias = list[tuple[str, int, str, dict[str, Any]]]


class Told:
    """What should hold, kept by hand beside the log: the parent and the context of every node."""

    def __init__(self) -> None:
        self.parents: dict[NodeId, NodeId | None] = {}
        self.contexts: dict[NodeId, dict[str, Any]] = {}

    def add(self, node: Node, parent: Node | None, delta: dict[str, Any]) -> None:
        inherited = {} if parent is None else self.contexts[parent.node_id]
        merged = inherited | delta
        self.contexts[node.node_id] = {key: value for key, value in merged.items() if value is not None}
        self.parents[node.node_id] = None if parent is None else parent.node_id


def played(play: Play) -> tuple[WrittenLog, Told]:
    """A log in which every move acts on some node that exists by then."""
    steps = [step(name, contract=FINDING) for name in ("a", "b", "c", "d")]
    log, told = WrittenLog(workflow=workflow_of(*steps, contracts=CONTRACTS)), Told()
    first = log.start(context={"x": 0})
    told.add(first, None, {"x": 0})
    nodes = [first]
    for kind, place, notes, delta in play:
        node = nodes[place % len(nodes)]
        if isinstance(node.state, Complete):
            continue
        if kind == "checkpoint":
            made, delta = log.checkpoint(node, notes), {}
        else:
            brought = finding(file="a.py" if kind == "advance" else "")
            made = log.report(node, work(notes, delta, artifacts=[brought]))
        told.add(made, node, delta)
        nodes.append(made)
    return log, told


def projected(history: History, log: WrittenLog) -> object:
    """Everything that readers see of a history."""
    if RUN_ID not in history.runs or history.runs[RUN_ID].first_node is None:
        return None
    graph = run_graph(history, RUN_ID)
    return msgspec.to_builtins(
        {
            "status": session_status(history),
            "tip": graph.preferred_tip,
            "ledger": len(history.anchors[RUN_ID]),
            "drawing": draw_run(graph, lambda node: node.node_id),
            "recaps": {node_id: recap_at(history, log.workflow, node_id) for node_id in history.nodes},
            "artifacts": {node_id: current_artifacts(history, node_id) for node_id in history.nodes},
            "facts": {
                node_id: facts_at(history, log.workflow, node_id).artifacts for node_id in history.nodes
            },
        }
    )


@given(play=plays, cut=st.integers(0, 10_000))
def test_a_prefix_and_then_the_rest_equals_all_of_it(play: Play, cut: int) -> None:
    log, _ = played(play)
    place = cut % (len(log.records) + 1)

    whole = fold(SESSION_ID, log.records)
    prefix = fold(SESSION_ID, log.records[:place])
    in_two = extend(prefix, log.records[place:])

    assert in_two == whole
    assert projected(in_two, log) == projected(whole, log)
    assert prefix == fold(SESSION_ID, log.records[:place])  # extending left the prefix as it was


@settings(max_examples=30)
@given(play=plays)
def test_folding_event_by_event_equals_folding_at_once(
    play: Play,
) -> None:
    log, _ = played(play)

    step_by_step = fold(SESSION_ID, ())
    for record in log.records:
        step_by_step = extend(step_by_step, [record])

    assert step_by_step == fold(SESSION_ID, log.records)


@given(play=plays)
def test_lineage_and_context_are_what_was_done(play: Play) -> None:
    log, told = played(play)
    history = fold(SESSION_ID, log.records)

    assert {node_id: node.parent for node_id, node in history.nodes.items()} == told.parents
    assert {node_id: context_at(history, node_id) for node_id in history.nodes} == told.contexts
    for node_id in history.nodes:
        path = path_to(history, node_id)
        assert path[0].parent is None
        assert [node.parent for node in path[1:]] == [node.node_id for node in path[:-1]]


@given(play=plays)
def test_a_drawing_shows_every_node_once(play: Play) -> None:
    log, _ = played(play)

    lines = draw_run(run_graph(log.history, RUN_ID), lambda node: node.node_id)

    assert sorted(line.rsplit(" ", 1)[1] for line in lines) == sorted(log.history.nodes)
    assert sum(line.split("nod_")[0].endswith("* ") for line in lines) == 1
    assert len({record.dedupe_key for record in log.records}) == len(log.records)
