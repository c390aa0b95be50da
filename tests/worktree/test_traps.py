"""No program of a repository runs, and nothing of it is written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from handrail.ports.trees import EarlierFile, TakenTree
from handrail.ports.worktree import PlaceAsked
from handrail.worktree.git_trees import GitTrees
from tests.hostile.repository.checkout import (
    FILTERS,
    GIT_TRICKS,
    GitTrick,
    Trap,
    make_repository,
    plant_every_trick,
    plant_trick,
    run_git,
)
from tests.worktree.project import open_worktree, picture
from tests.worktree.repositories import commit, make_project, open_trees, take, write

pytestmark = pytest.mark.thorough


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    return Trap(tmp_path / "trap")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    place = tmp_path / "repository"
    place.mkdir()
    return place


def name_of(trick: GitTrick) -> str:
    return trick.name


def use_everything(trees: GitTrees, root: Path, folder: Path) -> object:
    project = str(root)
    taken = trees.take(project)
    tree = taken.tree if isinstance(taken, TakenTree) else "0" * 40
    trees.list_changed(project, tree, 10)
    trees.resolve(project, "HEAD")
    trees.resolve(project, "origin/HEAD")
    trees.find_merge_base(project)
    entries = trees.list_entries(project, tree)
    trees.write_out(project, tree, str(folder))
    trees.read_written(project, tree, {one.path for one in entries} if isinstance(entries, tuple) else ())
    trees.find_filtered(project, tree, ["kept.txt"])
    trees.find_ignored(project, tree, ["kept.txt"])
    worktree = open_worktree(folder.parent / "home-of-lists")
    worktree.list_files(project, [""])
    worktree.see_places(project, [PlaceAsked(path="kept.txt", line=1)])
    trees.pack_step(project, tree)
    trees.rebuild(project, "", [EarlierFile(path="x.txt", mode="file", content=b"x")], [])
    if isinstance(entries, tuple):
        trees.build(project, entries)
        trees.read_all(project, [one.object_id for one in entries])
    if isinstance(taken, TakenTree):
        trees.is_clean(project, taken)
    trees.diff(project, tree, "4b825dc642cb6eb9a060e54bf8d69288fbee4904")
    trees.keep(project, "n1", tree)
    trees.drop(project, "n1")
    packed = trees.pack_step(project, tree)
    if isinstance(packed, bytes):
        trees.unpack(project, packed)
    return taken


@pytest.mark.parametrize("trick", GIT_TRICKS, ids=name_of)
def test_no_trick_of_a_configuration_starts_anything(
    trick: GitTrick, trap: Trap, repository: Path, trees: GitTrees, tmp_path: Path
) -> None:
    make_repository(repository)
    plant_trick(repository, trick, trap)
    before = picture(repository)

    taken = use_everything(trees, repository, tmp_path / "copy")

    assert trap.started() == []
    assert isinstance(taken, TakenTree)
    assert taken.filtered == ((".gitattributes", "kept.txt") if trick.name in FILTERS else ())
    assert picture(repository) == before


@pytest.mark.parametrize("inside", ["", "bare", "nested"])
def test_all_tricks_together_start_nothing(
    inside: str, trap: Trap, repository: Path, trees: GitTrees, tmp_path: Path
) -> None:
    make_repository(repository)
    plant_every_trick(repository, trap)
    before = picture(repository)

    use_everything(trees, repository / inside, tmp_path / "copy")

    assert trap.started() == []
    assert picture(repository) == before


def test_submodule_starts_nothing(trap: Trap, root: Path, trees: GitTrees, tmp_path: Path) -> None:
    make_project(root / "nested")
    commit(root)
    hooks = root / "nested/.git/hooks"
    for name in ("post-index-change", "fsmonitor-watchman"):
        trap.plant_program(hooks / name)
    with (root / "nested/.git/config").open("a", encoding="utf-8") as file:
        file.write(f'[core]\n\tfsmonitor = {trap.program}\n[filter "x"]\n\tclean = {trap.program}\n')
    write(root, "nested/.gitattributes", "* filter=x\n")
    write(root, "nested/src/a.py", "dirty")
    run_git(root, "status")
    assert trap.started(), "plain git falls for it"

    taken = take(trees, root)
    use_everything(trees, root, tmp_path / "copy")

    assert trap.started() == []
    assert taken.nested == ("nested",)


def test_variables_of_the_caller_do_not_count(trap: Trap, root: Path, tmp_path: Path) -> None:
    make_project(tmp_path / "other")
    trees = open_trees(
        tmp_path / "home",
        GIT_DIR=str(tmp_path / "other/.git"),
        GIT_WORK_TREE="/",
        GIT_INDEX_FILE="/nowhere",
        GIT_EXTERNAL_DIFF=str(trap.program),
        GIT_CONFIG_COUNT="1",
        GIT_CONFIG_KEY_0="core.fsmonitor",
        GIT_CONFIG_VALUE_0=str(trap.program),
        GIT_OBJECT_DIRECTORY="/nowhere",
        GIT_TRACE=str(tmp_path / "trace"),
    )
    write(root, "new.txt")

    assert take(trees, root) == take(open_trees(tmp_path / "second"), root)
    assert trap.started() == []
    assert not (tmp_path / "trace").exists()


def test_own_filters_of_the_user_do_not_run(trap: Trap, root: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    write(own, ".gitconfig", f'[filter "lfs"]\n\tclean = {trap.program}\n\tsmudge = {trap.program}\n')
    write(root, ".gitattributes", "*.bin filter=lfs\n")
    write(root, "a.bin", "raw")

    taken = take(open_trees(tmp_path / "home", HOME=str(own)), root)

    assert taken.filtered == ("a.bin",)
    assert trap.started() == []


def test_other_working_tree_is_not_looked_at(trees: GitTrees, root: Path, tmp_path: Path) -> None:
    write(tmp_path, "elsewhere/secret.txt")
    expected = take(trees, root).tree
    run_git(root, "config", "core.worktree", str(tmp_path / "elsewhere"))

    assert take(trees, root).tree == expected


def test_git_of_the_checkout_is_not_found(
    trap: Trap, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap.plant_program(root / "git")
    trees = open_trees(tmp_path / "home", PATH=f".:{os.environ['PATH']}")
    monkeypatch.chdir(root)

    take(trees, root)

    assert trap.started() == []


def test_nothing_of_the_project_is_written(trees: GitTrees, root: Path, tmp_path: Path) -> None:
    write(root, "new.txt")
    write(root, "src/a.py", "other")
    before = {path: path.lstat() for path in root.rglob("*")}

    use_everything(trees, root, tmp_path / "copy")

    after = {path: path.lstat() for path in root.rglob("*")}
    assert {path: (one.st_mtime_ns, one.st_ctime_ns) for path, one in after.items()} == {
        path: (one.st_mtime_ns, one.st_ctime_ns) for path, one in before.items()
    }
