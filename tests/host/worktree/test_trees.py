"""Trees: what differs from the commit, equal ids for equal files, and what changed between two of them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from handrail.host.worktree import trees
from handrail.host.worktree.local_worktree import LocalWorktree
from handrail.ports.worktree import Changes, Tree, Unseen
from tests.host.worktree.project import (
    commit,
    modes,
    open_worktree,
    picture,
    refuse,
    take,
    write,
)
from tests.hostile.repository.checkout import run_git

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def changes(worktree: LocalWorktree, root: Path, before: Tree, after: Tree) -> Changes:
    found = worktree.compare(str(root), before, after)
    assert isinstance(found, Changes), found
    return found


def test_an_unchanged_project_is_its_commit(worktree: LocalWorktree, root: Path) -> None:
    tree = take(worktree, root)

    assert tree.head == run_git(root, "rev-parse", "HEAD").decode().strip()
    assert tree.entries == ()
    assert tree.files == 5


def test_everything_that_differs_is_listed_with_its_mode(worktree: LocalWorktree, root: Path) -> None:
    write(root, "src/a.py", "a = 2\n")
    (root / "src/b.py").unlink()
    (root / "run.sh").chmod(0o644)
    (root / "link").unlink()
    (root / "link").symlink_to("src/b.py")
    write(root, "new/c.py", "c = 3\n")
    write(root, "noise.log", "ignored")
    write(root, "build/out", "ignored")

    tree = take(worktree, root)

    assert modes(tree) == {
        "link": "link",
        "new/c.py": "file",
        "run.sh": "file",
        "src/a.py": "file",
        "src/b.py": "absent",
    }
    asked = run_git(root, "hash-object", "--stdin", "--no-filters", given=b"a = 2\n").decode().strip()
    assert {entry.path: entry.digest for entry in tree.entries}["src/a.py"] == f"sha1:{asked}"


def test_staging_changes_nothing(worktree: LocalWorktree, root: Path) -> None:
    write(root, "src/a.py", "a = 2\n")
    write(root, "new.py", "n = 1\n")
    before = take(worktree, root)

    run_git(root, "add", "-A")
    after = take(worktree, root)

    assert after == before


def test_equal_files_have_equal_ids_whatever_their_times_are(worktree: LocalWorktree, root: Path) -> None:
    before = take(worktree, root)
    write(root, "src/a.py", "a = 2\n")
    between = take(worktree, root)
    write(root, "src/a.py", "a = 1\n")
    os.utime(root / "src/a.py", (1, 1))

    after = take(worktree, root)

    assert after == before
    assert between.tree_id != before.tree_id


def test_a_commit_does_not_change_the_id(worktree: LocalWorktree, root: Path) -> None:
    write(root, "src/a.py", "a = 2\n")
    (root / "src/b.py").unlink()
    before = take(worktree, root)

    commit(root, "two")
    after = take(worktree, root)

    assert after.tree_id == before.tree_id
    assert after.head != before.head
    assert after.entries == ()
    assert changes(worktree, root, before, after) == Changes(changed=(), arrived=())


def test_what_an_edit_changed_is_named(worktree: LocalWorktree, root: Path) -> None:
    write(root, "src/a.py", "dirty before\n")
    before = take(worktree, root)
    write(root, "src/b.py", "b = 3\n")
    write(root, "new.py")
    (root / "run.sh").unlink()

    after = take(worktree, root)

    assert changes(worktree, root, before, after).changed == ("new.py", "run.sh", "src/b.py")
    assert changes(worktree, root, after, before).changed == ("new.py", "run.sh", "src/b.py")


def test_what_a_moved_head_brought_is_told_apart(worktree: LocalWorktree, root: Path) -> None:
    before = take(worktree, root)
    write(root, "pulled.py")
    write(root, "src/b.py", "b = 4\n")
    commit(root, "two")
    write(root, "src/a.py", "edited\n")

    after = take(worktree, root)

    assert changes(worktree, root, before, after) == Changes(
        changed=("src/a.py",), arrived=("pulled.py", "src/b.py"), added=("pulled.py",)
    )


def test_a_file_taken_back_counts_as_changed(worktree: LocalWorktree, root: Path) -> None:
    write(root, "src/a.py", "a = 2\n")
    before = take(worktree, root)
    write(root, "src/a.py", "a = 1\n")

    assert changes(worktree, root, before, take(worktree, root)).changed == ("src/a.py",)


def test_a_lost_commit_is_unseen_with_the_reason(worktree: LocalWorktree, root: Path) -> None:
    after = take(worktree, root)
    before = Tree(head="1" * 40, entries=(), tree_id="t1:0")
    option = Tree(head="--output=/tmp/x", entries=(), tree_id="t1:1")

    for lost in (before, option):
        found = worktree.compare(str(root), lost, after)
        assert isinstance(found, Unseen)
        assert "commit" in found.reason


def test_only_files_below_the_project_count(worktree: LocalWorktree, root: Path) -> None:
    write(root, "src/a.py", "a = 2\n")
    write(root, "src/new.py")
    write(root, "beside.py")

    tree = take(worktree, root / "src")

    assert modes(tree) == {"a.py": "file", "new.py": "file"}
    assert tree.files == 3


def test_a_changed_file_is_found_by_a_process_with_the_cache_of_another(root: Path, tmp_path: Path) -> None:
    before = take(open_worktree(tmp_path / "home"), root)
    again = take(open_worktree(tmp_path / "home"), root)
    write(root, "src/a.py", "a = 7\n")  # as long as before, and as new

    after = take(open_worktree(tmp_path / "home"), root)

    assert again == before
    assert modes(after) == {"src/a.py": "file"}


def test_a_damaged_cache_counts_as_none(root: Path, tmp_path: Path) -> None:
    write(root, "src/a.py", "a = 2\n")
    before = take(open_worktree(tmp_path / "home"), root)
    (kept,) = (tmp_path / "home/data/cache/trees").iterdir()
    whole = kept.read_bytes()

    for damaged in (b"", b"\0" * len(whole), whole[: len(whole) // 2], whole[:-1] + b"\x01", b"text"):
        kept.write_bytes(damaged)
        assert take(open_worktree(tmp_path / "home"), root) == before


def test_what_git_keeps_in_another_form_is_equal_in_two_trees(worktree: LocalWorktree, root: Path) -> None:
    write(root, ".gitattributes", "*.txt text eol=crlf\n")
    write(root, "dos.txt", b"one\r\ntwo\r\n")
    commit(root, "two")
    before = take(worktree, root)
    os.utime(root / "dos.txt", (5, 5))
    write(root, "src/a.py", "a = 9\n")

    after = take(worktree, root)

    assert changes(worktree, root, before, after).changed == ("src/a.py",)


def test_the_repository_is_byte_identical_afterwards(worktree: LocalWorktree, root: Path) -> None:
    write(root, "src/a.py", "a = 2\n")
    before = picture(root / ".git")

    first = take(worktree, root)
    worktree.compare(str(root), first, take(worktree, root))
    worktree.pack_contents(str(root), first)

    assert picture(root / ".git") == before


def test_a_home_inside_the_project_is_no_part_of_it(root: Path) -> None:
    worktree = open_worktree(root / "state")
    before = take(worktree, root)
    write(root, "state/data/more", "x")

    assert take(worktree, root) == before


def test_too_little_time_is_unseen_and_the_next_look_works(worktree: LocalWorktree, root: Path) -> None:
    write(root, "src/a.py", "a = 2\n")

    reason = refuse(worktree, root, seconds=0.0)

    assert "took" in reason
    assert modes(take(worktree, root)) == {"src/a.py": "file"}


def test_too_many_files_are_unseen(
    worktree: LocalWorktree, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trees, "MOST_FILES", 3)

    assert "more than" in refuse(worktree, root)


def test_a_file_too_large_to_read_is_known_by_its_size(
    worktree: LocalWorktree, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trees, "MOST_DIGESTED_BYTES", 100)
    write(root, "large.bin", b"x" * 101)

    (entry,) = take(worktree, root).entries

    assert entry.digest == "size:101"
    assert worktree.pack_contents(str(root), take(worktree, root)).left_out[0].path == "large.bin"
