"""Finding and starting programs: nothing depends on where the caller stands."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from handrail.host.programs import find_program, make_child_environment, own_command


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "git").write_text("#!/bin/sh\n", encoding="utf-8")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("path", ["", ".", ":", f".{os.pathsep}", "bin/..", "./"])
def test_a_program_of_the_working_directory_is_never_found(planted: Path, path: str) -> None:
    assert find_program("git", {"PATH": path}) == ""
    assert find_program("./git", {"PATH": path}) == ""


def test_a_program_in_an_absolute_place_is_found(planted: Path) -> None:
    assert find_program("git", {"PATH": f".{os.pathsep}{planted}"}) == str(planted / "git")


def test_a_child_gets_no_place_that_depends_on_where_it_stands(planted: Path) -> None:
    asked = {"PATH": f".{os.pathsep}/bin{os.pathsep}", "PYTHONPATH": f"src{os.pathsep}/opt/x", "HOME": "/h"}

    given = make_child_environment(asked, LC_ALL="C")

    assert given == {"PATH": "/bin", "PYTHONPATH": "/opt/x", "HOME": "/h", "LC_ALL": "C"}


def test_own_command_keeps_the_working_directory_off_path() -> None:
    assert own_command()[1:] == ("-P", "-m", "handrail.main")
