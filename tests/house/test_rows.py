"""No Python file has a row of more than 120 characters: a table that wide is data, in a file of its own."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.house.tree import Source, check, check_planted, plant, python_files

WIDEST = 120


def wide_rows(sources: Sequence[Source]) -> list[str]:
    return [
        f"{source.path}:{number}: {len(row)} characters, the limit is {WIDEST}; break the row"
        for source in sources
        for number, row in enumerate(source.text.splitlines(), start=1)
        if len(row) > WIDEST
    ]


def test_rows_have_at_most_120_characters() -> None:
    check(wide_rows(python_files()))


@pytest.mark.parametrize(("width", "expected"), [(120, ""), (121, "121 characters, the limit is 120")])
def test_wide_row_is_reported(width: int, expected: str) -> None:
    check_planted(wide_rows, plant("src/handrail/engine/gate.py", "#" * width + "\n"), expected)
