"""Named places: there or not, inside the project or not, with the line and the text that were claimed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from handrail.host.worktree import seen_places
from handrail.host.worktree.bounds import Bounds
from handrail.host.worktree.seen_places import see_places
from handrail.ports.worktree import MOST_PLACES, PlaceAsked, UnseenWorktree
from tests.host.worktree.project import write


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


def check(root: Path, state: str, path: str, line: int = 0, quote: str = "") -> None:
    (seen,) = see_places(Bounds(str(root), ""), [PlaceAsked(path=path, line=line, quote=quote)])
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


@pytest.mark.promise("evidence.quoted-code")
@pytest.mark.parametrize(
    ("line", "quote", "state"),
    [
        (6, "", "here"),
        (7, "", "line_missing"),
        (5, "return sum(rows)", "here"),
        (5, "5: return sum( rows )", "here"),
        (5, "sum(rows)", "quote_missing"),
        (5, "return sum", "quote_missing"),
        (5, "(", "quote_missing"),
        (5, "… sum(rows)", "here"),
        (5, "return …", "here"),
        (5, "… sum …", "here"),
        (4, "def total(rows)", "here"),
        (5, "su", "quote_missing"),
        (5, "return sum(row", "quote_missing"),
        (5, "return sum[rows]", "quote_missing"),
        (4, "return sum(rows)", "quote_missing"),
        (6, "return sum(rows)", "quote_missing"),
        (0, "return sum(rows)", "unreadable"),
        (6, "The End!", "here"),
        (5, "Return sum(rows)", "quote_missing"),
        (4, "def total(…):\n…sum(rows)", "here"),
        (4, "def total(rows):\n    return sum(rows)", "here"),
        (5, "return max(rows)", "quote_missing"),
        (0, "  \n ", "here"),
    ],
)
def test_a_line_and_a_quote(root: Path, line: int, quote: str, state: str) -> None:
    check(root, state, "src/bill.py", line, quote)


@pytest.mark.promise("evidence.quoted-code")
@pytest.mark.parametrize(
    ("path", "quote", "state"),
    [
        ("sum.js", "if(a<=b&&!c)  return a-b", "here"),
        ("sum.js", "if (a < b && !c) return a - b", "quote_missing"),
        ("sum.js", "if (a <= b || !c) return a - b", "quote_missing"),
        ("sum.js", "if (a <= b && c) return a - b", "quote_missing"),
        ("sum.js", "if (a <= b && !c) return a + b", "quote_missing"),
        ("sum.md", "“If” a is less, take *b*: 'it' holds", "here"),
        ("sum.md", "If a is more, take b: it holds", "quote_missing"),
    ],
)
def test_code_is_quoted_with_its_operators_and_prose_with_any_marks(
    root: Path, path: str, quote: str, state: str
) -> None:
    write(root, "sum.js", "if (a <= b && !c) return a - b;\n")
    write(root, "sum.md", 'If a is less, take **b**: "it" holds\n')

    check(root, state, path, 1, quote)


def test_a_directory_has_no_lines_and_no_text(root: Path) -> None:
    check(root, "line_missing", "src", 1)
    check(root, "quote_missing", "src", 0, "x")


def test_a_file_over_the_limit_is_here_but_not_searched(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seen_places, "MOST_PLACE_BYTES", 10)

    check(root, "here", "src/bill.py")
    check(root, "unreadable", "src/bill.py", 1)


def test_more_places_than_the_limit_are_unreadable_with_the_reason(root: Path) -> None:
    seen = see_places(Bounds(str(root), ""), [PlaceAsked(path="src/bill.py")] * (MOST_PLACES + 1))

    assert {place.state for place in seen[:MOST_PLACES]} == {"here"}
    assert seen[MOST_PLACES].state == "unreadable"
    assert str(MOST_PLACES) in seen[MOST_PLACES].note


def test_where_nobody_looks_everything_is_unreadable() -> None:
    (seen,) = UnseenWorktree().see_places("/", [PlaceAsked(path="a")])

    assert seen.state == "unreadable"


@pytest.mark.promise("evidence.no-oracle")
def test_a_wrong_quotation_is_answered_without_how_near_it_was(root: Path) -> None:
    asked = [PlaceAsked(path="src/bill.py", line=6, quote=quote) for quote in ("return sum(rows)", "no such")]

    near, far = see_places(Bounds(str(root), ""), asked)

    assert near == far
    assert near.note == ""
