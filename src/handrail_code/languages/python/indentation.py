"""A piece of Python, indented as the place it goes to. Pure.

Lines that begin inside of a string are part of its value and stay as they are; a docstring moves along.
"""

from __future__ import annotations

import re

import msgspec

from handrail_code.languages.grammars import Node, parse_text

_CLAUSES = frozenset({"elif_clause", "else_clause", "except_clause", "except_group_clause", "finally_clause"})
_LOOPS = frozenset({"for_statement", "while_statement"})
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


class _Inside(msgspec.Struct, frozen=True, kw_only=True):
    """What is around a node."""

    indent: bytes = b""
    in_function: bool = False
    in_loop: bool = False


def is_sound_block(text: bytes, start: int, end: int) -> bool:
    """Whether Python takes the blocks in this part; the grammar also reads what it refuses.

    Each has statements, one under the other, and a statement that needs a function or a loop is in one.
    """
    root = parse_text("python", text, lambda: True)
    waiting = [] if root is None else [(root, _Inside())]
    while waiting:
        node, around = waiting.pop()
        if node.end_byte < start or node.start_byte > end:
            continue
        if not _is_in_place(node, around) or not _has_sound_clauses(text, node, around.indent):
            return False
        inside = around
        if node.type in ("block", "module", "decorated_definition"):
            statements = [child for child in node.named_children if child.type != "comment"]
            indents = {_prefix(text, child) for child in statements} - {None}
            if len(indents) > 1 or (node.type == "block" and not statements):
                return False
            indent = next(iter(indents), None) or around.indent
            is_deeper = len(indent) > len(around.indent) and indent.startswith(around.indent)
            if node.type == "block" and indents and not is_deeper:
                return False
            inside = msgspec.structs.replace(around, indent=indent)
        # What follows `else` of a loop is no longer in that loop.
        waiting.extend(
            (child, inside if child.type == "else_clause" else _enter(node.type, inside))
            for child in node.named_children
        )
    return root is not None


def _enter(kind: str, around: _Inside) -> _Inside:
    if kind in ("function_definition", "lambda"):
        return msgspec.structs.replace(around, in_function=True, in_loop=False)
    if kind == "class_definition":
        return msgspec.structs.replace(around, in_function=False, in_loop=False)
    return msgspec.structs.replace(around, in_loop=True) if kind in _LOOPS else around


def _is_in_place(node: Node, around: _Inside) -> bool:
    if node.type in ("return_statement", "yield", "await"):
        return around.in_function
    if node.type in ("parameters", "lambda_parameters"):
        return _has_sound_parameters(node)
    return around.in_loop or node.type not in ("break_statement", "continue_statement")


def _has_sound_parameters(node: Node) -> bool:
    """A bare `*` has names after it, and before one none without a default follows one with it."""
    kinds = [_kind_of(child) for child in node.named_children if child.type != "comment"]
    if kinds and kinds[-1] == "keyword_separator":
        return False
    has_default = False
    for kind in kinds:
        if kind in ("keyword_separator", "list_splat_pattern", "dictionary_splat_pattern"):
            break
        if kind in ("default_parameter", "typed_default_parameter"):
            has_default = True
        elif has_default and kind == "identifier":
            return False
    return True


def _kind_of(parameter: Node) -> str:
    """Of the name, also where a type follows it."""
    is_typed = parameter.type == "typed_parameter" and parameter.named_children
    return parameter.named_children[0].type if is_typed else parameter.type


def _has_sound_clauses(text: bytes, node: Node, indent: bytes) -> bool:
    """`else` and its like stand under what they belong to, and `try` has one of those that it needs."""
    clauses = [child for child in node.named_children if child.type in _CLAUSES]
    if any(_prefix(text, clause) not in (indent, None) for clause in clauses):
        return False
    return node.type != "try_statement" or any(clause.type != "else_clause" for clause in clauses)


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
    content = text.encode()
    root = parse_text("python", content, lambda: True)
    found: set[int] = set()
    waiting = [] if root is None else [root]
    while waiting:
        node = waiting.pop()
        if node.type == "string" and not _is_documentation(node):
            # Not `node.start_point`: making many of those crashes the interpreter in tree-sitter 0.26.0.
            first = content.count(b"\n", 0, node.start_byte)
            found.update(range(first + 1, first + 1 + content.count(b"\n", node.start_byte, node.end_byte)))
        else:
            waiting.extend(node.named_children)
    return found


def _is_documentation(node: Node) -> bool:
    statement = node.parent
    block = None if statement is None else statement.parent
    if statement is None or block is None or statement.type != "expression_statement":
        return False
    first = next((child for child in block.named_children if child.type != "comment"), None)
    return block.type == "block" and first is not None and first.start_byte == statement.start_byte
