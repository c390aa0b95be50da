"""Trees in the log: lists that build on each other, contents that are kept once, and which tree is whose."""

from __future__ import annotations

import msgspec
import pytest

from handrail.contract.ids import BlobRef, NodeId
from handrail.engine.code_trees import (
    LONGEST_CHAIN,
    find_baseline,
    find_latest_tree,
    find_tree,
    find_tree_of,
    list_refs,
    tree_refs,
)
from handrail.engine.events import Scope
from handrail.engine.folding import fold
from handrail.engine.history import MOST_TREES, Node
from handrail.engine.plans import plan_tree
from handrail.operations.kept_trees import (
    PreparedTree,
    StoredTree,
    known_digests,
    prepare_tree,
    restore_list,
)
from handrail.ports.worktree import Packed, Tree, TreeEntry
from handrail.projections.run_graph import preferred_tip
from handrail.runtime.history_cache import decode_history, encode_history
from tests.engine.written_log import RUN_ID, SESSION_ID, WrittenLog

NOTHING = Packed(content=b"", digests=())


def entry(path: str, content: str) -> TreeEntry:
    return TreeEntry(path=path, mode="file", digest=f"sha1:{content}", size=len(content))


def tree(name: str, **files: str) -> Tree:
    entries = tuple(entry(path, content) for path, content in sorted(files.items()))
    return Tree(head="c0ffee", entries=entries, tree_id=f"t1:{name}", files=9)


class Kept:
    """A log with trees, and the blobs that they brought."""

    def __init__(self) -> None:
        self.log = WrittenLog("a", "b", "c")
        self.blobs: dict[BlobRef, bytes] = {}

    def record(self, node: Node, prepared: PreparedTree) -> None:
        self.blobs.update({blob.ref: blob.content for blob in prepared.blobs})
        self.log.take([plan_tree(Scope(run_id=node.run_id, node_id=node.node_id), prepared.fact)])

    def add(self, node: Node, taken: Tree, packed: Packed = NOTHING) -> PreparedTree:
        prepared = prepare_tree(taken, packed, self.latest(node.node_id), "advance")
        self.record(node, prepared)
        return prepared

    def latest(self, node_id: NodeId) -> StoredTree | None:
        recorded = find_latest_tree(self.log.history, node_id)
        if recorded is None:
            return None
        stored = restore_list(self.log.history, recorded, self.blobs)
        assert stored is not None
        return stored

    def tree_at(self, node: Node) -> Tree:
        recorded = find_tree_of(self.log.history, node.node_id)
        assert recorded is not None
        stored = restore_list(self.log.history, recorded, self.blobs)
        assert stored is not None
        return stored.tree


def test_each_node_gives_its_own_tree_back() -> None:
    kept = Kept()
    first = kept.log.start()
    second = kept.log.advance(first, "did a")
    third = kept.log.advance(second, "did b")
    one, two, three = tree("1", a="x", b="y"), tree("2", a="x", c="z"), tree("3", a="w", c="z")

    for node, taken in ((first, one), (second, two), (third, three)):
        kept.add(node, taken)

    assert [kept.tree_at(node) for node in (first, second, third)] == [one, two, three]


def test_the_same_files_again_bring_no_blob() -> None:
    kept = Kept()
    first = kept.log.start()
    second = kept.log.advance(first, "did a")
    kept.add(first, tree("1", a="x"))

    prepared = kept.add(second, tree("1", a="x"))

    assert prepared.blobs == ()
    assert kept.tree_at(second) == tree("1", a="x")


def test_at_most_two_blobs_come_with_a_tree_and_contents_are_kept_once() -> None:
    kept = Kept()
    first = kept.log.start()
    second = kept.log.advance(first, "did a")
    prepared = kept.add(first, tree("1", a="x"), Packed(content=b"pack one", digests=("sha1:x",)))

    again = kept.add(second, tree("2", a="x", b="y"), Packed(content=b"pack two", digests=("sha1:y",)))

    assert len(prepared.blobs) == len(again.blobs) == 2
    assert known_digests(kept.latest(second.node_id)) == {"sha1:x", "sha1:y"}
    assert {held.path: held.pack for held in again.entries} == {
        b"a": prepared.fact.pack_ref,
        b"b": again.fact.pack_ref,
    }
    assert len(tree_refs(again.fact)) == 2


