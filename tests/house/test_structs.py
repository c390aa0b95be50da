"""Values are frozen and keyword-only, and every class says so itself.

msgspec does not inherit `kw_only` and mypy does not inherit `frozen`, so a base class is not enough.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from tests.cases import every_case
from tests.house.tree import Source, check, check_planted, nodes, plant, python_files


def loose_structs(sources: Sequence[Source]) -> list[str]:
    classes = [
        (source, node) for source in sources for node in nodes(source) if isinstance(node, ast.ClassDef)
    ]
    structs = _struct_names([node for _, node in classes])
    return [
        f"{source.path}:{node.lineno}: {node.name} is not {missing}=True; repeat it on the class"
        for source, node in classes
        if structs & _bases(node) - _typed_dicts(source)
        for missing in _missing_options(node)
    ]


def _typed_dicts(source: Source) -> set[str]:
    """Names that mean no struct in this file, whatever they mean in others."""
    classes = [node for node in nodes(source) if isinstance(node, ast.ClassDef)]
    return {node.name for node in classes if "TypedDict" in _bases(node)}


def _struct_names(classes: Sequence[ast.ClassDef]) -> set[str]:
    """`Struct` and every class below it, added until nothing is added."""
    names = {"Struct"}
    while True:
        grown = names | {node.name for node in classes if names & _bases(node)}
        if grown == names:
            return names
        names = grown


def _bases(node: ast.ClassDef) -> set[str]:
    return {_last_name(base) for base in node.bases}


def _last_name(base: ast.expr) -> str:
    match base:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=value):
            return _last_name(value)
        case _:
            return ""


def _missing_options(node: ast.ClassDef) -> list[str]:
    """`kw_only` only matters where there are fields."""
    given = {
        keyword.arg
        for keyword in node.keywords
        if isinstance(keyword.value, ast.Constant) and keyword.value.value
    }
    has_fields = any(isinstance(part, ast.AnnAssign) for part in node.body)
    wanted = ["frozen", "kw_only"] if has_fields else ["frozen"]
    return [option for option in wanted if option not in given]


def test_every_struct_is_frozen_and_keyword_only() -> None:
    check(loose_structs(python_files("src/", "tests/", "tools/", "bench/")))


@every_case(
    ("text", "expected"),
    [
        ("class A(msgspec.Struct, frozen=True, kw_only=True):\n    x: int\n", ""),
        ("class A(msgspec.Struct, frozen=True):\n    x: int\n", "A is not kw_only=True"),
        ("class A(Struct, kw_only=True):\n    x: int\n", "A is not frozen=True"),
        ("class A(Struct, frozen=False, kw_only=True):\n    x: int\n", "A is not frozen=True"),
        ("class Options(msgspec.Struct, frozen=True):\n    '''No fields.'''\n", ""),
        ("class A(Exception):\n    x: int\n", ""),
    ],
)
def test_a_loose_struct_is_reported(text: str, expected: str) -> None:
    check_planted(loose_structs, plant("src/handrail/engine/fact.py", text), expected)


def test_a_plain_class_may_share_its_name_with_a_struct() -> None:
    struct = plant(
        "src/handrail/a.py", "class Tool(msgspec.Struct, frozen=True, kw_only=True):\n    x: int\n"
    )
    plain = plant("tests/a.py", "class Tool:\n    x: int\n")

    problems = loose_structs([struct, plain])

    assert problems == []


def test_options_of_a_base_class_do_not_count() -> None:
    source = plant(
        "src/handrail/engine/fact.py",
        """
        class Fact(msgspec.Struct, frozen=True, kw_only=True):
            v: int

        class Left(Fact, frozen=True):
            x: int
        """,
    )

    check_planted(loose_structs, source, "Left is not kw_only=True")
