"""Tests do not sleep, do not expect failure, name the encoding of a text, and skip only with a reason."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

import pytest

from tests.house.tree import Source, check, check_planted, nodes, plant, python_files


def bad_habits(sources: Sequence[Source]) -> list[str]:
    return [
        f"{source.path}:{line}: {problem}"
        for source in sources
        if source.path.startswith("tests/")
        for line, problem in _habits(source)
    ]


def _habits(source: Source) -> Iterator[tuple[int, str]]:
    """Attributes are enough: a bare `sleep` or `skip` would be an import that reviewers see."""
    for node in nodes(source):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="time"), attr="sleep")):
                yield node.lineno, "time.sleep; wait for the fact itself, with a bound"
            case ast.Attribute(attr="xfail"):
                yield node.lineno, "xfail; record the gap in tests/journeys/promises/ and pin it as it is"
            case ast.Call(func=ast.Attribute(attr="skip" | "skipif" as name)) if not _has_reason(node, name):
                yield node.lineno, f"{name} without a reason; name the missing thing"
            case ast.Call(func=ast.Attribute(attr="read_text" | "write_text" as name)) if not _has_encoding(
                node
            ):
                yield node.lineno, f"{name} without an encoding; it then depends on the machine's locale"
            case ast.Call(keywords=keywords) if _is_text(keywords) and not _has_encoding(node):
                yield node.lineno, "text of a process without an encoding; CI makes that warning an error"
            case _:
                pass


def _is_text(keywords: Sequence[ast.keyword]) -> bool:
    """Whether a process is asked for text instead of bytes."""
    return any(one.arg == "text" and ast.unparse(one.value) == "True" for one in keywords)


def _has_encoding(node: ast.Call) -> bool:
    return any(keyword.arg == "encoding" for keyword in node.keywords)


def _has_reason(node: ast.Call, name: str) -> bool:
    positional = name == "skip" and bool(node.args)
    return positional or any(keyword.arg == "reason" for keyword in node.keywords)


def test_no_test_has_a_bad_habit() -> None:
    check(bad_habits(python_files("tests/")))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("time.sleep(1)\n", "time.sleep"),
        ("@pytest.mark.xfail\ndef test_x(): ...\n", "xfail"),
        ("pytest.skip()\n", "skip without a reason"),
        ("@pytest.mark.skipif(True)\ndef test_x(): ...\n", "skipif without a reason"),
        ("path.write_text('x')\n", "write_text without an encoding"),
        ("subprocess.run(['git'], text=True)\n", "text of a process without an encoding"),
        ("path.read_text(encoding='utf-8')\n", ""),
        ("subprocess.run(['git'], text=True, encoding='utf-8')\n", ""),
        ("pytest.skip('node is not on PATH')\n", ""),
        ("@pytest.mark.skipif(True, reason='node is not on PATH')\ndef test_x(): ...\n", ""),
    ],
)
def test_a_bad_habit_is_reported(text: str, expected: str) -> None:
    check_planted(bad_habits, plant("tests/engine/test_gate.py", text), expected)
