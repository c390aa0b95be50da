"""Listing files with their digests, finding text in them, and writing all of them or none."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from handrail.host.worktree.local_worktree import LocalWorktree
from handrail.ports.worktree import FileList, FileWrite, TreeEntry, Unseen
from tests.host.worktree.project import blob_digest, commit, make_project, open_worktree, write
from tests.hostile.repository.checkout import run_git

MOST = 1_000_000


def list_files(worktree: LocalWorktree, root: Path, *suffixes: str) -> dict[str, TreeEntry]:
    listed = worktree.list_files(str(root), suffixes)
    assert isinstance(listed, FileList), listed
    assert [entry.path for entry in listed.files] == sorted(entry.path for entry in listed.files)
    return {entry.path: entry for entry in listed.files}


def find(worktree: LocalWorktree, root: Path, *needles: bytes, most: int = MOST) -> list[str]:
    files = list_files(worktree, root, ".py", ".js").values()
    return [entry.path for entry, _ in worktree.find_text(str(root), files, needles, most)]


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_committed_changed_and_new_files_are_listed_with_the_digests_of_their_bytes(
    worktree: LocalWorktree, tmp_path: Path
) -> None:
    root = tmp_path / "project"
    make_project(root)
    write(root, "src/b.py", "b = 3\n")
    write(root, "src/new.py", "new = 1\n")
    write(root, "src/ignored.log", "x")
    (root / "link.py").symlink_to("src/a.py")

    first = list_files(worktree, root, ".py")
    again = list_files(worktree, root, ".py")
    other = list_files(open_worktree(tmp_path / "home"), root, ".py")

    assert first == again == other
    assert {path: entry.digest for path, entry in first.items() if entry.mode == "file"} == {
        "src/a.py": blob_digest(b"a = 1\n", "sha1"),
        "src/b.py": blob_digest(b"b = 3\n", "sha1"),
        "src/new.py": blob_digest(b"new = 1\n", "sha1"),
    }
    assert first["link.py"].mode == "link"


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_removed_file_is_no_longer_listed(worktree: LocalWorktree, tmp_path: Path) -> None:
    root = tmp_path / "project"
    make_project(root)
    assert "src/a.py" in list_files(worktree, root, ".py")

    (root / "src/a.py").unlink()

    assert "src/a.py" not in list_files(worktree, root, ".py")
    commit(root, "two")
    assert "src/a.py" not in list_files(worktree, root, ".py")


def test_without_git_the_same_is_listed(worktree: LocalWorktree, tmp_path: Path) -> None:
    root = tmp_path / "plain"
    write(root, ".gitignore", "*.log\n")
    write(root, "a.py", "a = 1\n")
    write(root, "node_modules/x.py", "x = 1\n")
    write(root, "a.txt")

    listed = list_files(worktree, root, ".py", ".log")

    assert {path: entry.digest for path, entry in listed.items()} == {
        "a.py": blob_digest(b"a = 1\n", "sha256")
    }


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
    escaping = [TreeEntry(path="../outside/secret.py", mode="file", digest=listed[0].digest, size=6)]

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


def test_writing_as_a_whole_writes_nothing_when_one_file_has_changed(
    worktree: LocalWorktree, tmp_path: Path
) -> None:
    root = tmp_path / "plain"
    for name in ("a.py", "b.py"):
        write(root, name, "old")
    writes = [
        FileWrite(path=path, mode="file", content=b"new", before=entry)
        for path, entry in list_files(worktree, root, ".py").items()
    ]
    write(root, "b.py", "somebody else")

    refused = worktree.write_files(str(root), writes, is_whole=True)

    assert [left.path for left in refused.left_out] == ["b.py"]
    assert refused.changed == ()
    assert (root / "a.py").read_text(encoding="utf-8") == "old"
    assert not worktree.is_unfinished(str(root))


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
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
    monkeypatch.setattr("handrail.host.worktree.list_files.MOST_FILES", most)

    listed = worktree.list_files(str(root), (".py",))

    assert isinstance(listed, FileList) is is_listed
    assert is_listed or listed == Unseen(reason="the project has more than 100 000 files")
