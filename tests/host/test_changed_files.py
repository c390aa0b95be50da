"""Counting changed files: true where git can tell; what a repository may start is in test_git.py."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from handrail.host.programs import count_changed_files

ENVIRONMENT = {"PATH": os.environ.get("PATH", os.defpath)}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", ".")
    for name in ("a", "b"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    git(tmp_path, "add", ".")
    git(tmp_path, "-c", "user.name=n", "-c", "user.email=e@example.org", "commit", "-qm", "x")
    return tmp_path


def git(where: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(where), *arguments], check=True, env={**ENVIRONMENT, "HOME": str(where)})


def test_changed_new_and_removed_files_are_counted(repository: Path) -> None:
    (repository / "a").write_text("other text", encoding="utf-8")
    (repository / "b").unlink()
    (repository / "c").write_text("new", encoding="utf-8")

    assert count_changed_files(str(repository), ENVIRONMENT) == 3


def test_a_clean_repository_has_none(repository: Path) -> None:
    assert count_changed_files(str(repository), ENVIRONMENT) == 0


@pytest.mark.parametrize("where", ["", "nowhere"])
def test_without_a_repository_nothing_is_told(tmp_path: Path, where: str) -> None:
    assert count_changed_files(str(tmp_path / where), {**ENVIRONMENT, "PATH": ENVIRONMENT["PATH"]}) is None


def test_without_git_nothing_is_told(repository: Path) -> None:
    assert count_changed_files(str(repository), {"PATH": str(repository / "nothing")}) is None
