"""Every environment variable and file of the home is on its reference page, and every limit there exists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

import pytest

from tests.cases import every_case
from tests.house.tree import Source, check, check_planted, nodes, plant, python_files, syntax
from tools.home_page import PLACES
from tools.limits_page import CHAPTERS
from tools.settings_page import documented_variables

OUR_VARIABLE = re.compile(r"(?:HANDRAIL|AI_NATIVE|UV|PIP|PIPX|XDG|CODEX|CLAUDE|CURSOR|GEMINI)_[A-Z_]+")
HOME_NAMES = {"home", "_home"}


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


def undocumented_places(sources: Sequence[Source], tops: set[str]) -> list[str]:
    """What is joined to the home: its first name is one of the page's."""
    return [
        f"{source.path}:{line}: {name} in the home is on no page; add it to tools/home_page.py"
        for source in sources
        for line, name in _joined_to_home(source)
        if name not in tops
    ]


def _joined_to_home(source: Source) -> Iterator[tuple[int, str]]:
    tree = syntax(source)
    constants = {
        node.targets[0].id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        if isinstance(node.value, ast.Constant)
    }
    for node in nodes(source):
        match node:
            case ast.Call(func=ast.Attribute(attr="join"), args=[home, first, *_]) if (
                _last_word(home) in HOME_NAMES
            ):
                match first:
                    case ast.Constant(value=name):
                        yield node.lineno, str(name)
                    case ast.Name(id=name) if name in constants:
                        yield node.lineno, str(constants[name])
                    case _:
                        pass
            case _:
                pass


def _last_word(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _module(source: Source) -> str:
    return source.path.removeprefix("src/").removeprefix("handrail/").removesuffix(".py").replace("/", ".")


def _tops() -> set[str]:
    return {place.path.split("/")[0] for place in PLACES}


def test_every_environment_variable_is_on_its_page() -> None:
    check(undocumented_variables(python_files("src/"), documented_variables()))


def test_every_row_of_limits_is_a_limit_of_the_code() -> None:
    """A row whose constant is gone, or renamed, must go too."""
    listed = [(module, name) for rows in CHAPTERS.values() for module, name, _ in rows]
    present = {(_module(source), node) for source in python_files("src/") for node in _assigned(source)}

    assert [row for row in listed if row not in present] == []
    assert len(listed) == len(set(listed))


def _assigned(source: Source) -> Iterator[str]:
    for node in syntax(source).body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case _:
                pass


def test_every_name_in_the_home_is_on_its_page() -> None:
    check(undocumented_places(python_files("src/"), _tops()))


@every_case(
    ("code", "expected"),
    [
        ('X = environment.get("HANDRAIL_COLOUR")\n', "HANDRAIL_COLOUR is on no page"),
        ('X = self._environment.get("EDITOR", "")\n', "EDITOR is on no page"),
        ('NAMES = ("UV_INDEX_URL", "CODEX_HOME")\n', ""),
        ('X = environment.get("HANDRAIL_HOME")\n', ""),
        ('X = rows.get("EDITOR")\n', ""),
    ],
)
def test_a_variable_without_a_page_is_reported(code: str, expected: str) -> None:
    documented = {"HANDRAIL_HOME", "UV_*", "CODEX_HOME"}

    check_planted(
        lambda sources: undocumented_variables(sources, documented),
        plant("src/handrail/host/x.py", code),
        expected,
    )


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ('X = os.path.join(self._home, "dreams", "x")\n', "dreams in the home"),
        ('_NAME = "dreams"\nX = os.path.join(home, _NAME)\n', "dreams in the home"),
        ('X = os.path.join(home, "audit")\n', ""),
        ('X = os.path.join(project, "dreams")\n', ""),
    ],
)
def test_a_file_of_the_home_without_a_page_is_reported(code: str, expected: str) -> None:
    check_planted(
        lambda sources: undocumented_places(sources, {"audit"}),
        plant("src/handrail/host/x.py", code),
        expected,
    )
