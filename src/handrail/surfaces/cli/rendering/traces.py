"""Text mode of a trace through code: an indented list of functions, each with the place of its call. Pure."""

from __future__ import annotations

from itertools import accumulate
from typing import Any, Final

from handrail.contract.outcome import Json
from handrail.contract.wording import format_count
from handrail.surfaces.cli.rendering.text import INDENT, Page, one_line

MOST_CHARACTERS: Final = 1_500
"""Most lines of the list, so that an answer stays below two kilobytes."""
_MOST_PLACES: Final = 5
"""Most uncertain uses, and most reasons."""
_TOP: Final = "(top of the file)"


def trace_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """Return the tree as a list, then what may be missing. Raises KeyError for an answer without a tree."""
    del page
    tree, symbol = payload["tree"], payload["symbol"]
    rows = [_describe_entry(one) for one in tree]
    sizes = accumulate(len(row) + 1 for row in rows)
    shown = [row for row, size in zip(rows, sizes, strict=True) if size <= MOST_CHARACTERS]
    left = len(rows) - len(shown) + int(payload["left_out"])
    lines = [one_line(f"{symbol['name']}  {symbol['file']}:{symbol['line']}"), *shown]
    lines += [] if rows else [f"{INDENT}(nothing found)"]
    lines += [f"{INDENT}and {left} more; JSON has them, or a smaller --depth"] if left else []
    lines += _list_places("may also be meant", payload["unsure"], int(payload["unsure_count"]))
    if not payload["complete"]:
        lines += _list_places("not complete", payload["reasons"], int(payload["reason_count"]))
    return lines


def _describe_entry(entry: dict[str, Any]) -> str:
    name = entry.get("name") or _TOP
    first, *others = entry["lines"]
    place = f"{entry['file']}:{first}" if entry["file"] else f"line {first}"
    more = f" and {format_count(len(others), 'more call', 'more calls')}" if others else ""
    again = ", as above" if entry["repeated"] else ""
    return INDENT * int(entry["depth"]) + one_line(f"{name}  {place}{more}{again}")


def _list_places(label: str, rows: list[Any], total: int) -> list[str]:
    shown = [one_line(f"{INDENT}{row['code']}  {row['file']}:{row['line']}") for row in rows[:_MOST_PLACES]]
    left = total - len(shown)
    return [f"{label}:", *shown, *([f"{INDENT}and {left} more"] if left > 0 else [])] if total else []
