"""Offsets as lines and columns. Pure."""

from __future__ import annotations


def line_and_column(text: bytes, offset: int) -> tuple[int, int]:
    """Both count from one; columns count characters."""
    start = text.rfind(b"\n", 0, offset) + 1
    return text.count(b"\n", 0, offset) + 1, len(text[start:offset].decode("utf-8", "replace")) + 1
