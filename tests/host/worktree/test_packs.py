"""Packs: what goes in comes out, checked; too large, changed or foreign content never does."""

from __future__ import annotations

import zlib
from pathlib import Path

import msgspec
import pytest

from handrail.host.worktree import restore
from handrail.host.worktree.local_worktree import LocalWorktree
from handrail.ports.worktree import Tree, TreeEntry
from tests.host.worktree.project import take, write


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path / "project", "a.txt", "text\r\n")
    write(tmp_path / "project", "b.bin", b"\0\xff")
    return tmp_path / "project"


def why_left_out(worktree: LocalWorktree, root: Path, tree: Tree) -> dict[str, str]:
    return {left.path: left.why for left in worktree.pack_contents(str(root), tree).left_out}


def test_contents_come_out_as_they_went_in(worktree: LocalWorktree, root: Path) -> None:
    tree = take(worktree, root)
    packed = worktree.pack_contents(str(root), tree)

    contents = worktree.unpack(packed.content)

    assert {entry.path: contents[entry.digest] for entry in tree.entries} == {
        "a.txt": b"text\r\n",
        "b.bin": b"\0\xff",
    }
    assert packed.digests == tuple(sorted(contents))


def test_what_is_known_is_not_packed_again(worktree: LocalWorktree, root: Path) -> None:
    tree = take(worktree, root)
    first = worktree.pack_contents(str(root), tree)
    write(root, "c.txt", "new")

    second = worktree.pack_contents(str(root), take(worktree, root), first.digests)
    third = worktree.pack_contents(str(root), tree, first.digests)

    assert list(worktree.unpack(second.content).values()) == [b"new"]
    assert third.content == b""


def test_large_and_changed_files_are_left_out_with_the_reason(
    worktree: LocalWorktree, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restore, "MOST_CONTENT_BYTES", 1_000)
    monkeypatch.setattr(restore, "MOST_BINARY_BYTES", 100)
    write(root, "large.txt", "x" * 1_001)
    write(root, "large.bin", b"\0" * 101)
    tree = take(worktree, root)
    write(root, "a.txt", "other")

    left = why_left_out(worktree, root, tree)

    assert set(left) == {"large.txt", "large.bin", "a.txt"}
    assert "changed" in left["a.txt"]


def test_a_pack_has_a_limit(worktree: LocalWorktree, root: Path) -> None:
    packed = worktree.pack_contents(str(root), take(worktree, root), most_bytes=6)

    assert [left.path for left in packed.left_out] == ["b.bin"]


@pytest.mark.parametrize("path", ["../outside", "/etc/hostname", "away/outside", ".git/config"])
def test_no_path_of_a_foreign_tree_leads_out_of_the_project(
    worktree: LocalWorktree, root: Path, tmp_path: Path, path: str
) -> None:
    write(tmp_path, "outside", "secret")
    (root / "away").symlink_to(tmp_path)
    entry = TreeEntry(path=path, mode="file", digest="sha1:" + "0" * 40, size=6)

    assert (
        "out of the project"
        in why_left_out(worktree, root, Tree(head="", entries=(entry,), tree_id=""))[path]
    )


@pytest.mark.thorough
def test_a_foreign_pack_gives_only_what_has_its_digest(worktree: LocalWorktree) -> None:
    forged = zlib.compress(msgspec.msgpack.encode({"sha1:" + "0" * 40: b"x", "md5:1": b"y"}))
    bomb = zlib.compress(b"\0" * 200_000_000)

    assert worktree.unpack(forged) == {}
    assert worktree.unpack(bomb) == {}
    assert worktree.unpack(b"no pack") == {}
