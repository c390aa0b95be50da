"""Law: forks, tips and kept notes follow from the shape of a run, from whichever node it grew.

The oracle is written from the sentences of the rule, as slow as it likes, over the raw records.
"""

from __future__ import annotations

import json
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.contract.ledger import fold_ledger
from handrail.engine.events import EdgeCause
from handrail.engine.history import Node, is_fork
from handrail.projections.ledger import ledger_entries
from handrail.projections.recap import recap_at
from handrail.projections.run_graph import run_graph
from tests.engine.contracts import CONTRACTS, FINDING, finding
from tests.engine.written_log import RUN_ID, WrittenLog, step, work, workflow_of

pytestmark = pytest.mark.thorough

MOVES = st.lists(
    st.tuples(st.sampled_from(["advance", "block", "save"]), st.integers(0, 30)), min_size=1, max_size=24
)


class Drawn(msgspec.Struct, frozen=True, kw_only=True):
    """A node as the raw log tells it."""

    name: str
    kind: str
    parent: str | None
    index: int


class Oracle:
    """The sentences of the rule, one method each."""

    def __init__(self, log: WrittenLog) -> None:
        self.nodes: dict[str, Drawn] = {}
        self.last: dict[str, int] = {}
        for record in log.records:
            event = json.loads(record.body)
            data, scope = event["data"], event["scope"]
            if data["kind"] == "node_created":
                self.nodes[scope["nodeId"]] = Drawn(
                    name=scope["nodeId"],
                    kind=data["nodeKind"],
                    parent=data.get("parentNodeId"),
                    index=record.index,
                )
            touched = data["toNodeId"] if data["kind"] == "edge_created" else scope.get("nodeId")
            if touched is not None:
                self.last[touched] = record.index

    def ancestors(self, name: str) -> list[Drawn]:
        """Itself first."""
        node = self.nodes[name]
        return [node] if node.parent is None else [node, *self.ancestors(node.parent)]

    def instance(self, name: str) -> str:
        """The nearest ancestor-or-self of kind step."""
        return next(node.name for node in self.ancestors(name) if node.kind == "step")

    def steps_below(self, instance: str) -> list[Drawn]:
        """Through any chain of blocked attempts and checkpoints."""
        return [
            node
            for node in self.nodes.values()
            if node.kind == "step" and node.parent is not None and self.instance(node.parent) == instance
        ]

    def forks(self) -> set[str]:
        """A step is one when its instance already had a step below it."""
        return {
            node.name
            for node in self.nodes.values()
            if node.kind == "step"
            and node.parent is not None
            and any(other.index < node.index for other in self.steps_below(self.instance(node.parent)))
        }

    def candidates(self) -> set[str]:
        """The leaves, once no checkpoint is left at an end whose instance has moved on."""
        left = dict(self.nodes)
        while True:
            parents = {node.parent for node in left.values()}
            leaves = {name for name in left if name not in parents}
            over = {
                name
                for name in leaves
                if left[name].kind == "checkpoint" and self.steps_below(self.instance(name))
            }
            if not over:
                return leaves
            left = {name: node for name, node in left.items() if name not in over}

    def preferred(self) -> str:
        """The candidate whose history has the highest last event index; then creation, then name."""
        return max(
            self.candidates(),
            key=lambda name: (
                max(self.last[node.name] for node in self.ancestors(name)),
                self.nodes[name].index,
                name,
            ),
        )

    def saved_on_the_way(self, name: str) -> set[str]:
        """The checkpoints whose notes the branch that ends here continues after."""
        path = {node.name: node for node in self.ancestors(name)}
        steps = sorted((node for node in path.values() if node.kind == "step"), key=lambda node: node.index)
        left_at = {
            here.name: after.index for here, after in pairwise(steps)
        }  # when the branch went on from a step
        return {
            node.name
            for node in self.nodes.values()
            if node.kind == "checkpoint"
            and self.instance(node.name) in path
            and node.index < left_at.get(self.instance(node.name), len(self.last) * 1_000)
        }


def grown(moves: list[tuple[str, int]]) -> tuple[WrittenLog, list[tuple[Node, bool, EdgeCause]]]:
    """A run after these moves; per step made: whether the oracle called it a fork before, and its cause."""
    steps = (step(name, contract=FINDING) for name in ("a", "b", "c"))
    log = WrittenLog(workflow=workflow_of(*steps, contracts=CONTRACTS))
    log.start()
    made = []
    for number, (move, choice) in enumerate(moves):
        nodes = list(log.history.nodes.values())
        node = nodes[choice % len(nodes)]
        if move == "save" or not hasattr(node.state, "step_id"):
            log.checkpoint(node, f"saved {number}")
        elif move == "block":
            log.report(node, work(f"tried {number}"))
        else:
            oracle = Oracle(log)
            is_expected = bool(oracle.steps_below(oracle.instance(node.node_id)))
            done = log.report(node, work(f"did {number}", artifacts=[finding()]))
            made.append((done, is_expected, log.history.causes[done.node_id]))
    return log, made


@given(MOVES)
def test_a_step_is_a_fork_whenever_its_instance_was_left_before(moves: list[tuple[str, int]]) -> None:
    log, made = grown(moves)
    graph = run_graph(log.history, RUN_ID)
    forks = Oracle(log).forks()

    assert [cause for _, _, cause in made] == [
        "non_tip_advance" if is_expected else "advance" for _, is_expected, _ in made
    ]
    assert {node.node_id for node, is_expected, _ in made if is_expected} == forks
    assert graph.forks == forks
    assert {node.node_id for node in log.history.nodes.values() if is_fork(log.history, node)} == forks


@given(MOVES)
def test_tip_of_a_run_follows_from_its_shape(moves: list[tuple[str, int]]) -> None:
    log, _ = grown(moves)
    oracle = Oracle(log)
    graph = run_graph(log.history, RUN_ID)

    entries = ledger_entries(log.history, log.records, RUN_ID, "Test")
    state = fold_ledger(tuple(entries)).state

    assert set(graph.tips) == oracle.candidates()
    assert graph.preferred_tip == oracle.preferred()
    assert (state["nodeId"], state["status"]) == (graph.preferred_tip, graph.status)


@given(MOVES, st.integers(0, 30))
def test_a_checkpoint_at_a_step_that_was_left_moves_nothing(
    moves: list[tuple[str, int]], choice: int
) -> None:
    log, _ = grown(moves)
    oracle = Oracle(log)
    left = [name for name in oracle.nodes if oracle.steps_below(oracle.instance(name))]
    before = run_graph(log.history, RUN_ID)

    if left:
        name = left[choice % len(left)]
        log.checkpoint(next(node for node in log.history.nodes.values() if node.node_id == name), "late")

    after = run_graph(log.history, RUN_ID)
    assert (after.preferred_tip, after.status) == (before.preferred_tip, before.status)


@given(MOVES)
def test_notes_of_a_checkpoint_are_in_the_recap_after_it(
    moves: list[tuple[str, int]],
) -> None:
    log, _ = grown(moves)
    oracle = Oracle(log)

    for node in log.history.nodes.values():
        recap = recap_at(log.history, log.workflow, node.node_id)
        told = {entry.node_id for entry in recap.entries if entry.is_checkpoint}

        assert told == oracle.saved_on_the_way(node.node_id)
        ends = {child.node_id for child in recap.children}
        followers = {below.name for below in oracle.steps_below(oracle.instance(node.node_id))}
        assert followers <= ends
        assert all(oracle.nodes[name].kind == "blocked_attempt" for name in ends - followers)
