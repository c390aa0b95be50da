"""Where the caller works: the project directory, and the git facts that a few small files tell."""

from __future__ import annotations

import os
import pwd

import pytest

from handrail.contract.catalogue import E_VALIDATION
from handrail.contract.outcome import Fault
from handrail.host.workspace import LocalWorkspace

COMMIT = "0123456789abcdef0123456789abcdef01234567"
OTHER = "f" * 40
LONG_COMMIT = "ab" * 32


def write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


@pytest.fixture
def root(tmp_path: object) -> str:
    """A repository on branch main whose commit is loose."""
    path = f"{tmp_path}/repository"
    write(f"{path}/.git/HEAD", "ref: refs/heads/main\n")
    write(f"{path}/.git/refs/heads/main", COMMIT + "\n")
    return path


def facts(project: str) -> tuple[str | None, str | None]:
    """Branch and commit."""
    seen = LocalWorkspace({}).observations(project)
    return seen.get("git_branch"), seen.get("git_head_sha")


def test_branch_and_commit_are_read_from_the_repository(root: str) -> None:
    assert facts(root) == ("main", COMMIT)


def test_a_directory_below_the_root_tells_the_same(root: str) -> None:
    os.makedirs(f"{root}/src/deep")

    assert LocalWorkspace({}).observations(f"{root}/src/deep") == LocalWorkspace({}).observations(root)


def test_the_root_is_named_by_a_digest_only(root: str) -> None:
    seen = LocalWorkspace({}).observations(root)

    assert len(seen["repo_root_hash"]) == 32
    assert not any(root in value for value in seen.values())


def test_outside_a_repository_nothing_is_seen(tmp_path: object) -> None:
    assert LocalWorkspace({}).observations(str(tmp_path)) == {}


def test_a_branch_may_have_slashes(root: str) -> None:
    write(f"{root}/.git/HEAD", "ref: refs/heads/feature/two-words\n")
    write(f"{root}/.git/refs/heads/feature/two-words", OTHER)

    assert facts(root) == ("feature/two-words", OTHER)


def test_a_packed_commit_is_found(root: str) -> None:
    os.remove(f"{root}/.git/refs/heads/main")
    lines = [
        "# pack-refs with: peeled fully-peeled sorted",
        f"{OTHER} refs/heads/main-old",
        f"{COMMIT} refs/heads/main",
        f"^{OTHER}",
    ]
    write(f"{root}/.git/packed-refs", "\n".join(lines) + "\n")

    assert facts(root) == ("main", COMMIT)


def test_a_loose_commit_is_newer_than_a_packed_one(root: str) -> None:
    write(f"{root}/.git/packed-refs", f"{OTHER} refs/heads/main\n")

    assert facts(root) == ("main", COMMIT)


@pytest.mark.parametrize("commit", [COMMIT, LONG_COMMIT])
def test_a_detached_head_has_a_commit_and_no_branch(root: str, commit: str) -> None:
    write(f"{root}/.git/HEAD", commit + "\n")

    assert facts(root) == (None, commit)


def test_a_branch_without_a_commit_yet_is_still_a_branch(root: str) -> None:
    os.remove(f"{root}/.git/refs/heads/main")

    assert facts(root) == ("main", None)


def test_linked_worktree_has_its_own_head_and_all_branches(root: str, tmp_path: object) -> None:
    tree = f"{tmp_path}/tree"
    own = f"{root}/.git/worktrees/tree"
    write(f"{tree}/.git", f"gitdir: {own}\n")
    write(f"{own}/HEAD", "ref: refs/heads/side\n")
    write(f"{own}/commondir", "../..\n")
    write(f"{root}/.git/refs/heads/side", OTHER)

    assert facts(tree) == ("side", OTHER)
    assert facts(root) == ("main", COMMIT)


