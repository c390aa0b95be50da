"""Only regular files are opened, and what is no such file is named."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from handrail.host.private_files import explain_unreadable, open_regular_file


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One of each kind of thing that can stand under a file's name."""
    (tmp_path / "file").write_bytes(b"text")
    (tmp_path / "directory").mkdir()
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "link to a directory").symlink_to("directory")
    (tmp_path / "link to nothing").symlink_to("gone")
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("file", ""),
        ("link", ""),
        ("absent", "does not exist"),
        ("link to nothing", "is a link that leads nowhere"),
        ("directory", "is not a regular file"),
        ("link to a directory", "is not a regular file"),
        ("loop", "is not a regular file"),
        ("pipe", "is not a regular file"),
    ],
)
def test_each_thing_is_named_and_only_files_are_opened(folder: Path, name: str, why: str) -> None:
    path = str(folder / name)

    assert explain_unreadable(path) == why
    if why:
        with pytest.raises(OSError, match=r".*"):
            open_regular_file(path, os.O_RDONLY)


def test_it_serves_as_an_opener(folder: Path) -> None:
    with open(folder / "file", "rb", opener=open_regular_file) as file:
        content = file.read()

    assert content == b"text"
