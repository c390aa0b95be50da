"""Which disks a power failure can leave: worked out by hand for small cases."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from tests.cases import every_case
from tests.store_proof.crash_states import (
    ROOT,
    DiskModel,
    NameChange,
    Tree,
    Written,
    is_exhaustive,
    states_after,
    subsets_of,
)

ALL = 10_000


def check(model: DiskModel, expected: Iterable[Tree], limit: int = ALL) -> None:
    """Exactly these disks, whatever the order."""
    found = {frozenset(tree.items()) for tree in states_after(model.snapshot(), limit, Random(1))}

    assert found == {frozenset(tree.items()) for tree in expected}


def test_a_disk_at_rest_is_found_as_it_is() -> None:
    model = DiskModel()
    folder = model.adopt(ROOT, "folder", None)
    model.adopt(folder, "file", b"abc")

    check(model, [{"folder": None, "folder/file": b"abc"}])


def test_an_unsynced_name_may_be_lost_and_its_file_with_it() -> None:
    model = DiskModel()
    node = model.create(ROOT, "a", is_directory=False)
    model.change(node, Written(offset=0, content=b"x"))
    model.sync(node)

    check(model, [{}, {"a": b"x"}])


def test_unsynced_bytes_may_be_lost_or_read_as_zeros() -> None:
    model = DiskModel()
    node = model.adopt(ROOT, "a", b"12")
    model.change(node, Written(offset=2, content=b"345"))

    check(model, [{"a": b"12"}, {"a": b"12\0\0\0"}, {"a": b"12345"}])


def test_a_write_is_torn_between_sectors_in_any_order() -> None:
    model = DiskModel()
    node = model.adopt(ROOT, "a", b"")
    first, second = b"x" * 512, b"y" * 8
    model.change(node, Written(offset=0, content=first + second))
    zeros, few = bytes(512), bytes(8)

    contents = [b"", zeros + few, first, first + few, zeros + second, first + second]
    check(model, [{"a": content} for content in contents])


def test_a_rename_happens_whole_or_not_at_all() -> None:
    model = DiskModel()
    node = model.adopt(ROOT, "a", b"x")
    model.change_names(ROOT, NameChange(gone="a", name="b", node=node))

    check(model, [{"a": b"x"}, {"b": b"x"}])


def test_unsynced_renames_and_creations_arrive_in_any_order() -> None:
    model = DiskModel()
    node = model.adopt(ROOT, "a", b"x")
    model.change_names(ROOT, NameChange(gone="a", name="b", node=node))
    model.create(ROOT, "c", is_directory=False)

    check(model, [{"a": b"x"}, {"b": b"x"}, {"a": b"x", "c": b""}, {"b": b"x", "c": b""}])


def test_after_a_sync_nothing_is_in_doubt() -> None:
    model = DiskModel()
    node = model.create(ROOT, "a", is_directory=False)
    model.change(node, Written(offset=0, content=b"x" * 2000))
    model.sync(node)
    model.sync(ROOT)

    check(model, [{"a": b"x" * 2000}])


@every_case("count", range(8))
def test_subsets_begin_with_nothing_and_end_with_everything(count: int) -> None:
    found = list(subsets_of(count))

    assert found[0] == ()
    assert found[-1] == tuple(range(count))
    assert count > 3 or len(set(found)) == 2**count


def many_in_doubt() -> DiskModel:
    model = DiskModel()
    for number in range(6):
        node = model.adopt(ROOT, f"f{number}", b"")
        model.change(node, Written(offset=0, content=b"z" * 1500))
    return model


def test_too_many_states_are_sampled_with_both_extremes() -> None:
    snapshot = many_in_doubt().snapshot()

    trees = list(states_after(snapshot, 60, Random(1)))

    assert not is_exhaustive(snapshot, 60, Random(1))
    assert len(trees) < 200
    assert {f"f{number}": b"" for number in range(6)} in trees
    assert {f"f{number}": b"z" * 1500 for number in range(6)} in trees


def test_a_sample_is_the_same_for_the_same_seed() -> None:
    snapshot = many_in_doubt().snapshot()

    runs = [list(states_after(snapshot, 60, Random(seed))) for seed in (5, 5, 6)]

    assert runs[0] == runs[1]
    assert runs[0] != runs[2]
