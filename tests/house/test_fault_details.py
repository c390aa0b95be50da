"""A fault carries only the details that its kind allows: a wrong key makes it a defect at run time."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

import pytest

from handrail.contract import catalogue
from handrail.contract.catalogue import Kind
from tests.house.tree import Source, check, check_planted, nodes, plant, python_files

MADE_BY = {"Fault", "Failure"}


def unknown_details(sources: Sequence[Source]) -> list[str]:
    """Literal keys of `details` that the named kind does not list."""
    return [
        f"{source.path}:{line}: {kind.code} has no detail {key}; name it in its row, or leave it out"
        for source in sources
        for line, kind, keys in _made(source)
        for key in keys
        if key not in kind.details
    ]


def _made(source: Source) -> Iterator[tuple[int, Kind, list[str]]]:
    for node in nodes(source):
        match node:
            case ast.Call(func=ast.Name(id=maker), args=[named, *_], keywords=given) if maker in MADE_BY:
                kind = _kind(named)
                details = next((one.value for one in given if one.arg == "details"), None)
                if kind is not None and isinstance(details, ast.Dict):
                    yield node.lineno, kind, _texts(details.keys)
            case _:
                pass


def _kind(node: ast.expr) -> Kind | None:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            found = getattr(catalogue, name, None)
            return found if isinstance(found, Kind) else None
        case _:
            return None


def _texts(keys: Sequence[ast.expr | None]) -> list[str]:
    return [str(key.value) for key in keys if isinstance(key, ast.Constant)]


def test_every_fault_has_only_details_of_its_kind() -> None:
    check(unknown_details(python_files("src/")))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ('raise Fault(SESSION_NOT_FOUND, "x", details={"colour": 1})\n', "has no detail colour"),
        ('raise Fault(SESSION_NOT_FOUND, "x", details={"session_id": 1})\n', ""),
        (
            'raise Fault(catalogue.SESSION_NOT_FOUND, "x", details={"colour": 1})\n',
            "SESSION_NOT_FOUND has no",
        ),
        ('raise Fault(kind, "x", details={"colour": 1})\n', ""),
    ],
)
def test_a_wrong_detail_is_reported(code: str, expected: str) -> None:
    check_planted(unknown_details, plant("src/handrail/runtime/x.py", code), expected)
