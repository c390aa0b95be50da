"""The commands in README and tutorial run as they stand and print what the page shows."""

from __future__ import annotations

import pytest

from tests.house.shown_commands import PAGES, filled_page
from tests.house.tree import page


@pytest.mark.promise("cli.pages-run")
@pytest.mark.parametrize("path", PAGES)
@pytest.mark.thorough
def test_a_page_shows_what_its_commands_print(path: str) -> None:
    """If only the output changed, write it again with: python -m tests.house.shown_commands"""
    shown = page(path).text

    assert filled_page(path, shown) == shown
