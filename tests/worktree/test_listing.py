"""Listing files with their digests, finding text in them, and writing all of them or none."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import msgspec
import pytest

from handrail.ports.worktree import FileList, FileWrite, ListedFile, Unseen
from handrail.worktree.local_worktree import LocalWorktree
from tests.hostile.repository.checkout import run_git
from tests.worktree.project import commit, make_project, open_worktree, write

MOST = 1_000_000


def list_files(worktree: LocalWorktree, root: Path, *suffixes: str) -> dict[str, ListedFile]:
    listed = worktree.list_files(str(root), suffixes)
    assert isinstance(listed, FileList), listed
    assert [file.path for file in listed.files] == sorted(file.path for file in listed.files)
    return {file.path: file for file in listed.files}


def find(worktree: LocalWorktree, root: Path, *needles: bytes, most: int = MOST) -> list[str]:
    files = list_files(worktree, root, ".py", ".js").values()
    return [entry.path for entry, _ in worktree.find_text(str(root), files, needles, most)]


def test_committed_changed_and_new_files_are_listed(
    root: Path, worktree: LocalWorktree, tmp_path: Path
) -> None:
    write(root, "src/b.py", "b = 3\n")
    write(root, "src/new.py", "new = 1\n")
    write(root, "src/ignored.log", "x")
    (root / "link.py").symlink_to("src/a.py")

    first = list_files(worktree, root, ".py", ".log")
    again = list_files(worktree, root, ".py", ".log")
    other = list_files(open_worktree(tmp_path / "home"), root, ".py", ".log")

    assert first == again == other
    assert {path: (file.mode, file.size) for path, file in first.items()} == {
        "link.py": ("link", 8),
        "src/a.py": ("file", 6),
        "src/b.py": ("file", 6),
        "src/new.py": ("file", 8),
    }


def test_only_a_file_with_the_same_bytes_has_the_same_name(
    root: Path, worktree: LocalWorktree, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(root, ".gitattributes", "* text=auto\n")
    write(root, "src/same.py", "a = 1\n")
    write(root, "src/crlf.py", "a = 1\r\n")
    commit(root)
    monkeypatch.setattr("handrail.worktree.list_files.COARSEST_CLOCK_NS", -3_600_000_000_000)

    listed = list_files(worktree, root, ".py")
    name = listed["src/a.py"].content
    write(root, "src/a.py", "a = 2\n")

    assert run_git(root, "rev-parse", "HEAD:src/same.py") == run_git(root, "rev-parse", "HEAD:src/crlf.py")
    assert listed["src/same.py"].content == name != ""
    assert listed["src/crlf.py"].content not in ("", name)
    assert list_files(worktree, root, ".py")["src/a.py"].content not in ("", name)


def test_a_file_that_changed_lately_is_read(root: Path, worktree: LocalWorktree) -> None:
    before = list_files(worktree, root, ".py")["src/a.py"]
    found = os.stat(root / "src/a.py")
    write(root, "src/a.py", "a = 7\n")
    os.utime(root / "src/a.py", ns=(found.st_atime_ns, found.st_mtime_ns))

    after = list_files(worktree, root, ".py")["src/a.py"]

    assert after.size == before.size
    assert after.content != before.content


@pytest.mark.parametrize(
    "command",
    [
        ("update-index", "--assume-unchanged", "src/a.py"),
        ("update-index", "--skip-worktree", "src/a.py"),
        ("update-index", "--split-index"),
    ],
)
def test_no_mark_of_git_hides_a_change(
    root: Path, worktree: LocalWorktree, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    run_git(root, *command)
    monkeypatch.setattr("handrail.worktree.list_files.COARSEST_CLOCK_NS", -3_600_000_000_000)
    before = list_files(worktree, root, ".py")["src/a.py"]

    write(root, "src/a.py", "a = 100\n")

    assert list_files(worktree, root, ".py")["src/a.py"].content not in ("", before.content)


def test_a_part_of_a_repository_is_listed_alone(root: Path, worktree: LocalWorktree) -> None:
    write(root, "src/new.py", "new = 1\n")
    write(root, "above.py", "x = 1\n")

    assert sorted(list_files(worktree, root / "src", ".py")) == ["a.py", "b.py", "new.py"]


def test_nothing_behind_a_link_is_listed(root: Path, worktree: LocalWorktree, tmp_path: Path) -> None:
    (root / "src").rename(tmp_path / "away")
    (root / "src").symlink_to(tmp_path / "away")

    assert list_files(worktree, root, ".py") == {}


def test_other_repositories_and_leavings_are_not_listed(root: Path, worktree: LocalWorktree) -> None:
    write(root, "inner/x.py", "x = 1\n")
    run_git(root / "inner", "init", "-q", ".")
    write(root, ".pytest_cache/y.py", "y = 1\n")

    assert sorted(list_files(worktree, root, ".py")) == ["src/a.py", "src/b.py"]


def test_a_removed_file_is_no_longer_listed(worktree: LocalWorktree, tmp_path: Path) -> None:
    root = tmp_path / "project"
    make_project(root)
    assert "src/a.py" in list_files(worktree, root, ".py")

    (root / "src/a.py").unlink()

    assert "src/a.py" not in list_files(worktree, root, ".py")
    commit(root, "two")
    assert "src/a.py" not in list_files(worktree, root, ".py")


def test_outside_of_a_repository_the_same_is_listed(worktree: LocalWorktree, tmp_path: Path) -> None:
    root = tmp_path / "plain"
    write(root, ".gitignore", "*.log\n")
    write(root, "a.py", "a = 1\n")
    write(root, "node_modules/x.py", "x = 1\n")
    write(root, "a.txt")

    listed = list_files(worktree, root, ".py", ".log")

    assert sorted(listed) == ["a.py"]


def test_without_git_nothing_is_listed(root: Path, tmp_path: Path) -> None:
    bare = LocalWorktree(str(tmp_path / "home"), {"PATH": str(tmp_path)})

    assert bare.list_files(str(root), [".py"]) == Unseen(reason="git is not installed")


def test_a_project_that_is_not_there_says_so(worktree: LocalWorktree, tmp_path: Path) -> None:
    assert isinstance(worktree.list_files(str(tmp_path / "nowhere"), [".py"]), Unseen)


def test_files_with_one_of_the_texts_are_found_in_their_order(
    worktree: LocalWorktree, tmp_path: Path
) -> None:
    root = tmp_path / "plain"
    for name, text in {"b.py": "needle", "a/x.py": "no", "a/y.js": "two needles", "c.py": "other"}.items():
        write(root, name, text)

    assert find(worktree, root, b"needle") == ["a/y.js", "b.py"]
    assert find(worktree, root, b"needle", b"other") == ["a/y.js", "b.py", "c.py"]
    assert find(worktree, root) == ["a/x.py", "a/y.js", "b.py", "c.py"]
    assert find(worktree, root, b"needle", most=8) == ["b.py"]


def test_no_link_is_followed_and_no_changed_file_is_read(worktree: LocalWorktree, tmp_path: Path) -> None:
    root = tmp_path / "plain"
    outside = write(tmp_path, "outside/secret.py", "needle")
    write(root, "a/x.py", "needle")
    write(root, "b.py", "needle")
    (root / "link.py").symlink_to(outside)
    listed = list(list_files(worktree, root, ".py").values())
    shutil.rmtree(root / "a")
    (root / "a").symlink_to(outside.parent)
    shutil.copy(outside, outside.parent / "x.py")
    write(root, "b.py", "needle, but another")
    escaping = [msgspec.structs.replace(listed[0], path="../outside/secret.py")]

    found = worktree.find_text(str(root), [*listed, *escaping], [b"needle"], MOST)

    assert [(entry.path, content) for entry, content in found] == [
        ("a/x.py", None),
        ("b.py", None),
        ("../outside/secret.py", None),
    ]


def test_a_pipe_in_place_of_a_file_does_not_make_the_call_wait(
    worktree: LocalWorktree, tmp_path: Path
) -> None:
    root = tmp_path / "plain"
    write(root, "a.py", "needle")
    listed = list(list_files(worktree, root, ".py").values())
    (root / "a.py").unlink()
    os.mkfifo(root / "a.py")

    assert [content for _, content in worktree.find_text(str(root), listed, [b"needle"], MOST)] == [None]


def test_whole_write_writes_nothing_if_one_file_changed(worktree: LocalWorktree, tmp_path: Path) -> None:
    root = tmp_path / "plain"
    for name in ("a.py", "b.py"):
        write(root, name, "old")
    writes = [
        FileWrite(path=path, mode="file", content=b"new", before=file.entry)
        for path, file in worktree.read_files(str(root), ["a.py", "b.py"]).items()
    ]
    write(root, "b.py", "somebody else")

    refused = worktree.write_files(str(root), writes, is_whole=True)

    assert [left.path for left in refused.left_out] == ["b.py"]
    assert refused.changed == ()
    assert (root / "a.py").read_text(encoding="utf-8") == "old"
    assert not worktree.is_unfinished(str(root))


@pytest.mark.parametrize(("most", "is_listed"), [(3, False), (4, True)])
def test_a_project_with_too_many_files_is_not_listed(
    worktree: LocalWorktree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, is_listed: bool
) -> None:
    root = tmp_path / "project"
    for name in ("a.py", "b.py", "c.py"):
        write(root, name, "1\n")
    run_git(root, "init", "-q", ".")
    commit(root)
    write(root, "new.py", "1\n")
    monkeypatch.setattr("handrail.worktree.list_files.MOST_FILES", most)

    listed = worktree.list_files(str(root), (".py",))

    assert isinstance(listed, FileList) is is_listed
    assert is_listed or listed == Unseen(reason="the project has more than 100 000 files")
