"""Finding a quoted text in a file: by its letters and digits, as people quote.

A quotation loses indentation, comment marks, line numbers and markup on the way, and an ellipsis stands for
what was left out. None of that makes it wrong, so only letters and digits are compared.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from itertools import accumulate, pairwise

from handrail.ports.worktree import QUOTE_REACH

_NO_LETTERS = re.compile(r"[\W_]+")
_ELLIPSIS = re.compile(r"\.{3,}|…")
_LINE_NUMBER = re.compile(r"[ \t]*\d+(?:[ \t]*[:|│→]|\t)")


class QuotedFile:
    """The text of a file, ready to be searched."""

    def __init__(self, lines: list[str]) -> None:
        letters = [_keep_letters(line) for line in lines]
        self._text = "".join(letters)
        self._starts = list(accumulate((len(line) for line in letters), initial=0))[:-1]

    def find(self, quote: str, first: int, last: int) -> int:
        """The line where the quotation begins: near the named ones if it can, else anywhere; 0: nowhere.

        Without a named line (0) anywhere is right.
        """
        parts = _split(quote)
        if not parts:
            return first or 1
        near = self._find_from(parts, max(1, first - QUOTE_REACH)) if first else 0
        if first and 0 < near <= max(first, last) + QUOTE_REACH:
            return near
        return self._find_from(parts, 1)

    def _find_from(self, parts: list[str], line: int) -> int:
        """The line of the first part, if the others follow it."""
        if line > len(self._starts):
            return 0
        begins = self._text.find(parts[0], self._starts[line - 1])
        at = begins
        for before, part in pairwise(parts):
            at = self._text.find(part, at + len(before)) if at >= 0 else at
        return bisect_right(self._starts, begins) if at >= 0 else 0


def is_near(found: int, first: int, last: int) -> bool:
    """Whether a text that begins on that line stands where it was said to."""
    return first - QUOTE_REACH <= found <= max(first, last) + QUOTE_REACH


def _split(quote: str) -> list[str]:
    """What was not left out, as letters and digits."""
    lines = [line for line in quote.splitlines() if line.strip()]
    if all(_LINE_NUMBER.match(line) for line in lines):
        lines = [_LINE_NUMBER.sub("", line, count=1) for line in lines]
    parts = (_keep_letters(part) for part in _ELLIPSIS.split("\n".join(lines)))
    return [part for part in parts if part]


def _keep_letters(text: str) -> str:
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return _NO_LETTERS.sub("", plain).casefold()
