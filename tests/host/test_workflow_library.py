"""Workflow files on disk: three places in a fixed order, and no file that stops the others."""

from __future__ import annotations

import os

import pytest

from handrail.host import workflow_library
from handrail.host.workflow_library import DirectoryLibrary
from handrail.ports import WorkflowFile
from handrail.workflows.catalog import build_catalog


def put(directory: str, name: str, content: bytes = b"{}") -> str:
    os.makedirs(directory, exist_ok=True)
    path = os.path.join(directory, name)
    with open(path, "wb") as file:
        file.write(content)
    return path


def own(files: list[WorkflowFile]) -> list[tuple[str, str, bytes]]:
    """Everything but the bundled files."""
    return [
        (file.source_kind, file.source_ref, file.content) for file in files if file.source_kind != "bundled"
    ]


@pytest.fixture
def project(tmp_path: object) -> str:
    return f"{tmp_path}/project"


@pytest.fixture
def ours(project: str) -> str:
    return os.path.join(project, ".handrail", "workflows")


def test_files_come_bundled_first_then_user_then_project_sorted_by_name(
    home: str, project: str, ours: str
) -> None:
    put(os.path.join(home, "workflows"), "z.json", b"user z")
    put(ours, "b.json", b"project b")
    put(ours, "a.json", b"project a")

    files = DirectoryLibrary(home).files(project)

    assert own(files) == [
        ("user", "z.json", b"user z"),
        ("project", "a.json", b"project a"),
        ("project", "b.json", b"project b"),
    ]
    kinds = [file.source_kind for file in files]
    assert kinds == sorted(kinds, key=["bundled", "user", "project"].index)


def test_the_bundled_workflows_are_there_and_without_problems(home: str, project: str) -> None:
    catalog = build_catalog(DirectoryLibrary(home).files(project))

    assert {entry.id for entry in catalog} >= {"wr.bug_investigation", "wr.code_review", "wr.small_change"}
    assert [entry.problems for entry in catalog if entry.problems] == []


def test_a_directory_that_does_not_exist_holds_nothing(home: str, project: str) -> None:
    assert own(DirectoryLibrary(home).files(project)) == []


def test_only_json_files_count(home: str, project: str, ours: str) -> None:
    put(ours, "notes.md")
    put(ours, "x.json.bak")
    put(ours, "x.json")

    assert [name for _, name, _ in own(DirectoryLibrary(home).files(project))] == ["x.json"]


def test_what_is_not_a_readable_file_is_given_empty_never_left_out(
    home: str, project: str, ours: str
) -> None:
    put(ours, "fine.json", b"{}")
    os.mkdir(os.path.join(ours, "folder.json"))
    os.mkfifo(os.path.join(ours, "pipe.json"))  # opening it to read would wait for a writer
    os.symlink(os.path.join(ours, "nowhere"), os.path.join(ours, "broken.json"))

    assert own(DirectoryLibrary(home).files(project)) == [
        ("project", "broken.json", b""),
        ("project", "fine.json", b"{}"),
        ("project", "folder.json", b""),
        ("project", "pipe.json", b""),
    ]


def test_a_huge_file_is_read_just_beyond_the_limit(home: str, project: str, ours: str) -> None:
    """One byte more is enough for the reader to refuse it."""
    put(ours, "huge.json", b"x" * 1_200_000)

    (given,) = own(DirectoryLibrary(home).files(project))

    assert len(given[2]) == 1_000_001


def test_a_directory_with_too_many_files_is_cut(
    monkeypatch: pytest.MonkeyPatch, home: str, project: str, ours: str
) -> None:
    monkeypatch.setattr(workflow_library, "MOST_FILES", 2)
    for name in ("c.json", "a.json", "b.json"):
        put(ours, name)

    assert [name for _, name, _ in own(DirectoryLibrary(home).files(project))] == ["a.json", "b.json"]
