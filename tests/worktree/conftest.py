"""A project with a repository, and what takes its trees."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from handrail.worktree.git_trees import GitTrees
from handrail.worktree.local_worktree import LocalWorktree
from tests.worktree.project import open_worktree
from tests.worktree.repositories import make_project, open_trees


@pytest.fixture(autouse=True)
def _git() -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    make_project(tmp_path / "project")
    return tmp_path / "project"


@pytest.fixture
def worktree(tmp_path: Path) -> LocalWorktree:
    return open_worktree(tmp_path / "home")


@pytest.fixture
def trees(tmp_path: Path) -> GitTrees:
    return open_trees(tmp_path / "home")
