"""A text that matches a pattern, for examples: of each choice the first, of each repetition the least. Pure.

It is a guess. Whoever uses it holds the text against the pattern, and does without where it does not match.
"""

from __future__ import annotations

import re

_MOST_CHARACTERS = 200
_PART = re.compile(
    r"""(?sx)
      (?P<escape> \\. )
    | (?P<set>    \[\^?\]?(?:\\.|[^\]\\])*+\]? )
    | (?P<look>   \(\?(?:<?[=!]) )
    | (?P<open>   \((?:\?(?:P<\w+>|>|[aiLmsux]*(?:-[imsx]+)?:))? )
    | (?P<close>  \) )
    | (?P<bar>    \| )
    | (?P<repeat> (?:[*+?]|\{(?P<least>\d*)(?:,\d*)?\})[?+]? )
    | (?P<plain>  . )
    """
)
_CLASSES = {"d": "1", "w": "a", "s": " ", "D": "a", "W": "-", "S": "a", "n": "\n", "t": "\t", "r": "\r"}
_NOTHING = "bBAZz"
_CANDIDATES = "aA1 -_./:x"


def sample_text(pattern: str) -> str:
    """A short text that a plain pattern matches; for any other pattern some text."""
    return _Reading(pattern).text()[:_MOST_CHARACTERS]


class _Reading:
    """The parts of one pattern, from the left."""

    def __init__(self, pattern: str) -> None:
        self._parts = list(_PART.finditer(pattern))
        self._at = 0

    def text(self) -> str:
        """The first alternative up to the end of the group; the others are passed over."""
        made: list[str] = []
        first: str | None = None
        while self._at < len(self._parts):
            part = self._parts[self._at]
            self._at += 1
            if part["close"]:
                break
            if part["bar"]:
                first = "".join(made) if first is None else first
                made = []
            elif part["repeat"]:
                if made:
                    made[-1] = (made[-1] * _least(part))[:_MOST_CHARACTERS]
            elif part["open"]:
                made.append(self.text())
            elif part["look"]:
                self.text()
            else:
                made.append(_single(part))
        return "".join(made) if first is None else first


def _least(part: re.Match[str]) -> int:
    if part["least"] is not None:
        return min(int(part["least"] or 0), _MOST_CHARACTERS)
    return 1 if part["repeat"].startswith("+") else 0


def _single(part: re.Match[str]) -> str:
    if part["escape"]:
        letter = part["escape"][1]
        return "" if letter in _NOTHING else _CLASSES.get(letter, letter)
    if part["set"]:
        return _member(part["set"])
    return {"^": "", "$": "", ".": "a"}.get(part["plain"], part["plain"])


def _member(written: str) -> str:
    """One character of a set."""
    inside = written[1:].removesuffix("]")
    if inside.startswith("^"):
        try:
            found = re.compile(written)
        except re.error:
            return ""
        return next((one for one in _CANDIDATES if found.fullmatch(one)), "")
    return _CLASSES.get(inside[1], inside[1]) if len(inside) > 1 and inside[0] == "\\" else inside[:1]
