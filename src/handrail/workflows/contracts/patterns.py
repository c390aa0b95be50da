"""Regular expressions an author may use: short, valid, and never slow, whatever the text. Pure.

A pattern runs over notes that somebody else wrote, and `re` tries every way in which it can match: two
repetitions beside each other are enough to keep a server busy for hours. So a pattern is matched by an
engine whose time grows only with the text. Look-around and back references are beyond that engine; a
pattern with them is accepted only while the ways that `re` could try are few. What matching can take at
most is known before it begins, because nothing can interrupt either engine.
"""

from __future__ import annotations

import re
from functools import lru_cache
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from handrail.contract.wording import quote
from handrail.workflows.limits import (
    MAX_MATCH_WORK,
    MAX_NOTES_CHARACTERS,
    MAX_PATTERN_CHARACTERS,
    MAX_PATTERN_COUNT,
    MAX_PATTERN_SIZE,
    MAX_PATTERN_WAYS,
)

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator

_FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}

_MOST_WAYS = 20
"""Of one repeated group: how many lengths its inside can have, times how often it is repeated."""

_START_CHARACTERS = 4_096
"""Characters of a text that weigh as much as making a pattern ready."""

# Texts, not compiled patterns: `re` keeps what it compiled, and most calls read no author's pattern.
PART = r"""(?sx)
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
    r"\d": r"\p{Nd}",
    r"\D": r"\P{Nd}",
    "[": r"\[",
    "&": r"\&",
    "~": r"\~",
}
_MULTILINE = r"\(\?[aiLsu]*m"
_NOWHERE = r"\A(?![\s\S]*"


def is_match(pattern: str, flags: str, text: str) -> bool:
    """Whether a pattern that was accepted matches somewhere in the text."""
    letters = "".join(flag for flag in flags if flag in _FLAGS)
    linear = _in_linear_time(pattern, letters, text)
    if linear is not None:
        return linear
    return re.search(pattern, text, sum(_FLAGS[letter] for letter in letters)) is not None


def estimate_work(pattern: str, characters: int) -> int:
    """What it takes at most to look for an accepted pattern in a text of so many characters."""
    return (characters + _START_CHARACTERS) * _tries(pattern)


@lru_cache(maxsize=256)
def count_atoms(pattern: str) -> int:
    """Characters and classes that a pattern stands for when its counted repetitions are written out."""
    return int(min(_measured(pattern).length, MAX_MATCH_WORK))


@lru_cache(maxsize=256)
def _tries(pattern: str) -> int:
    """What may be tried at one place of the text."""
    measured = _measured(pattern)
    is_linear = _in_linear_time(pattern, "", "") is not None
    return 1 + int(min(measured.length if is_linear else measured.tries, MAX_MATCH_WORK))


def explain_refusal(pattern: str) -> str:
    """Why a pattern is not accepted, as a sentence; empty when it is."""
    if len(pattern) > MAX_PATTERN_CHARACTERS:
        return f"The pattern has {len(pattern)} characters; the limit is {MAX_PATTERN_CHARACTERS}."
    if re.search(_VERBOSE, pattern):
        return "The pattern switches verbose mode on."
    for token in re.finditer(PART, pattern):
        if token.lastgroup == "set" and re.search(_SET_OF_THE_FUTURE, token.group()):
            held = quote(token.group())
            return f"The set {held} may mean something else in a later Python; escape its characters."
    try:
        re.compile(pattern)
    except re.error as error:
        return f"The pattern is not a regular expression: {error.msg}."
    except (RecursionError, OverflowError):
        return "The pattern is nested too deep or repeats too often."
    return _explain_slowness(pattern)


def _in_linear_time(pattern: str, flags: str, text: str) -> bool | None:
    """The same in time that grows only with the text; None when the pattern cannot be matched like that."""
    if (unwanted := _unwanted(pattern)) is not None:
        inner = _in_linear_time(unwanted, flags, text)
        return None if inner is None else not inner
    validator = _linear(pattern, flags)
    return None if validator is None else validator.is_valid(text)


@lru_cache(maxsize=8)
def _linear(pattern: str, flags: str) -> Draft202012Validator | None:
    """The pattern made ready; kept, because one step is asked about it several times."""
    translated = _translated(pattern, flags)
    if translated is None:
        return None
    from jsonschema_rs import Draft202012Validator, RegexOptions  # noqa: PLC0415 - few steps have patterns

    options = RegexOptions(size_limit=MAX_PATTERN_SIZE)
    try:
        return Draft202012Validator({"pattern": translated}, pattern_options=options)
    except ValueError:
        return None


def _unwanted(pattern: str) -> str | None:
    """What may not be found, where that is all the pattern says; None where it says anything else."""
    if pattern.startswith("(?:" + _NOWHERE) and _is_one(pattern[3:-1]):
        pattern = pattern[3:-1]
    inner = pattern[len(_NOWHERE) : -1]
    return inner if pattern.startswith(_NOWHERE) and pattern.endswith(")") and _is_one(inner) else None


def _is_one(part: str) -> bool:
    """Whether a part of a pattern stands alone: no group is closed that it did not open, nor left open."""
    depth = 0
    for token in re.finditer(PART, part):
        depth += {"open": 1, "close": -1}.get(token.lastgroup or "", 0)
        if depth < 0 or (depth == 0 and token.lastgroup == "bar"):
            return False
    return depth == 0


def _translated(pattern: str, flags: str) -> str | None:
    """The pattern in the dialect of the linear engine; None, or what it refuses, where that has no word."""
    is_multiline = "m" in flags or re.search(_MULTILINE, pattern) is not None
    parts = [f"(?{flags})" if flags else ""]
    for token in re.finditer(PART, pattern):
        part = _translated_part(token, is_multiline)
        if part is None:
            return None
        parts.append(part)
    return "".join(parts)


def _translated_part(token: re.Match[str], is_multiline: bool) -> str | None:
    text = token.group()
    match token.lastgroup:
        case "escape":
            return _ESCAPES.get(text, text)
        case "set":
            inside = re.sub(r"\\.|[\[&~]", lambda found: _IN_SETS.get(found.group(), found.group()), text[1:])
            return None if r"\W" in inside else "[" + inside
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


def _explain_slowness(pattern: str) -> str:
    """Why `re` could be slow with a pattern that only `re` can match; empty when it is not needed."""
    repeats = [token for token in re.finditer(PART, pattern) if token.lastgroup == "repeat"]
    counts = [count for token in repeats for count in _bounds(token) if count != inf]
    if max(counts, default=0) > MAX_PATTERN_COUNT:
        return f"The pattern counts to {max(counts):.0f}; the limit is {MAX_PATTERN_COUNT}."
    measured = _measured(pattern)
    if measured.ways > MAX_PATTERN_WAYS and _in_linear_time(pattern, "", "") is None:
        return (
            "The pattern has look-around, a back reference or another form that is matched by trying, and "
            f"its repetitions can match in more than {MAX_PATTERN_WAYS} ways."
        )
    # Nearly every pattern is light with any engine; only for the others is the linear one loaded.
    most_tries = 1 + min(max(measured.length, measured.tries), MAX_MATCH_WORK)
    is_light = most_tries * (MAX_NOTES_CHARACTERS + _START_CHARACTERS) <= MAX_MATCH_WORK
    if not is_light and estimate_work(pattern, MAX_NOTES_CHARACTERS) > MAX_MATCH_WORK:
        return "The pattern takes too long on long notes: its repetitions and counts are too large together."
    return ""


class _Measured(NamedTuple):
    """A pattern or a part of it, never smaller than it is."""

    ways: float = 1
    """In how many ways it can match."""
    tries: float = 0
    """What an engine that tries them all looks at."""
    length: float = 0
    """What it stands for when counted repetitions are written out."""

    def then(self, after: _Measured) -> _Measured:
        """What comes after is tried once for each way in which this one matches."""
        tries = self.tries + (self.ways * after.tries if after.tries else 0)
        return _Measured(self.ways * after.ways, tries, self.length + after.length)

    def repeated(self, least: float, most: float) -> _Measured:
        if most == inf:  # a circle, not a row of copies
            return _Measured(inf, inf, self.length)
        if self.ways == 1:
            return _Measured(most - least + 1, self.tries * most, self.length * most)
        if most > _MOST_WAYS or self.ways == inf:
            return _Measured(inf, inf, self.length * most)
        powers = [self.ways**count for count in range(int(most) + 1)]
        return _Measured(sum(powers[int(least) :]), self.tries * sum(powers), self.length * most)


class _Open:
    """An open group while it is measured: its branches, what stands in the last one, and its last atom."""

    def __init__(self) -> None:
        self._branches: list[_Measured] = []
        self._whole = _Measured()
        self._last = _Measured()

    def add(self, atom: _Measured) -> None:
        self._whole, self._last = self._whole.then(self._last), atom

    def branch(self) -> None:
        self.add(_Measured())
        self._branches.append(self._whole)
        self._whole = _Measured()

    def repeat(self, least: float, most: float) -> None:
        self._last = self._last.repeated(least, most)

    def closed(self) -> _Measured:
        self.branch()
        ways, tries, lengths = zip(*self._branches, strict=True)
        return _Measured(sum(ways), sum(tries), max(lengths))


def _measured(pattern: str) -> _Measured:
    groups, longest = [_Open()], 1.0
    for token in re.finditer(PART, pattern):
        match token.lastgroup:
            case "open":
                groups.append(_Open())
            case "close" if len(groups) > 1:
                inner = groups.pop().closed()
                longest = max(longest, inner.length)
                groups[-1].add(inner)
            case "bar":
                groups[-1].branch()
            case "repeat":
                groups[-1].repeat(*_bounds(token))
            case _:
                # A back reference compares as much as a group before it may hold.
                is_reference = bool(re.match(r"\\[1-9]|\(\?P=", token.group()))
                groups[-1].add(_Measured(tries=longest if is_reference else 1, length=1))
    while len(groups) > 1:
        inner = groups.pop().closed()
        groups[-1].add(inner)
    return groups[0].closed()


def _bounds(token: re.Match[str]) -> tuple[float, float]:
    """The least and the most that a repetition stands for."""
    if token["least"] is None:
        return {"*": (0, inf), "+": (1, inf), "?": (0, 1)}[token.group()[0]]
    least = float(token["least"] or 0)
    most = float(token["most"] or inf) if token["comma"] else least
    return least, most
