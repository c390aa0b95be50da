"""The one way git is asked: no configuration that is known to start a program starts one."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from handrail.host.programs import count_changed_files, open_working_tree
from handrail.host.workflow_sources.directories import GitSource
from handrail.host.workflow_sources.named import read_git_files
from tests.hostile.repository.checkout import (
    FILTERS,
    GIT_TRICKS,
    GitTrick,
    Trap,
    make_repository,
    plant_every_trick,
    plant_trick,
    run_git,
)

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

ENVIRONMENT = {"PATH": os.environ.get("PATH", os.defpath)}
FALLS = [trick for trick in GIT_TRICKS if trick.falls]
NO_OPTION_STOPS = ("clean filter", "diff driver", "textconv", "alias", "trailers")
"""The repository names these itself: with filters nothing is asked, and the other commands are never used."""


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    return Trap(tmp_path / "trap")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    place = tmp_path / "repository"
    place.mkdir()
    return place


def name_of(trick: GitTrick) -> str:
    return trick.name


def lose_files(repository: Path, commit: str) -> None:
    """Take the contents away and leave the commit, as in a partial clone: git would fetch them."""
    listed = run_git(repository, "ls-tree", "-r", "-t", commit).decode().splitlines()
    for digest in (line.split()[2] for line in listed):
        (repository / ".git" / "objects" / digest[:2] / digest[2:]).unlink()


@pytest.mark.thorough
@pytest.mark.parametrize("trick", FALLS, ids=name_of)
def test_plain_git_falls_for_it(trick: GitTrick, trap: Trap, repository: Path) -> None:
    make_repository(repository)
    plant_trick(repository, trick, trap)

    run_git(repository, *trick.falls, given=trick.given)

    assert trap.started() != []


@pytest.mark.thorough
@pytest.mark.parametrize("trick", GIT_TRICKS, ids=name_of)
def test_asked_by_us_git_starts_nothing(trick: GitTrick, trap: Trap, repository: Path, home: str) -> None:
    commit = make_repository(repository)
    if trick.name.startswith("promisor"):
        lose_files(repository, commit)
    plant_trick(repository, trick, trap)

    counted = count_changed_files(str(repository), ENVIRONMENT)
    files = read_git_files(GitSource(path=str(repository), ref=commit), home, ENVIRONMENT)

    assert trap.started() == []
    assert counted == (None if trick.name in FILTERS else 2), "a changed file and the new attributes"
    assert all(file.source_kind == "git" for file in files)


@pytest.mark.thorough
@pytest.mark.parametrize("trick", [one for one in FALLS if one.name not in NO_OPTION_STOPS], ids=name_of)
def test_our_options_alone_stop_what_falls_for_it(trick: GitTrick, trap: Trap, repository: Path) -> None:
    """The very command that plain git falls for, asked in our way: and nothing starts."""
    make_repository(repository)
    plant_trick(repository, trick, trap)

    open_working_tree(str(repository), ENVIRONMENT, 20).ask(*trick.falls, given=trick.given)

    assert trap.started() == []


@pytest.mark.parametrize("inside", ["", "bare", "nested"])
@pytest.mark.parametrize("but", [(), FILTERS])
def test_all_of_them_together_start_nothing(
    inside: str, but: tuple[str, ...], trap: Trap, repository: Path, home: str
) -> None:
    commit = make_repository(repository)
    plant_every_trick(repository, trap, but=but)

    count_changed_files(str(repository / inside), ENVIRONMENT)
    read_git_files(GitSource(path=str(repository / inside), ref=commit), home, ENVIRONMENT)

    assert trap.started() == []
