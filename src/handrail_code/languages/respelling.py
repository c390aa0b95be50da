"""Source that its grammar does not know, spelled in as many bytes in a way that it knows. Pure.

Grammars lag behind the languages. Where a file has trouble, these spellings are tried, and the tree is taken
only if no trouble is left. Every byte stays in its place, so offsets are those of the real text, and names
are read from the real text too: no invented letter ever becomes a fact.
"""

from __future__ import annotations

import re

COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/", re.DOTALL)
EXPORTED_WORD = re.compile(
    rb"(?<=\bas )(?:void|const|class|delete|do|else|enum|export|false|for|function|if|import|in|new|null"
    rb"|return|super|switch|this|throw|true|try|typeof|var|while|with|case|catch|break|continue|debugger"
    rb"|extends|finally|instanceof)(?=\s*[,}])"
)
STAR_OF_TYPES = re.compile(rb"(?<=export )type(?= \*)")
VARIANCE = re.compile(rb"(?<=[<,])(\s*)(in\s+out|in|out)(?=\s+[A-Za-z_$])")
GENERIC_IMPORT = re.compile(rb"""\bimport\(\s*(?:'[^'\n]*'|"[^"\n]*")\s*\)(?=\s*\.\s*[\w$.]+\s*<)""")
SIGNATURE_ON_ITS_LINE = re.compile(rb"^[ \t]*[ \t](?=<)", re.MULTILINE)
LOOK_BACK = 5_000
NEEDS_NO_SEMICOLON = b";{,(=|&?:<"

IMPORTED_MODULE = re.compile(rb"""import\(\s*['"]([^'"\n]*)['"]""")


def respell_keywords(text: bytes) -> bytes:
    """`export {a as void}`: a word of the language as the name of an export."""
    made = bytearray(text)
    for found in EXPORTED_WORD.finditer(text):
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
    """Where the module's name stands, if this identifier is really `import("x")`."""
    found = IMPORTED_MODULE.match(text, start, end)
    return None if found is None else found.span(1)