def test_a_worktree_finds_packed_branches_of_the_main_repository(root: str, tmp_path: object) -> None:
    tree = f"{tmp_path}/tree"
    own = f"{root}/.git/worktrees/tree"
    write(f"{tree}/.git", f"gitdir: {own}\n")
    write(f"{own}/HEAD", "ref: refs/heads/side\n")
    write(f"{own}/commondir", "../..\n")
    write(f"{root}/.git/packed-refs", f"{OTHER} refs/heads/side\n")

    assert facts(tree) == ("side", OTHER)


def test_a_submodule_with_a_relative_git_file_is_followed(root: str) -> None:
    write(f"{root}/lib/.git", "gitdir: ../.git/modules/lib\n")
    write(f"{root}/.git/modules/lib/HEAD", OTHER)

    assert facts(f"{root}/lib") == (None, OTHER)


@pytest.mark.parametrize(
    "head",
    [
        "",
        "garbage",
        "ref: ",
        "ref: refs/heads/.invalid",  # what a repository with a ref table writes there
        "ref: ../../secret",
        "ref: refs/heads/../../../secret",
        "ref: /etc/hostname",
        "ref: refs//main",
    ],
)
def test_a_head_that_is_not_gits_own_tells_nothing(root: str, head: str) -> None:
    write(f"{root}/../secret", "first line of a private file\n")
    write(f"{root}/.git/HEAD", head)

    assert facts(root) == (None, None)


def test_a_ref_file_with_other_content_gives_no_commit(root: str) -> None:
    write(f"{root}/.git/refs/heads/main", "not a commit")

    assert facts(root) == ("main", None)


def test_the_project_that_is_asked_for_wins(root: str, tmp_path: object) -> None:
    workspace = LocalWorkspace({"HANDRAIL_PROJECT": str(tmp_path)})

    assert workspace.project(root) == root
    assert workspace.project("") == str(tmp_path)


def test_without_a_wish_the_git_root_above_is_the_project(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    os.makedirs(f"{root}/src")
    monkeypatch.chdir(f"{root}/src")

    assert LocalWorkspace({}).project("") == root


def test_working_directory_is_the_project_without_git(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(str(tmp_path))

    assert LocalWorkspace({}).project("") == str(tmp_path)


def test_a_relative_wish_becomes_absolute(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(os.path.dirname(root))

    assert LocalWorkspace({}).project("repository") == root


@pytest.mark.parametrize("missing", ["nowhere", "repository/.git/HEAD", "nul\0byte", "half \ud83d"])
def test_a_project_that_is_no_directory_is_refused(root: str, missing: str) -> None:
    asked = os.path.join(os.path.dirname(root), missing)

    with pytest.raises(Fault) as caught:
        LocalWorkspace({}).project(asked)

    assert caught.value.kind is E_VALIDATION
    assert caught.value.details == {"param": "project"}


@pytest.mark.parametrize(
    ("environment", "expected"),
    [({"USER": "ada"}, "ada"), ({"USERNAME": "ada"}, "ada"), ({"USER": "", "USERNAME": "grace"}, "grace")],
)
def test_the_account_is_the_user_of_the_environment(environment: dict[str, str], expected: str) -> None:
    assert LocalWorkspace(environment).account() == expected


def test_account_without_a_variable_has_the_login_name() -> None:
    """Without a name in the environment, the account has the name of the login."""
    assert LocalWorkspace({}).account() == pwd.getpwuid(os.getuid()).pw_name


def test_an_account_without_any_name_is_the_user_id(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getuid", lambda: 4_000_000_001)

    assert LocalWorkspace({}).account() == "4000000001"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
@pytest.mark.parametrize("planted", ["HEAD", "commondir", "refs/heads/main", "packed-refs"])
def test_a_pipe_in_the_repository_makes_nobody_wait(root: str, planted: str) -> None:
    path = f"{root}/.git/{planted}"
    if os.path.exists(path):
        os.unlink(path)
    os.mkfifo(path)

    branch, commit = facts(root)

    assert branch in ("main", None)
    assert commit in (COMMIT, None)
