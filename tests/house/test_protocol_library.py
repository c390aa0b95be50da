"""The web stack is imported where listed, and the protocol library nowhere: it only referees in the tests."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from tests.cases import every_case
from tests.house.tree import Source, check, check_planted, nodes, plant, python_files

LIBRARIES = frozenset({"mcp", "mcp_types", "anyio", "starlette", "uvicorn", "pydantic"})
ALLOWED = {
    "src/handrail_serve/companions/a2a_calls.py": "requests as the A2A library takes them",
    "src/handrail_serve/serving.py": "the web server that runs our ASGI app on a socket",
}


def stray_imports(sources: Sequence[Source]) -> list[str]:
    return [
        f"{source.path}:{line}: imports {name}; leave the protocol to the files listed here"
        for source in sources
        if source.path not in ALLOWED
        for line, name in _imported(source)
        if name in LIBRARIES
    ]


def _imported(source: Source) -> Iterator[tuple[int, str]]:
    for node in nodes(source):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    yield node.lineno, alias.name.split(".")[0]
            case ast.ImportFrom(module=str(module), level=0):
                yield node.lineno, module.split(".")[0]
            case _:
                pass


def test_the_protocol_library_is_imported_only_where_listed() -> None:
    check(stray_imports(python_files("src/")))


def test_every_listed_file_still_imports_it() -> None:
    used = {
        source.path for source in python_files("src/") if any(n in LIBRARIES for _, n in _imported(source))
    }

    assert set(ALLOWED) - used == set()


@every_case(
    ("path", "text", "expected"),
    [
        ("src/handrail/surfaces/mcp/tools.py", "import mcp_types\n", "imports mcp_types"),
        ("src/handrail/surfaces/mcp/results.py", "from mcp.shared import x\n", "imports mcp"),
        ("src/handrail/main.py", "def f():\n    import uvicorn\n", "imports uvicorn"),
        ("src/handrail/surfaces/mcp/results.py", "from handrail.surfaces.mcp import tools\n", ""),
        ("src/handrail/surfaces/mcp/stdio.py", "import anyio\n", "imports anyio"),
        ("src/handrail_serve/mcp_door.py", "from mcp.server import x\n", "imports mcp"),
    ],
)
def test_a_stray_import_is_reported(path: str, text: str, expected: str) -> None:
    check_planted(stray_imports, plant(path, text), expected)
