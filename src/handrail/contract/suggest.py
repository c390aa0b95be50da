"""The nearest known name to a misspelt one: every refusal of a name offers it. Pure."""

from __future__ import annotations

from collections.abc import Iterable


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
    for candidate in set(known):
        folded = candidate.lower()[:64]
        if abs(len(folded) - len(wanted)) > allowed and wanted not in folded:
            continue
        distance = 1 if wanted and wanted in folded else edits(wanted, folded)
        # A name of which nothing is left is another name: `==` is not a slip of `gt`.
        if distance <= allowed and distance < max(len(wanted), 1):
            scored.append((distance, candidate))
    return sorted(scored)


def edits(left: str, right: str) -> int:
    """Edits (insert, delete, replace, swap neighbours) from one to the other."""
    before: list[int] = []
    previous = list(range(len(right) + 1))
    for row, a in enumerate(left, 1):
        current = [row]
        for column, b in enumerate(right, 1):
            cost = min(previous[column] + 1, current[column - 1] + 1, previous[column - 1] + (a != b))
            if row > 1 and column > 1 and a == right[column - 2] and left[row - 2] == b:
                cost = min(cost, before[column - 2] + 1)
            current.append(cost)
        before, previous = previous, current
    return previous[-1]
