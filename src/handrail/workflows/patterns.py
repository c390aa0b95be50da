"""Regular expressions an author may use: short, valid, and without what takes exponential time. Pure.

A pattern runs over notes that somebody else wrote. A repetition inside a repetition, or alternatives that
begin alike inside one, can be matched in exponentially many ways, so neither is accepted.
"""

from __future__ import annotations

import re
from math import inf

from handrail.contract.wording import quoted
from handrail.workflows.limits import MAX_PATTERN_CHARACTERS, MAX_PATTERN_REPETITIONS

FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}

_MOST_WAYS = 20
"""Of one repeated group: how many lengths its inside can have, times how often it is repeated."""

_UNCLEAR = ""

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


def compiled_pattern(pattern: str, flags: str) -> re.Pattern[str]:
    """The pattern of a rule, ready to search with. The reader has refused those that do not compile."""
    return re.compile(pattern, sum(FLAGS[flag] for flag in flags))


def pattern_trouble(pattern: str) -> str:
    """Why a pattern is not accepted, as a sentence; empty when it is."""
    if len(pattern) > MAX_PATTERN_CHARACTERS:
        return f"The pattern has {len(pattern)} characters; the limit is {MAX_PATTERN_CHARACTERS}."
    if re.search(_VERBOSE, pattern):
        return "The pattern switches verbose mode on."
    for token in re.finditer(_PART, pattern):
        if token.lastgroup == "set" and re.search(_SET_OF_THE_FUTURE, token.group()):
            return f"The set {quoted(token.group())} will mean something else one day; escape its characters."
    try:
        re.compile(pattern)
    except re.error as error:
        return f"The pattern is not a regular expression: {error.msg}."
    except (RecursionError, OverflowError):
        return "The pattern is nested too deep or repeats too often."
    return _slow_part(pattern)


class _Group:
    """An open group: in how many ways its inside can match, and with what its branches begin."""

    def __init__(self) -> None:
        self.ways: float = 1
        self.beginnings = [_UNCLEAR]
        self.atoms = 0
        self.last_ways: float = 1

    def branch(self) -> None:
        self.beginnings.append(_UNCLEAR)
        self.atoms = 0

    def add(self, beginning: str, ways: float) -> None:
        """One more atom."""
        self.atoms += 1
        self.last_ways = ways
        self.ways = max(self.ways, ways)
        if self.atoms == 1:
            self.beginnings[-1] = beginning

    def repeat(self, least: float, most: float) -> bool:
        """Repeat the last atom; whether that can be matched in a bounded number of ways."""
        inner = self.last_ways * max(most, 1) if self.last_ways > 1 else 1
        if most > 1 and inner > _MOST_WAYS:
            return False
        lengths = 1 if least == most else most - least + 1
        self.ways = max(self.ways, inner * lengths)
        if self.atoms == 1 and least == 0:
            self.beginnings[-1] = _UNCLEAR
        return True

    def total_ways(self) -> float:
        branches = len(self.beginnings)
        is_clear = _UNCLEAR not in self.beginnings and len(set(self.beginnings)) == branches
        return self.ways if is_clear or branches == 1 else max(self.ways, branches)


def _slow_part(pattern: str) -> str:
    """What makes a valid pattern slow, as a sentence; empty when nothing does."""
    groups = [_Group()]
    repetitions = 0
    for token in re.finditer(_PART, pattern):
        match token.lastgroup:
            case "open":
                groups.append(_Group())
            case "close":
                inner = groups.pop()
                groups[-1].add(_UNCLEAR, inner.total_ways())
            case "bar":
                groups[-1].branch()
            case "repeat":
                least, most = _bounds(token)
                repetitions += least != most
                if not groups[-1].repeat(least, most):
                    return f"{quoted(token.group())} repeats something that can itself match in several ways."
            case _:
                groups[-1].add(_beginning(token.group()), 1)
    if repetitions > MAX_PATTERN_REPETITIONS:
        return f"The pattern has {repetitions} repetitions; the limit is {MAX_PATTERN_REPETITIONS}."
    return ""


def _bounds(token: re.Match[str]) -> tuple[float, float]:
    """The least and the most that a repetition stands for."""
    if token["least"] is None:
        return {"*": (0, inf), "+": (1, inf), "?": (0, 1)}[token.group()[0]]
    least = float(token["least"] or 0)
    most = float(token["most"] or inf) if token["comma"] else least
    return least, most


def _beginning(atom: str) -> str:
    """The one character an atom stands for, whatever its case; unclear when it can be several."""
    if atom.startswith("\\") and not atom[1].isalnum():
        return atom[1]
    return atom.lower() if len(atom) == 1 and atom not in ".^$" else _UNCLEAR
