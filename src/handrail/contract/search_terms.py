"""The tokenizer of every search: of runs, sessions, notes and workflows. Pure.

A word is a run of letters, marks and digits after NFKC and case folding. Words that `-` or `_` join
are one term and each part is a term too. Chinese, Japanese, Thai and other scripts that set no
spaces between words give every pair of neighbouring characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import log
from typing import TypeAlias

import msgspec

SHORTEST_PREFIX = 4
"""Characters that the beginning of a word needs at least to find it."""
LONGEST_TERM = 64
MOST_TERMS = 20_000
"""Terms of one text; the rest of a longer one is not searched."""
_PREFIX_MARK = "~"
"""Mark of a beginning; no word contains it, so a beginning never equals a whole word."""
IDENTIFIER_WEIGHT = 3.0
PREFIX_WEIGHT = 0.6
PART_WEIGHT = 0.5

_ASCII_RUN = re.compile(r"[a-z0-9]+(?:[-_]+[a-z0-9]+)*")
_PART = re.compile(r"[^-_]+")
_UNSPACED = re.compile(
    "["
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f"  # Burmese
    "\u1780-\u17ff"  # Khmer
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"  # Japanese syllables
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Han
    "\U00020000-\U0003ffff"
    "]+"
)


def list_terms(text: str) -> Iterator[str]:
    """Yield every term of a text in order, with repetitions."""
    count = 0
    for run in _runs_of(text):
        for term in _terms_of_run(run):
            count += 1
            if count > MOST_TERMS:
                return
            yield term[:LONGEST_TERM]


def index_terms(texts: Iterable[str]) -> frozenset[str]:
    """Return the keys that an index stores for texts: terms, and the beginnings that find them."""
    found: set[str] = set()
    for text in texts:
        for term in list_terms(text):
            if term in found:
                continue
            found.add(term)
            found.update(term[:end] + _PREFIX_MARK for end in range(SHORTEST_PREFIX, len(term)))
    return frozenset(found)


class QueryTerm(msgspec.Struct, frozen=True, kw_only=True):
    """One term of a query."""

    term: str
    weight: float
    """Whether it is an identifier such as `auth-1`, which counts more than a word; its parts count less."""

    @property
    def keys(self) -> tuple[str, ...]:
        """Return the keys to look up in an index, the whole word first."""
        return (self.term, self.term + _PREFIX_MARK) if len(self.term) >= SHORTEST_PREFIX else (self.term,)

    def hit_by(self, terms: Collection[str]) -> float:
        """Return how well the terms of an index match: 0.0 not at all, 1.0 as a whole word."""
        if self.term in terms:
            return 1.0
        return PREFIX_WEIGHT if len(self.keys) == 2 and self.keys[1] in terms else 0.0


def read_query(text: str) -> tuple[QueryTerm, ...]:
    """Return the terms of a query, each once, in the order of the query."""
    found: dict[str, float] = {}
    for run in _runs_of(text):
        whole, *parts = _terms_of_run(run)
        is_joined = parts and _PART.fullmatch(run) is None
        weight = IDENTIFIER_WEIGHT if _is_identifier(run) else 1.0
        found[whole] = max(weight, found.get(whole, 0.0))
        for part in parts:
            found[part] = max(PART_WEIGHT if is_joined else 1.0, found.get(part, 0.0))
    return tuple(QueryTerm(term=term[:LONGEST_TERM], weight=weight) for term, weight in found.items())


Choice: TypeAlias = tuple[str, ...]
"""Keys of which a text must have one."""


def require_terms(query: str) -> tuple[Choice, ...]:
    """Return what a text must contain to match every word of a query; empty if the query has no word."""
    needed: dict[str, None] = {}
    for run in _runs_of(query):
        whole, *parts = _terms_of_run(run)
        for term in (whole, *(parts if _UNSPACED.fullmatch(run) else ())):
            needed[term[:LONGEST_TERM]] = None
    return tuple(QueryTerm(term=term, weight=1.0).keys for term in needed)


def has_every_word(needed: Sequence[Choice], terms: Collection[str]) -> bool:
    """Whether the terms of an index contain one key of each choice."""
    return all(any(key in terms for key in choice) for choice in needed)


def weigh_by_rarity(asked: Iterable[QueryTerm], found_in: Mapping[str, int], total: int) -> dict[str, float]:
    """Return the weight of each term, larger if fewer texts have it; terms that no text has are
    left out.

    `found_in` counts, for each term, the texts that have it.
    """
    return {
        one.term: one.weight * log(1 + total / held)
        for one in asked
        if (held := found_in.get(one.term, 0)) > 0
    }


def _runs_of(text: str) -> Iterator[str]:
    """Yield words as they are written, joined ones whole; a stretch without spaces is one run of its own."""
    if text.isascii():
        yield from (match.group() for match in _ASCII_RUN.finditer(text.lower()))
        return
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    start = -1
    for place, sign in enumerate(plain):
        if sign.isalnum() or sign in "-_" or unicodedata.category(sign)[0] == "M":
            start = place if start < 0 else start
        elif start >= 0:
            yield from _split_run(plain[start:place])
            start = -1
    if start >= 0:
        yield from _split_run(plain[start:])


def _split_run(run: str) -> Iterator[str]:
    done = 0
    for unspaced in _UNSPACED.finditer(run):
        yield from filter(None, (run[done : unspaced.start()].strip("-_"), unspaced.group()))
        done = unspaced.end()
    if rest := run[done:].strip("-_"):
        yield rest


def _terms_of_run(run: str) -> Iterator[str]:
    if _UNSPACED.fullmatch(run):
        yield from (run[at : at + 2] for at in range(max(1, len(run) - 1)))
        return
    yield run
    if _PART.fullmatch(run) is None:
        yield from _PART.findall(run)


def _is_identifier(run: str) -> bool:
    """Whether it looks like a name for one thing: joined words, a number of three digits or more, or
    letters with digits.
    """
    if _UNSPACED.fullmatch(run):
        return False
    digits = sum(sign.isdigit() for sign in run)
    return _PART.fullmatch(run) is None or digits >= 3 or 0 < digits < len(run)
