"""Which project a directory is: what is remembered of it is in the home, and nowhere else."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from handrail.host.workspace import LocalWorkspace
from tests.hostile.repository.checkout import run_git
from tests.worktree.project import commit, write

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed"),
]


def test_without_a_home_nothing_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, here = tmp_path / "project", tmp_path / "here"
    here.mkdir()
    root.mkdir()
    run_git(root, "init", "-q", ".")
    write(root, "a.txt", "a\n")
    commit(root)
    monkeypatch.chdir(here)

    nowhere = LocalWorkspace({}).identity(str(root))
    at_home = LocalWorkspace({}, str(tmp_path / "home")).identity(str(root))

    assert nowhere == at_home != ""
    assert list(here.iterdir()) == []
    assert len(list((tmp_path / "home").rglob("*.root"))) == 1
