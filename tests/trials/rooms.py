"""A project, and a room in which its checks run."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from handrail.ports.trials import TrialCheck, TrialResult
from handrail.trials.local_trials import LocalTrials
from handrail.worktree.git_trees import GitTrees
from tests.worktree.repositories import commit, take, write

PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir=.")
"""With no configuration from above the folder."""


def make_environment(tmp_path: Path) -> dict[str, str]:
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(tmp_path / "user"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "CALLERS": "secret",
    }


class Workshop:
    """Takes trees of a project and runs checks on them."""

    def __init__(self, root: Path, trees: GitTrees, trials: LocalTrials) -> None:
        self.root = root
        self.trees = trees
        self.trials = trials

    def write(self, files: Mapping[str, str]) -> None:
        for path, content in files.items():
            write(self.root, path, content)

    def commit(self) -> None:
        commit(self.root)

    def take(self) -> str:
        return take(self.trees, self.root).tree

    def run(self, check: TrialCheck, tree: str = "", **more: Any) -> TrialResult:
        with self.trials.open(str(self.root), check) as room:
            return room.run(tree or self.take(), **more)


def shell(line: str, **more: Any) -> TrialCheck:
    return TrialCheck(command=("/bin/sh", "-c", line), **more)


def list_outcomes(result: TrialResult) -> dict[str, str]:
    return {case.name: case.outcome for case in result.cases or ()}
