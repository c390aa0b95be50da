"""Code that tests keep in strings imports only what exists: no type checker looks into a string."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator, Sequence

from tests.cases import every_case
from tests.house.tree import Source, check, check_planted, nodes, plant, python_files

LINE = re.compile(
    r"^[ \t]*from (handrail[\w.]*) import ([\w, ]+?)[ \t]*$|^[ \t]*import (handrail[\w.]*)", re.MULTILINE
)


def stale_imports(sources: Sequence[Source]) -> list[str]:
    return [
        f"{source.path}:{line}: {what} does not exist; correct the code in the string"
        for source in sources
        for line, what in _missing(source)
    ]


def _missing(source: Source) -> Iterator[tuple[int, str]]:
    for node in nodes(source):
        if not (isinstance(node, ast.Constant) and isinstance(node.value, str) and "import" in node.value):
            continue
        for home, names, module in LINE.findall(node.value):
            wanted = (
                [f"{home}.{name.split(' as ')[0].strip()}" for name in names.split(",")] if home else [module]
            )
            yield from ((node.lineno, name) for name in wanted if not _exists(name))


def _exists(dotted: str) -> bool:
    home, _, name = dotted.rpartition(".")
    try:
        return (
            not home or hasattr(importlib.import_module(home), name) or bool(importlib.import_module(dotted))
        )
    except ImportError:
        return False


def test_code_in_strings_imports_what_exists() -> None:
    check(
        stale_imports(
            [source for source in python_files("tests/", "bench/", "tools/") if "house" not in source.path]
        )
    )


@every_case(
    ("code", "expected"),
    [
        ('S = """\nfrom handrail.surfaces.mcp.stdio import serve_stdio\n"""\n', ""),
        ('S = """\nfrom handrail.runtime import sessions\n"""\n', ""),
        ('S = """\nimport handrail.host.workflow_library as library\n"""\n', ""),
        ('S = """\nfrom handrail.surfaces.mcp.stdio import Door\n"""\n', "stdio.Door does not exist"),
        ('S = """\nfrom handrail.runtime import attempts\n"""\n', "runtime.attempts does not exist"),
        ('S = """\nimport handrail.runtime.attempts\n"""\n', "runtime.attempts does not exist"),
    ],
)
def test_a_stale_import_in_a_string_is_reported(code: str, expected: str) -> None:
    check_planted(stale_imports, plant("tests/engine/test_x.py", code), expected)
