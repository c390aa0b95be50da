"""Trees in the log: which builds on which, and which tree is whose."""

from __future__ import annotations

import msgspec
import pytest

from handrail.contract.ids import blob_ref
from handrail.engine.code_trees import find_baseline, find_latest_tree, find_tree, find_tree_of, list_chain
from handrail.engine.events import Scope, TreeRecorded
from handrail.engine.folding import fold
from handrail.engine.history import MOST_TREES, Node
from handrail.engine.plans import plan_tree
from handrail.engine.tips import find_tip
from handrail.operations.earlier_trees import restore_list
from handrail.runtime.history_cache import decode_history, encode_history
from tests.engine.written_log import RUN_ID, SESSION_ID, WrittenLog


class Kept:
    """A log with trees."""

    def __init__(self) -> None:
        self.log = WrittenLog("a", "b", "c")

    def record(self, node: Node, fact: TreeRecorded) -> None:
        self.log.take([plan_tree(Scope(run_id=node.run_id, node_id=node.node_id), fact)])

    def add(self, node: Node, name: str, base: str = "") -> None:
        base_node_id = node.node_id if base else None
        fact = TreeRecorded(node_id=node.node_id, tree_id=name, base_node_id=base_node_id, base_tree_id=base)
        self.record(node, fact)


def test_first_tree_of_a_node_is_its_own() -> None:
    kept = Kept()
    first = kept.log.start()
    second = kept.log.advance(first, "did a")
    third = kept.log.advance(second, "did b")
    kept.add(second, "1")
    kept.add(second, "2")
    kept.add(third, "3")
    history = kept.log.history

    def name(found: object) -> object:
        return None if found is None else found.fact.tree_id  # type: ignore[attr-defined]  # of a recorded tree

    assert name(find_tree_of(history, first.node_id)) is None
    assert name(find_tree_of(history, second.node_id)) == "1"
    assert name(find_latest_tree(history, second.node_id)) == "2"
    assert name(find_baseline(history, third.node_id)) == "1"
    assert name(find_baseline(history, first.node_id)) is None
    assert name(find_tree(history, "3")) == "3"
    assert name(find_tree(history, "9")) is None


def test_a_tree_moves_no_tip_and_opens_no_ledger_entry() -> None:
    kept = Kept()
    first = kept.log.start()
    second = kept.log.advance(first, "did a")
    anchors = list(kept.log.history.anchors[RUN_ID])

    kept.add(first, "1")

    assert find_tip(kept.log.history, RUN_ID).node_id == second.node_id
    assert list(kept.log.history.anchors[RUN_ID]) == anchors


def test_first_and_newest_trees_of_a_node_are_kept() -> None:
    kept = Kept()
    node = kept.log.start()
    for at in range(MOST_TREES + 5):
        kept.add(node, f"{at}")

    held = [one.fact.tree_id for one in kept.log.history.trees[node.node_id]]

    assert held == ["0", *(f"{at}" for at in range(6, MOST_TREES + 5))]


def test_history_with_trees_is_the_same_from_the_cache() -> None:
    kept = Kept()
    node = kept.log.start()
    kept.add(node, "1")

    assert fold(SESSION_ID, kept.log.records).trees == kept.log.history.trees
    remembered = decode_history(encode_history(kept.log.history))
    assert remembered is not None
    assert remembered.trees == kept.log.history.trees


def test_a_tree_whose_base_is_missing_is_not_known() -> None:
    kept = Kept()
    node = kept.log.start()
    kept.add(node, "1")
    kept.add(node, "2", base="1")
    recorded = find_latest_tree(kept.log.history, node.node_id)
    assert recorded is not None
    without = msgspec.structs.replace(kept.log.history, trees={node.node_id: (recorded,)})

    assert [one.fact.tree_id for one in list_chain(kept.log.history, recorded) or ()] == ["1", "2"]
    assert list_chain(without, recorded) is None


@pytest.mark.parametrize("content", [b"", b"no list", b"x\x9c"])
def test_a_damaged_earlier_list_gives_no_files(content: bytes) -> None:
    kept = Kept()
    node = kept.log.start()
    ref = blob_ref(content)
    kept.record(node, TreeRecorded(node_id=node.node_id, tree_id="t1:1", listed=1, list_ref=ref))
    recorded = find_latest_tree(kept.log.history, node.node_id)
    assert recorded is not None

    assert restore_list(kept.log.history, recorded, {ref: content}) is None
