"""New files in a project: inside it unless a directory is named, never over another one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from handrail.contract.outcome import Fault
from handrail.contract.wording import quote
from handrail.host.authored_files import ProjectFiles

FILES = ProjectFiles()


def check_refused(project: Path, directory: str, code: str) -> None:
    with pytest.raises(Fault) as caught:
        FILES.place(str(project), directory, "a.json", "out")

    assert (caught.value.kind.code, caught.value.details["param"]) == (code, "out")


def test_the_projects_own_directory_is_the_default(tmp_path: Path) -> None:
    place = FILES.place(str(tmp_path), "", "a.json", "to")

    assert place.path == str(tmp_path / ".handrail" / "workflows" / "a.json")
    assert place.content is None
    assert place.missing_directories == (str(tmp_path / ".handrail"), str(tmp_path / ".handrail/workflows"))
    assert list(tmp_path.iterdir()) == []


def test_a_named_directory_may_be_anywhere(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()

    place = FILES.place(str(tmp_path / "project"), str(other), "a.json", "to")

    assert (place.path, place.missing_directories) == (str(other / "a.json"), ())


def test_a_relative_directory_is_one_of_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")

    place = FILES.place(str(tmp_path / "project"), "drafts", "a.json", "to")

    assert place.path == str(tmp_path / "project" / "drafts" / "a.json")


def test_what_is_there_is_shown(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"mine")

    assert FILES.place(str(tmp_path), str(tmp_path), "a.json", "to").content == b"mine"


def test_a_link_to_nowhere_counts_as_something(tmp_path: Path) -> None:
    (tmp_path / "a.json").symlink_to(tmp_path / "nowhere")

    assert FILES.place(str(tmp_path), str(tmp_path), "a.json", "to").content == b""
    assert FILES.create(str(tmp_path / "a.json"), b"x") is False
    assert not (tmp_path / "nowhere").exists()


def test_own_directory_outside_of_the_project_is_refused(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / ".handrail").symlink_to(tmp_path)

    check_refused(project, "", "E_VALIDATION")


def test_a_file_in_the_place_of_a_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")

    check_refused(tmp_path, str(tmp_path / "file"), "E_VALIDATION")
    check_refused(tmp_path, str(tmp_path / "file" / "below"), "E_VALIDATION")


def test_new_file_is_readable_and_its_directories_are_made(tmp_path: Path) -> None:
    path = tmp_path / "one" / "two" / "a.json"
    mask = os.umask(0o022)

    try:
        made = FILES.create(str(path), b"content")
    finally:
        os.umask(mask)

    assert made is True
    assert path.read_bytes() == b"content"
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_file_that_is_there_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"mine")

    assert FILES.create(str(path), b"yours") is False
    assert path.read_bytes() == b"mine"


def test_a_directory_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(Fault) as caught:
        FILES.create(str(tmp_path / "file" / "a.json"), b"x")

    assert caught.value.kind.code in ("E_VALIDATION", "E_IO")


def test_a_full_disk_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)

    with pytest.raises(Fault) as caught:
        FILES.create(str(tmp_path / "a.json"), b"x")

    assert (caught.value.kind.code, caught.value.details["reason"]) == ("E_IO", "ENOSPC")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["absent/a.json", "file/a.json"])
def test_a_directory_that_is_not_there_is_named(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(Fault) as caught:
        FILES.create_private(str(tmp_path / place), [b"x"])

    assert caught.value.kind.code == "E_NOT_FOUND"
    assert caught.value.message == f"The directory {quote(str((tmp_path / place).parent))} does not exist."


@pytest.mark.parametrize("directory", ["nul\0byte", "half \ud83d"])
def test_a_name_that_no_directory_can_have_is_refused(tmp_path: Path, directory: str) -> None:
    check_refused(tmp_path, directory, "E_VALIDATION")


def test_next_export_removes_what_a_killed_one_left(
    tmp_path: Path,
) -> None:
    """What a killed export left goes with the next one and what is being written stays."""
    (tmp_path / ".handrail-0011223344556677.tmp").write_bytes(b"half")
    (tmp_path / ".handrail-notes").write_bytes(b"mine")
    seen: list[list[str]] = []

    def parts() -> Iterator[bytes]:
        FILES.create_private(str(tmp_path / "other.json"), [b"{}"])  # somebody else exports meanwhile
        seen.append(sorted(path.name for path in tmp_path.iterdir()))
        yield b"{}"

    assert FILES.create_private(str(tmp_path / "bundle.json"), parts())

    assert len(seen[0]) == 3
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [".handrail-notes", "bundle.json", "other.json"]
