"""The id of a taken tree is that which git gives, whatever the project is like."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from handrail.ports.trees import TakenTree
from handrail.ports.worktree import Unseen
from handrail.worktree import take as taking
from handrail.worktree.git_trees import GitTrees
from tests.worktree.repositories import commit, git_id, make_project, open_trees, run_git, take, write

pytestmark = pytest.mark.thorough


def head_tree(root: Path) -> str:
    return run_git(root, "rev-parse", "HEAD^{tree}").decode().strip()


def test_clean_project_has_the_tree_of_its_commit(trees: GitTrees, root: Path) -> None:
    taken = take(trees, root)

    assert taken.tree == head_tree(root)
    assert taken.head == run_git(root, "rev-parse", "HEAD").decode().strip()
    assert (taken.filtered, taken.nested, taken.left_out) == ((), (), ())
    assert trees.is_clean(str(root), taken) is True


def edit(root: Path) -> None:
    write(root, "src/a.py", "a = 2\n")


def add(root: Path) -> None:
    write(root, "new/deep/c.py", "c = 3\n")


def delete(root: Path) -> None:
    (root / "src/b.py").unlink()


def ignore(root: Path) -> None:
    write(root, "x.log")
    write(root, "build/x")


def force(root: Path) -> None:
    write(root, "forced.log")
    run_git(root, "add", "-f", "forced.log")


def exclude(root: Path) -> None:
    write(root, "private.txt")
    write(root, ".git/info/exclude", "private.txt\n")


def make_executable(root: Path) -> None:
    (root / "src/a.py").chmod(0o755)


def forget_modes(root: Path) -> None:
    run_git(root, "config", "core.filemode", "false")
    (root / "src/a.py").chmod(0o755)


def file_to_folder(root: Path) -> None:
    (root / "src/a.py").unlink()
    write(root, "src/a.py/inner")


def folder_to_file(root: Path) -> None:
    shutil.rmtree(root / "src")
    write(root, "src")


def folder_to_link(root: Path) -> None:
    (root / "src").rename(root / "moved")
    (root / "src").symlink_to("moved")


def folder_to_ignored_link(root: Path) -> None:
    write(root, ".gitignore", "/src\n")
    (root / "src").rename(root / "moved")
    (root / "src").symlink_to("moved")
    write(root, "moved/a.py", "a = 'other'\n")
    write(root, "moved/b.py", "b = 'other'\n")


def link_out(root: Path) -> None:
    (root / "out").symlink_to("/etc/hosts")


def odd_names(root: Path) -> None:
    write(root, "a b\n\t\"c'.txt")
    Path(os.fsdecode(os.fsencode(root) + b"/\xff\xfe.txt")).write_text("x", encoding="utf-8")
    write(root, "-n")
    write(root, ":(glob)x")


def stage(root: Path) -> None:
    write(root, "staged.txt", "one")
    run_git(root, "add", "-A")
    write(root, "staged.txt", "two")


def intend(root: Path) -> None:
    write(root, "intended.txt", "one")
    run_git(root, "add", "-N", "intended.txt")


def convert_lines(root: Path) -> None:
    write(
        root,
        ".gitattributes",
        "*.txt text=auto\n*.bin -text\n*.u16 working-tree-encoding=UTF-16LE\n*.id ident\n",
    )
    write(root, "a.txt", "one\r\ntwo\r\n")
    write(root, "a.bin", "one\r\ntwo\r\n")
    write(root, "a.u16", "text\n".encode("utf-16-le"))
    write(root, "a.id", "$Id: 123 $\n")


def convert_by_setting(root: Path) -> None:
    run_git(root, "config", "core.autocrlf", "input")
    write(root, "a.txt", "one\r\n")


def convert_by_own_attributes(root: Path) -> None:
    write(root, ".git/info/attributes", "*.txt text\n")
    write(root, "a.txt", "one\r\n")


def conflict(root: Path) -> None:
    run_git(root, "checkout", "-q", "-b", "other")
    write(root, "src/a.py", "a = 'theirs'\n")
    commit(root)
    run_git(root, "checkout", "-q", "-")
    write(root, "src/a.py", "a = 'ours'\n")
    commit(root)
    run_git(root, "merge", "-q", "other")


def nest(root: Path) -> None:
    make_project(root / "nested")
    run_git(root, "init", "-q", "--bare", str(root / "bare"))


def submodule(root: Path) -> None:
    nest(root)
    commit(root)
    write(root / "nested", "more.py")
    commit(root / "nested")


def dirty_submodule(root: Path) -> None:
    submodule(root)
    commit(root)
    write(root / "nested", "src/a.py", "dirty")


def split_index(root: Path) -> None:
    run_git(root, "update-index", "--split-index")
    write(root, "src/a.py", "changed")
    run_git(root, "add", "-A")
    write(root, "src/b.py", "changed")


def newer_index(root: Path) -> None:
    run_git(root, "update-index", "--index-version", "4")
    write(root, "src/b.py", "changed")


def no_index(root: Path) -> None:
    (root / ".git/index").unlink()


def sparse(root: Path) -> None:
    run_git(root, "sparse-checkout", "set", "--cone", "other")


def by_link(root: Path) -> None:
    (root / ".git").rename(root.parent / "elsewhere")
    (root / ".git").symlink_to(root.parent / "elsewhere")


def untrack(root: Path) -> None:
    run_git(root, "rm", "-q", "--cached", "src/a.py")
    write(root, ".gitignore", "src/a.py\n")


CHANGES = (
    *(
        edit,
        add,
        delete,
        ignore,
        force,
        exclude,
        make_executable,
        forget_modes,
        file_to_folder,
        folder_to_file,
    ),
    *(folder_to_link, folder_to_ignored_link, link_out, odd_names, stage, intend, convert_lines),
    *(convert_by_setting, convert_by_own_attributes, conflict, nest, submodule, dirty_submodule),
    *(split_index, newer_index, no_index, sparse, by_link, untrack),
)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("is_known", [False, True])
def test_id_equals_that_of_git(
    trees: GitTrees, root: Path, change: Callable[[Path], None], is_known: bool
) -> None:
    if is_known:
        take(trees, root)
    change(root)

    taken = take(trees, root)

    assert taken.tree == git_id(root)
    assert taken.left_out == ()
    assert take(trees, root) == taken


@pytest.mark.parametrize("change", [edit, add, delete, stage, convert_lines, nest])
def test_id_of_a_subfolder_equals_that_of_git(
    trees: GitTrees, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    root = tmp_path / "whole"
    make_project(root)
    make_project_files(root / "part of it")
    commit(root)
    write(root, "src/a.py", "not of the part")
    change(root / "part of it")

    taken = take(trees, root / "part of it")

    assert taken.tree == git_id(root, "part of it")
    assert take(trees, root / "part of it") == taken


def make_project_files(folder: Path) -> None:
    write(folder, "src/a.py", "a = 1\n")
    write(folder, "src/b.py", "b = 2\n")


def test_subfolder_without_files_is_the_empty_tree(trees: GitTrees, root: Path) -> None:
    write(root, "build/x")

    assert take(trees, root / "build").tree == "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


def test_conflict_outside_of_a_subfolder_is_no_obstacle(trees: GitTrees, root: Path) -> None:
    write(root, "part/x")
    commit(root)
    conflict(root)
    assert run_git(root, "ls-files", "-u")

    assert take(trees, root / "part").tree == git_id(root, "part")


def test_repository_without_a_commit_has_a_tree(trees: GitTrees, tmp_path: Path) -> None:
    root = tmp_path / "fresh"
    root.mkdir()
    run_git(root, "init", "-q", ".")
    empty = take(trees, root)
    write(root, "a.txt")

    taken = take(trees, root)

    assert (empty.tree, empty.head) == ("4b825dc642cb6eb9a060e54bf8d69288fbee4904", "")
    assert (taken.tree, taken.head) == (git_id(root), "")
    assert trees.is_clean(str(root), empty) is True
    assert trees.is_clean(str(root), taken) is False


def test_sha256_repository_has_long_ids(trees: GitTrees, tmp_path: Path) -> None:
    root = tmp_path / "long"
    root.mkdir()
    run_git(root, "init", "-q", "--object-format=sha256", ".")
    write(root, "a.txt")
    commit(root)
    write(root, "b.txt")

    taken = take(trees, root)

    assert len(taken.tree) == 64
    assert taken.tree == git_id(root)
    assert taken.head == run_git(root, "rev-parse", "HEAD").decode().strip()


def test_linked_worktree_shares_what_is_known(trees: GitTrees, root: Path, tmp_path: Path) -> None:
    run_git(root, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    write(tmp_path / "side", "src/a.py", "a = 'side'\n")

    taken = take(trees, tmp_path / "side")
    run_git(tmp_path / "side", "add", "-A")

    assert taken.tree == run_git(tmp_path / "side", "write-tree").decode().strip()
    assert trees.has_tree(str(root), taken.tree)


def test_worktree_that_is_not_named_back_is_not_seen(trees: GitTrees, root: Path, tmp_path: Path) -> None:
    run_git(root, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    write(tmp_path, "thief/.git", (tmp_path / "side/.git").read_bytes())

    assert trees.take(str(tmp_path / "thief")) == Unseen(
        reason="the folder names a git repository that does not name it back"
    )


def test_borrowed_objects_of_the_project_are_found(trees: GitTrees, root: Path, tmp_path: Path) -> None:
    run_git(tmp_path, "clone", "-q", "--shared", str(root), str(tmp_path / "clone"))
    write(tmp_path / "clone", "new.txt")

    taken = take(trees, tmp_path / "clone")

    assert taken.tree == git_id(tmp_path / "clone")


def test_odd_place_of_a_project_is_no_obstacle(trees: GitTrees, tmp_path: Path) -> None:
    root = tmp_path / 'a "b"\n#c:d'
    make_project(root)
    write(root, "new.txt")

    assert take(trees, root).tree == git_id(root)


def test_own_settings_of_the_user_count(root: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    write(own, ".gitconfig", "[core]\n\texcludesFile = ~/rules\n[include]\n\tpath = more\n")
    write(own, "more", "[core]\n\tautocrlf = input\n")
    write(own, "rules", "*.tmp\n")
    write(root, "a.tmp")
    write(root, "a.txt", "one\r\n")
    trees = open_trees(tmp_path / "home", HOME=str(own))

    taken = take(trees, root)

    assert taken.tree == git_id(root, HOME=str(own))
    write(own, "more", "[core]\n\tautocrlf = false\n")
    (root / "a.txt").touch()
    assert take(trees, root).tree == git_id(root, HOME=str(own))


def test_change_of_settings_is_noticed(trees: GitTrees, root: Path) -> None:
    write(root, "a.tmp")
    first = take(trees, root)
    write(root, ".git/info/exclude", "*.tmp\n")

    second = take(trees, root)

    assert first.tree != second.tree
    assert second.tree == git_id(root)


def test_commit_changes_the_head_and_not_the_tree(trees: GitTrees, root: Path) -> None:
    write(root, "new.txt")
    before = take(trees, root)
    head = commit(root)

    after = take(trees, root)

    assert (after.tree, after.head) == (before.tree, head)
    assert before.head != head


def test_packed_and_detached_heads_are_read(trees: GitTrees, root: Path) -> None:
    head = run_git(root, "rev-parse", "HEAD").decode().strip()
    run_git(root, "pack-refs", "--all")
    assert take(trees, root).head == head
    run_git(root, "checkout", "-q", "--detach")
    assert take(trees, root).head == head


def test_filtered_files_are_raw_and_named(trees: GitTrees, root: Path) -> None:
    write(root, ".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 4\n"
    write(root, "big.bin", pointer)
    commit(root)
    clean = take(trees, root)
    write(root, "big.bin", "real")

    taken = take(trees, root)

    assert (clean.filtered, taken.filtered) == (("big.bin",), ("big.bin",))
    entries = trees.list_entries(str(root), taken.tree)
    assert not isinstance(entries, Unseen)
    entry = next(one for one in entries if one.path == "big.bin")
    assert trees.read(str(root), entry.object_id) == b"real"
    assert trees.is_clean(str(root), taken) is True
    write(root, "src/a.py", "other")
    assert trees.is_clean(str(root), take(trees, root)) is False


def test_nested_repositories_are_named(trees: GitTrees, root: Path) -> None:
    nest(root)

    taken = take(trees, root)

    assert taken.nested == ("nested",)
    assert take(trees, root).nested == ("nested",)


def test_other_repository_without_a_commit_is_left_out(trees: GitTrees, root: Path) -> None:
    (root / "empty").mkdir()
    run_git(root / "empty", "init", "-q", ".")
    make_project(root / "full")

    taken = take(trees, root)

    assert [one.path for one in taken.left_out] == ["empty"]
    assert taken.nested == ("full",)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_files_are_left_out_and_named(trees: GitTrees, root: Path) -> None:
    before = take(trees, root)
    write(root, "closed.txt").chmod(0)
    write(root, "closed/x")
    (root / "closed").chmod(0)
    write(root, "src/a.py", "changed").chmod(0)
    write(root, "new.txt")

    taken = take(trees, root)

    (root / "closed").chmod(0o700)
    assert [one.path for one in taken.left_out] == ["closed", "closed.txt", "src/a.py"]
    assert isinstance(changes := trees.diff(str(root), before.tree, taken.tree), tuple)
    assert [one.path for one in changes] == ["new.txt"]


def test_pipes_credentials_and_large_files_are_left_out(
    trees: GitTrees, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(taking, "MOST_FILE_BYTES", 100)
    (root / "src/a.py").unlink()
    os.mkfifo(root / "src/a.py")
    write(root, ".env", "SECRET=1")
    write(root, "large.bin", b"x" * 101)
    write(root, "fits.bin", b"x" * 100)
    write(root, "bad.u16", b"x")
    write(root, ".gitattributes", "*.u16 working-tree-encoding=UTF-16\n")

    taken = take(trees, root)

    assert [one.path for one in taken.left_out] == [".env", "bad.u16", "large.bin", "src/a.py"]
    assert not any(b"SECRET" in path.read_bytes() for path in root.parent.glob("home/**/*") if path.is_file())
    assert "fits.bin" in [one.path for one in trees.list_entries(str(root), taken.tree)]  # type: ignore[union-attr]


def test_own_home_below_the_project_is_in_no_list(root: Path) -> None:
    trees = open_trees(root / "deep/home")
    write(root, "deep/home/keys", "secret")

    taken = take(trees, root)

    assert taken.tree == head_tree(root)
    assert taken.left_out == ()


@pytest.mark.parametrize("ignorecase", ["true", "false"])
def test_case_folding_follows_the_setting(trees: GitTrees, root: Path, ignorecase: str) -> None:
    run_git(root, "config", "core.ignorecase", ignorecase)
    (root / "src").rename(root / "SRC")

    assert take(trees, root).tree == git_id(root)


def test_pruned_objects_are_read_again(trees: GitTrees, root: Path) -> None:
    write(root, "new.txt", "only here")
    taken = take(trees, root)
    for path in root.parent.glob("home/trees/stores/*/objects/??/*"):
        path.unlink()
    assert not trees.has_tree(str(root), taken.tree)
    write(root, "src/a.py", "more")

    again = take(trees, root)

    assert again.tree == git_id(root)
    assert trees.has_tree(str(root), again.tree)


def test_without_a_repository_nothing_is_seen(trees: GitTrees, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()

    assert trees.take(str(tmp_path / "plain")) == Unseen(reason="the project is not in a git repository")


def test_without_git_nothing_is_seen(root: Path, tmp_path: Path) -> None:
    trees = GitTrees(str(tmp_path / "home"), {"PATH": str(tmp_path)})

    assert trees.take(str(root)) == Unseen(reason="git is not installed")


def test_too_little_time_is_said(trees: GitTrees, root: Path) -> None:
    taken = trees.take(str(root), 0.000_001)

    assert taken == Unseen(reason="reading the files took longer than 1e-06 seconds")


def test_files_that_were_read_are_not_read_again(
    trees: GitTrees, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(taking, "_MOST_AT_ONCE", 2)
    for number in range(5):
        write(root, f"new/{number}", str(number))

    assert take(trees, root).tree == git_id(root)


def test_taken_twice_at_once_both_are_right(root: Path, tmp_path: Path) -> None:
    write(root, "new.txt")
    code = (
        "import os, sys; from handrail.worktree.git_trees import GitTrees;"
        "print(GitTrees(sys.argv[1], dict(os.environ)).take(sys.argv[2]).tree)"
    )
    command = ["python", "-c", code, str(tmp_path / "home"), str(root)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(4)]
    printed = {one.communicate()[0].decode().strip() for one in running}

    assert printed == {git_id(root)}


def test_what_a_killed_process_left_is_no_obstacle(trees: GitTrees, root: Path, tmp_path: Path) -> None:
    take(trees, root)
    for folder in tmp_path.glob("home/trees/projects/*"):
        write(folder, "index.lock")
        write(folder, "work/half.lock")
        (folder / "state.json").unlink()
        write(folder, "index", "half")
    write(root, "new.txt")

    assert take(trees, root).tree == git_id(root)


def test_take_has_the_form_of_the_port(trees: GitTrees, root: Path) -> None:
    assert isinstance(trees.take(str(root)), TakenTree)


@pytest.mark.parametrize("mark", ["--skip-worktree", "--assume-unchanged"])
def test_file_that_git_leaves_alone_is_taken(trees: GitTrees, root: Path, mark: str) -> None:
    run_git(root, "update-index", mark, "src/a.py", "run.sh")
    before = take(trees, root)
    write(root, "src/a.py", "hidden\n")
    (root / "run.sh").unlink()

    after = take(trees, root)

    found = trees.diff(str(root), before.tree, after.tree)
    assert isinstance(found, tuple)
    assert [(one.path, one.status) for one in found] == [("run.sh", "deleted"), ("src/a.py", "changed")]
    assert before.tree == run_git(root, "rev-parse", "HEAD^{tree}").decode().strip()
    changed = trees.list_changed(str(root), before.tree, 10)
    assert changed == ("run.sh", "src/a.py")


def test_sparse_checkout_has_the_tree_of_its_commit(trees: GitTrees, root: Path) -> None:
    whole = take(trees, root)
    run_git(root, "sparse-checkout", "set", "--no-cone", "/run.sh")
    assert not (root / "src/a.py").exists()

    assert take(trees, root).tree == whole.tree
    write(root, "src/a.py", "hidden\n")
    found = trees.diff(str(root), whole.tree, take(trees, root).tree)
    assert isinstance(found, tuple)
    assert [one.path for one in found] == ["src/a.py"]


BY_PRODUCTS = (
    "src/__pycache__/a.cpython-311.pyc",
    "__pycache__/b.cpython-311.pyc",
    ".pytest_cache/v/cache/lastfailed",
    ".mypy_cache/3.11/a.json",
    ".ruff_cache/0/1",
    "node_modules/.cache/babel/1.json",
    ".coverage",
    ".coverage.host.1",
)


def test_what_tools_leave_behind_is_in_no_tree(trees: GitTrees, root: Path) -> None:
    before = take(trees, root)
    for path in BY_PRODUCTS:
        write(root, path)

    assert take(trees, root).tree == before.tree
    assert trees.list_changed(str(root), before.tree, 10) == ()


def test_tracked_by_product_is_in_the_tree(trees: GitTrees, root: Path) -> None:
    write(root, "src/__pycache__/b.cpython-311.pyc", "one\n")
    run_git(root, "add", "-f", "src/__pycache__/b.cpython-311.pyc")
    before = take(trees, root)
    write(root, "src/__pycache__/b.cpython-311.pyc", "two\n")

    assert take(trees, root).tree != before.tree


def test_plain_folder_has_a_tree_where_it_is_asked_for(trees: GitTrees, tmp_path: Path) -> None:
    plain = tmp_path / "plain with blanks"
    write(plain, "a.py", "a\n")
    write(plain, ".gitignore", "*.log\n")
    write(plain, "noise.log")

    first = trees.take(str(plain), is_anywhere=True)
    write(plain, "b.py", "b\n")
    second = trees.take(str(plain), is_anywhere=True)

    assert isinstance(first, TakenTree)
    assert isinstance(second, TakenTree)
    assert first.tree == git_id_of_plain(tmp_path / "copy", {"a.py": "a\n", ".gitignore": "*.log\n"})
    found = trees.diff(str(plain), first.tree, second.tree)
    assert isinstance(found, tuple)
    assert [(one.path, one.status) for one in found] == [("b.py", "added")]
    assert not (plain / ".git").exists()


def git_id_of_plain(copy: Path, files: dict[str, str]) -> str:
    for name, content in files.items():
        write(copy, name, content)
    run_git(copy, "init", "-q", ".")
    run_git(copy, "add", "-A")
    return run_git(copy, "write-tree").decode().strip()


def test_bare_and_missing_projects_are_unseen(trees: GitTrees, tmp_path: Path) -> None:
    run_git(tmp_path, "init", "-q", "--bare", "bare.git")

    bare = trees.take(str(tmp_path / "bare.git"), is_anywhere=True)
    missing = trees.take(str(tmp_path / "nowhere"), is_anywhere=True)

    assert bare == Unseen(reason="this is a bare repository, which has no files")
    assert missing == Unseen(reason="the project directory does not exist")
