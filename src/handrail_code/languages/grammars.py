"""The only file that knows tree-sitter: one grammar per language. Pure.

Loading the library and one grammar takes a few milliseconds; whoever needs no syntax tree does not load this.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import tree_sitter_javascript
import tree_sitter_typescript
from tree_sitter import Language as Grammar
from tree_sitter import Node, Parser, Point

from handrail_code.facts.model import Language

# Source that its grammar does not know, spelled in as many bytes in a way that it knows

COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/", re.DOTALL)
EXPORTED_WORD = re.compile(
    rb"(?<=\bas )(?:void|const|class|delete|do|else|enum|export|false|for|function|if|import|in|new|null"
    rb"|return|super|switch|this|throw|true|try|typeof|var|while|with|case|catch|break|continue|debugger"
    rb"|extends|finally|instanceof)(?=\s*[,}])"
)
NAMED_USING = re.compile(
    rb"(?<![\w$])using(?![\w$])(?![ \t]+(?!(?:of|in|instanceof|as|satisfies)\b)[\w$\x80-\xff])"
)
"""Without a name behind it on its line, `using` declares nothing and is a name itself."""
STAR_OF_TYPES = re.compile(rb"(?<=export )type(?= \*)")
VARIANCE = re.compile(rb"(?<=[<,])(\s*)(in\s+out|in|out)(?=\s+[A-Za-z_$])")
GENERIC_IMPORT = re.compile(rb"""\bimport\(\s*(?:'[^'\n]*'|"[^"\n]*")\s*\)(?=\s*\.\s*[\w$.]+\s*<)""")
SIGNATURE_ON_ITS_LINE = re.compile(rb"^[ \t]*[ \t](?=<)", re.MULTILINE)
LOOK_BACK = 5_000
NEEDS_NO_SEMICOLON = b";{,(=|&?:<"

IMPORTED_MODULE = re.compile(rb"""import\(\s*['"]([^'"\n]*)['"]""")


def respell_keywords(text: bytes) -> bytes:
    """`export {a as void}`, `using.a()`: a word of the language as a name."""
    made = bytearray(text)
    for found in (*EXPORTED_WORD.finditer(text), *NAMED_USING.finditer(text)):
        made[found.start() : found.end()] = b"_" * len(found[0])
    return bytes(made)


def respell_types(text: bytes) -> bytes:
    """`export type *`, `<in out T>`, `import("x").T<U>`, call signatures without semicolons between them."""
    made = bytearray(respell_keywords(text))
    plain = COMMENT.sub(lambda found: b" " * len(found[0]), text)
    for found in STAR_OF_TYPES.finditer(plain):
        made[found.start() : found.end()] = b"    "
    for found in VARIANCE.finditer(plain):
        made[found.start(2) : found.end(2)] = b" " * len(found[2])
    for found in GENERIC_IMPORT.finditer(plain):
        made[found.start() : found.end()] = b"_" * len(found[0])
    for found in SIGNATURE_ON_ITS_LINE.finditer(plain):
        before = plain[max(0, found.start() - LOOK_BACK) : found.start()].rstrip()
        if before and before[-1:] not in NEEDS_NO_SEMICOLON:
            made[found.end() - 1 : found.end()] = b";"
    return bytes(made)


def imported_module(text: bytes, start: int, end: int) -> tuple[int, int] | None:
    """Return where the module's name stands, if this identifier is really `import("x")`."""
    found = IMPORTED_MODULE.match(text, start, end)
    return None if found is None else found.span(1)


__all__ = ["Node", "kind_names", "parse_text"]


CHUNK_BYTES = 4096


def parse_text(language: Language, text: bytes, may_go_on: Callable[[], bool]) -> Node | None:
    """Return the root of the syntax tree; None where the parser was stopped.

    `may_go_on` is asked for every few kilobytes that the parser reads. Its time grows with the square of a
    text that is nothing but errors, and it counts no steps, so only a caller with a clock can limit it.
    """
    parser = Parser(_grammar(language))
    root = _parse(parser, text, may_go_on)
    if root is None or not root.has_error or language == "python":
        return root
    spelled = respell_keywords(text) if language in ("javascript", "jsx") else respell_types(text)
    again = _parse(parser, spelled, may_go_on) if spelled != text else None
    return root if again is None or again.has_error else again


def _parse(parser: Parser, text: bytes, may_go_on: Callable[[], bool]) -> Node | None:
    is_stopped = False

    def read(offset: int, _point: Point) -> bytes:
        """The parser must not see an exception, so a text that may not go on ends."""
        nonlocal is_stopped
        is_stopped = is_stopped or not may_go_on()
        return b"" if is_stopped else text[offset : offset + CHUNK_BYTES]

    root = parser.parse(read).root_node
    return None if is_stopped else root


@cache
def kind_names(language: Language) -> tuple[str, ...]:
    """Return the name of each kind of node, at the number that nodes of this kind carry."""
    grammar = _grammar(language)
    return tuple(
        (grammar.node_kind_for_id(number) or "") if grammar.node_kind_is_named(number) else ""
        for number in range(grammar.node_kind_count)
    )


@cache
def _grammar(language: Language) -> Grammar:
    match language:
        case "javascript" | "jsx":
            return Grammar(tree_sitter_javascript.language())
        case "typescript":
            return Grammar(tree_sitter_typescript.language_typescript())
        case "tsx":
            return Grammar(tree_sitter_typescript.language_tsx())
        case "python":
            # Few projects have both, and each grammar takes a few milliseconds to load.
            import tree_sitter_python  # noqa: PLC0415 - see above

            return Grammar(tree_sitter_python.language())
