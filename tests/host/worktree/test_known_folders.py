"""Untracked files without asking git: only while everything is as it was, and with the same answer."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from handrail.host.programs import Git
from handrail.host.worktree import list_files, stat_cache, trees
from handrail.ports.worktree import FileList
from tests.host.worktree.project import make_project, open_worktree, write

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


class Listing:
    """One project, listed again and again; counts the questions to git."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = tmp_path / "project"
        self.home = tmp_path / "home"
        make_project(self.root)
        (self.root / "empty" / "deep").mkdir(parents=True)
        write(self.root, "build/out.py")
        write(self.root, "new.py")
        self.worktree = open_worktree(self.home)
        self.asked: list[str] = []
        start, complete = Git.start, Git._complete

        def note_start(git: Git, *arguments: str) -> Any:
            self.asked.append(arguments[0])
            return start(git, *arguments)

        def note(git: Git, arguments: tuple[str, ...], given: bytes) -> Any:
            self.asked.append(arguments[0])
            return complete(git, arguments, given)

        monkeypatch.setattr(Git, "start", note_start)
        monkeypatch.setattr(Git, "_complete", note)
        for module in (trees, list_files, stat_cache):  # as if the files had not changed for an hour
            monkeypatch.setattr(module, "COARSEST_CLOCK_NS", -3_600_000_000_000)

    def list(self) -> tuple[list[str], bool]:
        """The paths, and whether git was asked."""
        self.asked.clear()
        listed = self.worktree.list_files(str(self.root), [".py"])
        assert isinstance(listed, FileList), listed
        return [entry.path for entry in listed.files], bool(self.asked)

    def settle(self) -> None:
        self.list()
        self.list()
        assert self.list()[1] is False


@pytest.fixture
def listing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Listing:
    return Listing(tmp_path, monkeypatch)


def test_git_is_not_asked_again_and_also_not_by_another_process(listing: Listing) -> None:
    listing.settle()
    listing.worktree = open_worktree(listing.home)

    assert listing.list() == (["new.py", "src/a.py", "src/b.py"], False)


def link_to(target: Path, link: Path) -> None:
    link.symlink_to(target)


CHANGES: dict[str, tuple[Callable[[Path], object], list[str]]] = {
    "a new file": (lambda root: write(root, "src/c.py"), ["new.py", "src/a.py", "src/b.py", "src/c.py"]),
    "a file in a folder without files": (
        lambda root: write(root, "empty/deep/c.py"),
        ["empty/deep/c.py", "new.py", "src/a.py", "src/b.py"],
    ),
    "an ignore rule": (lambda root: write(root, ".gitignore", "new*\nbuild/\n"), ["src/a.py", "src/b.py"]),
    "an ignore rule of this checkout": (
        lambda root: write(root, ".git/info/exclude", "new*\n"),
        ["src/a.py", "src/b.py"],
    ),
    "a setting": (
        lambda root: (
            write(root, "rules.txt", "new*\n"),
            write(root, ".git/config", f"[core]\n\texcludesFile = {root}/rules.txt\n"),
        ),
        ["src/a.py", "src/b.py"],
    ),
    "a folder that becomes a link": (
        lambda root: link_to((root / "src").rename(root / "build" / "src"), root / "src"),
        ["new.py"],
    ),
    "a file that is gone": (lambda root: (root / "new.py").unlink(), ["src/a.py", "src/b.py"]),
}


@pytest.mark.thorough
@pytest.mark.parametrize("change", CHANGES)
def test_what_git_would_list_otherwise_is_seen(listing: Listing, change: str) -> None:
    make, expected = CHANGES[change]
    listing.settle()

    make(listing.root)

    assert listing.list() == (expected, True)


def test_what_git_does_not_look_at_is_no_reason_to_ask(listing: Listing) -> None:
    listing.settle()
    write(listing.root, "build/more.py")
    write(listing.root, "src/a.py", "edited in place\n")

    assert listing.list() == (["new.py", "src/a.py", "src/b.py"], False)


def test_what_has_not_settled_is_not_relied_on(listing: Listing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_files, "COARSEST_CLOCK_NS", 2_000_000_000)

    assert [listing.list()[1] for _ in range(3)] == [True, True, True]


def test_settings_that_include_others_are_left_to_git(listing: Listing) -> None:
    write(listing.root, ".git/config", "[include]\n\tpath = other\n")

    assert [listing.list()[1] for _ in range(3)] == [True, True, True]
