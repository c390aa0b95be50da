"""The nearest known name to a misspelt one, which every refusal of a name offers. Pure.

A name with the opposite meaning (`unready` for `ready`) is never offered, and only a name that is
certainly the same word may be used without asking.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeAlias

MOST_CELLS = 60_000
"""Pairs of letters that one search compares; a suggestion is optional, so its cost is limited."""
_WORDS = r"!+|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+"
_PREFIXES = "! no not non never without un in im il ir dis de anti a n x ex re pre post mis min max"
_TURNING = frozenset(_PREFIXES.split(" "))
"""Prefixes that change the meaning of a word, most often to its opposite."""
_OPPOSED = (
    *("min max", "minimum maximum", "minimal maximal", "while until", "include exclude", "enable disable"),
    *("enabled disabled", "before after", "in out", "on off", "true false", "all any", "and or", "gt lt"),
    *("gte lte", "import export", "increase decrease", "internal external", "first last", "start stop"),
    *("prescribe proscribe", "united untied", "employer employee", "ingress egress", "ascending descending"),
    *("form from", "sign sing", "trial trail", "angel angle", "quiet quite", "casual causal"),
    "session version",
)
_OPPOSITES = frozenset(frozenset(pair.split()) for pair in _OPPOSED)
_LONGEST = 64
"""Characters of a name that are compared."""
_LEAST_LETTERS = 5
"""Shortest word for which a slip is assumed; in a shorter one, most slips make another word."""
_SHORT_LETTERS = 4
_VOWELS = frozenset("aeiou")

Scored: TypeAlias = tuple[int, bool, str]
"""Distance, whether it begins differently, and the name."""


def find_nearest(name: str, known: Iterable[str], most: int = 3) -> list[str]:
    """Return known names within a quarter of the length, closest first, then alphabetical; at most
    `most`.

    It leaves out names with the opposite meaning.
    """
    return [candidate for *_, candidate in _scored(name, known)[:most]]


def find_only_near(name: str, known: Iterable[str]) -> str:
    """Return the known name that is nearer than every other; empty if two are equally near, or none
    is near.

    A short name may have one slip only: with more, it could be any word.
    """
    scored = _first(name, known) if len(name) > 2 else []
    return scored[0][2] if scored and (scored[0][0] == 1 or len(name) > 4) else ""


def find_clearly_nearest(name: str, known: Iterable[str]) -> str:
    """Return the nearest known name for a question to the caller, where short names count too."""
    scored = _first(name, known)
    return scored[0][2] if scored else ""


def _first(name: str, known: Iterable[str]) -> list[Scored]:
    scored = _scored(name, known)[:2]
    return [] if len(scored) == 2 and scored[0][:2] == scored[1][:2] else scored[:1]


def find_same_word(name: str, known: Iterable[str]) -> str:
    """Return the known name that is certainly meant; empty if that is not certain.

    It differs in case or in what joins its words, or by one slip of the keyboard, and no other is
    as near.
    """
    names = list(dict.fromkeys(known))
    same = [one for one in names if _joined(one) == _joined(name[:_LONGEST])]
    if same:
        return same[0] if len(same) == 1 else ""
    alike = [one for one in names if abs(len(one) - len(name)) <= 1]
    if len(name) > _LONGEST or len(alike) * len(name) * 3 > MOST_CELLS:
        return ""
    near = [one for one in alike if count_edits(one.lower(), name.lower(), 1) == 1]
    return near[0] if len(near) == 1 and _is_slip(name, near[0]) else ""


def _joined(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "").replace(" ", "")


def _is_slip(written: str, meant: str) -> bool:
    """Whether one slip inside one word turns one name into the other.

    The word keeps its first letter, since a letter before it makes another word. Its last letter is
    not replaced (an employer is no employee), and a number is never a slip of another one.
    """
    left, right = _words(written), _words(meant)
    differing = [pair for pair in zip(left, right, strict=False) if pair[0] != pair[1]]
    if len(left) != len(right) or len(differing) != 1 or _joined_by(written) != _joined_by(meant):
        return False
    one, other = differing[0]
    if not (one + other).isalpha() or _is_turned(one, other) or frozenset((one, other)) in _OPPOSITES:
        return False
    is_swap = sorted(one) == sorted(other)
    if max(len(one), len(other)) < _LEAST_LETTERS:
        return _is_short_slip(one, other, is_swap=is_swap)
    return is_swap or (one[0] == other[0] and (len(one) != len(other) or one[-1] == other[-1]))


def _is_short_slip(one: str, other: str, *, is_swap: bool) -> bool:
    """Whether a slip in a word of four letters leaves something that is hardly a word.

    Either two letters after the first changed places, or a vowel between consonants is lost.
    """
    short, long = sorted((one, other), key=len)
    if len(long) != _SHORT_LETTERS or one[0] != other[0]:
        return False
    lost = next((at for at in (1, 2) if long[:at] + long[at + 1 :] == short), 0)
    return is_swap or (
        lost > 0 and [letter in _VOWELS for letter in long[lost - 1 : lost + 2]] == [False, True, False]
    )


def _words(name: str) -> list[str]:
    return [word.lower() for word in re.findall(_WORDS, name[:_LONGEST])]


def _joined_by(name: str) -> list[str]:
    """Return the characters that are neither letters nor digits nor join words."""
    return [one for one in name if not one.isalnum() and one not in "_- "]


def is_opposed(left: str, right: str) -> bool:
    """Whether one name means the opposite of the other, or a word that changes the meaning is the only
    difference.
    """
    ones, others = _words(left), _words(right)
    if ones and all(word in _TURNING for word in ones):
        return ones != others  # `never` is no short form of anything
    if _is_turned(_joined(left), _joined(right)):
        return True
    only_left = [word for word in ones if word not in others]
    only_right = [word for word in others if word not in ones]
    if any(word in _TURNING for word in (*only_left, *only_right)):
        return len(ones) > 1 or len(others) > 1 or "!" in (*ones, *others)
    return any(
        _is_turned(one, other) or frozenset((one, other)) in _OPPOSITES
        for one in only_left
        for other in only_right
    )


def _is_turned(one: str, other: str) -> bool:
    """Whether one name is the other with a prefix that changes its meaning."""
    short, long = sorted((one, other), key=len)
    return long != short and bool(short) and long.endswith(short) and long[: -len(short)] in _TURNING


def _scored(name: str, known: Iterable[str]) -> list[Scored]:
    wanted = name.lower()[:_LONGEST]
    allowed = max(2, len(wanted) // 4)
    scored = []
    left = MOST_CELLS
    for candidate in sorted(set(known)):
        folded = candidate.lower()[:_LONGEST]
        # Only at the beginning of a word: `abandoned` contains `done` and does not mean it.
        begins = bool(wanted) and wanted in folded and _begins_word(name, candidate)
        if abs(len(folded) - len(wanted)) > allowed and not begins:
            continue
        if begins:
            distance = 1
        else:
            left -= len(wanted) * (2 * allowed + 1)
            if left < 0:
                break
            distance = count_edits(wanted, folded, allowed)
        # A name of which nothing is left is another name: `==` is not a slip of `gt`.
        if distance <= allowed and distance < max(len(wanted), 1) and not is_opposed(name, candidate):
            scored.append((distance, not folded.startswith(wanted), candidate))
    return sorted(scored)


def _begins_word(name: str, candidate: str) -> bool:
    wanted, words = "".join(_words(name)), _words(candidate)
    return bool(wanted) and any("".join(words[at:]).startswith(wanted) for at in range(len(words)))


def count_edits(left: str, right: str, most: int = 64) -> int:
    """Return the edits (insert, delete, replace, swap neighbours) between both; `most` + 1 if there
    are more.
    """
    left, right = _where_they_differ(left, right)
    before: list[int] = []
    previous = list(range(len(right) + 1))
    for row, a in enumerate(left, 1):
        first, last = max(1, row - most), min(len(right), row + most)
        # Outside of the band around the diagonal every way is too long.
        current = [row, *([most + 1] * (first - 1))]
        for column in range(first, last + 1):
            b = right[column - 1]
            cost = min(previous[column] + 1, current[column - 1] + 1, previous[column - 1] + (a != b))
            if row > 1 and column > 1 and a == right[column - 2] and left[row - 2] == b:
                cost = min(cost, before[column - 2] + 1)
            current.append(cost)
        current += [most + 1] * (len(right) - last)
        if min(current) > most:
            return most + 1
        before, previous = previous, current
    return previous[-1]


def _where_they_differ(left: str, right: str) -> tuple[str, str]:
    """Return both without their common beginning and end, which need no edits."""
    start = 0
    while start < min(len(left), len(right)) and left[start] == right[start]:
        start += 1
    left, right = left[start:], right[start:]
    end = 0
    while end < min(len(left), len(right)) and left[-1 - end] == right[-1 - end]:
        end += 1
    return left[: len(left) - end], right[: len(right) - end]
