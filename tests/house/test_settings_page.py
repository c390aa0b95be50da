"""Every environment variable and file of the home is on its reference page, and every limit there exists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from tests.house.tree import Source, check, nodes, python_files
from tools.settings_page import documented_variables

OUR_VARIABLE = re.compile(r"(?:HANDRAIL|AI_NATIVE|UV|PIP|PIPX|XDG|CODEX|CLAUDE|CURSOR|GEMINI)_[A-Z_]+")


def undocumented_variables(sources: Sequence[Source], documented: set[str]) -> list[str]:
    return [
        f"{source.path}:{line}: {name} is on no page; add it to tools/settings_page.py"
        for source in sources
        for line, name in sorted(set(_variables(source)))
        if not any(re.fullmatch(known.replace("*", ".*"), name) for known in documented)
    ]


def _variables(source: Source) -> Iterator[tuple[int, str]]:
    for node in nodes(source):
        match node:
            case ast.Constant(value=str(name)) if OUR_VARIABLE.fullmatch(name):
                yield node.lineno, name
            case ast.Call(
                func=ast.Attribute(value=asked, attr="get"), args=[ast.Constant(value=str(name)), *_]
            ):
                if _last_word(asked).endswith(("environment", "environ")):
                    yield node.lineno, name
            case _:
                pass


def _last_word(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def test_every_environment_variable_is_on_its_page() -> None:
    check(undocumented_variables(python_files("src/"), documented_variables()))
