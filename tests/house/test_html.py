"""Markup is made in two places, the element builder and the notes renderer: no other can forget to escape."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import pytest

from tests.house.tree import Source, check, check_planted, nodes, plant, python_files

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


def test_both_places_still_make_it() -> None:
    sources = [source for source in python_files("src/") if source.path in MAKERS]

    assert {source.path for source in sources if "Html(" in source.text} == MAKERS


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("src/handrail/projections/report/markdown.py", "x = Html(markup='<b>')\n", "made by element()"),
        ("src/handrail/projections/timeline.py", "x = elements.Html(markup='<b>')\n", "made by element()"),
        ("src/handrail/projections/html/elements.py", "x = Html(markup='<b>')\n", ""),
        ("src/handrail/projections/report/markdown.py", "x: Html = element('b')\n", ""),
    ],
)
def test_html_made_elsewhere_is_reported(path: str, text: str, expected: str) -> None:
    check_planted(html_made_elsewhere, plant(path, text), expected)
