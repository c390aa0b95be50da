"""Named places: there or not, inside the project or not, with the line and the text that were claimed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from handrail.host.bounds import Bounds
from handrail.ports.worktree import MOST_PLACES, PlaceAsked, UnseenWorktree
from handrail.worktree import seen_places
from handrail.worktree.seen_places import see_places
from tests.worktree.project import write


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    write(root, "src/bill.py", "import os\n\n\ndef total(rows):\n\treturn  sum(rows)\n# the end\n")
    write(tmp_path, "outside.txt", "secret\n")
    (root / "out").symlink_to(tmp_path / "outside.txt")
    (root / "away").symlink_to(tmp_path)
    (root / "in").symlink_to("src/bill.py")
    (root / "nowhere").symlink_to("gone")
    os.mkfifo(root / "pipe")
    return root


def check(root: Path, state: str, path: str, line: int = 0) -> None:
    (seen,) = see_places(Bounds(str(root), ""), [PlaceAsked(path=path, line=line)])
    assert (seen.state, seen.path, seen.line) == (state, path, line), seen


@pytest.mark.parametrize(
    ("path", "state"),
    [
        ("src/bill.py", "here"),
        ("./src/../src/bill.py", "here"),
        ("src", "here"),
        ("src/", "here"),
        ("in", "here"),
        ("src/invoice.py", "missing"),
        ("src/bill.py/x", "missing"),
        ("nowhere", "missing"),
        ("a\0b", "missing"),
        ("../outside.txt", "outside"),
        ("/etc/passwd", "outside"),
        ("out", "outside"),
        ("away/outside.txt", "outside"),
        ("away/nothing", "outside"),
        ("pipe", "unreadable"),
    ],
)
def test_a_path(root: Path, path: str, state: str) -> None:
    check(root, state, path)


def test_an_absolute_path_inside_the_project_is_here(root: Path) -> None:
    check(root, "here", str(root / "src/bill.py"))


def test_a_directory_has_no_lines(root: Path) -> None:
    check(root, "line_missing", "src", 1)


def test_a_file_over_the_limit_is_here_but_not_searched(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seen_places, "MOST_PLACE_BYTES", 10)

    check(root, "here", "src/bill.py")
    check(root, "unreadable", "src/bill.py", 1)


def test_places_over_the_limit_are_unreadable(root: Path) -> None:
    seen = see_places(Bounds(str(root), ""), [PlaceAsked(path="src/bill.py")] * (MOST_PLACES + 1))

    assert {place.state for place in seen[:MOST_PLACES]} == {"here"}
    assert seen[MOST_PLACES].state == "unreadable"
    assert str(MOST_PLACES) in seen[MOST_PLACES].note


def test_where_nobody_looks_everything_is_unreadable() -> None:
    (seen,) = UnseenWorktree().see_places("/", [PlaceAsked(path="a")])

    assert seen.state == "unreadable"
