"""What nobody looks into: a right guess gets the answer of a wrong one, from every method of the worktree."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from handrail.ports.worktree import FileList, FileWrite, PlaceAsked, Unseen, absent
from handrail.worktree.local_worktree import LocalWorktree
from tests.hostile.repository.checkout import run_git
from tests.worktree.project import ENVIRONMENT, open_worktree, write

SECRET = "s3cr3t-of-the-keyring"
PRIVATE = (".handrail/keys/keyring.json", ".git/config", "inner/.git/config", "link/keys/keyring.json", "key")
CLOSED = (
    ".env",
    ".env.local",
    "deploy/id.pem",
    "tls.KEY",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".ssh/id",
    "credentials",
)


@pytest.fixture(params=["git", "no git"])
def owner(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A person's own directory as a project: it holds Handrail's home, and links that lead there."""
    write(tmp_path, "src/a.py", "a = 1\n")
    write(tmp_path, ".handrail/keys/keyring.json", SECRET + "\n")
    write(tmp_path, ".handrail/token.js", f"const held = '{SECRET}';\n")
    for name in CLOSED:
        write(tmp_path, name, SECRET + "\n")
    write(tmp_path, "inner/.git/config", SECRET + "\n")
    (tmp_path / "link").symlink_to(".handrail")
    (tmp_path / "key").symlink_to(".handrail/keys/keyring.json")
    if request.param == "git":
        run_git(tmp_path, "init", "-q", ".")
        run_git(tmp_path, "add", "-f", ".handrail/keys/keyring.json", ".env")
        run_git(tmp_path, "commit", "-q", "-m", "by mistake")
    return tmp_path


def open_here(owner: Path) -> LocalWorktree:
    return open_worktree(owner / ".handrail")


@pytest.mark.parametrize("path", [*PRIVATE, ".HANDRAIL/keys/keyring.json", ".Git/config", *CLOSED])
def test_a_right_guess_is_answered_as_a_wrong_one(owner: Path, path: str) -> None:
    asked = [PlaceAsked(path=path, line=line) for line in (1, 9)]

    seen = open_here(owner).see_places(str(owner), asked)

    assert {(one.state, one.note) for one in seen} == {("unreadable", seen[0].note)}


@pytest.mark.parametrize("path", PRIVATE[:2])
def test_nobody_is_told_whether_a_private_file_is_there(owner: Path, path: str) -> None:
    worktree, absent = open_here(owner), path + "x"

    one, other = worktree.see_places(str(owner), [PlaceAsked(path=path), PlaceAsked(path=absent)])
    located = worktree.locate_files(str(owner), [path, absent])

    assert (one.state, one.note) == (other.state, other.note)
    assert [place.paths for place in located] == [(path,), (absent,)]


@pytest.mark.skipif(not os.path.exists("/proc/self/comm"), reason="needs /proc, where Linux shows processes")
@pytest.mark.parametrize(("project", "path"), [("/proc/self", "comm"), ("/", "proc/self/comm")])
def test_lines_about_a_process_have_one_answer(owner: Path, project: str, path: str) -> None:
    """Lines of what the system tells about a process have one answer."""
    asked = [PlaceAsked(path=path, line=line) for line in (1, 9)]

    right, wrong = open_here(owner).see_places(project, asked)

    assert (right.state, right.note) == (wrong.state, wrong.note)


def test_no_list_holds_a_private_file(owner: Path) -> None:
    worktree = open_here(owner)

    listed = worktree.list_files(str(owner), [".js", ".json", ".py"])

    assert isinstance(listed, FileList)
    named = {one.path for one in listed.files}
    assert not [path for path in named if path.startswith((".handrail/", ".git/", "inner/.git"))]
    assert "src/a.py" in named
    assert worktree.read_files(str(owner), PRIVATE[:4]) == {}


def test_credentials_are_read_by_nobody(owner: Path) -> None:
    assert open_here(owner).read_files(str(owner), CLOSED) == {}


def test_text_is_found_in_no_file_of_credentials(owner: Path) -> None:
    write(owner, "credentials.json", SECRET)
    write(owner, "credentials.py", SECRET)
    worktree = open_here(owner)
    listed = worktree.list_files(str(owner), [".json", ".py"])
    assert isinstance(listed, FileList)

    found = worktree.find_text(str(owner), listed.files, [SECRET.encode()], 1_000)

    assert [entry.path for entry, _ in found] == ["credentials.py"]


def test_no_file_is_written_into_the_home(owner: Path) -> None:
    worktree = open_here(owner)
    entry = absent(".handrail/config.json")

    done = worktree.write_files(
        str(owner), [FileWrite(path=entry.path, mode="file", content=b"{}", before=entry)]
    )

    assert done.changed == ()
    assert not (owner / ".handrail/config.json").exists()


@pytest.mark.parametrize("below", ["", "keys"])
def test_nothing_of_the_home_is_a_project(tmp_path: Path, below: str) -> None:
    write(tmp_path, "home/keys/keyring.json", SECRET)
    (tmp_path / "way").symlink_to("home")
    worktree = LocalWorktree(str(tmp_path / "way"), ENVIRONMENT)
    project = str(tmp_path / "home" / below)

    (seen,) = worktree.see_places(project, [PlaceAsked(path="keyring.json")])

    assert isinstance(worktree.list_files(project, [".json"]), Unseen)
    assert seen.state == "unreadable"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_file_of_another_user_is_listed_and_never_read(tmp_path: Path) -> None:
    root = tmp_path / "project"
    path = write(root, "notes.txt", SECRET)
    try:
        os.chown(path, 4242, 4242)
    except OSError:
        pytest.skip("this root has no other user")
    worktree = open_worktree(tmp_path / "home")

    listed = worktree.list_files(str(root), [".txt"])
    (seen,) = worktree.see_places(str(root), [PlaceAsked(path="notes.txt", line=1)])

    assert isinstance(listed, FileList)
    assert [(one.content, one.size) for one in listed.files] == [("", len(SECRET))]
    assert worktree.read_files(str(root), ["notes.txt"]) == {}
    assert (seen.state, seen.note) == ("unreadable", "it belongs to another user")
