"""Rooms for trials, with and without namespaces."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from handrail.ports.trials import TrialCheck, TrialResult
from handrail.trials.local_trials import LocalTrials
from handrail.trials.processes import can_mount
from handrail.worktree.git_trees import GitTrees
from tests.trials.rooms import PYTEST, Workshop, make_environment
from tests.worktree.repositories import make_project


@pytest.fixture(autouse=True)
def _git() -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """On a path with a blank."""
    make_project(tmp_path / "a project")
    return tmp_path / "a project"


@pytest.fixture(params=["bind_mount", "linked_folder"])
def isolation(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Each way that this machine has."""
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    mounts = [(str(tmp_path / "one"), str(tmp_path / "other"))]
    kind: str = request.param
    if kind == "bind_mount" and not can_mount(mounts, dict(os.environ)):
        pytest.skip("this machine has no namespaces for mounts")
    return kind


@pytest.fixture
def workshop(tmp_path: Path, root: Path, isolation: str) -> Workshop:
    return open_workshop(tmp_path, root, may_mount=isolation == "bind_mount")


@pytest.fixture
def linked(tmp_path: Path, root: Path) -> Workshop:
    """The way that every machine has."""
    return open_workshop(tmp_path, root, may_mount=False)


def open_workshop(tmp_path: Path, root: Path, *, may_mount: bool) -> Workshop:
    environment = make_environment(tmp_path)
    trees = GitTrees(str(tmp_path / "home"), environment)
    trials = LocalTrials(str(tmp_path / "home"), environment, trees, may_mount=may_mount)
    return Workshop(root, trees, trials)


@pytest.fixture
def run_pytest(linked: Workshop) -> Callable[..., TrialResult]:
    """Write files, and run pytest on them in a copy."""

    def run(files: dict[str, str], *words: str) -> TrialResult:
        linked.write(files)
        return linked.run(TrialCheck(command=(*PYTEST, *words)))

    return run
