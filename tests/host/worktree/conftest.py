"""A project with a repository, and what looks at it."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.host.worktree.local_worktree import LocalWorktree
from tests.host.worktree.project import make_project, open_worktree


@pytest.fixture
def root(tmp_path: Path) -> Path:
    make_project(tmp_path / "project")
    return tmp_path / "project"


@pytest.fixture
def worktree(tmp_path: Path) -> LocalWorktree:
    return open_worktree(tmp_path / "home")
