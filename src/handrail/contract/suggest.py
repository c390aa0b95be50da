"""The nearest known name to a misspelt one: every refusal of a name offers it. Pure."""

from __future__ import annotations

from collections.abc import Iterable

MOST_CELLS = 100_000
"""Pairs of letters that one search compares: a suggestion is a courtesy, not a duty."""


def nearest(name: str, known: Iterable[str], most: int = 3) -> list[str]:
    """Known names within a quarter of the length, closest first, then alphabetical; at most `most`."""
    return [candidate for _, candidate in _scored(name, known)[:most]]


def only_near(name: str, known: Iterable[str]) -> str:
    """The known name that is nearer than every other one; nothing where two are as near, or none is.

    In a short name every letter counts: more than one slip could make any word of it.
    """
    scored = _scored(name, known) if len(name) > 2 else []
    if not scored or (len(scored) > 1 and scored[0][0] == scored[1][0]):
        return ""
    return scored[0][1] if scored[0][0] == 1 or len(name) > 4 else ""


def _scored(name: str, known: Iterable[str]) -> list[tuple[int, str]]:
    wanted = name.lower()[:64]
    allowed = max(2, len(wanted) // 4)
    scored = []
    left = MOST_CELLS
    for candidate in sorted(set(known)):
        folded = candidate.lower()[:64]
        if abs(len(folded) - len(wanted)) > allowed and wanted not in folded:
            continue
        if wanted and wanted in folded:
            distance = 1
        else:
            left -= len(wanted) * (2 * allowed + 1)
            if left < 0:
                break
            distance = edits(wanted, folded, allowed)
        # A name of which nothing is left is another name: `==` is not a slip of `gt`.
        if distance <= allowed and distance < max(len(wanted), 1):
            scored.append((distance, candidate))
    return sorted(scored)


def edits(left: str, right: str, most: int = 64) -> int:
    """Edits (insert, delete, replace, swap neighbours) from one to the other; beyond `most` only that."""
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
