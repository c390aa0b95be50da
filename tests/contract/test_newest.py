"""What fits into a budget of bytes: an item counts as it is encoded, with its comma."""

from __future__ import annotations

import pytest

from handrail.contract.disclosure.newest import take_first, take_newest, take_newest_rows


@pytest.mark.parametrize(("budget", "kept"), [(4, []), (5, ["ab"]), (9, ["ab"]), (10, ["ab", "cd"])])
def test_items_are_taken_up_to_exactly_the_budget(budget: int, kept: list[str]) -> None:
    assert take_first(["ab", "cd"], budget) == (kept, 5 * len(kept))


def test_bytes_beside_an_item_count_each_time() -> None:
    assert take_first(["ab", "cd"], 16, beside=3) == (["ab", "cd"], 16)
    assert take_first(["ab", "cd"], 15, beside=3) == (["ab"], 8)


def test_newest_items_come_back_oldest_first() -> None:
    assert take_newest(["new", "mid", "old"], 12) == (["mid", "new"], 12)


def test_rows_of_the_newest_items_say_how_many_are_missing() -> None:
    assert take_newest_rows(["old", "mid", "new"], str.upper, 12) == (["MID", "NEW"], 1)
