"""Git's index, read without git: git itself is the oracle, and what is not known for sure is left to it."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import pytest

from handrail.host.worktree.bounds import Bounds
from handrail.host.worktree.repository import Repository, read_index
from tests.host.worktree.project import ENVIRONMENT, commit, make_project, write
from tests.hostile.repository.checkout import run_git

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    make_project(root)
    return root


def check(root: Path) -> None:
    repository = Repository(Bounds(str(root), ""), ENVIRONMENT, 60)
    read = read_index(str(root / ".git" / "index"), "sha1")

    assert read is not None
    assert read.tracked == repository.find_tracked()
    assert read.indexed == repository.find_indexed()


def test_it_tells_what_git_tells(root: Path) -> None:
    write(root, "deep/" * 20 + "é" * 100 + "/file.py")
    write(root, "a b/\ttab.py", "x = 1\n")
    commit(root, "two")
    check(root)

    write(root, "later.py", "later = 1\n")
    run_git(root, "add", "-N", "later.py")
    run_git(root, "update-index", "--skip-worktree", "src/a.py")
    run_git(root, "update-index", "--assume-unchanged", "src/b.py")
    run_git(root, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    check(root)


def test_files_in_conflict_are_tracked_once_and_have_no_digest(root: Path) -> None:
    blob = run_git(root, "rev-parse", "HEAD:src/a.py").decode().strip()
    stages = "".join(f"100644 {blob} {stage}\tsrc/a.py\n" for stage in (1, 2, 3))
    removed = f"0 {'0' * 40}\tsrc/a.py\n"
    run_git(root, "update-index", "--index-info", given=(removed + stages).encode())

    check(root)


@pytest.mark.parametrize(
    "arguments",
    [("update-index", "--index-version", "4"), ("update-index", "--split-index")],
)
def test_other_forms_are_left_to_git(root: Path, arguments: tuple[str, ...]) -> None:
    run_git(root, *arguments)

    assert read_index(str(root / ".git" / "index"), "sha1") is None


def test_a_damaged_file_is_left_to_git(root: Path, tmp_path: Path) -> None:
    whole = (root / ".git" / "index").read_bytes()
    other = tmp_path / "index"
    for content in (
        b"",
        whole[:11],
        whole[:100],
        whole[:-30],
        b"XXXX" + whole[4:],
        whole[:8] + struct.pack(">L", 4_000_000_000) + whole[12:],
        whole.replace(b"src/a.py", b"src/\0.py"),
    ):
        other.write_bytes(content)

        assert read_index(str(other), "sha1") is None
    assert read_index(str(tmp_path / "absent"), "sha1") is None
