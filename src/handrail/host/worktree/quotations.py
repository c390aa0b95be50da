"""Whether a quotation stands at the lines that it names, word by word.

Code is compared as code: white space may differ, nothing else. Prose and comments lose marks on the way
(bold, other quotation marks, the sign of a comment), so there only words count. An ellipsis stands for what
was left out. Words are compared as wholes: a part of one is no quotation, so that nobody finds a text out
letter by letter. The answer is yes or no; where else a text stands is not looked for.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from itertools import takewhile

_WORD = re.compile(r"[^\W_]+")
_TOKEN = re.compile(r"\w+|[^\w\s]")
_ELLIPSIS = re.compile(r"\.{3,}|…")
_LINE_NUMBER = re.compile(r"[ \t]*\d+(?:[ \t]*[:|│→]|\t)")
_PROSE = (".md", ".markdown", ".mdx", ".txt", ".text", ".rst", ".adoc", ".asciidoc", ".org", ".tex")
_PROSE_NAMES = re.compile(r"(?:.*/)?[A-Z][A-Z_-]*")
"""As in README and LICENSE."""
_COMMENT = re.compile(r"\s*(?:#[#!\s]|//|/\*|<!--|\"{3}|'{3})|\s*#?$")
_STAR = re.compile(r"^\s*\*")
"""Begins a line of a long comment, or goes on with a product: a quotation may lack it."""
_RUN_ON = 10
_TYPED = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "–": "-", "—": "-", "\u00a0": " "})


def is_quoted(lines: Sequence[str], path: str, quote: str, first: int, last: int) -> bool:
    """Whether the quotation begins on one of these lines; without an ellipsis it may run on below."""
    said = [line for line in quote.splitlines() if line.strip()]
    if all(_LINE_NUMBER.match(line) for line in said):
        said = [_LINE_NUMBER.sub("", line, count=1) for line in said]
    parts = _ELLIPSIS.split("\n".join(said))
    end = max(last, first + len(quote.strip().splitlines()) - 1)
    named, below = lines[first - 1 : end], lines[end : end + _RUN_ON] if len(parts) == 1 else []
    if _holds(named, below, parts, _read_code):
        return True
    if _holds(_strip_stars(named), _strip_stars(below), parts, _read_code):
        return True
    is_prose = path.lower().endswith(_PROSE) or _PROSE_NAMES.fullmatch(path) is not None
    if not is_prose:
        below = list(takewhile(_COMMENT.match, below))
    return (is_prose or all(map(_COMMENT.match, named))) and _holds(named, below, parts, _read_prose)


def _holds(
    named: Sequence[str], below: Sequence[str], parts: Sequence[str], read: Callable[[str], list[str]]
) -> bool:
    """Whether the parts stand there one after another, the first of them on a named line."""
    words = read("\n".join(named))
    asked = [found for part in parts if (found := read(part))]
    least = len(words)
    words += read("\n".join(below))
    at = 0
    for place, part in enumerate(asked):
        at = _find(words, part, at)
        if at < 0 or (place == 0 and at >= least):
            return False
        at += len(part)
    return True


def _strip_stars(lines: Sequence[str]) -> list[str]:
    return [_STAR.sub("", line) for line in lines]


def _find(words: list[str], asked: list[str], start: int) -> int:
    for at in range(start, len(words) - len(asked) + 1):
        if words[at : at + len(asked)] == asked:
            return at
    return -1


def _read_code(text: str) -> list[str]:
    """Words and signs; one of three dots is none, because it may stand for what is left out."""
    plain = unicodedata.normalize("NFC", text).translate(_TYPED)
    return _TOKEN.findall(_ELLIPSIS.sub(" ", plain))


def _read_prose(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
