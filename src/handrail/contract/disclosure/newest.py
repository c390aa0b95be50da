"""The newest or first items that fit into a budget of bytes, measured as they are encoded. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import msgspec

_T = TypeVar("_T")
_R = TypeVar("_R")


FENCE_BYTES = 64
"""Bytes for the mark of untrusted data around an item: `_untrusted`, or the fence in a text."""


def take_newest(items: Iterable[_T], budget: int, beside: int = 0) -> tuple[list[_T], int]:
    """Take the items that fit from a list that is newest first; return them oldest first, with
    their bytes.

    `beside` is the number of bytes that each item needs in addition to its own encoding.
    """
    kept, used = take_first(items, budget, beside)
    return kept[::-1], used


def take_first(items: Iterable[_T], budget: int, beside: int = 0) -> tuple[list[_T], int]:
    """Take the first items that fit, in their order; return them with their bytes."""
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
    """Return the rows of the newest items that fit, oldest first, and how many items are left out."""
    shown, _ = take_newest(map(row, reversed(items)), budget, beside)
    return shown, len(items) - len(shown)


def encoded_size(item: Any) -> int:
    """Return the bytes of an item in an answer, with the comma after it."""
    return len(msgspec.json.encode(item)) + 1
