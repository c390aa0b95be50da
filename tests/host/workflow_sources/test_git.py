"""Workflows of a git repository at one commit: read from its objects, told what is missing, never fetched."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess

import pytest

from handrail.contract.workflow_files import WorkflowFile
from handrail.host.workflow_sources.directories import GitSource
from handrail.host.workflow_sources.named import clone_directory, read_git_files

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

ENVIRONMENT = {
    "PATH": os.environ.get("PATH", os.defpath),
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
}


def git(repository: str, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", repository, *arguments],
        env=ENVIRONMENT,
        check=True,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )
    return done.stdout.strip()


def put(repository: str, name: str, content: bytes) -> None:
    path = os.path.join(repository, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)


@pytest.fixture
def repository(tmp_path: object) -> str:
    place = f"{tmp_path}/flows-repo"
    os.mkdir(place)
    git(place, "init", "-q")
    put(place, "flows/b.json", b'{"b": 1}')
    put(place, "flows/a.json", b'{"a": "\xc3\xa9"}\n')
    put(place, "flows/notes.md", b"no workflow")
    put(place, "flows/deeper/c.json", b"{}")
    put(place, "top.json", b"top")
    os.symlink("/etc/hostname", os.path.join(place, "flows/link.json"))
    git(place, "add", "-A")
    git(place, "commit", "-q", "-m", "one")
    return place


def given(files: list[WorkflowFile]) -> list[tuple[str, bytes]]:
    assert all(file.source_kind == "git" and not file.trouble for file in files), files
    return [(file.source_ref, file.content) for file in files]


def trouble(files: list[WorkflowFile]) -> tuple[str, str]:
    (file,) = files
    return file.trouble, file.remedy


def test_a_file_under_a_name_that_is_not_looked_for_is_told(repository: str, home: str) -> None:
    put(repository, "more/plain.JSON", b"{}")
    put(repository, "more/.lint.yaml", b"a: b")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "two")
    commit = git(repository, "rev-parse", "HEAD")

    files = read_git_files(GitSource(path=repository, ref=commit, directory="more"), home, ENVIRONMENT)

    assert trouble(files) == (
        '"plain.JSON" is not read: only names that end in .json, .yaml, .yml, .md are.',
        'Rename it to "plain.json".',
    )


def test_the_files_of_a_directory_at_a_commit_are_given_by_name(repository: str, home: str) -> None:
    commit = git(repository, "rev-parse", "HEAD")

    files = read_git_files(GitSource(path=repository, ref=commit, directory="flows"), home, ENVIRONMENT)

    shown = f"flows-repo@{commit[:12]}"
    assert given(files) == [
        (f"{shown}/a.json", b'{"a": "\xc3\xa9"}\n'),
        (f"{shown}/b.json", b'{"b": 1}'),
        (f"{shown}/deeper/c.json", b"{}"),
    ]
    assert {file.address for file in files} == {repository}


def test_contracts_folder_of_another_tool_is_left_alone(repository: str, home: str) -> None:
    """A folder of contracts holds contracts and that of another tool is left alone."""
    put(repository, "own/contracts/team.contracts.x.json", b"{}")
    put(repository, "own/.hg/y.json", b"{}")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "two")
    source = GitSource(
        path=repository,
        ref=git(repository, "rev-parse", "HEAD"),
        directory="own",
        namespaces={"wr": "theirs"},
    )

    (file,) = read_git_files(source, home, ENVIRONMENT)

    assert (file.holds, file.namespaces) == ("contract", {"wr": "theirs"})


def test_later_commits_and_changes_in_the_checkout_do_not_matter(repository: str, home: str) -> None:
    source = GitSource(path=repository, ref=git(repository, "rev-parse", "HEAD"))
    before = read_git_files(source, home, ENVIRONMENT)
    put(repository, "top.json", b"changed")
    put(repository, "more.json", b"more")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "two")

    assert given(read_git_files(source, home, ENVIRONMENT)) == given(before)
    assert (f"flows-repo@{source.ref[:12]}/top.json", b"top") in given(before)


def test_a_file_larger_than_a_workflow_may_be_is_given_empty(repository: str, home: str) -> None:
    put(repository, "large/huge.json", b"x" * 1_200_000)
    put(repository, "large/top.json", b"top")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "huge")

    files = read_git_files(
        GitSource(path=repository, ref=git(repository, "rev-parse", "HEAD"), directory="large"),
        home,
        ENVIRONMENT,
    )

    assert [(name[-9:], len(content)) for name, content in given(files)] == [
        ("huge.json", 0),
        ("/top.json", 3),
    ]


def test_repository_with_an_address_says_how_to_fetch_it(home: str) -> None:
    source = GitSource(url="https://example.org/it's/flows.git", ref="a" * 40)

    message, remedy = trouble(read_git_files(source, home, ENVIRONMENT))

    assert message.endswith("is not fetched yet; nothing is fetched unasked.")
    place = shlex.quote(clone_directory(home, source.url))
    assert remedy == f"""Fetch it: git clone --bare -- 'https://example.org/it'"'"'s/flows.git' {place}"""
    assert not os.path.exists(home)


def test_a_fetched_repository_is_read(repository: str, home: str) -> None:
    url = f"file://{repository}"
    git(repository, "clone", "-q", "--bare", repository, clone_directory(home, url))

    files = read_git_files(
        GitSource(url=url, ref=git(repository, "rev-parse", "HEAD"), directory="flows"), home, ENVIRONMENT
    )

    assert [content for _, content in given(files)] == [b'{"a": "\xc3\xa9"}\n', b'{"b": 1}', b"{}"]


def test_missing_commit_names_the_command_that_fetches_it(repository: str, home: str) -> None:
    url = f"file://{repository}"
    place = clone_directory(home, url)
    git(repository, "clone", "-q", "--bare", repository, place)

    message, remedy = trouble(read_git_files(GitSource(url=url, ref="b" * 40), home, ENVIRONMENT))

    assert message == "The commit bbbbbbbbbbbb is not in the repository, or git cannot read it."
    assert remedy == f"Fetch it: git -C {shlex.quote(place)} fetch origin {'b' * 40}"


def test_what_is_no_repository_or_no_directory_is_told(repository: str, home: str) -> None:
    commit = git(repository, "rev-parse", "HEAD")

    absent = trouble(read_git_files(GitSource(path=f"{repository}-gone", ref=commit), home, ENVIRONMENT))
    no_folder = trouble(
        read_git_files(GitSource(path=repository, ref=commit, directory="gone"), home, ENVIRONMENT)
    )

    assert absent[1] == "Correct path in config.json."
    assert no_folder == (
        f'flows-repo@{commit[:12]} has no directory "gone".',
        "Correct directory in config.json.",
    )


def test_without_git_the_source_is_told_and_nothing_fails(repository: str, home: str) -> None:
    commit = git(repository, "rev-parse", "HEAD")

    message, _ = trouble(read_git_files(GitSource(path=repository, ref=commit), home, {"PATH": home}))

    assert message.endswith("or git cannot read it.")
