"""Which tests show which promises, read from their marks: with the manifest, the one table of that."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping

from tests.house.tree import Source, nodes, python_files

_MARK = "pytest.mark.promise"


def shown_by_tests() -> Mapping[str, list[str]]:
    """The tests that name each promise, as `file::test` without parameters, in the order of the tree."""
    found: dict[str, list[str]] = defaultdict(list)
    for source in python_files("tests/"):
        for name, _, test in marks(source):
            if test:
                found[name].append(f"{source.path}::{test}")
    return found


def marks(source: Source) -> Iterator[tuple[str, ast.AST, str]]:
    """Each promise id that a file names: the id, where, and the test that names it (empty: no test)."""
    if _MARK not in source.text:
        return  # reading the syntax of every test takes seconds
    of_all = [part for node in nodes(source) if _is_of_all(node) for part in ast.walk(node)]
    for node in nodes(source):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            test = node.name if _is_collected(source, node.name) else ""
            for mark in (*node.decorator_list, *(of_all if test else ())):
                for name in _named(mark):
                    yield name, mark, test


def _is_of_all(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"


def _named(decorator: ast.AST) -> list[str]:
    if not isinstance(decorator, ast.Call) or ast.unparse(decorator.func) != _MARK:
        return []
    return [str(argument.value) for argument in decorator.args if isinstance(argument, ast.Constant)]


def _is_collected(source: Source, name: str) -> bool:
    """As pytest collects by default: `test_*` functions of `test_*.py` files."""
    return name.startswith("test_") and source.path.rpartition("/")[2].startswith("test_")
