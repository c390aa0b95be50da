"""Counting changed files: true where git can tell, and no program of the repository is started."""

from __future__ import annotations

import os
import subprocess
import time
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


@pytest.mark.parametrize("way", ["filter", "fsmonitor", "hook", "promisor"])
def test_no_program_of_the_repository_is_started(repository: Path, way: str) -> None:
    mark = repository / ".git" / "started"
    program = repository / ".git" / "program"
    program.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n", encoding="utf-8")
    program.chmod(0o755)
    if way == "filter":
        git(repository, "config", "filter.evil.clean", str(program))
        (repository / ".gitattributes").write_text("* filter=evil\n", encoding="utf-8")
    elif way == "fsmonitor":
        git(repository, "config", "core.fsmonitor", str(program))
    elif way == "promisor":
        _miss_objects_of_a_remote(repository, str(program))
    else:
        git(repository, "config", "core.hooksPath", str(repository / ".git"))
        program.rename(repository / ".git" / "post-index-change")
    (repository / "a").write_text("b", encoding="utf-8")
    os.utime(repository / "a", (time.time() + 5, time.time() + 5))

    counted = count_changed_files(str(repository), ENVIRONMENT)

    assert not mark.exists()
    assert counted == (None if way in ("filter", "promisor") else 1)


def _miss_objects_of_a_remote(repository: Path, program: str) -> None:
    """git fetches a missing object from a promisor, and a remote of the kind ext is a command."""
    for name, value in (
        ("core.repositoryformatversion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.url", f"ext::{program}"),
        ("remote.origin.uploadpack", program),
        ("protocol.ext.allow", "always"),
    ):
        git(repository, "config", name, value)
    for held in (repository / ".git" / "objects").glob("??/*"):
        held.unlink()
