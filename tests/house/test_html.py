"""Markup is made in two places, the element builder and the notes renderer: no other can forget to escape."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from tests.house.tree import Source, check, nodes, python_files

MAKERS = frozenset({"src/handrail/projections/html/elements.py"})


def html_made_elsewhere(sources: Sequence[Source]) -> list[str]:
    return [
        f"{source.path}:{node.lineno}: only elements.py and notes.py make Html; use what is made by element()"
        for source in sources
        if source.path not in MAKERS
        for node in nodes(source)
        if isinstance(node, ast.Call) and _name(node.func) == "Html"
    ]


def _name(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def test_html_is_made_in_two_places() -> None:
    check(html_made_elsewhere(python_files("src/")))