def test_a_list_is_whole_again_after_a_while() -> None:
    kept = Kept()
    node = kept.log.start()

    depths = [kept.add(node, tree(f"{at}", a=f"{at}", b="y")).fact.depth for at in range(LONGEST_CHAIN + 2)]

    assert depths == [*range(LONGEST_CHAIN), 0, 1]
    latest = kept.latest(node.node_id)
    assert latest is not None
    assert latest.tree == tree(f"{LONGEST_CHAIN + 1}", a=f"{LONGEST_CHAIN + 1}", b="y")


def test_names_that_are_not_text_survive() -> None:
    kept = Kept()
    node = kept.log.start()
    odd = Tree(head="", entries=(entry("caf\udce9", "x"),), tree_id="t1:1", files=1)

    kept.add(node, odd)

    assert kept.tree_at(node) == odd


def test_the_first_tree_of_a_node_is_its_own_and_the_baseline_is_the_first_on_the_way() -> None:
    kept = Kept()
    first = kept.log.start()
    second = kept.log.advance(first, "did a")
    third = kept.log.advance(second, "did b")
    kept.add(second, tree("1", a="x"))
    kept.add(second, tree("2", a="y"))
    kept.add(third, tree("3", a="z"))
    history = kept.log.history

    def name(found: object) -> object:
        return None if found is None else found.fact.tree_id  # type: ignore[attr-defined]  # of a recorded tree

    assert name(find_tree_of(history, first.node_id)) is None
    assert name(find_tree_of(history, second.node_id)) == "t1:1"
    assert name(find_latest_tree(history, second.node_id)) == "t1:2"
    assert name(find_baseline(history, third.node_id)) == "t1:1"
    assert name(find_baseline(history, first.node_id)) is None
    assert name(find_tree(history, "t1:3")) == "t1:3"
    assert name(find_tree(history, "t1:9")) is None


def test_a_tree_moves_no_tip_and_opens_no_ledger_entry() -> None:
    kept = Kept()
    first = kept.log.start()
    second = kept.log.advance(first, "did a")
    anchors = list(kept.log.history.anchors[RUN_ID])

    kept.add(first, tree("1", a="x"))

    assert preferred_tip(kept.log.history, RUN_ID).node_id == second.node_id
    assert list(kept.log.history.anchors[RUN_ID]) == anchors


def test_of_many_trees_at_one_node_the_first_and_the_newest_are_kept() -> None:
    kept = Kept()
    node = kept.log.start()
    for at in range(MOST_TREES + 5):
        kept.add(node, tree(f"{at}", a=f"{at}"))

    held = [one.fact.tree_id for one in kept.log.history.trees[node.node_id]]

    assert held == ["t1:0", *(f"t1:{at}" for at in range(6, MOST_TREES + 5))]


def test_a_history_with_trees_is_the_same_from_its_records_and_from_the_cache() -> None:
    kept = Kept()
    node = kept.log.start()
    kept.add(node, tree("1", a="x"))

    assert fold(SESSION_ID, kept.log.records).trees == kept.log.history.trees
    remembered = decode_history(encode_history(kept.log.history))
    assert remembered is not None
    assert remembered.trees == kept.log.history.trees


@pytest.mark.parametrize("content", [b"", b"no list", b"x\x9c"])
def test_a_damaged_list_gives_no_tree(content: bytes) -> None:
    kept = Kept()
    node = kept.log.start()
    prepared = kept.add(node, tree("1", a="x"))
    recorded = find_tree_of(kept.log.history, node.node_id)
    assert recorded is not None
    assert prepared.fact.list_ref is not None

    assert restore_list(kept.log.history, recorded, {prepared.fact.list_ref: content}) is None


def test_a_tree_whose_base_is_missing_is_not_known() -> None:
    kept = Kept()
    node = kept.log.start()
    kept.add(node, tree("1", a="x"))
    kept.add(node, tree("2", a="y"))
    recorded = find_latest_tree(kept.log.history, node.node_id)
    assert recorded is not None
    without = msgspec.structs.replace(kept.log.history, trees={node.node_id: (recorded,)})

    assert list_refs(without, recorded) is None
