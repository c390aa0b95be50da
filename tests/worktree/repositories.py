"""Projects for the tests of trees, and what git itself says about them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from handrail.ports.trees import TakenTree
from handrail.worktree.git_trees import GitTrees
from tests.hostile.repository.checkout import run_git
from tests.worktree.project import commit, make_project, write

__all__ = ["commit", "git_id", "make_project", "open_trees", "run_git", "take", "write"]


def open_trees(home: Path, **more: str) -> GitTrees:
    return GitTrees(str(home), {"PATH": os.environ.get("PATH", os.defpath), **more})


def take(trees: GitTrees, root: Path) -> TakenTree:
    taken = trees.take(str(root))
    assert isinstance(taken, TakenTree), taken
    return taken


def git_id(root: Path, sub: str = "", **more: str) -> str:
    """The id that `git add -A` and a commit would give, found in a copy."""
    copy = root.parent / f"{root.name}-copy"
    shutil.copytree(root, copy, symlinks=True)
    try:
        environment = {"PATH": os.environ["PATH"], "HOME": str(root.parent), **more}
        subprocess.run(["git", "add", "-A"], cwd=copy, env=environment, check=True, capture_output=True)
        prefix = [f"--prefix={sub}/"] if sub else []
        made = subprocess.run(
            ["git", "write-tree", *prefix], cwd=copy, env=environment, check=True, capture_output=True
        )
        return made.stdout.decode().strip()
    finally:
        shutil.rmtree(copy)
