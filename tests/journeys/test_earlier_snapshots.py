"""File snapshots of the version that packed contents itself: they are compared and restored like any other.

`tests/golden/old_trees` was written by that version: its files are the only witness of the old form.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.conformance.forked import ForkedTool, ForkServer
from tests.hostile.repository.checkout import run_git
from tests.worktree.project import write

OLD = Path(__file__).resolve().parents[1] / "golden" / "old_trees"
FIRST, SECOND = "nod_48gqywkfcxyd", "nod_cgrssrt5jqtq"

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def tool(tmp_path: Path, fork_server: ForkServer) -> ForkedTool:
    """A clone of the project, and a home into which the session came with its files."""
    tool = ForkedTool(str(tmp_path), fork_server)
    run_git(Path(tool.project), "init", "-q", ".")
    run_git(Path(tool.project), "fetch", "-q", str(OLD / "project.git-bundle"), "main:main")
    run_git(Path(tool.project), "checkout", "-q", "main")
    bundle = str(OLD / "session.bundle.json")
    shown = tool.data("session", "import", bundle, "--dry-run")
    tool.data("session", "import", bundle, "--confirm", shown["confirm_token"])
    return tool


def restore(tool: ForkedTool, name: str) -> dict[str, object]:
    shown = tool.data("code", "restore", name, "--dry-run")
    done: dict[str, object] = tool.data("code", "restore", name, "--confirm", shown["confirm_token"])
    return done


def read_all(root: Path) -> dict[str, bytes]:
    paths = [path for path in sorted(root.rglob("*")) if ".git" not in path.relative_to(root).parts]
    files = [path for path in paths if path.is_file() and not path.is_symlink()]
    links = [path for path in paths if path.is_symlink()]
    return {
        **{str(path.relative_to(root)): path.read_bytes() for path in files},
        **{str(path.relative_to(root)): os.fsencode(os.readlink(path)) for path in links},
    }


def test_earlier_snapshots_are_restored(tool: ForkedTool) -> None:
    root = Path(tool.project)
    write(root, "mine.py", "mine = 1\n")
    before = read_all(root)

    first = restore(tool, FIRST)

    assert first["left_out"] == []
    assert read_all(root) == {
        ".gitignore": b"*.log\n",
        "a.py": b"a = 'edited'\r\n",
        "caf\u00e9 one.txt": b"blank\n",
        "kept/b.py": b"b = 1\n",
        "link": b"a.py",
        "new.bin": b"\0\1\xff",
        "run.sh": b"#!/bin/sh\n",
    }
    assert os.stat(root / "run.sh").st_mode & 0o111 == 0
    restore(tool, SECOND)
    assert read_all(root)["later.py"] == b"later = 1\n"
    assert read_all(root)["a.py"] == b"a = 3\n"
    assert "new.bin" not in read_all(root)
    restore(tool, str(first["undo"]))
    assert read_all(root) == before


def test_earlier_snapshots_are_compared(tool: ForkedTool) -> None:
    told = tool.data("code", "diff", FIRST, SECOND)
    status = tool.data("code", "status", FIRST)

    assert [(one["path"], one["change"]) for one in told["files"]] == [
        ("a.py", "changed"),
        ("later.py", "added"),
        ("new.bin", "removed"),
    ]
    assert "+later = 1" in told["diff"]
    assert [one["path"] for one in status["files"]] == [
        "a.py",
        "caf\u00e9 one.txt",
        "gone.py",
        "link",
        "new.bin",
        "run.sh",
    ]
