"""Without git: a walk that honours ignore files as git does."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from handrail.host.worktree.local_worktree import LocalWorktree
from handrail.host.worktree.walking import matches_name
from tests.host.worktree.project import list_all, write
from tests.hostile.repository.checkout import run_git

FILES = (
    *("a.log", "a.txt", "keep.log", "build/x", "src/build/y", "src/a.log", "src/keep.log", "docs/a/b/c.md"),
    *("docs/c.md", "tmp/one", "tmp/two", "x y.txt", "#hash", "!bang", "deep/a/b/c/d.o", "foo/bar/baz", "foo"),
    *("star*name", "[odd]", "sub/dir/only/file", "only", "trailing ", "abc1", "abc2", "abcx", "sub/.hidden"),
)
RULES = (
    "*.log\n!keep.log\n",
    "build/\n",
    "/build\n",
    "docs/**/c.md\n",
    "**/a\n",
    "tmp/*\n!tmp/one\n",
    "tmp/\n!tmp/one\n",
    "\\#hash\n\\!bang\n",
    "#hash\n",
    "x y.txt   \n",
    "trailing\\ \n",
    "deep/**\n",
    "deep/**/d.o\n",
    "foo/bar\n",
    "only/\n",
    "star\\*name\n",
    "\\[odd\\]\n",
    "abc[0-9]\n",
    "abc[!0-9]\n",
    "abc?\n",
    "*\n!*/\n!*.md\n",
    "**\n",
    ".*\n",
    "sub/dir\n",
    "/*\n!/src\n",
    "[z-a]\nabc[\n",
    "a.txt\r\n",
)


def make_files(root: Path) -> None:
    for name in FILES:
        if not (root / name).exists() and not (root / name).parent.is_file():
            write(root, name, name)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("place", ["", "src", "deep/a"])
@pytest.mark.thorough
def test_ignore_files_mean_what_they_mean_to_git(
    rules: str, place: str, tmp_path: Path, worktree: LocalWorktree
) -> None:
    root = tmp_path / "project"
    make_files(root)
    write(root, os.path.join(place, ".gitignore"), rules)
    walked = list_all(worktree, root)
    run_git(root, "init", "-q", ".")

    listed = run_git(root, "ls-files", "-o", "--exclude-standard", "-z").decode().split("\0")[:-1]

    assert sorted(walked) == sorted(listed)


def test_every_file_is_listed(tmp_path: Path, worktree: LocalWorktree) -> None:
    root = tmp_path / "project"
    write(root, "a.py", "a\n")
    write(root, "b.py", "b\n")
    write(root, "node_modules/x/index.js")
    (root / "link").symlink_to("/etc")

    assert list_all(worktree, root) == {"a.py": "file", "b.py": "file", "link": "link"}


def test_a_pattern_of_many_stars_takes_few_steps() -> None:
    assert not matches_name(b"*a" * 200 + b"b", b"a" * 255)
    assert matches_name(b"*a" * 20, b"a" * 255)


def test_ignore_rules_behind_a_link_do_not_count(tmp_path: Path, worktree: LocalWorktree) -> None:
    root = tmp_path / "project"
    write(root, "a.py")
    write(tmp_path, "rules", "*.py\n")
    (root / ".gitignore").symlink_to(tmp_path / "rules")

    assert set(list_all(worktree, root)) == {".gitignore", "a.py"}
