"""The stat cache: nothing is remembered that a second change could hide, and it stays small."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from handrail.host.worktree import stat_cache
from handrail.host.worktree.stat_cache import CacheFiles, StatCache, is_recent
from tests.cases import every_case
from tests.host.worktree.project import list_all, open_worktree, write

SECOND = 1_000_000_000


def test_a_file_as_new_as_the_look_is_not_remembered(tmp_path: Path) -> None:
    root = tmp_path / "project"
    write(root, "new.txt")
    worktree = open_worktree(tmp_path / "home")

    list_all(worktree, root)

    (cache,) = worktree._remembered.values()
    assert cache.others == {}


@every_case(
    ("changed", "renamed", "recent"),
    [(100, 100, False), (109, 100, True), (100, 109, True), (120, 100, True), (107, 107, False)],
)
def test_recent_means_within_the_coarsest_clock(changed: int, renamed: int, recent: bool) -> None:
    stamp = (changed * SECOND, renamed * SECOND, 1, 1, 1)

    assert is_recent(stamp, 110 * SECOND) == recent


def test_projects_used_longest_ago_lose_their_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stat_cache, "MOST_PROJECTS", 2)
    files = CacheFiles(str(tmp_path))
    place = tmp_path / "data/cache/trees"
    for at, project in enumerate(("/a", "/b", "/c")):
        files.save(project, StatCache("sha1"))
        for kept in place.iterdir():
            os.utime(kept, (at, kept.stat().st_mtime if at else 0))

    assert len(list(place.iterdir())) == 2


def test_a_cache_of_another_project_or_kind_of_id_does_not_count(tmp_path: Path) -> None:
    files = CacheFiles(str(tmp_path))
    cache = StatCache("sha1")
    cache.keep(b"a", -1, (1, 2, 3, 4, 5), b"x" * 20)
    files.save("/project", cache)

    assert files.load("/project", "sha1").others == {b"a": ((1, 2, 3, 4, 5), b"x" * 20)}
    assert files.load("/project", "sha256").others == {}
    assert files.load("/other", "sha1").others == {}


def test_a_home_that_cannot_be_written_costs_only_time(tmp_path: Path) -> None:
    write(tmp_path / "project", "a.txt")
    (tmp_path / "home").write_text("a file", encoding="utf-8")

    assert list_all(open_worktree(tmp_path / "home"), tmp_path / "project") == {"a.txt": "file"}
