"""Types: which strings hold them, and the names in a type that is written as text. Pure.

Text is read by a small grammar of its own, not by the parser: that reads parts of a file only through a
function that crashes the interpreter (tree-sitter 0.26.0, `included_ranges`).
"""

from __future__ import annotations

import re
from typing import Final

from handrail_code.facts.model import ReceiverKind
from handrail_code.facts.python_words import RESERVED
from handrail_code.languages.grammars import Node
from handrail_code.languages.python.draft import Draft

TOKEN: Final = re.compile(
    rb"""\s+|(?P<string>'[^'"\\\n]*'|"[^'"\\\n]*")"""
    rb"""|(?P<name>[A-Za-z_\x80-\xff][\w\x80-\xff]*(?:\.[A-Za-z_\x80-\xff][\w\x80-\xff]*)*)"""
    rb"""|(?P<open>[\[(])|(?P<close>[\])])|(?P<comma>,)|(?P<other>[|*]|\.\.\.|-?\d+|->)"""
)
CONSTANTS: Final = frozenset({"None", "True", "False"})
TYPE_COMMENT: Final = re.compile(rb"#\s*type:\s*(?!ignore\b)")
ADDED: Final = ","
"""Of an open bracket: it is that of `Annotated`, after the type."""
LONGEST: Final = 10_000


def visit_type(draft: Draft, node: Node, scope: int, definition: int) -> None:
    """An annotation: a string in it holds an expression."""
    if node.id not in draft.seen_types:
        mark_strings(draft, node)
    draft.push(node.named_children, scope, definition)


def mark_strings(draft: Draft, node: Node) -> None:
    """Remember the strings of a type that hold types: not those of `Literal`, nor what `Annotated` adds."""
    waiting = [node]
    while waiting:
        found = waiting.pop()
        if found.type == "string":
            draft.annotations.add(found.id)
            continue
        if found.type == "type":
            draft.seen_types.add(found.id)
        if found.type in ("generic_type", "subscript"):
            last = draft.text[found.named_children[0].start_byte : found.named_children[0].end_byte]
            word = last.rpartition(b".")[2]
            if word == b"Literal":
                mark_seen(draft, found)
                continue
            if word == b"Annotated":
                _mark_annotated(draft, found, waiting)
                continue
        if found.type != "lambda":
            waiting.extend(found.named_children)


def mark_seen(draft: Draft, node: Node) -> None:
    """Nothing in it holds a type in a string."""
    waiting = [node]
    while waiting:
        found = waiting.pop()
        if found.type == "type":
            draft.seen_types.add(found.id)
        waiting.extend(found.named_children)


def _mark_annotated(draft: Draft, node: Node, waiting: list[Node]) -> None:
    """Only the first argument is a type."""
    inner = node.named_children[1:]
    if len(inner) == 1 and inner[0].type == "type_parameter":
        inner = inner[0].named_children
    for other in inner[1:]:
        mark_seen(draft, other)
    waiting.extend(inner[:1])


def visit_comment(draft: Draft, node: Node, scope: int, definition: int) -> None:
    """`# type: A` and `# type: (A, B) -> C`."""
    text = draft.text[node.start_byte : node.end_byte]
    found = TYPE_COMMENT.match(text)
    if found is not None:
        end = text.find(b"#", found.end())
        end = len(text) if end == -1 else end
        read_type(draft, node.start_byte + found.end(), node.start_byte + end, scope, definition)


def read_type(draft: Draft, start: int, end: int, scope: int, definition: int) -> None:
    """The names of a type that stands as text. What is not written like a type stays text."""
    if end - start > LONGEST:
        return
    found = _read_tokens(draft.text, start, end)
    for first, last in found or ():
        name, *rest = draft.text[first:last].decode().split(".")
        at = first + len(name.encode())
        receiver: ReceiverKind = "use"
        index = draft.note(name, (first, at), "type", scope, definition)
        for name in rest:
            span = (at + 1, at + 1 + len(name.encode()))
            index = draft.member_at(name, span, "type", receiver, index, definition)
            receiver, at = "member", span[1]


def _read_tokens(text: bytes, start: int, end: int) -> list[tuple[int, int]] | None:
    """Where names stand; None where this is no type. In `Literal` nothing is a name."""
    spans: list[tuple[int, int]] = []
    waiting = [(start, end)]
    while waiting:
        at, stop = waiting.pop()
        # What each open bracket belongs to: `Literal`, or `Annotated` before its first comma and after it.
        closings: list[str] = []
        plain = 0  # how many of them hold no types
        word = ""
        while at < stop:
            token = TOKEN.match(text, at, stop)
            if token is None:
                return None
            at = token.end()
            if token["open"] is not None:
                closings.append(word)
                plain += word == "Literal"
            elif token["close"] is not None:
                if not closings:
                    return None
                plain -= closings.pop() in ("Literal", ADDED)
            elif token["comma"] is not None and closings and closings[-1] == "Annotated":
                closings[-1] = ADDED
                plain += 1
            elif token["string"] is not None and not plain:
                waiting.append((token.start() + 1, token.end() - 1))
            elif token["name"] is not None and not plain:
                spans.append(token.span())
            if token["name"] is not None:
                word = token["name"].rpartition(b".")[2].decode()
            elif not token[0].isspace():
                word = ""
        if closings:
            return None
    names = {text[first:last].decode() for first, last in spans}
    if names & (RESERVED - CONSTANTS):
        return None
    return sorted(span for span in spans if text[span[0] : span[1]].decode() not in CONSTANTS)
