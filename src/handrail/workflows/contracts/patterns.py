"""Regular expressions that authors may use: short, valid, and never slow, whatever the text. Pure.

A pattern runs over notes of other authors, and `re` tries every way in which it can match: two
neighbouring repetitions are enough to keep a server busy for hours. So a pattern is matched by an
engine whose time grows only with the text. Look-around and back references are beyond that engine,
so authors may not write them. A workflow that was pinned earlier, here or elsewhere, may have one;
`re` matches it only if what it could try is counted and little, because nothing can interrupt
either engine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
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
)

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator

_FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}
_LIGHT = 64
"""Characters and classes that any engine prepares at once; larger patterns go to the linear one."""
_MOST_WAYS = 20
"""For one repeated group: how many lengths its inside can have, times how often it is repeated."""
_START_CHARACTERS = 4_096
"""Characters of a text that cost as much as preparing a pattern."""

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
"""Beginnings of parts that only an engine that tries every way supports."""
_NOWHERE = r"\A(?![\s\S]*"
"""Beginning of a pattern that forbids something; the linear engine searches for what follows."""

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
    """Whether a pattern matches somewhere in the text; call `estimate_work` before."""
    letters = _known_letters(flags)
    linear = _match_in_linear_time(pattern, letters, text)
    if linear is not None:
        return linear
    return re.search(pattern, text, sum(_FLAGS[letter] for letter in letters)) is not None


def estimate_work(pattern: str, flags: str, characters: int) -> int:
    """Return the most work to search a text of so many characters for a pattern, with its engine."""
    return (characters + _START_CHARACTERS) * (1 + _count_tries(pattern, _known_letters(flags)))


def _known_letters(flags: str) -> str:
    return "".join(flag for flag in flags if flag in _FLAGS)


@lru_cache(maxsize=256)
def _count_tries(pattern: str, flags: str) -> int:
    """Return the number of tries at one place of the text."""
    measured = _measure(pattern)
    if measured.tries <= _LIGHT:  # either engine is quick
        return int(measured.tries)
    is_linear = _match_in_linear_time(pattern, flags, "") is not None
    return int(min(measured.length if is_linear else measured.tries, MAX_MATCH_WORK))


def explain_pinned_refusal(pattern: str, flags: str) -> str:
    """Return why a pinned pattern cannot be matched, as a sentence; empty if it can."""
    if reason := _explain_unreadable(pattern):
        return reason
    is_heavy = estimate_work(pattern, flags, MAX_NOTES_CHARACTERS) > MAX_MATCH_WORK
    return _TOO_LONG if is_heavy else ""


def explain_refusal(pattern: str) -> str:
    """Return why authors may not write a pattern, as a sentence; empty if they may."""
    if reason := _explain_unreadable(pattern) or next(_refused_parts(pattern), ""):
        return reason
    if count_atoms(pattern) <= _LIGHT:
        return ""
    is_heavy = estimate_work(pattern, "", MAX_NOTES_CHARACTERS) > MAX_MATCH_WORK
    return _TOO_LONG if is_heavy or _linear(pattern, "") is None else ""


_TOO_LONG = "The pattern takes too long on long notes: its repetitions and counts are too large together."


def _explain_unreadable(pattern: str) -> str:
    if len(pattern) > MAX_PATTERN_CHARACTERS:
        return f"The pattern has {len(pattern)} characters; the limit is {MAX_PATTERN_CHARACTERS}."
    if re.search(_VERBOSE, pattern):
        return "The pattern switches verbose mode on."
    for token in re.finditer(_PART, pattern):
        if token.lastgroup == "set" and re.search(_SET_OF_THE_FUTURE, token.group()):
            held = quote(token.group())
            return f"The set {held} may mean something else in a later Python; escape its characters."
    try:
        re.compile(pattern)
    except re.error as error:
        return f"The pattern is not a regular expression: {error.msg}."
    except (RecursionError, OverflowError):
        return "The pattern is nested too deep or repeats too often."
    counts = [count for token in re.finditer(_PART, pattern) for count in _bounds(token) if count != inf]
    if max(counts, default=0) > MAX_PATTERN_COUNT:
        return f"The pattern counts to {max(counts):.0f}; the limit is {MAX_PATTERN_COUNT}."
    return ""


def _refused_parts(pattern: str) -> Iterator[str]:
    is_multiline = re.search(_MULTILINE, pattern) is not None
    for token in re.finditer(_PART, pattern):
        if token.lastgroup in ("escape", "remark", "open") and re.match(_TRIED, token.group()):
            held = quote(token.group())
            yield f"The pattern has {held}: look-around and back references are matched by trying every way."
        elif _translated_part(token, is_multiline) is None:
            yield f"The pattern has {quote(token.group())} where only trying every way can match it."


def _match_in_linear_time(pattern: str, flags: str, text: str) -> bool | None:
    """Return the match in time that grows only with the text; None if the pattern cannot be matched
    that way.
    """
    if (unwanted := _find_unwanted(pattern)) is not None:
        inner = _match_in_linear_time(unwanted, flags, text)
        return None if inner is None else not inner
    validator = _linear(pattern, flags)
    return None if validator is None else validator.is_valid(text)


def _find_unwanted(pattern: str) -> str | None:
    """Return what the pattern forbids, if that is all it says; otherwise None."""
    if pattern.startswith("(?:" + _NOWHERE) and _is_one(pattern[3:-1]):
        pattern = pattern[3:-1]
    inner = pattern[len(_NOWHERE) : -1]
    return inner if pattern.startswith(_NOWHERE) and pattern.endswith(")") and _is_one(inner) else None


def _is_one(part: str) -> bool:
    """Whether a part of a pattern is complete: it closes and opens only its own groups."""
    depth = 0
    for token in re.finditer(_PART, part):
        depth += {"open": 1, "close": -1}.get(token.lastgroup or "", 0)
        if depth < 0 or (depth == 0 and token.lastgroup == "bar"):
            return False
    return depth == 0


@lru_cache(maxsize=8)
def _linear(pattern: str, flags: str) -> Draft202012Validator | None:
    """Return the prepared pattern; cached, because one step uses it several times."""
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
    """Return a part in the linear engine's dialect; None, or text that it rejects, if it has no
    equivalent.
    """
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
    """Return the characters and classes of a pattern with its counted repetitions written out."""
    return int(min(_measure(pattern).length, MAX_MATCH_WORK))


class _Measured(NamedTuple):
    """Measures of a pattern or a part of it, never smaller than the truth."""

    ways: float = 1
    """Number of ways in which it can match."""
    tries: float = 0
    """Places that an engine reads if it tries them all."""
    length: float = 0
    """Its characters and classes with counted repetitions written out."""

    def then(self, after: _Measured) -> _Measured:
        """Return the measure with a following part, which is tried once for each way in which this one
        matches.
        """
        tries = self.tries + (self.ways * after.tries if after.tries else 0)
        return _Measured(self.ways * after.ways, tries, self.length + after.length)

    def repeated(self, least: float, most: float) -> _Measured:
        if most == inf or least > most:  # a circle, not a row of copies; or no repetition at all
            return _Measured(inf, inf, self.length)
        length = min(self.length * most, MAX_MATCH_WORK)
        if self.ways == 1:
            return _Measured(most - least + 1, self.tries * most, length)
        if most > _MOST_WAYS or self.ways > MAX_MATCH_WORK:
            return _Measured(inf, inf, length)
        powers = [self.ways**count for count in range(int(most) + 1)]
        return _Measured(sum(powers[int(least) :]), self.tries * sum(powers), length)


class _OpenGroup:
    """An open group while it is measured: its branches, the content of the last one, and its last atom."""

    def __init__(self) -> None:
        self._branches: list[_Measured] = []
        self._whole = self._last = _Measured()

    def add(self, atom: _Measured) -> None:
        self._whole, self._last = self._whole.then(self._last), atom

    def branch(self) -> None:
        self.add(_Measured())
        self._branches.append(self._whole)
        self._whole = _Measured()

    def repeat(self, least: float, most: float) -> None:
        self._last = self._last.repeated(least, most)

    def close(self) -> _Measured:
        """Return the measure of the closed group. An empty branch is a try too, because a repetition passes
        it.
        """
        self.branch()
        ways, tries, lengths = zip(*self._branches, strict=True)
        return _Measured(sum(ways), sum(tries) + len(tries), max(lengths))


def _measure(pattern: str) -> _Measured:
    groups, longest = [_OpenGroup()], 1.0
    for token in re.finditer(_PART, pattern):
        match token.lastgroup:
            case "open":
                groups.append(_OpenGroup())
            case "close" if len(groups) > 1:
                inner = groups.pop().close()
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
        inner = groups.pop().close()
        groups[-1].add(inner)
    return groups[0].close()


def _bounds(token: re.Match[str]) -> tuple[float, float]:
    """Return the least and the most of a repetition; None for any other part."""
    if token["repeat"] is None:
        return 0, 0
    if token["least"] is None:
        return {"*": (0, inf), "+": (1, inf), "?": (0, 1)}[token.group()[0]]
    least = float(token["least"] or 0)
    most = float(token["most"] or inf) if token["comma"] else least
    return least, most
