"""One file in many spellings; what is outside the project is known by its name alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from handrail.host.bounds import Bounds
from handrail.worktree.seen_places import find_named
from tests.worktree.project import write


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    write(root, "src/bill.py")
    write(root, 'src/"odd".py')
    write(root, "src/caf\udce9.py")
    (root / "linked").symlink_to("src")
    (root / "out").symlink_to(tmp_path)
    return root


@pytest.mark.parametrize(
    ("text", "state", "path"),
    [
        ("src/bill.py", "there", "src/bill.py"),
        ("linked/bill.py", "there", "src/bill.py"),
        ("linked", "there", "linked"),
        ("src//./bill.py", "there", "src/bill.py"),
        ('"src/bill.py"', "there", "src/bill.py"),
        ('src/"odd".py', "there", 'src/"odd".py'),
        ('"src/\\"odd\\".py"', "there", 'src/"odd".py'),
        ("src\\bill.py", "there", "src/bill.py"),
        ("src/caf\\xe9.py", "there", "src/caf\udce9.py"),
        ("src/none.py", "absent", "src/none.py"),
        ('"src/none.py"', "absent", '"src/none.py"'),
        (".", "there", ""),
        ("out", "linked_out", "out"),
        ("out/bill.py", "linked_out", ""),
        ("../other.py", "outside", ""),
        ("/etc/project/passwd", "outside", ""),
        ("a\0b", "impossible", ""),
    ],
)
def test_a_text_means_a_file(root: Path, text: str, state: str, path: str) -> None:
    named = find_named(Bounds(str(root), ""), text)

    assert (named.state, named.path) == (state, path)


def test_what_is_outside_is_not_looked_at(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    bounds = Bounds(str(root), "")

    def spy(name: str) -> None:
        real = getattr(os, name)

        def asked(path: Any, *rest: Any, **named: Any) -> Any:
            looked.append(os.fsdecode(path))
            return real(path, *rest, **named)

        monkeypatch.setattr(os, name, asked)

    for name in ("stat", "lstat", "readlink", "open"):
        spy(name)

    assert find_named(bounds, "/etc/ssh/key").state == "outside"
    assert find_named(bounds, "../secret/key").state == "outside"
    monkeypatch.undo()
    assert [path for path in looked if not path.startswith(str(root))] == []
