"""Which folders a server works in: links, linked worktrees, and what is no root at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.contract.outcome import Fault
from handrail.host.roots import LocalRoots
from handrail.ports.workspace import Settings
from tests.hostile.repository.checkout import run_git


def open_roots(tmp_path: Path, start: Path, *added: str) -> LocalRoots:
    settings = Settings(roots=added)
    return LocalRoots(str(tmp_path / "home"), lambda: str(start), lambda: settings)


def allows(roots: LocalRoots, place: Path | str, name: str = "project") -> bool:
    try:
        roots.require([(name, str(place))])
    except Fault:
        return False
    return True


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    place = tmp_path / "main"
    place.mkdir()
    run_git(place, "init", "-q", ".")
    (place / "a.txt").write_text("a", encoding="utf-8")
    run_git(place, "add", "a.txt")
    run_git(place, "commit", "-qm", "first")
    return place


def test_roots_are_compared_without_links(tmp_path: Path) -> None:
    project, other = tmp_path / "project", tmp_path / "other"
    project.mkdir()
    other.mkdir()
    (tmp_path / "to_project").symlink_to(project)
    (project / "to_other").symlink_to(other)
    roots = open_roots(tmp_path, tmp_path / "to_project")

    assert allows(roots, project)
    assert allows(roots, project / "not" / "there")
    assert allows(roots, tmp_path / "to_project" / "a")
    assert not allows(roots, project / "to_other")
    assert not allows(roots, project / "to_other" / "new", "to")
    assert not allows(roots, "a\0b")
    assert not allows(open_roots(tmp_path, Path("/")), other)
    assert allows(open_roots(tmp_path, project, str(other)), other)


def test_paths_of_a_call_are_relative_to_its_project(tmp_path: Path) -> None:
    (tmp_path / "project/packages/web").mkdir(parents=True)
    roots = open_roots(tmp_path, tmp_path / "project")
    web = str(tmp_path / "project/packages/web")

    roots.require([("file", "../api/a.py"), ("project", web)])
    with pytest.raises(Fault):
        roots.require([("file", "../../../a.py"), ("project", web)])


def test_a_linked_worktree_of_a_root_is_a_root(tmp_path: Path, repository: Path) -> None:
    linked = tmp_path / "linked"
    run_git(repository, "worktree", "add", "-q", str(linked), "-b", "beside")
    (repository / "packages").mkdir()

    assert allows(open_roots(tmp_path, repository), linked / "src")
    assert allows(open_roots(tmp_path, repository / "packages"), linked / "packages/web")
    assert not allows(open_roots(tmp_path, repository / "packages"), linked / "src")


def test_a_worktree_that_only_one_side_names_is_no_root(tmp_path: Path, repository: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    forged = repository / ".git/worktrees/forged"
    forged.mkdir(parents=True)
    (forged / "gitdir").write_text(f"{victim}/.git\n", encoding="utf-8")
    (forged / "commondir").write_text("../..\n", encoding="utf-8")
    roots = open_roots(tmp_path, repository)

    assert not allows(roots, victim)
    claimant = tmp_path / "claimant"
    claimant.mkdir()
    (claimant / ".git").write_text(f"gitdir: {forged}\n", encoding="utf-8")
    assert not allows(roots, claimant)
    (victim / ".git").write_text(f"gitdir: {forged}\n", encoding="utf-8")
    assert allows(roots, victim), "both sides name each other"


def test_a_project_inside_an_environment_stays_a_root(tmp_path: Path) -> None:
    """A root is never disqualified: only what the environment itself consists of is closed."""
    project = tmp_path / "project"
    (project / "lib").mkdir(parents=True)
    (project / "pyvenv.cfg").write_text("home = /usr/bin\n", encoding="utf-8")
    roots = open_roots(tmp_path, project)

    assert allows(roots, project)
    assert not roots.explain_closed(str(project / "src/main.py"))
    assert roots.explain_closed(str(project / "lib/python3.12/site.py"))
    assert roots.explain_closed(str(project / "pyvenv.cfg"))
