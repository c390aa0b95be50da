"""How wide text stands on a terminal, and cutting, wrapping, counting and dating it for people. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence

from handrail.contract.wording import counted

USUAL_WIDTH = 100
"""Of a page when nobody says how wide the terminal is: the same everywhere, so that text can be compared."""
_NARROWEST = 12
_INSTANT = r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d):\d\d(?:\.\d+)?Z"
_NO_WIDTH = frozenset({"Mn", "Me", "Cf"})
_UNITS = ("kB", "MB", "GB", "TB")


def width_of(text: str) -> int:
    """Terminal columns: two for wide characters, none for marks that sit on another."""
    if text.isascii():
        return len(text)
    return sum(_width(character) for character in text)


def _width(character: str) -> int:
    if unicodedata.category(character) in _NO_WIDTH:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def padded(text: str, width: int) -> str:
    return text + " " * (width - width_of(text))


def cut(text: str, width: int) -> str:
    """As much as fits, with an ellipsis where something is missing."""
    if width_of(text) <= width:
        return text
    kept, used = [], 1
    for character in text:
        used += _width(character)
        if used > width:
            break
        kept.append(character)
    return "".join(kept).rstrip() + "…"


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """Prose in lines of at most this width; a word that is longer stays whole on a line of its own."""
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        if line and width_of(indent) + width_of(line) + 1 + width_of(word) > width:
            lines.append(indent + line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, indent + line]


def least_width(rows: Sequence[Sequence[str]], yielding: Collection[int]) -> int:
    """What the rows take when the yielding columns are cut as far as they may be."""
    widths = [max(width_of(row[place]) for row in rows) for place in range(len(rows[0]))]
    kept = [min(width, _NARROWEST) if place in yielding else width for place, width in enumerate(widths)]
    return sum(kept) + 2 * (len(kept) - 1)


def as_table(rows: Sequence[Sequence[str]], width: int = 0, yielding: Collection[int] = ()) -> list[str]:
    """Columns as wide as their widest cell; where the page is too narrow, the yielding ones are cut."""
    if not rows:
        return []
    widths = [max(width_of(row[place]) for row in rows) for place in range(len(rows[0]))]
    over = sum(widths) + 2 * (len(widths) - 1) - width if width else 0
    for place in sorted(yielding, key=lambda one: -widths[one]):
        given = max(0, min(over, widths[place] - _NARROWEST))
        widths[place] -= given
        over -= given
    return [
        "  ".join(
            padded(cut(cell, room) if width else cell, room) for cell, room in zip(row, widths, strict=True)
        )
        for row in rows
    ]


def as_aligned(rows: Sequence[tuple[str, str]], width: int = 0) -> list[str]:
    """Names in one column, values in the next; prose is wrapped where the page says how wide it is."""
    room = max((width_of(label) for label, _ in rows), default=0) + 2
    lines = []
    for label, value in rows:
        first, *rest = wrapped(value, width - room) if width else [value]
        lines += [padded(f"{label}:", room) + first, *(" " * room + line for line in rest)]
    return lines


def size_text(size_bytes: int) -> str:
    """`812 bytes`, `22.3 kB`."""
    if size_bytes < 1000:
        return counted(size_bytes, "byte")
    amount, unit = float(size_bytes), ""
    for name in _UNITS:
        if amount < 999.95 and unit:
            break
        amount, unit = amount / 1000, name
    return f"{amount:.1f} {unit}"


def moment_text(text: str) -> str:
    """`2026-11-15 10:23 UTC` of an instant as the documents write it; any other text as it is."""
    found = re.fullmatch(_INSTANT, text)
    return f"{found[1]} {found[2]} UTC" if found else text
