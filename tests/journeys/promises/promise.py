"""What a promise is: one row of the manifest, and how a table of them is read. Pure."""

from __future__ import annotations

from textwrap import dedent
from typing import NamedTuple


class Promise(NamedTuple):
    """One behaviour users rely on. Journeys name its id in `@pytest.mark.promise`."""

    id: str
    source: str
    """Where it was promised: the specification or design chapter, then the place in it."""
    says: str


def read_table(text: str) -> tuple[Promise, ...]:
    """A place at the margin, below it `id: sentence` for each promise; a deeper line goes on with its row."""
    place, rows = "", list[Promise]()
    for line in dedent(text).strip("\n").splitlines():
        words = line.lstrip(" ")
        match len(line) - len(words):
            case 0:
                place = words
            case 2:
                name, _, says = words.partition(": ")
                rows.append(Promise(name, place, says))
            case _:
                rows[-1] = rows[-1]._replace(says=f"{rows[-1].says} {words}")
    return tuple(rows)
