"""One place where an exception becomes an outcome, one table where codes and statuses are written."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

import pytest

from tests.house.tree import (
    Source,
    check,
    docstrings,
    is_generated,
    nodes,
    python_files,
)

CATALOGUE = ("src/handrail/contract/catalogue.py", "src/handrail/contract/registered.py")
LAFS_TABLES = ("src/handrail/contract/conformance/", "src/handrail/contract/envelopes/lafs.py")
"""The LAFS registry is somebody else's table of codes; the checker needs it as it is."""


STATUS_KEYWORDS = frozenset({"exit_status", "http_status"})
EXITS = frozenset({"exit", "_exit", "SystemExit"})
CODE = re.compile(r"\bE_[A-Z][A-Z0-9_]*")


def codes_outside_the_catalogue(sources: Sequence[Source]) -> list[str]:
    return [
        f"{source.path}:{node.lineno}: the code {found.group()} is written out; import its catalogue row"
        for source in sources
        if _is_bound(source) and not source.path.startswith(LAFS_TABLES)
        for node in _strings(source)
        if (found := CODE.search(str(node.value)))
    ]


def statuses_outside_the_catalogue(sources: Sequence[Source]) -> list[str]:
    return [
        f"{source.path}:{line}: {what} is written out; take it from the catalogue row"
        for source in sources
        if _is_bound(source)
        for line, what in _statuses(source)
    ]


def _is_bound(source: Source) -> bool:
    return (
        source.path.startswith("src/") and not source.path.startswith(CATALOGUE) and not is_generated(source)
    )


def _strings(source: Source) -> Iterator[ast.Constant]:
    prose = docstrings(source)
    for node in nodes(source):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in prose:
            yield node


def _statuses(source: Source) -> Iterator[tuple[int, str]]:
    """`http_status=404`, `sys.exit(3)`, `raise SystemExit(2)`; leaving with 0 is no verdict."""
    for node in nodes(source):
        if not isinstance(node, ast.Call):
            continue
        for keyword in node.keywords:
            if keyword.arg in STATUS_KEYWORDS and _is_number(keyword.value):
                yield node.lineno, f"{keyword.arg}={ast.unparse(keyword.value)}"
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[status]):
                if name in EXITS and _is_number(status) and ast.unparse(status) != "0":
                    yield node.lineno, ast.unparse(node)
            case _:
                pass


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int)


@pytest.mark.thorough
@pytest.mark.promise("cli.one-table")
def test_no_code_stands_outside_the_catalogue() -> None:
    check(codes_outside_the_catalogue(python_files("src/")))


@pytest.mark.promise("cli.one-table")
def test_no_exit_or_http_status_stands_outside_the_catalogue() -> None:
    check(statuses_outside_the_catalogue(python_files("src/")))
