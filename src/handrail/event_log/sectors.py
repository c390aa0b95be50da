"""Sectors: the smallest unit that a disk writes whole, and how one shows that never arrived. Pure.

Where a file had grown and its bytes had not arrived, a whole sector reads as zeros.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

SECTOR_BYTES: Final = 512


def sectors_of(start: int, end: int) -> Iterator[tuple[int, int]]:
    """A stretch of a file in the pieces that a crash keeps or loses as one."""
    while start < end:
        edge = min(end, (start // SECTOR_BYTES + 1) * SECTOR_BYTES)
        yield start, edge
        start = edge


def has_lost_sector(content: bytes, offset: int) -> bool:
    """Whether text that stands at this offset of a file lacks a whole sector."""
    return len(text_around_lost_sectors(content, offset)) > 1


def text_around_lost_sectors(content: bytes, offset: int) -> list[bytes]:
    """The text before, between and after the lost sectors; one piece when none is lost."""
    pieces = [b""]
    for start, end in sectors_of(offset, offset + len(content)):
        sector = content[start - offset : end - offset]
        if sector.count(0) == len(sector):
            pieces.append(b"")
        else:
            pieces[-1] += sector
    return pieces
