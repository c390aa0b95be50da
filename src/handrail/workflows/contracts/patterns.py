"""Regular expressions an author may use: short, valid, and never slow, whatever the text. Pure.

A pattern runs over notes that somebody else wrote, and `re` tries every way in which it can match: two
repetitions beside each other are enough to keep a server busy for hours. So a pattern is matched by an
engine whose time grows only with the text. Look-around and back references are beyond that engine, so nobody
may write them. A workflow that this store pinned earlier may have one, which was held to few ways then.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from math import inf
from typing import TYPE_CHECKING

from handrail.contract.wording import quote
from handrail.workflows.limits import (
    MAX_MATCH_WORK,
    MAX_NOTES_CHARACTERS,
    MAX_PATTERN_CHARACTERS,
    MAX_PATTERN_COUNT,
    MAX_PATTERN_SIZE,
)

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator

_FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}
_LIGHT = 64
"""Characters and classes that any engine makes ready at once; for more, the linear one is asked."""
_START_CHARACTERS = 4_096
"""Characters of a text that weigh as much as making a pattern ready."""

# Texts, not compiled patterns: `re` keeps what it compiled, and most calls read no author's pattern.
_PART = r"""(?sx)
      (?P<escape>  \\. )
    | (?P<set>     \[\^?\]?(?:\\.|[^\]\\])*+\]? )
    | (?P<remark>  \(\?\#[^)]*\) | \(\?P=\w+\) | \(\?[aiLmsux]+\) )
    | (?P<open>    \((?:\?(?:P<\w+>|<?[=!]|>|\(\w+\)|[aiLmsux]*(?:-[imsx]+)?:))? )
    | (?P<close>   \) )
    | (?P<bar>     \| )
    | (?P<repeat>  (?:[*+?]|\{(?!\})(?P<least>\d*)(?P<comma>,)?(?P<most>\d*)\})[?+]? )
    | (?P<plain>   . )
    """
_SET_OF_THE_FUTURE = r"\[\^?\[|--|&&|~~|\|\|"
_VERBOSE = r"\(\?[aiLmsu]*x"
_MULTILINE = r"\(\?[aiLsu]*m"
_TRIED = r"\\[1-9]|\(\?(?:P=|<?[=!]|>|\(\w)"
"""How a part begins that only an engine knows which tries every way."""

# What these mean to `re`, in the words of the linear engine, which reads them as ASCII.
_ESCAPES = {
    r"\w": r"[\p{L}\p{N}_]",
    r"\W": r"[^\p{L}\p{N}_]",
    r"\d": r"\p{Nd}",
    r"\D": r"\P{Nd}",
    r"\Z": r"\z",
    r"\<": "<",
    r"\>": ">",
}
_IN_SETS = {
    r"\w": r"\p{L}\p{N}_",
    r"\W": r"[^\p{L}\p{N}_]",
    r"\d": r"\p{Nd}",
    r"\D": r"\P{Nd}",
    "[": r"\[",
    "&": r"\&",
    "~": r"\~",
}


def is_match(pattern: str, flags: str, text: str) -> bool:
    """Whether a pattern that was accepted, now or by an older version, matches somewhere in the text."""
    letters = "".join(flag for flag in flags if flag in _FLAGS)
    validator = _linear(pattern, letters)
    if validator is not None:
        return validator.is_valid(text)
    return re.search(pattern, text, sum(_FLAGS[letter] for letter in letters)) is not None


def estimate_work(pattern: str, characters: int) -> int:
    """What it takes at most to look for a pattern in a text of so many characters."""
    return (characters + _START_CHARACTERS) * (1 + count_atoms(pattern))


def explain_refusal(pattern: str) -> str:
    """Why nobody may write a pattern, as a sentence; empty when they may."""
    if len(pattern) > MAX_PATTERN_CHARACTERS:
        return f"The pattern has {len(pattern)} characters; the limit is {MAX_PATTERN_CHARACTERS}."
    if re.search(_VERBOSE, pattern):
        return "The pattern switches verbose mode on."
    if reason := next(_refused_parts(pattern), ""):
        return reason
    try:
        re.compile(pattern)
    except re.error as error:
        return f"The pattern is not a regular expression: {error.msg}."
    except (RecursionError, OverflowError):
        return "The pattern is nested too deep or repeats too often."
    counts = [count for token in re.finditer(_PART, pattern) for count in _bounds(token) if count != inf]
    if max(counts, default=0) > MAX_PATTERN_COUNT:
        return f"The pattern counts to {max(counts):.0f}; the limit is {MAX_PATTERN_COUNT}."
    is_heavy = estimate_work(pattern, MAX_NOTES_CHARACTERS) > MAX_MATCH_WORK
    if is_heavy or (count_atoms(pattern) > _LIGHT and _linear(pattern, "") is None):
        return "The pattern takes too long on long notes: its repetitions and counts are too large together."
    return ""


def _refused_parts(pattern: str) -> Iterator[str]:
    is_multiline = re.search(_MULTILINE, pattern) is not None
    for token in re.finditer(_PART, pattern):
        if token.lastgroup == "set" and re.search(_SET_OF_THE_FUTURE, token.group()):
            held = quote(token.group())
            yield f"The set {held} may mean something else in a later Python; escape its characters."
        elif token.lastgroup in ("escape", "remark", "open") and re.match(_TRIED, token.group()):
            held = quote(token.group())
            yield f"The pattern has {held}: look-around and back references are matched by trying every way."
        elif _translated_part(token, is_multiline) is None:
            yield f"The pattern has {quote(token.group())} where only trying every way can match it."


@lru_cache(maxsize=8)
def _linear(pattern: str, flags: str) -> Draft202012Validator | None:
    """The pattern made ready; kept, because one step is asked about it several times."""
    is_multiline = "m" in flags or re.search(_MULTILINE, pattern) is not None
    parts = [_translated_part(token, is_multiline) for token in re.finditer(_PART, pattern)]
    if None in parts:
        return None
    translated = "".join([f"(?{flags})" if flags else "", *filter(None, parts)])
    from jsonschema_rs import Draft202012Validator, RegexOptions  # noqa: PLC0415 - few steps have patterns

    options = RegexOptions(size_limit=MAX_PATTERN_SIZE)
    try:
        return Draft202012Validator({"pattern": translated}, pattern_options=options)
    except ValueError:
        return None


def _translated_part(token: re.Match[str], is_multiline: bool) -> str | None:
    """A part in the dialect of the linear engine; None, or what it refuses, where that has no word."""
    text = token.group()
    match token.lastgroup:
        case "escape":
            return _ESCAPES.get(text, text)
        case "set":
            inside = re.sub(r"\\.|[\[&~]", lambda found: _IN_SETS.get(found.group(), found.group()), text[1:])
            return "[" + inside
        case "remark" if text.startswith("(?#"):
            return ""
        case "repeat" if len(text) > 1 and text.endswith("+"):
            return None  # it never gives back what it took, and only `re` knows that
        case "repeat" if text.startswith("{,"):
            return "{0" + text[1:]
        case "plain" if text in "{}":
            return "\\" + text
        case "plain" if text == "$" and not is_multiline:
            # Here the line end is taken, which `re` only looks at: nothing may come after it.
            return r"(?:\n?\z)" if token.string[token.end() :][:1] in ("", ")", "|") else None
        case _:
            return text


@lru_cache(maxsize=256)
def count_atoms(pattern: str) -> int:
    """Characters and classes that a pattern stands for when its counted repetitions are written out."""
    groups = [_Open()]
    for token in re.finditer(_PART, pattern):
        match token.lastgroup:
            case "open":
                groups.append(_Open())
            case "close" if len(groups) > 1:
                inner = groups.pop().close()
                groups[-1].add(inner)
            case "bar":
                groups[-1].branch()
            case "repeat":
                groups[-1].repeat(_bounds(token)[1])
            case _:
                groups[-1].add(1)
    while len(groups) > 1:
        inner = groups.pop().close()
        groups[-1].add(inner)
    return int(min(groups[0].close(), MAX_MATCH_WORK))


class _Open:
    """An open group while it is measured: its longest branch, the one at hand, and the last atom of that."""

    def __init__(self) -> None:
        self._longest = self._length = self._last = 0.0

    def add(self, length: float) -> None:
        self._length, self._last = self._length + self._last, length

    def repeat(self, most: float) -> None:
        """A repetition without an end is a circle, not a row of copies."""
        self._last *= 1 if most == inf else most

    def branch(self) -> None:
        self._longest = max(self._longest, self._length + self._last)
        self._length = self._last = 0.0

    def close(self) -> float:
        self.branch()
        return self._longest


def _bounds(token: re.Match[str]) -> tuple[float, float]:
    """The least and the most that a repetition stands for; nothing for any other part."""
    if token["repeat"] is None:
        return 0, 0
    if token["least"] is None:
        return {"*": (0, inf), "+": (1, inf), "?": (0, 1)}[token.group()[0]]
    least = float(token["least"] or 0)
    most = float(token["most"] or inf) if token["comma"] else least
    return least, most
