"""As many of the newest items as fit into a budget of bytes, as they are encoded. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import msgspec

_T = TypeVar("_T")
_R = TypeVar("_R")


FENCE_BYTES = 64
"""What marks an item as data of others, beside its own encoding: `_untrusted`, or the fence in a text."""


def take_newest(items: Iterable[_T], budget: int, beside: int = 0) -> tuple[list[_T], int]:
    """Of items that come newest first, those that fit, oldest first; and the bytes that they take.

    `beside` is what each takes more than its own encoding.
    """
    kept, used = take_first(items, budget, beside)
    return kept[::-1], used


def take_first(items: Iterable[_T], budget: int, beside: int = 0) -> tuple[list[_T], int]:
    """The first items that fit, in their order, and the bytes that they take."""
    kept: list[_T] = []
    used = 0
    for item in items:
        size = encoded_size(item) + beside
        if used + size > budget:
            break
        kept.append(item)
        used += size
    return kept, used


def take_newest_rows(
    items: Sequence[_T], row: Callable[[_T], _R], budget: int, beside: int = 0
) -> tuple[list[_R], int]:
    """The rows of the newest items that fit, oldest first, and how many items are left out."""
    shown, _ = take_newest(map(row, reversed(items)), budget, beside)
    return shown, len(items) - len(shown)


def encoded_size(item: Any) -> int:
    """How much of an answer an item takes, with the comma behind it."""
    return len(msgspec.json.encode(item)) + 1
