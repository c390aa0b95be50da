"""Projects for the tests of the worktree: a repository with files of every kind, and git asked plainly."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from handrail.worktree.local_worktree import LocalWorktree
from tests.hostile.repository.checkout import run_git

ENVIRONMENT = {"PATH": os.environ.get("PATH", os.defpath)}


def write(root: Path, name: str, content: str | bytes = "text\n") -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def commit(root: Path, message: str = "one") -> str:
    run_git(root, "add", "-A")
    run_git(root, "commit", "-q", "-m", message)
    return run_git(root, "rev-parse", "HEAD").decode().strip()


def make_project(root: Path) -> str:
    """A repository with five files and two rules; its commit."""
    root.mkdir(exist_ok=True)
    run_git(root, "init", "-q", ".")
    write(root, ".gitignore", "*.log\nbuild/\n")
    write(root, "src/a.py", "a = 1\n")
    write(root, "src/b.py", "b = 2\n")
    write(root, "run.sh", "#!/bin/sh\n").chmod(0o755)
    (root / "link").symlink_to("src/a.py")
    return commit(root)


def open_worktree(home: Path) -> LocalWorktree:
    return LocalWorktree(str(home), ENVIRONMENT)


def picture(root: Path) -> dict[str, str]:
    """Every byte below a folder, by path."""
    return {
        str(path.relative_to(root)): hashlib.sha256(
            os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
        ).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_symlink() or path.is_file()
    }
