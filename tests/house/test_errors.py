"""One place where an exception becomes an outcome, one table where codes and statuses are written."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence

import pytest

from tests.cases import every_case
from tests.house.tree import (
    Source,
    check,
    check_planted,
    docstrings,
    is_generated,
    nodes,
    plant,
    python_files,
)

CATALOGUE = ("src/handrail/contract/catalogue.py", "src/handrail/contract/registered.py")
LAFS_TABLES = ("src/handrail/contract/conformance/", "src/handrail/contract/envelopes/lafs.py")
"""The LAFS registry is somebody else's table of codes; the checker needs it as it is."""

BROAD = frozenset({"Exception", "BaseException"})
CATCH_ALL_PLACES = (
    "src/handrail/surfaces/cli/",
    "src/handrail/surfaces/mcp/",
    "src/handrail_serve/",
    "src/handrail/runtime/hub.py",
    "src/handrail/host/workflow_sources/named.py",
    "src/handrail/main.py",
)
"""Each may catch everything once. A plugin is other people's code; one that fails must not hide the rest. The
front door does so for a hook, which must never fail the client that calls it."""

STATUS_KEYWORDS = frozenset({"exit_status", "http_status"})
EXITS = frozenset({"exit", "_exit", "SystemExit"})
CODE = re.compile(r"\bE_[A-Z][A-Z0-9_]*")


def broad_excepts(sources: Sequence[Source]) -> list[str]:
    seen: Counter[str] = Counter()
    problems = []
    for source in sources:
        for line, what in _broad(source):
            place = next((top for top in CATCH_ALL_PLACES if source.path.startswith(top)), "")
            seen[place] += 1
            if not place or seen[place] > 1:
                problems.append(
                    f"{source.path}:{line}: {what} catches everything; name the exception, "
                    "because trouble becomes an outcome in one place"
                )
    return problems


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


def _broad(source: Source) -> Iterator[tuple[int, str]]:
    for node in nodes(source):
        match node:
            case ast.ExceptHandler(type=None):
                yield node.lineno, "a bare except"
            case ast.ExceptHandler(type=ast.expr() as caught) if BROAD & _names(caught):
                yield node.lineno, "except " + ast.unparse(caught)
            case ast.Call(func=ast.Name(id="suppress") | ast.Attribute(attr="suppress")):
                if any(BROAD & _names(argument) for argument in node.args):
                    yield node.lineno, ast.unparse(node)
            case _:
                pass


def _names(node: ast.expr) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


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
def test_exceptions_are_caught_wholesale_only_where_listed() -> None:
    check(broad_excepts(python_files("src/")))


@pytest.mark.promise("cli.one-table")
def test_no_code_stands_outside_the_catalogue() -> None:
    check(codes_outside_the_catalogue(python_files("src/")))


@pytest.mark.promise("cli.one-table")
def test_no_exit_number_or_http_status_stands_outside_the_catalogue() -> None:
    check(statuses_outside_the_catalogue(python_files("src/")))


@every_case(
    ("path", "handler", "expected"),
    [
        ("src/handrail/engine/gate.py", "except Exception:", "except Exception"),
        ("src/handrail/engine/gate.py", "except (OSError, BaseException):", "BaseException"),
        ("src/handrail/engine/gate.py", "except:", "a bare except"),
        ("src/handrail/engine/gate.py", "except OSError:", ""),
        ("src/handrail/runtime/hub.py", "except Exception:", ""),
        ("src/handrail/surfaces/cli/process.py", "except BaseException:", ""),
    ],
)
def test_catching_everything_is_reported(path: str, handler: str, expected: str) -> None:
    check_planted(broad_excepts, plant(path, f"try:\n    pass\n{handler}\n    pass\n"), expected)


def test_suppressing_everything_is_reported() -> None:
    source = plant("src/handrail/host/audit.py", "with contextlib.suppress(Exception):\n    pass\n")

    check_planted(broad_excepts, source, "suppress(Exception)")


def test_a_second_catch_all_in_one_surface_is_reported() -> None:
    text = "try:\n    pass\nexcept Exception:\n    pass\n"
    first = plant("src/handrail/surfaces/cli/process.py", text)
    second = plant("src/handrail/surfaces/cli/rendering/render.py", text)
    elsewhere = plant("src/handrail_serve/mcp_door.py", text)

    problems = broad_excepts([first, second, elsewhere])

    assert [problem.split(":")[0] for problem in problems] == [second.path]


@every_case(
    ("path", "text", "expected"),
    [
        ("src/handrail/engine/gate.py", "code = 'E_CONFLICT'\n", "E_CONFLICT"),
        ("src/handrail/engine/gate.py", "text = f'{x} E_USAGE'\n", "E_USAGE"),
        ("src/handrail/engine/gate.py", '"""Answers E_CONFLICT."""\n', ""),
        ("src/handrail/engine/gate.py", "is_core = code.startswith('E_')\n", ""),
        ("src/handrail/engine/gate.py", "from handrail.contract.catalogue import E_CONFLICT\n", ""),
        ("src/handrail/contract/conformance/check.py", "codes = {'E_CONFLICT_VERSION'}\n", ""),
        ("src/handrail/contract/catalogue.py", "code = 'E_CONFLICT'\n", ""),
    ],
)
def test_a_code_outside_the_catalogue_is_reported(path: str, text: str, expected: str) -> None:
    check_planted(codes_outside_the_catalogue, plant(path, text), expected)


@every_case(
    ("path", "text", "expected"),
    [
        ("src/handrail/engine/gate.py", "k = Kind(http_status=404)\n", "http_status=404"),
        ("src/handrail/main.py", "sys.exit(3)\n", "sys.exit(3)"),
        ("src/handrail/main.py", "raise SystemExit(2)\n", "SystemExit(2)"),
        ("src/handrail/main.py", "os._exit(130)\n", "os._exit(130)"),
        ("src/handrail/main.py", "sys.exit(kind.exit_status)\n", ""),
        ("src/handrail/main.py", "sys.exit(0)\n", ""),
        ("src/handrail/contract/catalogue.py", "k = Kind(http_status=404)\n", ""),
    ],
)
def test_a_status_outside_the_catalogue_is_reported(path: str, text: str, expected: str) -> None:
    check_planted(statuses_outside_the_catalogue, plant(path, text), expected)
