"""Odd projects: seen as well as possible, or unseen with a reason; never a failure, and nothing starts."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from handrail.contract.wording import make_readable
from handrail.host.worktree.local_worktree import LocalWorktree
from handrail.ports.worktree import PlaceAsked, Tree
from tests.host.worktree.project import (
    ENVIRONMENT,
    age,
    commit,
    make_project,
    modes,
    picture,
    refuse,
    take,
    write,
)
from tests.hostile.repository.checkout import (
    GIT_TRICKS,
    GitTrick,
    Trap,
    make_repository,
    plant_every_trick,
    plant_trick,
    run_git,
)

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def name_of(trick: GitTrick) -> str:
    return trick.name


@pytest.mark.thorough
@pytest.mark.promise("evidence.code.looking-runs-nothing")
@pytest.mark.parametrize("trick", GIT_TRICKS, ids=name_of)
def test_no_configuration_of_the_repository_starts_a_program(
    trick: GitTrick, tmp_path: Path, worktree: LocalWorktree
) -> None:
    root = tmp_path / "repository"
    root.mkdir()
    make_repository(root)
    trap = Trap(tmp_path / "trap")
    plant_trick(root, trick, trap)

    tree = worktree.take_tree(str(root))
    if isinstance(tree, Tree):
        worktree.pack_contents(str(root), tree)
        worktree.compare(str(root), tree, Tree(head="", entries=(), tree_id=""))

    assert trap.started() == []
    assert isinstance(tree, Tree)
    assert "kept.txt" in modes(tree)


@pytest.mark.promise("evidence.code.looking-runs-nothing")
def test_all_of_them_together_start_nothing_and_git_stays_as_it_is(
    tmp_path: Path, worktree: LocalWorktree
) -> None:
    root = tmp_path / "repository"
    root.mkdir()
    make_repository(root)
    trap = Trap(tmp_path / "trap")
    plant_every_trick(root, trap)
    before = picture(root / ".git")

    worktree.take_tree(str(root))
    for inside in ("bare", "nested"):
        worktree.take_tree(str(root / inside))

    assert trap.started() == []
    assert picture(root / ".git") == before


@pytest.mark.thorough
def test_before_the_first_commit_every_file_is_listed(tmp_path: Path, worktree: LocalWorktree) -> None:
    write(tmp_path / "project", "a", "a")
    run_git(tmp_path / "project", "init", "-q", ".")
    before = take(worktree, tmp_path / "project")
    commit(tmp_path / "project")

    after = take(worktree, tmp_path / "project")

    assert (before.head, modes(before)) == ("", {"a": "file"})
    assert after.tree_id == before.tree_id


@pytest.mark.promise("evidence.code.odd-trees")
def test_a_bare_repository_has_no_files(tmp_path: Path, worktree: LocalWorktree) -> None:
    run_git(tmp_path, "init", "-q", "--bare", "bare.git")

    assert "bare" in refuse(worktree, tmp_path / "bare.git")


def test_a_linked_worktree_is_seen_like_any_other(
    root: Path, tmp_path: Path, worktree: LocalWorktree
) -> None:
    run_git(root, "worktree", "add", "-q", str(tmp_path / "linked"))
    write(tmp_path / "linked", "src/a.py", "a = 5\n")

    assert modes(take(worktree, tmp_path / "linked")) == {"src/a.py": "file"}
    assert take(worktree, root).entries == ()


def test_a_submodule_is_passed_over(root: Path, tmp_path: Path, worktree: LocalWorktree) -> None:
    make_project(tmp_path / "inner")
    run_git(
        root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(tmp_path / "inner"), "sub"
    )
    commit(root, "two")
    write(root, "sub/src/a.py", "changed inside\n")

    tree = take(worktree, root)

    assert tree.entries == ()
    assert tree.skipped == 1


def test_another_repository_inside_is_passed_over(root: Path, worktree: LocalWorktree) -> None:
    make_project(root / "inner")

    assert take(worktree, root).entries == ()


def test_what_a_sparse_checkout_leaves_out_is_not_gone(root: Path, worktree: LocalWorktree) -> None:
    whole = take(worktree, root)
    run_git(root, "sparse-checkout", "set", "--no-cone", "/run.sh")

    tree = take(worktree, root)

    assert not (root / "src/a.py").exists()
    assert tree.entries == ()
    assert tree.tree_id != whole.tree_id  # a check ran on other files
    assert worktree.explain_unlisted(str(root), ["src/a.py"]) == {
        "src/a.py": "it is left out of the sparse checkout"
    }

    write(root, "src/a.py", "hidden\n")

    assert modes(take(worktree, root)) == {"src/a.py": "file"}


@pytest.mark.promise("evidence.code.marked-files")
@pytest.mark.parametrize("mark", ["--skip-worktree", "--assume-unchanged"])
def test_a_file_that_git_was_told_to_leave_alone_is_looked_at(
    root: Path, worktree: LocalWorktree, mark: str
) -> None:
    run_git(root, "update-index", mark, "src/a.py", "run.sh")
    before = take(worktree, root)

    write(root, "src/a.py", "hidden\n")
    (root / "run.sh").unlink()
    after = take(worktree, root)

    assert before.entries == ()
    assert modes(after) == {"run.sh": "absent", "src/a.py": "file"}
    assert after.tree_id != before.tree_id
    assert worktree.explain_unlisted(str(root), ["src/a.py"]) == {}


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


@pytest.mark.promise("evidence.code.by-products")
@pytest.mark.parametrize("has_git", [True, False])
def test_what_tools_leave_behind_is_in_no_tree(root: Path, worktree: LocalWorktree, *, has_git: bool) -> None:
    if not has_git:
        shutil.rmtree(root / ".git")
    before = take(worktree, root)

    for path in BY_PRODUCTS:
        write(root, path)
    after = take(worktree, root)

    assert after.tree_id == before.tree_id
    told = worktree.explain_unlisted(str(root), BY_PRODUCTS)
    assert set(told) == set(BY_PRODUCTS)
    assert told[".coverage"] == "a tool leaves it behind, so it is not compared"


@pytest.mark.promise("evidence.code.by-products")
def test_a_file_like_that_is_compared_once_git_tracks_it(root: Path, worktree: LocalWorktree) -> None:
    write(root, "data/b.pyc", "one\n")
    run_git(root, "add", "-f", "data/b.pyc")
    commit(root)

    write(root, "data/b.pyc", "two\n")

    assert modes(take(worktree, root)) == {"data/b.pyc": "file"}


@pytest.mark.parametrize("has_git", [True, False])
def test_a_tree_names_the_other_repositories_inside(
    root: Path, worktree: LocalWorktree, *, has_git: bool
) -> None:
    (root / "vendor").mkdir()
    make_project(root / "vendor/lib")
    if not has_git:
        shutil.rmtree(root / ".git")

    assert take(worktree, root).repositories == ("vendor/lib",)


def test_names_that_are_not_utf8_are_carried_and_readable(root: Path, worktree: LocalWorktree) -> None:
    write(root, os.fsdecode(b"caf\xe9.txt"))
    write(root, "uni\u00e9 \u4e2d\n.txt")

    tree = take(worktree, root)

    assert [make_readable(entry.path) for entry in tree.entries] == ["caf\\xe9.txt", "uni\u00e9 \u4e2d\n.txt"]
    packed = worktree.pack_contents(str(root), tree)
    assert packed.left_out == ()


def test_a_folder_that_became_a_link_hides_what_was_tracked_in_it(
    root: Path, tmp_path: Path, worktree: LocalWorktree
) -> None:
    age(root)
    take(worktree, root)
    shutil.copytree(root / "src", tmp_path / "elsewhere")
    shutil.rmtree(root / "src")
    (root / "src").symlink_to(tmp_path / "elsewhere")

    tree = take(worktree, root)

    assert modes(tree) == {"src": "link", "src/a.py": "absent", "src/b.py": "absent"}


def test_a_file_that_became_a_folder_is_gone(root: Path, worktree: LocalWorktree) -> None:
    (root / "run.sh").unlink()
    write(root, "run.sh/inside")

    assert modes(take(worktree, root)) == {"run.sh": "absent", "run.sh/inside": "file"}


def test_pipes_and_sockets_are_never_opened(root: Path, worktree: LocalWorktree) -> None:
    (root / "src/a.py").unlink()
    os.mkfifo(root / "src/a.py")
    os.mkfifo(root / "pipe")

    tree = take(worktree, root)

    assert modes(tree) == {"src/a.py": "absent"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_without_permission_is_unseen_with_its_name(root: Path, worktree: LocalWorktree) -> None:
    (root / "src").chmod(0)
    try:
        assert "src" in refuse(worktree, root)
    finally:
        (root / "src").chmod(0o755)


def test_two_names_that_differ_in_case_are_two_files(root: Path, worktree: LocalWorktree) -> None:
    write(root, "Case.txt", "upper")
    write(root, "case.txt", "lower")

    assert set(modes(take(worktree, root))) == {"Case.txt", "case.txt"}


def test_without_an_executable_bit_the_commit_is_believed(root: Path, worktree: LocalWorktree) -> None:
    run_git(root, "config", "core.fileMode", "false")
    (root / "run.sh").chmod(0o644)
    (root / "src/a.py").chmod(0o755)

    assert take(worktree, root).entries == ()


def test_a_repository_with_longer_ids_is_seen(tmp_path: Path, worktree: LocalWorktree) -> None:
    root = tmp_path / "project"
    root.mkdir()
    run_git(root, "init", "-q", "--object-format=sha256", ".")
    write(root, "a", "a")
    commit(root)
    write(root, "b", "b")

    (entry,) = take(worktree, root).entries

    assert entry.digest.startswith("sha256:")


@pytest.mark.promise("evidence.code.odd-trees")
def test_a_repository_that_git_refuses_is_unseen(root: Path, worktree: LocalWorktree) -> None:
    write(root, ".git/config", "[core\nbroken")

    assert "git" in refuse(worktree, root)


def test_without_the_program_git_the_repository_is_unseen(root: Path, tmp_path: Path) -> None:
    worktree = LocalWorktree(str(tmp_path / "home"), {"PATH": str(tmp_path)})

    assert "git is missing" in refuse(worktree, root)


def test_a_project_that_is_not_there_is_unseen(tmp_path: Path, worktree: LocalWorktree) -> None:
    assert "does not exist" in refuse(worktree, tmp_path / "nothing")
    (seen,) = worktree.see_places(str(tmp_path / "nothing"), [PlaceAsked(path="a")])
    assert seen.state == "missing"


def test_files_that_the_user_ignores_everywhere_are_ignored(root: Path, tmp_path: Path) -> None:
    write(tmp_path / "user", ".config/git/ignore", "*.scratch\n")
    worktree = LocalWorktree(str(tmp_path / "home"), {**ENVIRONMENT, "HOME": str(tmp_path / "user")})
    write(root, "notes.scratch")
    write(root, "notes.txt")

    assert modes(take(worktree, root)) == {"notes.txt": "file"}
