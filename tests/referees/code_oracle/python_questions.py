"""Which names of a package are judged: chosen with Python's own parser, not with ours."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias

import msgspec

KindAsked: TypeAlias = Literal["function", "class", "variable", "local", "parameter", "import", "method"]
Around: TypeAlias = Literal["module", "function", "class"]


class Question(msgspec.Struct, frozen=True, kw_only=True):
    kind: KindAsked
    file: str
    name: str
    start: int
    """In bytes."""
    offset: int
    """In characters."""
    line: int
    column: int


def choose(texts: Mapping[str, bytes], per_kind: int) -> list[Question]:
    """As many names of each kind, the same in every run, spread over all files."""
    by_kind: dict[str, list[Question]] = {}
    for path, text in sorted(texts.items()):
        if path.endswith(".py"):
            for question in _list_names(path, text):
                by_kind.setdefault(question.kind, []).append(question)
    chosen = []
    for _, found in sorted(by_kind.items()):
        chosen += sorted(found, key=_order)[:per_kind]
    return chosen


def _order(question: Question) -> str:
    return hashlib.sha256(f"{question.file}:{question.name}:{question.start}".encode()).hexdigest()


def _list_names(path: str, text: bytes) -> Iterator[Question]:
    decoded = text.decode()
    lines = decoded.splitlines(keepends=True)
    starts = [0]
    for each in lines:
        starts.append(starts[-1] + len(each))
    seen: set[tuple[int, str]] = set()
    waiting: list[tuple[ast.AST, Around, int]] = [(ast.parse(text), "module", 0)]
    number = 0
    while waiting:
        node, around, scope = waiting.pop()
        kind, name, line, column = _describe(node, around)
        if kind is not None and not (name.startswith("__") and name.endswith("__")):
            place = _place(lines, name, line, column)
            if place is not None and (scope, name) not in seen:
                seen.add((scope, name))
                offset = starts[line - 1] + place
                yield Question(
                    kind=kind,
                    file=path,
                    name=name,
                    start=len(decoded[:offset].encode()),
                    offset=offset,
                    line=line,
                    column=place,
                )
        inner, inner_scope = around, scope
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            number += 1
            inner, inner_scope = "function", number
        elif isinstance(node, ast.ClassDef):
            number += 1
            inner, inner_scope = "class", number
        waiting.extend((child, inner, inner_scope) for child in reversed(list(ast.iter_child_nodes(node))))


def _describe(node: ast.AST, around: str) -> tuple[KindAsked | None, str, int, int]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return "method" if around == "class" else "function", node.name, node.lineno, node.col_offset
        case ast.ClassDef():
            return "class" if around != "class" else None, node.name, node.lineno, node.col_offset
        case ast.arg():
            return "parameter", node.arg, node.lineno, node.col_offset
        case ast.Name(ctx=ast.Store()) if around != "class":
            return "variable" if around == "module" else "local", node.id, node.lineno, node.col_offset
        case ast.alias() if node.asname is not None and node.asname != node.name:
            return "import", node.asname, node.lineno, node.col_offset
        case _:
            return None, "", 0, 0


def _place(lines: list[str], name: str, line: int, column: int) -> int | None:
    """The first word of this name in the line, in characters; None where it is on another one."""
    text = lines[line - 1]
    first = len(text.encode()[:column].decode())
    word = rf"({re.escape(name)})\b"
    found = re.compile(rf"\bas\s+{word}").search(text, first) or re.compile(rf"\b{word}").search(text, first)
    return None if found is None else found.start(1)
