"""Print how large each package is, and what changed since the last release.

    python tools/measures.py            the table
    python tools/measures.py --release  store the figures of now as those of the last release

The table informs; nothing here fails a build. `tools/late_imports.py` lists the imports inside functions.
"""

from __future__ import annotations

import ast
import json
import os
import sys
from collections.abc import Iterator, Sequence
from typing import TypeAlias

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RELEASE = os.path.join(HERE, "tools", "measures.json")
TREES = ("tests", "tools", "bench")

Figures: TypeAlias = dict[str, int]
COLUMNS = ("files", "lines", "longest file", "functions", "longest function", "late imports")


def folders(checkout: str) -> dict[str, str]:
    """Every package of `src/`, then the tests, the tools and the benchmarks, by name."""
    packages = sorted(
        name for name in os.listdir(os.path.join(checkout, "src")) if name.startswith("handrail")
    )
    return {name: os.path.join(checkout, "src", name) for name in packages} | {
        name: os.path.join(checkout, name) for name in TREES
    }


def measure(folder: str) -> Figures:
    """The figures of one package, in the order of COLUMNS."""
    texts = [_read(path) for path in python_files(folder)]
    lines = [text.count("\n") for text in texts]
    trees = [ast.parse(text) for text in texts]
    functions = [
        (node.end_lineno or node.lineno) - node.lineno + 1
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    late = sum(1 for tree in trees for _ in imports_inside_functions(tree))
    figures = (
        len(texts),
        sum(lines),
        max(lines, default=0),
        len(functions),
        max(functions, default=0),
        late,
    )
    return dict(zip(COLUMNS, figures, strict=True))


def python_files(folder: str) -> Iterator[str]:
    """Every Python file below a folder; an empty one holds nothing to measure."""
    for top, _, names in os.walk(folder):
        paths = (os.path.join(top, name) for name in sorted(names) if name.endswith(".py"))
        yield from (path for path in paths if os.path.getsize(path))


def imports_inside_functions(tree: ast.Module) -> Iterator[ast.Import | ast.ImportFrom]:
    seen: set[ast.AST] = set()
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Import | ast.ImportFrom) and node not in seen:
                    seen.add(node)
                    yield node


def table(now: dict[str, Figures], before: dict[str, Figures]) -> list[str]:
    """One row for each package: every figure with its change since the last release."""
    rows = [["package", *COLUMNS]]
    for name in {**now, **before}:
        ours, theirs = now.get(name, {}), before.get(name, {})
        rows.append([name, *(_cell(ours.get(column, 0), theirs.get(column, 0)) for column in COLUMNS)])
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) if index == 0 else cell.rjust(width) for index, (cell, width) in pairs)
        for row in rows
        for pairs in [enumerate(zip(row, widths, strict=True))]
    ]


def _cell(now: int, before: int) -> str:
    return f"{now}" if now == before else f"{now} ({now - before:+d})"


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def main(arguments: Sequence[str]) -> int:
    """The exit status: 2 when the arguments are unknown."""
    places = folders(HERE)
    match arguments:
        case []:
            before = json.loads(_read(RELEASE))
            print("\n".join(table({name: measure(path) for name, path in places.items()}, before)))
        case ["--release"]:
            figures = {name: measure(path) for name, path in places.items()}
            with open(RELEASE, "w", encoding="utf-8") as file:
                rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in figures.items())
                file.write("{\n" + rows + "\n}\n")
        case _:
            print("Usage: python tools/measures.py [--release]", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
