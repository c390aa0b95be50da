"""The token estimate of LAFS 9.5.4: about how many tokens of an agent's context a value takes.
Pure.

The rule is exact and cheap: no tokenizer, only lengths and grapheme clusters. Text is counted by
the fastest way that is still right; only text with joined emoji, loose Hangul jamo or a script that
stacks its letters needs the full Unicode rules.
"""

from __future__ import annotations

import re
from functools import cache
from math import ceil, inf

from handrail.contract.outcome import Json

MAX_DEPTH = 20
"""The root has depth 0; anything deeper than this makes the total infinite (LAFS 9.5.4)."""

# Code points that are a grapheme cluster of their own next to any other of these (CR LF excepted):
# Grapheme_Cluster_Break is Other, Control, CR, LF, or a Hangul syllable without loose jamo around.
_ALONE = (
    "\x00-\x7f\xa0-\xac\xae-\u02ff\u0370-\u0482\u048a-\u058f\u05d0-\u05ea\u0620-\u064a\u0660-\u066f"
    "\u0671-\u06d3\u0e01-\u0e30\u0e32\u0e3f-\u0e46\u1e00-\u1fff\u2010-\u2027\u2030-\u205e\u20a0-\u20c0"
    "\u2100-\u2bff\u3000-\u3029\u3030-\u3096\u309b-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
    "\uff01-\uff9d\U0001f000-\U0001f1e5\U0001f200-\U0001f3fa\U0001f400-\U0001faff\U00020000-\U0002a6df"
)
# Code points that always join what stands before them, except a control character or nothing.
_JOINS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u064b-\u065f\u0670\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
    "\u20d0-\u20f0\u3099\u309a\ufe00-\ufe0f\uff9e\uff9f\U0001f3fb-\U0001f3ff"
)
_BEYOND_LATIN = "[^\x00-\u02ff]"
_FLAG = "[\U0001f1e6-\U0001f1ff]{1,2}"


def estimate_tokens(value: Json) -> int | None:
    """Return the tokens that `value` takes as JSON; None if it is nested too deep or contains itself."""
    total = _tokens(value, 0)
    return None if total == inf else ceil(total)


def _tokens(value: Json, depth: int) -> float:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        return _object(value, depth)
    if isinstance(value, list | tuple):
        return _array(value, depth)
    return _scalar(value)


def _array(items: list[Json] | tuple[Json, ...], depth: int) -> float:
    if items and depth >= MAX_DEPTH:
        return inf
    total = 2.0 + len(items)
    for item in items:
        kind = type(item)
        if kind is str:
            total += _text(item)
        elif kind is int:  # a shortcut, because long lists of small numbers are common
            total += 1.0 if -1000 < item < 10000 else _scalar(item)
        else:
            total += _tokens(item, depth + 1)
            if total == inf:  # a cycle ends here instead of being walked in all its branches
                return inf
    return total


def _object(members: dict[str, Json], depth: int) -> float:
    if members and depth >= MAX_DEPTH:
        return inf
    total = 2.0 + 2 * len(members)
    for key, item in members.items():
        total += _text(key)
        if type(item) is str:
            total += _text(item)
        else:
            total += _tokens(item, depth + 1)
            if total == inf:
                return inf
    return total


def _scalar(value: Json) -> float:
    if value is None or isinstance(value, bool):  # before numbers: True is an int
        return 1.0
    assert isinstance(value, int | float), "an estimate is made of JSON values only"
    length = len(repr(value))
    return length / 4 if length > 4 else 1.0


def _text(text: str) -> float:
    count = len(text) if text.isascii() else _graphemes(text)
    if "\r" in text:
        count -= text.count("\r\n")
    return count / 4 if count > 4 else 1.0


def _graphemes(text: str) -> int:
    """Return the number of grapheme clusters; CR LF still counts as two."""
    if re.search(_BEYOND_LATIN, text) is None:
        return len(text)
    not_plain, nothing_to_join, joining = _plain_patterns()
    # A flag counts as any letter; without this, long runs of flags would take quadratic time below.
    text = re.sub(_FLAG, "x", text)
    if not_plain.search(text) or nothing_to_join.search(text) or joining.match(text):
        return _involved_graphemes(text)
    return len(text) - len(joining.findall(text))


@cache
def _plain_patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Return the patterns for plain text. They are compiled on first use, because compiling them takes
    longer than most estimates.
    """
    return (
        re.compile(f"[^{_ALONE}{_JOINS}]"),
        re.compile(f"[\x00-\x1f\x7f][{_JOINS}]"),
        re.compile(f"[{_JOINS}]"),
    )


@cache
def _involved_run() -> re.Pattern[str]:
    """Return the pattern for text that is not plain, with the plain neighbours it may join; compiled on
    first use.
    """
    return re.compile(f"[{_ALONE}]?(?:[^{_ALONE}]+[{_ALONE}]?)+")


def _involved_graphemes(text: str) -> int:
    # Only this path needs the full Unicode rules, and loading them costs more than all of a short command.
    import regex  # type: ignore[import-untyped]  # noqa: PLC0415 - has no stubs; loaded on first need

    runs = _involved_run().findall(text)
    cluster = regex.compile(r"\X")
    clusters: int = sum(cluster.subn("", run)[1] for run in runs)
    return len(text) - sum(map(len, runs)) + clusters
