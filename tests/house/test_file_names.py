"""Files are named after their subject, never after their shape."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.cases import every_case
from tests.house.tree import Source, check, check_planted, plant, python_files

BANNED = frozenset(
    {
        *("utils", "util", "helpers", "helper", "common", "core", "base", "misc", "types"),
        *("manager", "service", "handler", "impl"),
    }
)


def shapeless_names(sources: Sequence[Source]) -> list[str]:
    """A banned word as a file or folder name, or as its last word (`string_utils`)."""
    return [
        f"{source.path}:1: '{part}' says nothing about the subject; name it after what it holds"
        for source in sources
        for part in source.path.removesuffix(".py").split("/")
        if part.split("_")[-1] in BANNED
    ]


def packages_in_tests(sources: Sequence[Source]) -> list[str]:
    return [
        f"{source.path}:1: test folders are namespace packages; delete this file"
        for source in sources
        if source.path.startswith("tests/") and source.path.endswith("/__init__.py")
    ]


def test_no_file_or_folder_has_a_shapeless_name() -> None:
    check(shapeless_names(python_files()))


def test_test_folders_have_no_package_files() -> None:
    check(packages_in_tests(python_files()))


@every_case(
    ("path", "expected"),
    [
        ("src/handrail/engine/utils.py", "'utils'"),
        ("src/handrail/engine/token_helpers.py", "'token_helpers'"),
        ("src/handrail/core/gate.py", "'core'"),
        ("tests/engine/common.py", "'common'"),
        ("src/handrail/contract/base32.py", ""),
        ("src/handrail/engine/gate.py", ""),
    ],
)
def test_a_shapeless_name_is_reported(path: str, expected: str) -> None:
    check_planted(shapeless_names, plant(path, "x = 1\n"), expected)


@pytest.mark.parametrize(
    ("path", "expected"),
    [("tests/engine/__init__.py", "delete this file"), ("src/handrail/engine/__init__.py", "")],
)
def test_a_package_file_among_the_tests_is_reported(path: str, expected: str) -> None:
    check_planted(packages_in_tests, plant(path, ""), expected)
