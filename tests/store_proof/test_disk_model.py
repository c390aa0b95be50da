"""The model of a disk: what is durable, and what a running program sees before that."""

from __future__ import annotations

from tests.store_proof.crash_states import (
    ROOT,
    DiskModel,
    NameChange,
    Resized,
    Written,
    apply_change,
    names_after,
)


def test_new_file_is_seen_at_once_and_durable_by_two_syncs() -> None:
    model = DiskModel()
    node = model.create(ROOT, "a", is_directory=False)
    model.change(node, Written(offset=0, content=b"abc"))

    model.sync(node)
    before = model.snapshot()
    model.sync(ROOT)

    assert model.names_in(ROOT) == {"a": node}
    assert (before[ROOT].names, before[node].content) == ({}, b"abc")
    assert model.nodes[ROOT].names == {"a": node}


def test_a_snapshot_does_not_change_with_the_model() -> None:
    model = DiskModel()
    node = model.adopt(ROOT, "a", b"old")
    before = model.snapshot()

    model.change(node, Written(offset=0, content=b"new"))
    model.sync(node)

    assert before[node].content == b"old"
    assert model.nodes[node].content == b"new"


def test_changes_of_bytes() -> None:
    assert apply_change(b"abcdef", Written(offset=2, content=b"XY")) == b"abXYef"
    assert apply_change(b"ab", Written(offset=4, content=b"X")) == b"ab\0\0X"
    assert apply_change(b"abcdef", Resized(size=2)) == b"ab"
    assert apply_change(b"ab", Resized(size=4)) == b"ab\0\0"


def test_changes_of_names() -> None:
    names = {"a": 1, "b": 2}

    assert names_after(names, (NameChange(gone="a", name="c", node=1),)) == {"b": 2, "c": 1}
    assert names_after(names, (NameChange(gone="a"), NameChange(name="a", node=3))) == {"a": 3, "b": 2}
    assert names == {"a": 1, "b": 2}
