"""What trees, commits and their differences hold."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from handrail.ports.trees import GitEntry, Revision, TreeChange
from handrail.ports.worktree import Unseen
from handrail.worktree.git_trees import GitTrees
from tests.worktree.repositories import commit, make_project, run_git, take, write


def ask(root: Path, *arguments: str) -> str:
    return run_git(root, *arguments).decode().strip()


def diff(trees: GitTrees, root: Path, before: str, after: str) -> dict[str, TreeChange]:
    found = trees.diff(str(root), before, after)
    assert isinstance(found, tuple), found
    return {one.path: one for one in found}


def entries(trees: GitTrees, root: Path, tree: str) -> dict[str, GitEntry]:
    found = trees.list_entries(str(root), tree)
    assert isinstance(found, tuple), found
    return {one.path: one for one in found}


def test_changed_files_are_named_without_a_write(trees: GitTrees, root: Path, tmp_path: Path) -> None:
    write(root, "known.txt")
    taken = take(trees, root)
    before = sorted(tmp_path.glob("home/**/*"))
    write(root, "src/a.py", "a = 2\n")
    write(root, "known.txt", "other")
    write(root, "new.txt")
    (root / "src/b.py").unlink()
    (root / "run.sh").touch()

    changed = trees.list_changed(str(root), taken.tree, 10)

    assert changed == ("known.txt", "new.txt", "src/a.py", "src/b.py")
    assert sorted(tmp_path.glob("home/**/*")) == before


def test_changes_against_an_older_tree_outlive_commits(trees: GitTrees, root: Path) -> None:
    first = take(trees, root)
    write(root, "src/a.py", "a = 2\n")
    commit(root)
    take(trees, root)

    assert trees.list_changed(str(root), first.tree, 10) == ("src/a.py",)


def test_changes_against_an_unknown_tree_are_unseen(trees: GitTrees, root: Path) -> None:
    assert trees.list_changed(str(root), "0" * 40, 10) == Unseen(
        reason="the times of the files of that tree are not kept any more"
    )


def test_any_name_of_a_commit_is_resolved(trees: GitTrees, root: Path) -> None:
    first = ask(root, "rev-parse", "HEAD")
    write(root, "src/a.py", "a = 2\n")
    second = commit(root, "fix: two")
    run_git(root, "tag", "-a", "v1", "-m", "v1", first)
    tree, older = ask(root, "rev-parse", "HEAD^{tree}"), ask(root, "rev-parse", f"{first}^{{tree}}")

    for name, expected, of in (
        ("HEAD", second, tree),
        ("HEAD~1", first, older),
        ("v1", first, older),
        (first[:9], first, older),
        ("@{0}", second, tree),
        (":/fix", second, tree),
    ):
        assert trees.resolve(str(root), name) == Revision(name=name, commit=expected, tree=of, root=of)


@pytest.mark.parametrize(
    "name", ["", "nowhere", "--all", "-h", "^HEAD", "HEAD..HEAD", "HEAD\n", "HEAD:src", "0" * 40, "a\0b"]
)
def test_what_names_no_commit_is_unseen(trees: GitTrees, root: Path, name: str) -> None:
    assert isinstance(trees.resolve(str(root), name), Unseen)


def test_subfolder_has_its_own_tree_in_a_commit(trees: GitTrees, root: Path) -> None:
    found = trees.resolve(str(root / "src"), "HEAD")

    assert isinstance(found, Revision)
    assert (found.tree, found.root) == (
        ask(root, "rev-parse", "HEAD:src"),
        ask(root, "rev-parse", "HEAD^{tree}"),
    )
    assert trees.is_clean(str(root / "src"), take(trees, root / "src")) is True


def test_pruned_commit_is_unseen(trees: GitTrees, root: Path) -> None:
    head = ask(root, "rev-parse", "HEAD")
    (root / ".git/objects" / head[:2] / head[2:]).unlink()

    assert isinstance(trees.resolve(str(root), head), Unseen)


def test_merge_base_is_that_with_the_default_branch(trees: GitTrees, root: Path, tmp_path: Path) -> None:
    run_git(root, "branch", "-M", "main")
    base = ask(root, "rev-parse", "HEAD")
    run_git(root, "checkout", "-q", "-b", "work")
    write(root, "new.txt")
    commit(root)
    run_git(tmp_path, "clone", "-q", "-b", "main", str(root), str(tmp_path / "clone"))
    write(tmp_path / "clone", "other.txt")
    commit(tmp_path / "clone")

    found = trees.find_merge_base(str(root))
    cloned = trees.find_merge_base(str(tmp_path / "clone"))

    assert isinstance(found, Revision)
    assert (found.name, found.commit) == ("main", base)
    assert isinstance(cloned, Revision)
    assert cloned.commit == base if cloned.name == "origin/main" else cloned.name == "origin/HEAD"


def test_merge_base_without_a_default_branch_is_unseen(trees: GitTrees, root: Path) -> None:
    run_git(root, "branch", "-M", "trunk")

    assert isinstance(trees.find_merge_base(str(root)), Unseen)


def test_entries_have_modes_and_sizes(trees: GitTrees, root: Path) -> None:
    make_project(root / "nested")
    Path(os.fsdecode(os.fsencode(root) + b"/\xff.txt")).write_text("x", encoding="utf-8")

    found = entries(trees, root, take(trees, root).tree)

    assert {path: (one.mode, one.size) for path, one in found.items()} == {
        ".gitignore": ("100644", 13),
        "link": ("120000", 8),
        "nested": ("160000", -1),
        "run.sh": ("100755", 10),
        "src/a.py": ("100644", 6),
        "src/b.py": ("100644", 6),
        "\udcff.txt": ("100644", 1),
    }
    assert list(found) == sorted(found, key=os.fsencode)


def test_difference_has_lines_modes_and_both_sides(trees: GitTrees, root: Path) -> None:
    write(root, "bin", b"\0\1")
    before = take(trees, root).tree
    write(root, "src/a.py", "a = 2\nb = 3\n")
    (root / "src/b.py").unlink()
    write(root, "bin", b"\0\2")
    (root / "run.sh").chmod(0o644)
    write(root, "a\tb\n.txt", "one\n")
    make_project(root / "nested")

    found = diff(trees, root, before, take(trees, root).tree)

    assert {path: (one.status, one.added, one.removed, one.is_binary) for path, one in found.items()} == {
        "a\tb\n.txt": ("added", 1, 0, False),
        "bin": ("changed", 0, 0, True),
        "nested": ("added", 0, 0, False),
        "run.sh": ("mode", 0, 0, False),
        "src/a.py": ("changed", 2, 1, False),
        "src/b.py": ("deleted", 0, 1, False),
    }
    changed = found["src/a.py"]
    assert changed.before is not None
    assert changed.after is not None
    assert (changed.before.size, changed.after.size) == (6, 12)
    assert trees.read(str(root), changed.after.object_id) == b"a = 2\nb = 3\n"
    assert found["src/b.py"].after is None


def test_difference_of_lost_contents_has_no_lines(trees: GitTrees, root: Path) -> None:
    before = take(trees, root).tree
    write(root, "src/a.py", "a = 2\n")
    after = take(trees, root).tree
    lost = diff(trees, root, before, after)["src/a.py"].after
    assert lost is not None
    next(root.parent.glob(f"home/trees/stores/*/objects/{lost.object_id[:2]}/{lost.object_id[2:]}")).unlink()

    found = diff(trees, root, before, after)["src/a.py"]

    assert found.after is not None
    assert (found.status, found.added, found.after.size) == ("changed", 0, -1)
    assert trees.read(str(root), lost.object_id) is None


def test_contents_are_read_up_to_a_size(trees: GitTrees, root: Path) -> None:
    write(root, "large", b"x" * 3_000_000)
    write(root, "small", "small")
    found = entries(trees, root, take(trees, root).tree)
    ids = {name: found[name].object_id for name in ("large", "small", "link")}
    tree = ask(root, "rev-parse", "HEAD^{tree}")

    asked = (*ids.values(), tree, "0" * 40, "HEAD", "--batch-all-objects")

    assert trees.read_all(str(root), asked, 2_999_999) == {ids["small"]: b"small", ids["link"]: b"src/a.py"}
    assert trees.read(str(root), ids["large"]) == b"x" * 3_000_000
    assert trees.read(str(root), ids["large"], 2_999_999) is None


def test_ids_that_are_none_are_unseen(trees: GitTrees, root: Path) -> None:
    for odd in ("", "HEAD", "--help", "0" * 40, "0" * 64):
        assert isinstance(trees.list_entries(str(root), odd), Unseen)
        assert isinstance(trees.diff(str(root), odd, odd), (Unseen, tuple))
        assert not trees.has_tree(str(root), odd)
        assert trees.keep(str(root), "n", odd)
