"""Why a path is in no tree: left out of a sparse checkout, or left behind by a tool."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from handrail.host.worktree.local_worktree import LocalWorktree
from tests.host.worktree.project import make_project, write
from tests.hostile.repository.checkout import run_git

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    make_project(tmp_path / "project")
    return tmp_path / "project"


def test_sparse_checkout_is_named(root: Path, worktree: LocalWorktree) -> None:
    run_git(root, "sparse-checkout", "set", "--no-cone", "/run.sh")

    assert worktree.explain_unlisted(str(root), ["src/a.py"]) == {
        "src/a.py": "it is left out of the sparse checkout"
    }


def test_by_product_is_named(root: Path, worktree: LocalWorktree) -> None:
    write(root, ".coverage")

    told = worktree.explain_unlisted(str(root), [".coverage"])

    assert told == {".coverage": "a tool leaves it behind, so it is not compared"}
