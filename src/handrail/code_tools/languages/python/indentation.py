"""A piece of Python, indented as the place it goes to. Pure.

Lines that begin inside of a string are part of its value and stay as they are; a docstring moves along.
"""

from __future__ import annotations

import re

from handrail.code_tools.languages.grammars import Node, parse_text

_CLAUSES = frozenset({"elif_clause", "else_clause", "except_clause", "except_group_clause", "finally_clause"})
_INDENT = re.compile(r"[ \t]*")


def indent_text(text: str, indent: str) -> str:
    """The text with `indent` before its first line; the others keep their distance to it."""
    lines = text.split("\n")
    base = _indent_of(next((line for line in lines if line.strip()), ""))
    if base == indent:
        return text
    kept = _lines_in_strings("\n".join(line.removeprefix(base) for line in lines))
    return "\n".join(
        line if number in kept else _shift(line, base, indent) for number, line in enumerate(lines)
    )


def is_well_indented(text: bytes, start: int, end: int) -> bool:
    """Whether each block in this part has statements, one under the other: the grammar also reads others."""
    root = parse_text("python", text, lambda: True)
    waiting = [] if root is None else [(root, b"")]
    while waiting:
        node, around = waiting.pop()
        if node.end_byte < start or node.start_byte > end:
            continue
        own = around
        if node.type in ("block", "module", "decorated_definition"):
            statements = [child for child in node.named_children if child.type != "comment"]
            indents = {_prefix(text, child) for child in statements} - {None}
            if len(indents) > 1 or (node.type == "block" and not statements):
                return False
            own = next(iter(indents), None) or around
            is_deeper = len(own) > len(around) and own.startswith(around)
            if node.type == "block" and indents and not is_deeper:
                return False
        clauses = [child for child in node.named_children if child.type in _CLAUSES]
        if any(_prefix(text, clause) not in (around, None) for clause in clauses):
            return False
        if node.type == "try_statement" and not any(clause.type != "else_clause" for clause in clauses):
            return False
        waiting.extend((child, own) for child in node.named_children)
    return root is not None


def _prefix(text: bytes, node: Node) -> bytes | None:
    """The indentation of a statement; None where another one is before it in its line."""
    line = text[text.rfind(b"\n", 0, node.start_byte) + 1 : node.start_byte]
    return None if line.strip(b" \t") else line


def _indent_of(line: str) -> str:
    found = _INDENT.match(line)
    return "" if found is None else found[0]


def _shift(line: str, base: str, indent: str) -> str:
    if not line.strip():
        return ""
    return indent + (line[len(base) :] if line.startswith(base) else line.lstrip(" \t"))


def _lines_in_strings(text: str) -> set[int]:
    """The lines that begin inside of a string which is not the documentation of something."""
    root = parse_text("python", text.encode(), lambda: True)
    found: set[int] = set()
    waiting = [] if root is None else [root]
    while waiting:
        node = waiting.pop()
        if node.type == "string" and not _is_documentation(node):
            found.update(range(node.start_point.row + 1, node.end_point.row + 1))
        else:
            waiting.extend(node.children)
    return found


def _is_documentation(node: Node) -> bool:
    statement = node.parent
    block = None if statement is None else statement.parent
    if statement is None or block is None or statement.type != "expression_statement":
        return False
    first = next((child for child in block.named_children if child.type != "comment"), None)
    return block.type == "block" and first is not None and first.start_byte == statement.start_byte
