"""Line one of every module says what the file is for, and "Pure." in a pure room."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

import pytest

from tests.cases import every_case
from tests.house.tree import Source, check, check_planted, in_pure_room, plant, python_files, syntax

SAYS_PURE = re.compile(r"\bPure[.:]")
PUBLIC_LIBRARIES = ("src/handrail/__init__.py", "src/handrail/contract/__init__.py")


def modules_without_docstring(sources: Sequence[Source]) -> list[str]:
    """Empty files need none: `__init__.py` is empty in every room."""
    return [
        f"{source.path}:1: no docstring on line one; say what this file is for"
        for source in sources
        if source.text.strip() and not _starts_with_docstring(source)
    ]


def pure_modules_that_do_not_say_so(sources: Sequence[Source]) -> list[str]:
    return [
        f'{source.path}:1: the docstring does not say "Pure."; end its first sentence with it'
        for source in sources
        if source.text.strip()
        and in_pure_room(source)
        and not SAYS_PURE.search(ast.get_docstring(syntax(source)) or "")
    ]


def packages_that_hold_code(sources: Sequence[Source]) -> list[str]:
    """`__init__.py` holds at most a docstring, except in the two public libraries."""
    return [
        f"{source.path}:{extra[0].lineno}: a package file holds no code; move it into a module of its own"
        for source in sources
        if source.path.startswith("src/") and source.path.endswith("/__init__.py")
        if source.path not in PUBLIC_LIBRARIES
        if (extra := syntax(source).body[1 if _starts_with_docstring(source) else 0 :])
    ]


def _starts_with_docstring(source: Source) -> bool:
    tree = syntax(source)
    return ast.get_docstring(tree) is not None and tree.body[0].lineno == 1


def test_every_module_says_what_it_is_for_on_line_one() -> None:
    check(modules_without_docstring(python_files()))


def test_every_module_of_a_pure_room_says_that_it_is_pure() -> None:
    check(pure_modules_that_do_not_say_so(python_files("src/")))


def test_package_files_hold_no_code() -> None:
    check(packages_that_hold_code(python_files()))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"""What a node is. Pure."""\n', ""),
        ("", ""),
        ("x = 1\n", "no docstring"),
        ('# a comment first\n"""Late."""\n', "no docstring"),
    ],
)
def test_a_module_without_a_docstring_is_reported(text: str, expected: str) -> None:
    check_planted(modules_without_docstring, plant("tests/engine/test_node.py", text), expected)


@every_case(
    ("path", "text", "expected"),
    [
        ("src/handrail/engine/gate.py", '"""The gate."""\n', 'does not say "Pure."'),
        ("src/handrail/engine/gate.py", '"""The gate. Pure."""\n', ""),
        ("src/handrail/engine/gate.py", '"""The gate. Pure: time is an argument."""\n', ""),
        ("src/handrail/engine/gate.py", '"""The gate. Purely local."""\n', 'does not say "Pure."'),
        ("src/handrail/host/clock.py", '"""The clock."""\n', ""),
    ],
)
def test_a_pure_module_that_does_not_say_so_is_reported(path: str, text: str, expected: str) -> None:
    check_planted(pure_modules_that_do_not_say_so, plant(path, text), expected)


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("src/handrail/engine/__init__.py", '"""The rules."""\n', ""),
        ("src/handrail/engine/__init__.py", "LIMIT = 3\n", "holds no code"),
        ("src/handrail/contract/__init__.py", '"""Public."""\nLIMIT = 3\n', ""),
    ],
)
def test_code_in_a_package_file_is_reported(path: str, text: str, expected: str) -> None:
    check_planted(packages_that_hold_code, plant(path, text), expected)
